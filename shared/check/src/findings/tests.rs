use super::*;

fn add(findings: &mut Findings, rule: Rule, file: &Arc<str>, count: u64) {
    for number in 0..count {
        findings.add_in(file, rule, || Finding {
            rule,
            file: file.clone(),
            at: None,
            message: number.to_string(),
            invalid: false,
        });
    }
}

fn kept_of(findings: &Findings, rule: Rule, file: &str) -> u64 {
    let kept = findings.kept().iter();
    let here = kept.filter(|finding| finding.rule == rule && &*finding.file == file);
    here.count() as u64
}

fn none() -> Findings {
    Findings::new(Arc::new(Policy::default()))
}

#[test]
fn a_noisy_document_hides_no_other() {
    let mut all = none();
    for (file, count) in [("a.xml", 3 * MAX_KEPT), ("b.xml", 7), ("c.xml", MAX_KEPT)] {
        let mut findings = none();
        add(&mut findings, Rule::LocHost, &file.into(), count);
        all.append(findings);
    }
    assert_eq!(all.count(Rule::LocHost), 4 * MAX_KEPT + 7);
    assert_eq!(kept_of(&all, Rule::LocHost, "b.xml"), 7);
    // Both have the same share, which was halved twice.
    assert_eq!(kept_of(&all, Rule::LocHost, "a.xml"), MAX_KEPT / 4);
    assert_eq!(kept_of(&all, Rule::LocHost, "c.xml"), MAX_KEPT / 4);
    let first: Vec<_> = all.kept().iter().take(2).collect();
    assert_eq!((&*first[0].message, &*first[1].message), ("0", "1"));
    let mut counts: Vec<_> = all.by_document().collect();
    counts.sort();
    let expected = [("a.xml", 3 * MAX_KEPT), ("b.xml", 7), ("c.xml", MAX_KEPT)];
    let counts = counts.iter().map(|(_, file, count)| (&***file, *count));
    assert!(counts.eq(expected));
}

#[test]
fn a_noisy_rule_hides_no_other() {
    let mut findings = none();
    let file = "a.xml".into();
    add(&mut findings, Rule::LocHost, &file, 2 * MAX_KEPT);
    add(&mut findings, Rule::LocForm, &file, 3);
    assert_eq!(kept_of(&findings, Rule::LocForm, "a.xml"), 3);
    assert!(kept_of(&findings, Rule::LocHost, "a.xml") <= MAX_KEPT);
}

#[test]
fn memory_is_bounded_with_more_documents_than_are_counted() {
    let mut findings = none();
    let files = MAX_TALLIES + 10;
    for number in 0..files {
        add(&mut findings, Rule::LocHost, &number.to_string().into(), 1);
    }
    assert_eq!(findings.count(Rule::LocHost), files as u64);
    assert!(findings.kept().len() as u64 <= MAX_KEPT);
    assert!(!findings.kept().is_empty());
    assert_eq!(findings.by_document().count(), MAX_TALLIES);
}

#[test]
fn what_was_not_checked_is_kept_once_and_counted() {
    let limited = |number: usize| {
        Unchecked::Limited(Limited {
            place: number.to_string().into(),
            rest: "the other sitemaps",
            value: 1,
            unit: "sitemaps of a target",
            option: None,
        })
    };
    let mut findings = none();
    for number in 0..MAX_UNCHECKED + 2 {
        findings.leave(limited(number));
        findings.leave(limited(0));
    }
    let mut all = none();
    all.append(findings);
    let (kept, more) = all.unchecked();
    assert_eq!((kept.len(), more), (MAX_UNCHECKED, 2));
}

#[test]
fn moved_findings_count_also_where_they_are_not_kept() {
    let mut findings = none();
    add(&mut findings, Rule::LocHost, &"a.xml".into(), 2 * MAX_KEPT);
    let moved = findings.moved_to(Rule::ScopeUnknown, "!");
    assert_eq!(moved.count(Rule::ScopeUnknown), 2 * MAX_KEPT);
    assert_eq!(moved.by_document().count(), 1);
    assert_eq!(moved.kept()[0].message, "0!");
}
