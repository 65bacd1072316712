//! Archives and the front page, which are no posts.

use serde_json::{Value, json};

use super::{FOOD, HOME, PAGE, POST, Post, SITE, export, ids, paths, read};
use crate::import::{counts, expected, find, import, write};

#[test]
fn without_permalinks_queries_are_addresses() {
    let head = "<wp:author><wp:author_id>3</wp:author_id><wp:author_login>mo</wp:author_login></wp:author>\
        <wp:category><wp:term_id>4</wp:term_id><wp:category_nicename>food</wp:category_nicename></wp:category>\
        <wp:tag><wp:term_id>5</wp:term_id><wp:tag_slug>rye</wp:tag_slug></wp:tag>";
    let rye = format!("{FOOD}<category domain='post_tag' nicename='rye'>Rye</category>");
    let posts = [
        Post {
            path: "/?p=7",
            more: &rye,
            ..POST
        },
        Post {
            id: 8,
            path: "/?page_id=8",
            ..PAGE
        },
        Post {
            id: 9,
            type_name: "recipe",
            path: "/?recipe=bread",
            ..POST
        },
    ];
    let (records, report) = read(head, &posts, &["--archives"]);
    assert_eq!(paths(&records, "recipe"), ["/?recipe=bread"]);
    assert_eq!(paths(&records, "category"), ["/?cat=4"]);
    assert_eq!(paths(&records, "post_tag"), ["/?tag=rye"]);
    assert_eq!(paths(&records, "author"), ["/?author=3"]);
    assert_eq!(counts(&report["skipped"]), expected([]));
}

#[test]
fn archives_are_where_the_addresses_of_posts_show_it() {
    let head = "<wp:category><wp:term_id>4</wp:term_id><wp:category_nicename>food</wp:category_nicename></wp:category>\
        <wp:category><wp:term_id>5</wp:term_id><wp:category_nicename>soup</wp:category_nicename>\
        <wp:category_parent>food</wp:category_parent></wp:category>";
    let soup = "<category domain='category' nicename='soup'>Soup</category>\
        <category domain='post_tag' nicename='%e6%97%a5'>Day</category>";
    for (bread, broth, front, slash) in [
        ("/bread/", "/broth/", "/", "/"),
        ("/bread", "/broth", "/", ""),
        ("/2026/03/bread/", "/2026/04/broth/", "/", "/"),
        ("/blog/bread/", "/blog/broth/", "/blog/", "/"),
        ("/archives/7", "/archives/8", "/archives/", ""),
        (
            "/index.php/2026/03/03/bread/",
            "/index.php/2026/04/03/broth/",
            "/index.php/",
            "/",
        ),
        ("/food/bread/", "/food/soup/broth/", "/", "/"),
    ] {
        let posts = [
            Post {
                path: bread,
                more: FOOD,
                ..POST
            },
            Post {
                id: 8,
                path: broth,
                slug: "broth",
                dates: ("2026-04-03 10:00:00", "2026-04-03 08:00:00"),
                author: "Jo Berg",
                more: soup,
                ..POST
            },
        ];
        let (records, report) = read(head, &posts, &["--archives"]);
        let at = |path: &str| format!("{front}{path}{slash}");
        assert_eq!(
            paths(&records, "category"),
            [at("category/food"), at("category/food/soup")],
            "{bread}"
        );
        assert_eq!(
            paths(&records, "post_tag"),
            [at("tag/%e6%97%a5")],
            "{bread}"
        );
        assert_eq!(
            paths(&records, "author"),
            [at("author/jo-berg"), at("author/mo")],
            "{bread}"
        );
        assert_eq!(counts(&report["skipped"]), expected([]), "{bread}");
        // They are made, so the report says where to look.
        let notes = counts(&report["notes"]);
        assert_eq!(
            notes["address of category archives, as WordPress makes it"], 2,
            "{bread}"
        );
    }
}

