//! For each rule of `waymark check` a site with that single fault, which gives that rule and no other. All sites are from one
//! generator (`site`), and differ from a sound one in the fault alone.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use check::rules::Rule;
use serde_json::{Value, json};

mod faults;

use crate::limited::Limited as _;

use crate::site::{Site, serve};
use faults::{DOCUMENTS, PROMISES, edit_robots};

/// Checks that run together: they wait more than they compute.
const TOGETHER: usize = 4;

type Fault = (&'static str, fn(&mut Site));

/// Returns the rules that a check of a site finds.
fn rules(site: &Site, more: &[&str]) -> BTreeSet<String> {
    let target = format!("{}/", site.origin);
    rules_of(&target, more)
}

fn rules_of(target: &str, more: &[&str]) -> BTreeSet<String> {
    let counts = report(target, more)["counts"].take();
    counts.as_object().unwrap().keys().cloned().collect()
}

/// Returns what a check of a target reports.
fn report(target: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(["check", target, "--json", "--rate", "0", "--retries", "0"])
        // All of these servers are on loopback.
        .arg("--allow-private")
        .args(more)
        .current_dir(folder.path())
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output_in_time();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

const ALL_PROFILES: [&str; 2] = ["--rules", "protocol,google,bing,yoast,waymark"];
/// More than the sound site has.
const USUAL: [&str; 2] = ["--pages", "20"];

/// The rule that depends on how busy the machine is.
const SLOW: &str = "file.slow";

/// Runs each fault's check; the names of those that do not give their rule alone.
fn check(faults: &[Fault], more: &[&str]) {
    let next = Mutex::new(faults.iter());
    let wrong = Mutex::new(String::new());
    thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                while let Some((rule, fault)) = { next.lock().unwrap().next() } {
                    assert!(Rule::named(rule).is_some(), "{rule}");
                    // On a busy machine every answer is slow.
                    let more = match *rule {
                        SLOW => more.to_vec(),
                        _ => [more, &["--skip", SLOW]].concat(),
                    };
                    let found = rules(&serve(*fault), &more);
                    if found.iter().ne([rule]) {
                        writeln!(wrong.lock().unwrap(), "{rule}: {found:?}").unwrap();
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}

/// These need an option, and have tests of their own here or in `check.rs`.
const WITH_OPTIONS: [&str; 10] = [
    "index.in_robots",
    "scope.unknown",
    "page.blocked",
    "set.missing",
    "set.extra",
    "set.lastmod",
    "set.images",
    "set.alternates",
    "check.limits",
    "check.allowance",
];

#[test]
fn a_sound_site_gives_nothing() {
    let site = serve(|_| {});
    let report = report(
        &format!("{}/", site.origin),
        &[&USUAL[..], &ALL_PROFILES, &["--skip", SLOW]].concat(),
    );
    assert_eq!(report["findings"], json!([]));
    // All of it was looked at.
    let totals = &report["totals"];
    assert_eq!(
        (&totals["sitemaps"], &totals["urls"], &totals["pages"]),
        (&json!(4), &json!(7), &json!(7))
    );
    assert!(totals["requests"].as_u64().unwrap() > 150, "{totals}");
}

#[test]
fn sound_sites_of_other_systems_give_nothing() {
    for (name, shape) in crate::site::shapes::ALL {
        let mut report = report(&format!("{}/", serve(shape).origin), &["--skip", SLOW]);
        assert_eq!(report["counts"].take(), json!({}), "{name}");
        let totals = &report["totals"];
        assert!(
            totals["urls"].as_u64().unwrap() > 0 && totals["indexes"] == 1,
            "{name}: {totals}"
        );
    }
}

#[test]
fn each_rule_has_a_fault() {
    let known: BTreeSet<_> = DOCUMENTS
        .iter()
        .chain(PROMISES)
        .map(|(rule, _)| *rule)
        .chain(WITH_OPTIONS)
        .collect();
    let all: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(known, all);
}

#[test]
fn each_fault_gives_its_rule_alone() {
    check(DOCUMENTS, &USUAL);
}

#[test]
fn each_broken_promise_gives_its_rule_alone() {
    check(PROMISES, &ALL_PROFILES);
}

#[test]
fn faults_that_need_an_option_give_their_rule_alone() {
    let one = |rule: &str| BTreeSet::from([rule.to_owned()]);
    // An index is asked for by its address, and robots.txt names another.
    let site = serve(|site| {
        let index = site.index();
        site.put_xml("/other-index.xml", index);
    });
    let found = rules_of(&format!("{}/other-index.xml", site.origin), &[]);
    assert_eq!(found, one("index.in_robots"));
    let found = rules_of(&format!("{}/sitemap_index.xml", site.origin), &[]);
    assert_eq!(found, BTreeSet::new());

    // A page on a host that does not answer, so that its pages could not be asked for.
    let site = serve(|site| {
        site.sitemaps[2].entries[0].loc = "http://localhost:1/soup/".to_owned();
    });
    let found = rules_of(&format!("{}/", site.origin), &[]);
    assert_eq!(found, one("scope.unknown"));

    // A sitemap that came without its site's robots.txt: from a folder.
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let site = serve(|site| edit_robots(site, "/admin/", "/soup/"));
    write("a.xml", &site.urlset(2));
    let origin = ["--origin", &site.origin];
    let found = rules_of(&path("a.xml"), &[&origin[..], &USUAL].concat());
    assert_eq!(found, one("page.blocked"));

    let site = serve(|_| {});
    let all: Vec<Value> = site
        .sitemaps
        .iter()
        .flat_map(|sitemap| &sitemap.entries)
        .map(|entry| json!({"loc": entry.loc, "lastmod": entry.lastmod}))
        .collect();
    let about = |list: &mut Vec<Value>, name: &str, value: Value| list[1][name] = value;
    let image = json!(["https://i.example/2.jpg"]);
    let check = |rule: Option<&str>, change: &dyn Fn(&mut Vec<Value>)| {
        let mut list = all.clone();
        about(&mut list, "images", image.clone());
        list[2]["alternates"] = json!({
            "en": format!("{}/en/snow/", site.origin), "de": format!("{}/de/schnee/", site.origin),
        });
        change(&mut list);
        write("expected.json", &json!(list).to_string());
        let found = rules(&site, &["--expected", &path("expected.json")]);
        assert_eq!(found, rule.map(one).unwrap_or_default());
    };
    check(None, &|_| {});
    check(Some("set.missing"), &|list| {
        list.push(json!(format!("{}/more/", site.origin)));
    });
    check(Some("set.extra"), &|list| drop(list.pop()));
    check(Some("set.lastmod"), &|list| {
        about(list, "lastmod", json!("2025-01-03"))
    });
    check(Some("set.images"), &|list| {
        about(list, "images", json!(["https://i.example/3.jpg"]))
    });
    check(Some("set.alternates"), &|list| {
        list[2]["alternates"] = json!({"en": "https://x.example/"})
    });

    assert_eq!(rules(&site, &["--max-sitemaps", "2"]), one("check.limits"));
    write(
        "x.toml",
        "[[allow]]\nrule = \"loc.host\"\nuntil = \"2026-01-01\"\nwhy = \"x\"\n",
    );
    let found = rules(&site, &["--config", &path("x.toml")]);
    assert_eq!(found, one("check.allowance"));
}
