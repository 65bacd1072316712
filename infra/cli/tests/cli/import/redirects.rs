//! Redirects of other systems.

use super::*;

/// Returns the addresses of the records, and what became of them.
fn imported(
    text: &str,
    options: &[&str],
) -> (BTreeMap<String, String>, BTreeMap<String, u64>, i32) {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "redirects", text);
    let arguments = [&[file.as_str()][..], options].concat();
    let (records, report, status) = import(&arguments);
    let of = |record: &Value| {
        let url = record["url"].as_str().unwrap().to_owned();
        let id = url.trim_start_matches("https://");
        assert_eq!(record["id"], format!("redirect/{id}"));
        assert_eq!(record["type"], "redirect");
        let became = match record["gone"].as_bool() {
            Some(true) => "gone",
            _ => record["moved_to"].as_str().unwrap(),
        };
        (url, became.to_owned())
    };
    (
        records.iter().map(of).collect(),
        counts(&report["skipped"]),
        status,
    )
}

fn texts<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(a, b)| (a.to_owned(), b.to_owned())).into()
}

fn numbers<const N: usize>(pairs: [(&str, u64); N]) -> BTreeMap<String, u64> {
    pairs.map(|(a, b)| (a.to_owned(), b)).into()
}

const SITE: [&str; 2] = ["--site", "www.example.com"];
const PERMANENT: &str = "which is neither a permanent move nor gone";

#[test]
fn a_table_of_yoast_seo_is_read() {
    let text = "Origin,Target,Type,Format\nold,new,301,plain\nrecalled,,410,plain\n/a/,https://other.example/b,301,plain\n\
                ^x(.*),y,301,regex\nt,u,302,plain\nlaw,,451,plain\nold,third,301,plain\n";
    let (records, skipped, status) = imported(text, &SITE);
    let expected = [
        ("https://www.example.com/old", "https://www.example.com/new"),
        ("https://www.example.com/recalled", "gone"),
        ("https://www.example.com/a/", "https://other.example/b"),
    ];
    assert_eq!((records, status), (texts(expected), 0));
    let expected = [
        ("a rule for a pattern of addresses", 1),
        ("its address was there before", 1),
        (&format!("its status is 302, {PERMANENT}"), 1),
        (&format!("its status is 451, {PERMANENT}"), 1),
    ];
    assert_eq!(skipped, numbers(expected));
}

#[test]
fn a_table_of_redirection_is_read() {
    let text = "source,target,regex,code,type,hits,title,status\n\"/old\",\"/new?a=b\",0,301,\"url\",7,\"\",\"active\"\n\
                \"/gone\",\"\",0,410,\"error\",0,\"\",\"active\"\n\"/r/(.*)\",\"/s/$1\",1,301,\"url\",0,\"\",\"active\"\n\
                \"/off\",\"/new\",0,301,\"url\",0,\"\",\"disabled\"\n\"/pass\",\"/new\",0,301,\"pass\",0,\"\",\"active\"\n\
                \"/t\",\"/new\",0,307,\"url\",0,\"\",\"active\"\n\"/missing\",\"\",0,404,\"error\",0,\"\",\"active\"\n\
                \"/none\",\"\",0,301,\"url\",0,\"\",\"active\"\n";
    let (records, skipped, status) = imported(text, &SITE);
    let expected = [
        (
            "https://www.example.com/old",
            "https://www.example.com/new?a=b",
        ),
        ("https://www.example.com/gone", "gone"),
    ];
    assert_eq!((records, status), (texts(expected), 0));
    let expected = [
        ("a move without a target", 1),
        ("a rule for a pattern of addresses", 1),
        ("a rule that is disabled", 1),
        ("a rule that neither redirects nor ends an address", 1),
        (&format!("its status is 307, {PERMANENT}"), 1),
        (&format!("its status is 404, {PERMANENT}"), 1),
    ];
    assert_eq!(skipped, numbers(expected));
    let (records, skipped, _) = imported("source,target,regex\n/a,/b,\n/c.*,/d,\n", &SITE);
    assert_eq!((records.len(), skipped.len()), (1, 1));
}

#[test]
fn a_table_of_shopify_is_read() {
    let text =
        "Redirect from,Redirect to\n/products/old,/products/new\n/x,https://other.example/\n";
    let (records, skipped, status) = imported(text, &SITE);
    let expected = [
        (
            "https://www.example.com/products/old",
            "https://www.example.com/products/new",
        ),
        ("https://www.example.com/x", "https://other.example/"),
    ];
    assert_eq!(
        (records, skipped, status),
        (texts(expected), numbers([]), 0)
    );
}

#[test]
fn rules_of_netlify_are_read() {
    let text = "# moved\n/old  /new  301!\n\n/b https://other.example/c # why\n/blog/* /news/:splat\n/y/:year /z\n/q id=7 /p 301\n\
                /de /german 302 Language=de\n/t /u 302\n/app /index.html 200\n/lonely\nhttps://www.example.com/abs /new 308\n";
    let (records, skipped, status) = imported(text, &SITE);
    let expected = [
        ("https://www.example.com/old", "https://www.example.com/new"),
        ("https://www.example.com/b", "https://other.example/c"),
        ("https://www.example.com/abs", "https://www.example.com/new"),
    ];
    assert_eq!((records, status), (texts(expected), 0));
    let expected = [
        ("a move without a target", 1),
        ("a rule for a pattern of addresses", 2),
        ("a rule for parameters", 1),
        ("a rule with conditions", 1),
        (&format!("its status is 200, {PERMANENT}"), 1),
        (&format!("its status is 302, {PERMANENT}"), 1),
    ];
    assert_eq!(skipped, numbers(expected));
}

#[test]
fn a_relative_address_needs_a_site() {
    let (records, skipped, status) = imported("/old /new\n", &[]);
    let reason = "its address is relative: --site HOST says of which site it is";
    assert_eq!(
        (records.len(), skipped, status),
        (0, numbers([(reason, 1)]), 2)
    );
}

#[test]
fn a_page_keeps_its_own_record_beside_a_redirect() {
    let folder = tempfile::tempdir().unwrap();
    let rules = write(&folder, "_redirects", "/old /new\n");
    let pages = write(&folder, "pages.txt", "https://www.example.com/old\n");
    let (records, _, status) = import(&[&rules, &pages, SITE[0], SITE[1]]);
    assert_eq!(status, 0);
    let ids: Vec<&str> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["redirect/www.example.com/old", "www.example.com/old"]);
}

#[test]
fn targets_are_replaced_as_addresses_are() {
    let map = [
        "--map-url",
        "https://staging.example=https://www.example.com",
    ];
    let text = "https://staging.example/old https://staging.example/new\n";
    let (records, ..) = imported(text, &[&map[..], &["--from", "redirects"]].concat());
    let expected = [("https://www.example.com/old", "https://www.example.com/new")];
    assert_eq!(records, texts(expected));
}
