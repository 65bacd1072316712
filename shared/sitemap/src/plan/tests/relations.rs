//! Archives, translations and parts.

use serde_json::{Value, json};

use super::super::*;
use super::{NOW, assessed, links, names, page, planned, planned_on, record, site};
use crate::eligibility::Newest;
use crate::loc::Loc;
use crate::record::ContentRecord;
use crate::time::When;

#[test]
fn a_page_is_in_the_archives_of_its_terms_while_it_is_listed() {
    let fields = |terms: Value| json!({"terms": terms});
    let plan = |fields: Value, ledger: &Ledger| planned_on(json!({}), fields, ledger, NOW, |_| {});
    let first = plan(
        fields(json!({"tag": ["a", "b", "a"], "author": ["jane"]})),
        &Ledger::default(),
    );
    assert_eq!(
        names(&first),
        [
            "+Claim",
            "+TermMember",
            "+TermMember",
            "+TermMember",
            "Replace"
        ]
    );
    let ledger = first.ledger.unwrap();
    let second = plan(fields(json!({"tag": ["b", "c"]})), &ledger);
    assert_eq!(
        names(&second),
        ["+TermMember", "-TermMember", "-TermMember"]
    );
    let newer = plan(
        json!({"terms": {"tag": ["b"]}, "modified_at": "2026-05-05"}),
        &second.ledger.unwrap(),
    );
    assert_eq!(
        names(&newer),
        ["+TermMember", "-TermMember", "-TermMember", "Replace"]
    );
    let gone = plan(
        json!({"terms": {"tag": ["b"]}, "noindex": true}),
        &newer.ledger.unwrap(),
    );
    assert_eq!(
        names(&gone),
        ["+LeftOut", "-Claim", "-TermMember", "Remove"]
    );
}

#[test]
fn an_archive_is_listed_with_its_newest_pages_lastmod_and_is_in_none_itself() {
    let fields = json!({"archive_of": {"taxonomy": "tag", "term": "a"}, "terms": {"tag": ["b"]}});
    let plan = |ledger: &Ledger, newest| {
        planned_on(json!({}), fields.clone(), ledger, NOW, |given| {
            given.newest = newest
        })
    };
    let empty = plan(&Ledger::default(), Newest::Nobody);
    assert_eq!(names(&empty), ["+Archive", "+LeftOut"]);
    let ledger = empty.ledger.unwrap();
    assert_eq!(ledger.refused.as_ref().unwrap().0, "empty_archive");
    let listed = plan(&ledger, Newest::Page(Some(When::at(5))));
    assert_eq!(names(&listed), ["+Claim", "-LeftOut", "Replace"]);
    let xml = listed.changes.iter().find_map(|change| match change {
        Change::Replace(_, rendered) => Some(rendered.xml.clone()),
        _ => None,
    });
    assert!(
        xml.unwrap()
            .contains("<lastmod>1970-01-01T00:00:05+00:00</lastmod>")
    );
    assert_eq!(
        names(&plan(&listed.ledger.unwrap(), Newest::Nobody)),
        ["+LeftOut", "-Claim", "Remove"]
    );
}

fn translation(language: &str, path: &str, x_default: bool) -> Translation {
    let href = Loc::parse_any(&format!("https://www.example.com/{path}")).unwrap();
    Translation {
        language: language.to_owned(),
        href,
        x_default,
    }
}

