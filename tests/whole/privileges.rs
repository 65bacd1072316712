//! Each role may do what its function does, and nothing else: recorded calls against `template.yaml`.

mod by_hand;
mod deployment;

use harness::calls::Calls;

#[tokio::test(flavor = "multi_thread")]
async fn each_role_may_do_what_its_function_does_and_nothing_else() {
    let calls = Calls::default();
    by_hand::does_everything(&calls).await;
    deployment::does_everything(&calls).await;
    for one in &calls.uses() {
        println!("{one}");
    }
}
