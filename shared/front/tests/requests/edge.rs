//! Paths that name the site, as the stack's own distribution sends them.

use front::{EDGE_PREFIX, SITE_HOST_HEADER};
use http::Method;

use crate::fixture::*;

/// Returns the path that the distribution's function makes of a viewer's path.
fn edge(site: &str, kind: &str, path: &str) -> String {
    format!("{EDGE_PREFIX}{site}/{kind}{path}")
}

#[tokio::test]
async fn a_path_that_names_a_site_is_answered_as_its_headers_would_be() {
    let fixture = Fixture::new();
    let mut found = 0;
    for path in front::example_paths() {
        for (kind, dest) in [("document", &[][..]), ("view", &[NAVIGATION])] {
            for headers in [&[][..], &[GZIP], &[("accept-encoding", "br,gzip")]] {
                let expected = fixture.get(&path, &[dest, headers].concat()).await;
                let answer = fixture
                    .send(Method::GET, &edge(SITE, kind, &path), headers)
                    .await;
                assert_eq!(
                    (answer.status, &answer.headers, &answer.body),
                    (expected.status, &expected.headers, &expected.body),
                    "{kind} {path} {headers:?}"
                );
                found += usize::from(answer.status == 200);
                for (name, value) in &answer.headers {
                    let value = value.to_str().unwrap();
                    assert!(!value.contains(EDGE_PREFIX), "{path} {name}: {value}");
                }
            }
        }
    }
    assert!(found > 20, "{found}");
}

#[tokio::test]
async fn conditions_are_answered_and_other_headers_are_not_read() {
    let fixture = Fixture::new();
    let path = edge(SITE, "document", "/post-sitemap.xml");
    let get = async |headers: &[(&str, &str)]| fixture.send(Method::GET, &path, headers).await;
    let plain = get(&[]).await;
    let tag = plain.header("etag").unwrap();
    assert_eq!(get(&[("if-none-match", tag)]).await.status, 304);
    let date = plain.header("last-modified").unwrap();
    assert_eq!(get(&[("if-modified-since", date)]).await.status, 304);
    for header in [NAVIGATION, ("user-agent", "Googlebot/2.1"), ("cookie", "a")] {
        let answer = get(&[header]).await;
        assert_eq!(
            (&answer.headers, &answer.body),
            (&plain.headers, &plain.body)
        );
    }
    let view = edge(SITE, "view", "/post-sitemap.xml?view=xml");
    let agent = [("user-agent", "Googlebot/2.1")];
    let answer = fixture.send(Method::GET, &view, &agent).await;
    assert_eq!(
        answer.header("content-type"),
        Some("text/html; charset=utf-8"),
        "the distribution's function has decided"
    );
}

#[tokio::test]
async fn a_viewer_names_no_site_in_the_path() {
    let fixture = Fixture::new();
    let prefixed = edge(SITE, "document", "/post-sitemap.xml");
    // A CDN that sets the header passes on the viewer's path. This includes an invalid header.
    for named in ["other.example", SITE, "", ".."] {
        let headers = [(SITE_HOST_HEADER, named)];
        let answer = fixture.send(Method::GET, &prefixed, &headers).await;
        assert_eq!(answer.status, 404, "{named}");
    }
    // The distribution's function adds its prefix even to a viewer's path that has one.
    for site in [SITE, "other.example"] {
        let answer = fixture
            .send(Method::GET, &edge(site, "document", &prefixed), &[])
            .await;
        assert_eq!(answer.status, 404, "{site}");
    }
}

#[tokio::test]
async fn a_malformed_path_names_no_site() {
    let fixture = Fixture::new();
    let mut paths: Vec<String> = ["_", "", "..", "WWW.example.com", "a_b", "a%2fb"]
        .map(|site| edge(site, "document", "/sitemap.xml"))
        .into();
    paths.extend(["", "View", "other", "%76iew"].map(|kind| edge(SITE, kind, "/sitemap.xml")));
    paths.extend(["", "/", "//sitemap.xml"].map(|path| edge(SITE, "document", path)));
    paths.push(EDGE_PREFIX.to_owned());
    paths.push(format!("{EDGE_PREFIX}{SITE}"));
    paths.push(format!("/{EDGE_PREFIX}{SITE}/document/sitemap.xml"));
    for path in paths {
        let answer = fixture.send(Method::GET, &path, &[]).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    let named = fixture
        .send(Method::GET, &edge(SITE, "view", "/sitemap.xml"), &[])
        .await;
    assert_eq!(named.status, 301, "and this one does");
}