#[test]
fn archives_are_not_guessed() {
    let head = "<wp:category><wp:term_id>4</wp:term_id><wp:category_nicename>food</wp:category_nicename></wp:category>";
    let term = |taxonomy: &str| {
        format!("{FOOD}<category domain='{taxonomy}' nicename='rye'>Rye</category>")
    };
    let two = "the addresses of posts can be read in two ways: --archive-url category=/…/ says it";
    let none =
        "the addresses of posts do not show where they are: --archive-url category=/…/ says it";
    let no_post = "no published post shows where they are: --archive-url category=/…/ says it";
    for (posts, why) in [
        // A category, or what all posts have?
        (
            vec![Post {
                path: "/food/bread/",
                more: FOOD,
                ..POST
            }],
            two,
        ),
        (
            vec![
                Post {
                    path: "/a/bread/",
                    more: FOOD,
                    ..POST
                },
                Post {
                    path: "/b/bread/",
                    ..POST
                },
            ],
            none,
        ),
        (vec![Post { more: FOOD, ..PAGE }], no_post),
        (
            vec![
                Post {
                    status: "private",
                    more: FOOD,
                    ..POST
                },
                HOME,
            ],
            no_post,
        ),
    ] {
        let (records, report) = read(head, &posts, &["--archives"]);
        assert_eq!(paths(&records, "category"), [""; 0], "{why}");
        let skipped = counts(&report["skipped"]);
        assert_eq!(
            skipped.get(&format!("archives of category: {why}")),
            Some(&1),
            "{skipped:?}"
        );
        let options = ["--archives", "--archive-url", "category=/topics/{slug}/"];
        let (records, _) = read(head, &posts, &options);
        assert_eq!(paths(&records, "category"), ["/topics/food/"], "{why}");
    }
    // An export of posts alone has no terms, so that nobody knows what is above them.
    let genre = term("genre");
    let posts = [
        HOME,
        Post {
            more: &genre,
            ..POST
        },
    ];
    let (records, report) = read(
        "",
        &posts,
        &["--archives", "--archive-url", "genre=/?g={id}"],
    );
    assert_eq!(ids(&records), ["page/1", "post/7", "author/mo"]);
    let skipped = expected([
        (
            "archives of category: the terms above it are not in the export; if there are none, \
             --archive-url category=/…/ with {slug} says so",
            1,
        ),
        ("archives of genre: its number is not in the export", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
    let (_, report) = read(
        "",
        &posts,
        &["--archives", "--archive-url", "category=/category/{slug}/"],
    );
    let skipped = expected([(
        "archives of genre: an export does not say where they are: --archive-url genre=/…/ says it",
        1,
    )]);
    assert_eq!(counts(&report["skipped"]), skipped);
}

#[test]
fn logins_are_not_published() {
    let by = |id, author| Post { id, author, ..POST };
    let posts = [
        HOME,
        by(7, "ana@lantern.example"),
        by(8, "Jonas Berg"),
        by(9, "Tom.Ray"),
        by(10, "tom ray"), // the slug of one of them ends with -2
        by(11, "Jürgen"),
        by(12, ""),
        Post {
            id: 13,
            author: "Pages.Only",
            ..PAGE
        },
        Post {
            more: "<category domain='author' nicename='cap-guest-one'>Guest</category>",
            ..by(14, "mo")
        },
    ];
    let (records, report) = read("", &posts, &["--archives"]);
    let authors = [
        "/author/analantern-example/",
        "/author/guest-one/",
        "/author/jonas-berg/",
    ];
    assert_eq!(paths(&records, "author"), authors);
    let terms = |id: &str| find(&records, &format!("www.example.org/{id}"))["terms"].clone();
    assert_eq!(terms("post/7"), json!({"author": ["analantern-example"]}));
    assert_eq!(terms("post/14"), json!({"author": ["guest-one"]}));
    assert_eq!(
        (terms("post/11"), terms("post/12"), terms("page/13")),
        (Value::Null, Value::Null, Value::Null)
    );
    let text = serde_json::to_string(&json!([records, report])).unwrap();
    for login in [
        "ana@lantern.example",
        "Jonas Berg",
        "Tom.Ray",
        "Jürgen",
        "Pages.Only",
        "pages-only",
    ] {
        assert!(!text.contains(login), "{login} in {text}");
    }
    let skipped = expected([(
        "archives of author: the logins of several authors make this slug",
        1,
    )]);
    assert_eq!(counts(&report["skipped"]), skipped);
    assert_eq!(
        counts(&report["notes"])["its author, whose slug cannot be told from the login"],
        1
    );
}

#[test]
fn the_front_page_is_told() {
    let told = "the front page (--archives adds it)";
    let (records, report) = read("", &[POST], &[]);
    assert_eq!(
        (ids(&records), &report["notes"][told]["examples"]),
        (vec!["post/7"], &json!([format!("{SITE}/")]))
    );
    let (records, report) = read("", &[POST], &["--archives"]);
    assert_eq!(
        (paths(&records, "page"), &report["notes"][told]),
        (vec!["/"], &Value::Null)
    );
    assert_eq!(report["listed"], 3); // and the author's archive
    // A page of the export is the front page; it may be in another file.
    let folder = tempfile::tempdir().unwrap();
    let first = write(&folder, "1.xml", &export("", &[POST]));
    let second = write(&folder, "2.xml", &export("", &[HOME]));
    let (records, report, _) = import(&[&first, &second, "--archives"]);
    assert_eq!(
        (paths(&records, "page"), &report["notes"][told]),
        (vec!["/"], &Value::Null)
    );
    let draft = Post {
        status: "draft",
        ..HOME
    };
    let (_, report) = read("", &[POST, draft], &[]);
    assert_eq!(report["notes"][told]["count"], 1);
}

#[test]
fn several_files_have_one_set_of_archives() {
    let head = "<wp:category><wp:term_id>4</wp:term_id><wp:category_nicename>food</wp:category_nicename></wp:category>";
    let folder = tempfile::tempdir().unwrap();
    // The second file alone does not show where the archives are.
    let first = write(
        &folder,
        "1.xml",
        &export(
            head,
            &[Post {
                path: "/blog/bread/",
                ..POST
            }],
        ),
    );
    let second = write(
        &folder,
        "2.xml",
        &export(head, &[Post { more: FOOD, ..HOME }]),
    );
    let (records, report, _) = import(&[&first, &second, "--archives"]);
    assert_eq!(
        ids(&records),
        ["post/7", "page/1", "author/mo", "category/food"]
    );
    assert_eq!(paths(&records, "category"), ["/blog/category/food/"]);
    assert_eq!(counts(&report["skipped"]), expected([]));
}
