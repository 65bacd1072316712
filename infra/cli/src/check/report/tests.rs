//! The same findings in each form.

use std::sync::Arc;

use check::findings::{Policy, Position};

use serde_json::{Value, json};

use super::*;

fn report() -> Report {
    let mut findings = Findings::new(Arc::new(Policy::default()));
    for (rule, line) in [(Rule::LocHost, 3), (Rule::LocHost, 4), (Rule::FileNear, 0)] {
        findings.add(rule, || Finding {
            rule,
            file: "https://www.example.com/a,b.xml".into(),
            at: (line > 0).then_some(Position { line, column: 7 }),
            message: "\"\u{1b}[2J<b>\n100%\" is\u{202e} @wrong".to_owned(),
            invalid: false,
        });
    }
    let work = Work {
        sitemaps: 1,
        urls: 28_114,
        requests: 9,
        bytes: 1_200_000,
        seconds: 3.12,
        ..Work::default()
    };
    Report {
        findings,
        work,
        fails_from: Some(Severity::Error),
    }
}

#[test]
fn people_see_places_counts_and_no_control_characters() {
    let [host, near] = [Rule::LocHost, Rule::FileNear].map(|rule| rule.info().why);
    let text = format!(
        "https://www.example.com/a,b.xml:3:7: error loc.host: \"\\u{{1b}}[2J<b>\\n100%\" is\\u{{202e}} @wrong\n\
         https://www.example.com/a,b.xml: note file.near: \"\\u{{1b}}[2J<b>\\n100%\" is\\u{{202e}} @wrong\n\
         by rule, the worst first:\n\
         \u{20} error loc.host: 2 findings (1 shown): {host}\n\
         \u{20} note file.near: 1 finding: {near}\n\
         1 sitemap, 28,114 URLs, 2 errors, 0 warnings, 1 note in 3.1 s (9 requests, 1.2 MB)\n"
    );
    assert_eq!(report().written(Format::Text, 1), text);
    // All are seen at a glance.
    assert!(!report().written(Format::Text, 2).contains("by rule"));
}

#[test]
fn json_has_every_finding_and_the_totals() {
    let json: Value = serde_json::from_str(&report().written(Format::Json, 50)).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(finding["rule"], "loc.host");
    assert_eq!(finding["severity"], "error");
    assert_eq!(
        (&finding["line"], &finding["column"]),
        (&json!(3), &json!(7))
    );
    assert_eq!(json["findings"][2].get("line"), None);
    assert_eq!(json["counts"], json!({"loc.host": 2, "file.near": 1}));
    assert_eq!(json["totals"]["errors"], 2);
    let lines = report().written(Format::Jsonl, 50);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3]["totals"]["urls"], 28_114);
}

#[test]
fn foreign_text_is_no_markup_and_no_command() {
    let github = report().written(Format::Github, 1);
    assert_eq!(
        github.lines().next().unwrap(),
        "::error file=https%3A//www.example.com/a%2Cb.xml,line=3,col=7,title=loc.host::\
         \"\\u{1b}[2J<b>\\n100%25\" is\\u{202e} @wrong"
    );
    assert_eq!(github.lines().count(), 2);
    let markdown = report().written(Format::Markdown, 1);
    assert!(markdown.contains("&lt;b\\>"), "{markdown}");
    assert!(!markdown.contains("@wrong"), "{markdown}");
}

#[test]
fn sarif_has_rules_results_and_places() {
    let mut report = report();
    report.findings.add(Rule::LocForm, || Finding {
        rule: Rule::LocForm,
        file: "build/a b#1.xml".into(),
        at: None,
        message: "\"{0} [x](http://evil.example)\" has a character".to_owned(),
        invalid: false,
    });
    let log: Value = serde_json::from_str(&report.written(Format::Sarif, 1)).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(
            run["tool"]["driver"]["rules"][index]["id"],
            result["ruleId"]
        );
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["region"], json!({"startLine": 3, "startColumn": 7}));
    assert_eq!(
        place["artifactLocation"]["uri"],
        "https://www.example.com/a,b.xml"
    );
    assert_eq!(results[1]["level"], "note");
    assert_eq!(
        results[2]["message"]["text"],
        "\"{{0}} \\[x\\](http://evil.example)\" has a character"
    );
    assert_eq!(
        results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "build/a%20b%231.xml"
    );
    let cut = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(cut, "loc.host: 2 findings, of which 1 are in this file");
}

#[test]
fn junit_fails_as_the_command_does() {
    let mut report = report();
    let xml = report.written(Format::Junit, 1);
    let cases = xml.matches("<testcase ").count();
    assert!(xml.contains(&format!("tests=\"{cases}\" failures=\"1\"")));
    assert!(
        xml.contains("<failure type=\"error\" message=\"2 findings. List the URL in a sitemap"),
        "{xml}"
    );
    assert!(
        xml.contains("&quot;\\u{1b}[2J&lt;b&gt;\\n100%&quot; is\\u{202e} @wrong\n"),
        "{xml}"
    );
    // A note is no failure, and is shown.
    assert_eq!(xml.matches("<failure ").count(), 1);
    assert_eq!(xml.matches("<system-out>").count(), 1);
    report.fails_from = None;
    assert!(!report.written(Format::Junit, 1).contains("<failure"));
    assert!(!report.fails());
    report.fails_from = Some(Severity::Note);
    assert!(report.written(Format::Junit, 1).contains("failures=\"2\""));
    assert!(report.fails());
}

#[test]
fn an_address_without_a_scheme_is_no_link_in_markdown() {
    let mut report = report();
    report.findings.add(Rule::LocForm, || Finding {
        rule: Rule::LocForm,
        file: "a.xml".into(),
        at: None,
        message: "WWW.evil.example".to_owned(),
        invalid: false,
    });
    let markdown = report.written(Format::Markdown, 5);
    assert!(markdown.contains("WWW&#46;evil.example"), "{markdown}");
}
