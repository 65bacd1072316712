//! Prints the page of a made-up report: `page [site|short|hostile|empty]`. The browser tests look at each.

mod sample;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "site".to_owned());
    match sample::named(&name) {
        Some(report) => print!("{}", crawl::page::html(&report)),
        None => {
            eprintln!(
                "no report has the name {name}: {}",
                sample::NAMES.join(", ")
            );
            std::process::exit(2);
        }
    }
}
