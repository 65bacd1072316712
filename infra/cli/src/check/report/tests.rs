//! The same findings in each form.

use std::sync::Arc;

use check::findings::{Broken, Limited, Policy, Position, Unchecked};

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
        hints: Vec::new(),
    }
}

#[test]
fn people_see_places_counts_and_no_control_characters() {
    let [host, near] = [Rule::LocHost, Rule::FileNear].map(|rule| rule.info().why);
    let text = format!(
        "https://www.example.com/a,b.xml:3:7: error loc.host: \"\\u{{1b}}[2J<b>\\n100%\" is\\u{{202e}} @wrong\n\
         https://www.example.com/a,b.xml: note file.near: \"\\u{{1b}}[2J<b>\\n100%\" is\\u{{202e}} @wrong\n\
         and 1 more of loc.host in https://www.example.com/a,b.xml\n\
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

fn noisy(documents: usize, of_each: usize) -> Report {
    let mut report = report();
    report.findings = Findings::new(Arc::new(Policy::default()));
    for document in 0..documents {
        for number in 0..of_each {
            report.findings.add(Rule::LocForm, || Finding {
                rule: Rule::LocForm,
                file: format!("products-{document}.xml").into(),
                at: None,
                message: number.to_string(),
                invalid: false,
            });
        }
    }
    report
}

#[test]
fn a_noisy_rule_and_a_noisy_document_hide_no_other() {
    let mut report = noisy(2, 362);
    report.findings.add(Rule::LocHost, || Finding {
        rule: Rule::LocHost,
        file: "a.xml".into(),
        at: None,
        message: "x".to_owned(),
        invalid: false,
    });
    let text = report.written(Format::Text, 50);
    for line in [
        "a.xml: error loc.host: x",
        "products-1.xml: error loc.form: 49",
        "and 312 more of loc.form in products-0.xml",
        "and 312 more of loc.form in products-1.xml",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    assert!(
        text.contains("loc.form: 724 findings (100 shown)"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&report.written(Format::Json, 50)).unwrap();
    assert_eq!(json["counts"]["loc.form"], 724);
    assert_eq!(
        json["omitted"][1],
        json!({"rule": "loc.form", "file": "products-1.xml", "count": 312})
    );
    let xml = report.written(Format::Junit, 50);
    assert!(
        xml.contains("and 312 more of loc.form in products-0.xml"),
        "{xml}"
    );
    assert!(report.fails());
}

#[test]
fn each_of_many_documents_has_the_same_share() {
    let report = noisy(300, 10);
    let shown = report.shown(50);
    // 500 lines for 300 documents.
    assert_eq!(shown.of_rule(Rule::LocForm), 300);
    let omitted = report.omitted(&shown, 20);
    assert_eq!(omitted.len(), 21);
    assert_eq!(
        omitted[0].to_string(),
        "and 9 more of loc.form in products-0.xml"
    );
    assert_eq!(
        omitted[20].to_string(),
        "and 2,520 more of loc.form in other documents"
    );
    assert_eq!(report.shown(u64::MAX).findings.len(), 3_000);
    assert_eq!(report.shown(0).findings.len(), 0);
}

#[test]
fn what_was_not_checked_is_told_in_each_form() {
    let mut report = report();
    let at = Position {
        line: 103,
        column: 40,
    };
    report.findings.leave(Unchecked::Broken(Broken {
        file: "products-4.xml".into(),
        at,
        entries: "URLs",
        before: 102,
        after: Some(49_898),
        is_estimate: false,
        cause: "& is written &amp;".into(),
    }));
    report.findings.leave(Unchecked::Limited(Limited {
        place: "https://www.example.com".into(),
        rest: "the other sitemaps were not checked",
        value: 20,
        unit: "sitemaps and indexes of a target",
        option: Some("--max-sitemaps"),
    }));
    report.hints.push("add --map a=b".to_owned());
    let limit = "https://www.example.com: the limit of 20 sitemaps and indexes of a target was reached, \
         so the other sitemaps were not checked: --max-sitemaps raises the limit";
    let broken = "49,898 of 50,000 URLs of products-4.xml could not be read after line 103: & is written &amp;";
    let text = report.written(Format::Text, 50);
    let end = format!("not checked:\n  {limit}\n  {broken}\nhint: add --map a=b\n1 sitemap");
    assert!(text.contains(&end), "{text}");
    let json: Value = serde_json::from_str(&report.written(Format::Json, 50)).unwrap();
    let limits = &json["limits"][0];
    assert_eq!(
        (&limits["limit"], &limits["option"]),
        (&json!(20), &json!("--max-sitemaps"))
    );
    assert_eq!(limits["message"], limit);
    let told = &json["broken"][0];
    assert_eq!(
        (&told["before"], &told["after"]),
        (&json!(102), &json!(49_898))
    );
    assert_eq!(
        (&told["line"], &told["estimate"]),
        (&json!(103), &json!(false))
    );
    assert_eq!(json["hints"], json!(["add --map a=b"]));
    let lines = report.written(Format::Jsonl, 50);
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["broken"], json["broken"]);
    let sarif: Value = serde_json::from_str(&report.written(Format::Sarif, 50)).unwrap();
    let notes = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes[1]["message"]["text"], broken);
    assert_eq!(
        notes[1]["locations"][0]["physicalLocation"]["region"]["startLine"],
        103
    );
    let markdown = report.written(Format::Markdown, 50);
    assert!(
        markdown.contains("- **not checked** 49,898 of 50,000 URLs of products-4.xml"),
        "{markdown}"
    );
    assert!(
        markdown.contains("&amp; is written &amp;amp;"),
        "{markdown}"
    );
    let xml = report.written(Format::Junit, 50);
    assert!(xml.contains("not checked: 49,898 of 50,000 URLs"), "{xml}");
    assert!(xml.contains("&amp; is written &amp;amp;"), "{xml}");
    let github = report.written(Format::Github, 50);
    let annotation =
        format!("::warning file=products-4.xml,line=103,col=40,title=not checked::{broken}\n");
    assert!(github.contains(&annotation), "{github}");
    assert!(
        github.ends_with("::notice title=hint::add --map a=b\n"),
        "{github}"
    );
}
