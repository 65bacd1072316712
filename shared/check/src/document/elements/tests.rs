//! Tests of the stream of elements, by tables of documents.

use super::*;
use crate::document::input::Limits;

/// Returns the trees of a document as text, or why reading ended.
fn trees(document: &str, oddities: Oddities) -> Result<Vec<String>, String> {
    let input = Input::open(document.as_bytes(), Limits::NONE);
    let text = |broken: Broken| broken.to_string();
    let mut elements = Elements::open(input, oddities).map_err(text)?;
    let mut trees = Vec::new();
    while let Some(tree) = elements.next().map_err(text)? {
        trees.push(shown(&tree));
    }
    Ok(trees)
}

fn shown(element: &Element) -> String {
    let attributes = element.attributes().iter();
    let attributes: String = attributes
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    let children: String = element.children().iter().map(shown).collect();
    format!(
        "({}{attributes} {}{children})",
        element.name(),
        element.text()
    )
}

#[test]
fn names_have_the_usual_prefix_of_their_namespace() {
    for (document, expected) in [
        (
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:x='http://www.google.com/schemas/sitemap-image/1.1'>\
             <url><loc>a</loc><x:image><x:loc>b</x:loc></x:image></url></urlset>",
            "(url (loc a)(image:image (image:loc b)))",
        ),
        (
            "<rss xmlns:wp='http://wordpress.org/export/1.2/' xmlns:e='http://wordpress.org/export/1.2/excerpt/' \
             xmlns:c='http://purl.org/rss/1.0/modules/content/'><channel><item><link>a</link><wp:status>b</wp:status>\
             <e:encoded>long</e:encoded><c:encoded>long</c:encoded><wp:comment><link>c</link></wp:comment></item></channel></rss>",
            "(item (link a)(wp:status b))",
        ),
        (
            "<rss xmlns='http://backend.userland.com/rss2'><channel><item><link>a</link></item></channel></rss>",
            "(item (link a))",
        ),
        (
            "<feed xmlns='http://purl.org/atom/ns#'><entry><link href='a'/></entry></feed>",
            "(atom:entry (atom:link href=a ))",
        ),
        (
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>\
             <item><link>a</link></item></rdf:RDF>",
            "(item (link a))",
        ),
        (
            "<urlset><url><a:x xmlns:a='urn:x'/><b:y/></url></urlset>",
            "(url (other:x )(b:y ))",
        ),
    ] {
        assert_eq!(
            trees(document, Oddities::Refused).unwrap(),
            [expected],
            "{document}"
        );
    }
}

#[test]
fn a_whole_text_has_that_of_all_elements_in_their_order() {
    for (inside, expected) in [
        ("Less <b>is</b> more", "Less is more"),
        (
            "<div xmlns='http://www.w3.org/1999/xhtml'>a<b>b<i>c</i></b>\n d </div>",
            "abc d",
        ),
        ("<b/><![CDATA[<x>]]> &amp;<b> y</b>", "<x> & y"),
        ("", ""),
    ] {
        let body = format!("<feed><title>{inside}</title></feed>");
        let input = Input::open(body.as_bytes(), Limits::NONE);
        let mut elements = Elements::open(input, Oddities::Refused).unwrap();
        let title = elements.next().unwrap().unwrap();
        assert_eq!(title.whole_text(), expected, "{inside}");
    }
}

#[test]
fn a_base_holds_in_its_element_alone() {
    let body = "<rss xml:base='a'><x xml:base='none'/><channel xml:base='b&amp;c'><item/><item/></channel>\
        <channel><item/></channel></rss>";
    let input = Input::open(body.as_bytes(), Limits::NONE);
    let mut elements = Elements::open(input, Oddities::Refused).unwrap();
    let mut found = Vec::new();
    while elements.next().unwrap().is_some() {
        found.push(elements.bases().collect::<Vec<_>>().join(" "));
    }
    assert_eq!(found, ["a b&c", "a b&c", "a"]);
}

#[test]
fn a_name_of_html_is_no_reference_of_xml() {
    for body in [
        "<urlset><a b='&eacute;'/></urlset>",
        "<urlset><a>&eacute;</a></urlset>",
    ] {
        let error = trees(body, Oddities::Refused).unwrap_err();
        assert!(error.contains("eacute"), "{error}");
    }
}

#[test]
fn an_oddity_is_kept_or_refused() {
    for (inside, kept, refused) in [
        (
            "x&nbsp;y",
            "(a x&nbsp;y)",
            "it has the reference \"nbsp\", which is unknown",
        ),
        ("<b c='&no;'/>", "(a (b c=&no; ))", "`no`"),
        ("<b c='1' c='2'/>", "(a (b c=1 ))", "uplicate"),
    ] {
        let document = format!("<urlset>\n<a>{inside}</a></urlset>");
        assert_eq!(trees(&document, Oddities::Kept).unwrap(), [kept]);
        let error = trees(&document, Oddities::Refused).unwrap_err();
        assert!(
            error.starts_with("line 2: ") && error.contains(refused),
            "{error}"
        );
    }
}

#[test]
fn what_cannot_be_read_on_says_where_and_why() {
    let deep = "<a>".repeat(MAX_DEPTH + 1);
    let large = format!(
        "<urlset><url>{}",
        "<a/>".repeat(MAX_TREE_BYTES / ELEMENT_BYTES)
    );
    let many: String = (0..=MAX_NAMESPACES)
        .map(|n| format!(" xmlns:n{n}='urn:{n}'"))
        .collect();
    for (document, expected) in [
        ("", "line 1: it has no root element"),
        (
            "\n<urlset><url>",
            "line 2: it is cut: it ends before </urlset>",
        ),
        ("<urlset>\n<ur", "line 2: it is cut or not well-formed"),
        ("<urlset>\n</url></urlset>", "line 2: "),
        (
            "<urlset/>\n<script/>",
            "line 2: it has <script> after the end of its root element",
        ),
        (&deep, "it has more than 64 nested elements"),
        (&large, "an entry of it is larger than 16 MiB"),
        (&format!("<urlset{many}/>"), "amespace"),
    ] {
        let error = trees(document, Oddities::Kept).unwrap_err();
        assert!(error.contains(expected), "{document:.80}: {error}");
    }
    assert!(trees("<urlset/>\n<!-- made by hand -->\n", Oddities::Refused).is_ok());
}

#[test]
fn a_root_is_found_behind_what_may_be_before_it() {
    for (head, expected) in [
        (
            "<?xml version='1.0'?>\n<?xml-stylesheet href='a'?><!-- <rss> --><sm:urlset a",
            None,
        ),
        (
            "<?xml version='1.0'?>\n<!-- <rss> --><sm:urlset xmlns:sm='x'>",
            Some("urlset"),
        ),
        ("<!DOCTYPE rss [<!ENTITY a '<feed>'>]> <rss>", Some("rss")),
        (" \n<feed/>", Some("feed")),
        ("<!doctype html><html>", Some("html")),
        ("urlset", None),
        ("", None),
    ] {
        assert_eq!(root_of(head.as_bytes()).as_deref(), expected, "{head}");
    }
}