#[test]
fn each_member_of_a_group_lists_itself_and_all_others() {
    let fields = json!({"language": "en", "translation_group": "g", "x_default": true});
    let plan = |group: &Translations, ledger: &Ledger| {
        planned_on(json!({}), fields.clone(), ledger, NOW, |given| {
            given.group = group.clone()
        })
    };
    let alone = plan(&Translations::default(), &Ledger::default());
    assert_eq!(
        (names(&alone), links(&alone).len()),
        (
            vec![
                "+Claim".to_owned(),
                "+GroupMember".to_owned(),
                "Replace".to_owned()
            ],
            0
        )
    );
    let mut group = Translations::from([
        ("post/2".to_owned(), translation("de", "de", false)),
        ("post/3".to_owned(), translation("DE", "de-too", false)),
        ("post/4".to_owned(), translation("fr", "fr", true)),
    ]);
    let all = plan(&group, &Ledger::default());
    assert_eq!(links(&all), ["de", "en", "fr", "x-default"]);
    assert_eq!(all.ledger.as_ref().unwrap().notes, [""; 0]);
    let mut marked = group.clone();
    marked.insert("post/0".to_owned(), translation("it", "it", true));
    let second = plan(&marked, &Ledger::default());
    let notes = second.ledger.unwrap().notes;
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].starts_with("x_default: left out, post/0"),
        "{notes:?}"
    );
    // The result is the same whether its own row is among the read ones or not.
    group.insert(
        "post/1".to_owned(),
        translation("en", "an-old-address", false),
    );
    assert_eq!(links(&plan(&group, &Ledger::default())), links(&all));
    // Another page in the same language has the place.
    group.insert("post/0".to_owned(), translation("en", "en", false));
    let second = plan(&group, &Ledger::default());
    assert_eq!(links(&second), Vec::<String>::new());
    assert!(second.ledger.unwrap().notes[0].contains("post/0 is its page in en"));
    let left = planned_on(json!({}), json!({}), &all.ledger.unwrap(), NOW, |_| {});
    assert_eq!(names(&left), ["-GroupMember", "Replace"]);
}

#[test]
fn who_finds_a_group_full_waits() {
    let languages = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}a{b}")));
    let member = |(i, language): (usize, String)| {
        (
            format!("post/0{i}"),
            translation(&language, &language, false),
        )
    };
    let full: Translations = languages.take(MAX_GROUP).enumerate().map(member).collect();
    let fields = json!({"language": "en", "translation_group": "g"});
    let plan = |ledger: &Ledger, group: &Translations| {
        planned_on(json!({}), fields.clone(), ledger, NOW, |given| {
            given.group = group.clone()
        })
    };
    let waiting = plan(&Ledger::default(), &full);
    assert_eq!(names(&waiting), ["+Claim", "+GroupWaiter", "Replace"]);
    let ledger = waiting.ledger.unwrap();
    let mut room = full.clone();
    room.pop_last();
    assert_eq!(
        names(&plan(&ledger, &room)),
        ["+GroupMember", "-GroupWaiter", "Replace"]
    );
}

#[test]
fn parts_are_pages_of_their_own_and_are_found_until_they_are_cleared() {
    let site = site();
    let three = record(
        json!({"pages": 3, "url": "https://www.example.com/a/", "images": [{"url": "https://i.example/1"}]}),
    );
    let first = planned(Some(&three), &Ledger::default(), Claim::Free);
    assert_eq!(first.ledger.as_ref().unwrap().parts, 3);
    let part = |record: &ContentRecord, part, ledger: &Ledger| {
        let page = assessed(Some(record), part, &site, NOW);
        plan("post/1", &Inputs::of(&page, ledger, &Claim::Free))
    };
    let second = part(&three, 2, &Ledger::default());
    assert_eq!(names(&second), ["+Claim", "Insert"]);
    assert_eq!(
        second
            .ledger
            .as_ref()
            .unwrap()
            .claim
            .as_ref()
            .unwrap()
            .loc
            .as_str(),
        "https://www.example.com/a/2/"
    );
    assert!(!format!("{:?}", second.changes).contains("image"));
    assert_eq!(part(&three, 4, &Ledger::default()).ledger, None);
    let two = record(json!({"pages": 2, "url": "https://www.example.com/a/"}));
    let ledger = Ledger {
        parts: 3,
        ..Ledger::default()
    };
    let shorter = page(Some(&two), &site);
    let inputs = Inputs::of(&shorter, &ledger, &Claim::Free);
    assert_eq!(plan("post/1", &inputs).ledger.unwrap().parts, 2);
    let inputs = Inputs { left: 3, ..inputs };
    assert_eq!(plan("post/1", &inputs).ledger.unwrap().parts, 3);
    let nobody = page(None, &site);
    let gone = Inputs::of(&nobody, &ledger, &Claim::Unread);
    assert_eq!(gone.page.last_part(&ledger), Some(1));
    assert_eq!(plan("post/1", &gone).ledger, None);
    let gone = Inputs { left: 3, ..gone };
    assert_eq!(plan("post/1", &gone).ledger.unwrap().parts, 3);
}
