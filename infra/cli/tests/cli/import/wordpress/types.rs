//! Posts: types that are not public, pages that nobody finds, titles.

use serde_json::{Value, json};

use super::{HOME, PAGE, POST, Post, SITE, export, ids, read};
use crate::import::{counts, expected, find, import, write};

#[test]
fn types_without_pages_are_left_out() {
    let of = |type_name, path| Post {
        type_name,
        path,
        ..POST
    };
    let posts = [
        HOME,
        POST,
        of("acf-field-group", "/?post_type=acf-field-group&p=7"),
        of("elementor_library", "/?elementor_library=default-kit"),
        of("product_variation", "/product/rope/?attribute_length=10"),
        of("wp_navigation", "/2026/03/navigation/"),
        of("wp_global_styles", "/2026/03/wp-global-styles/"),
        Post {
            status: "inherit",
            ..of("attachment", "/bread/hero/")
        },
        Post {
            status: "wc-completed",
            ..of("shop_order", "/?post_type=shop_order&p=7")
        },
        // One of its posts shows it, and those that are drafts would look so anyway.
        Post {
            status: "draft",
            ..of("form", "/?post_type=form&p=7")
        },
        of("form", "/?post_type=form&p=7"),
        of("recipe", "/recipe/bread/"),
        of("recipe", "/recipe/cake/?lang=de"),
        Post {
            status: "draft",
            ..of("book", "/?post_type=book&p=7")
        },
    ];
    let (records, report) = read("", &posts, &[]);
    assert_eq!(
        ids(&records),
        ["page/1", "post/7", "recipe/7", "recipe/7", "book/7"]
    );
    let skipped = expected([
        ("acf-field-group is not public, by its addresses", 1),
        ("attachment is not a page", 1),
        ("elementor_library is not public, by its addresses", 1),
        ("form is not public, by its addresses", 2),
        ("product_variation is not a page", 1),
        ("shop_order is not public, by its addresses", 1),
        ("wp_global_styles is not a page", 1),
        ("wp_navigation is not a page", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
    // Nobody knows of a plugin's type whether its addresses answer.
    let notes = expected([("a sign that recipe is public (--types)", 2)]);
    assert_eq!(counts(&report["notes"]), notes);
    let examples = json!([
        format!("{SITE}/recipe/bread/"),
        format!("{SITE}/recipe/cake/?lang=de")
    ]);
    assert_eq!(
        report["notes"]["a sign that recipe is public (--types)"]["examples"],
        examples
    );
}

#[test]
fn the_user_says_which_types_are_imported() {
    let attachment = Post {
        id: 8,
        type_name: "attachment",
        status: "inherit",
        path: "/bread/hero/",
        ..POST
    };
    let posts = [
        HOME,
        POST,
        Post {
            id: 2,
            status: "draft",
            path: "/?p=2",
            slug: "",
            ..POST
        },
        Post {
            type_name: "recipe",
            path: "/?recipe=bread",
            ..POST
        },
        Post {
            parent: 7,
            ..attachment
        },
        Post {
            id: 9,
            parent: 2,
            ..attachment
        },
        Post {
            type_name: "wp_navigation",
            path: "/2026/03/navigation/",
            ..POST
        },
    ];
    let (records, report) = read(
        "",
        &posts,
        &["--types", "page,recipe", "--types", "attachment"],
    );
    assert_eq!(
        ids(&records),
        ["page/1", "recipe/7", "attachment/8", "attachment/9"]
    );
    let statuses: Vec<_> = records
        .iter()
        .map(|record| record["status"].as_str().unwrap())
        .collect();
    // An attachment has the status of the post it is under.
    assert_eq!(
        statuses,
        ["published", "published", "published", "published"]
    );
    let skipped = expected([
        ("post is not among --types", 2),
        ("wp_navigation is not among --types", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
    assert_eq!(counts(&report["notes"]), expected([]));
    let (records, _) = read("", &posts, &["--types", "post,attachment"]);
    assert_eq!(
        find(&records, "www.example.org/attachment/8")["status"],
        "published"
    );
    assert_eq!(
        find(&records, "www.example.org/attachment/9")["status"],
        "draft"
    );
}

#[test]
fn a_page_below_a_draft_is_public_if_its_address_has_its_number() {
    let below = |id, path| Post {
        id,
        parent: 2,
        path,
        ..PAGE
    };
    let draft = Post {
        id: 2,
        slug: "",
        status: "draft",
        path: "/?page_id=2",
        ..PAGE
    };
    let guide = Post {
        type_name: "guide",
        ..draft
    };
    let posts = [
        draft,
        below(3, "/?page_id=3"),
        // WordPress finds posts of other types by their slugs, even without permalinks.
        Post { id: 4, ..guide },
        Post {
            type_name: "guide",
            parent: 4,
            ..below(5, "/?guide=below")
        },
    ];
    let (records, _) = read("", &posts, &[]);
    for (id, status) in [("page/3", "published"), ("guide/5", "draft")] {
        let record = find(&records, &format!("www.example.org/{id}"));
        assert_eq!(record["status"], status, "{id}");
    }
}

#[test]
fn a_page_below_a_draft_without_a_slug_is_not_public() {
    let page = |id, parent, path, slug| Post {
        id,
        parent,
        path,
        slug,
        ..PAGE
    };
    let draft = |id, slug| Post {
        id,
        slug,
        status: "draft",
        path: "/?page_id=2",
        ..PAGE
    };
    let posts = [
        HOME,
        page(3, 2, "/child/", "child"),
        draft(2, ""),
        page(4, 3, "/child/grandchild/", "grandchild"),
        // It was public once, and WordPress still finds what is below it.
        draft(5, "old"),
        page(6, 5, "/old/child/", "child"),
        page(8, 99, "/elsewhere/", "elsewhere"),
        page(9, 10, "/loop/", "loop"),
        page(10, 9, "/loop/loop/", "loop"),
        // A topic of a forum is not found by the forum's slug.
        Post {
            type_name: "topic",
            ..page(11, 2, "/topic/bread/", "bread")
        },
    ];
    let (records, report) = read("", &posts, &[]);
    for (id, status) in [
        (3, "draft"),
        (4, "draft"),
        (6, "published"),
        (8, "published"),
        (9, "published"),
    ] {
        assert_eq!(
            find(&records, &format!("www.example.org/page/{id}"))["status"],
            status,
            "{id}"
        );
    }
    let topic = find(&records, "www.example.org/topic/11");
    assert_eq!(topic["status"], "published");
    let notes = expected([
        ("a sign that topic is public (--types)", 1),
        ("an address that answers: a draft is above it", 2),
    ]);
    assert_eq!(counts(&report["notes"]), notes);
    // The draft may be in another file.
    let folder = tempfile::tempdir().unwrap();
    let first = write(&folder, "1.xml", &export("", &[draft(2, "")]));
    let second = write(
        &folder,
        "2.xml",
        &export("", &[page(3, 2, "/child/", "child")]),
    );
    let (records, _, _) = import(&[&first, &second]);
    assert_eq!(find(&records, "www.example.org/page/3")["status"], "draft");
}

#[test]
fn the_csv_of_wp_cli_has_types_and_local_dates_too() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "ID,post_type,post_status,post_date,post_date_gmt,url\n\
        7,post,publish,2026-07-03 10:00:00,0000-00-00 00:00:00,https://www.example.org/bread/\n\
        8,wp_navigation,publish,,2026-03-03 09:00:00,https://www.example.org/2026/03/navigation/\n\
        9,form,publish,,2026-03-03 09:00:00,https://www.example.org/?post_type=form&p=9\n\
        10,form,draft,,,https://www.example.org/?post_type=form&p=10\n\
        11,recipe,publish,,2026-03-03 09:00:00,https://www.example.org/recipe/bread/\n";
    let file = write(&folder, "posts.csv", csv);
    let (records, report, _) = import(&[&file, "--zone", "Europe/Berlin"]);
    assert_eq!(ids(&records), ["post/7", "form/10", "recipe/11"]);
    assert_eq!(records[0]["published_at"], "2026-07-03T08:00:00+00:00");
    let skipped = expected([
        ("wp_navigation is not a page", 1),
        ("form is not public, by its addresses", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
    assert_eq!(
        counts(&report["notes"]),
        expected([("a sign that recipe is public (--types)", 1)])
    );
    let (records, report, _) = import(&[&file, "--types", "form"]);
    assert_eq!(
        (ids(&records), counts(&report["notes"])),
        (vec!["form/9", "form/10"], expected([]))
    );
}

#[test]
fn titles_are_html() {
    let title = "<title><![CDATA[A &amp; B&#8217;s <em>old</em> bread]]></title>";
    let (records, _) = read(
        "",
        &[Post {
            more: title,
            ..POST
        }],
        &[],
    );
    assert_eq!(records[0]["title"], "A & B’s old bread");
    let empty = "<title><![CDATA[<br>]]></title>";
    let (records, _) = read(
        "",
        &[Post {
            more: empty,
            ..POST
        }],
        &[],
    );
    assert_eq!(records[0]["title"], Value::Null);
    let folder = tempfile::tempdir().unwrap();
    let csv = "ID,post_title,url\n7,A &amp; B,https://www.example.org/bread/\n";
    let (records, _, _) = import(&[&write(&folder, "posts.csv", csv)]);
    assert_eq!(records[0]["title"], "A & B");
}
