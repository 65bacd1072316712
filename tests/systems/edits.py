"""The plugin of examples/wordpress in WordPress: after each edit the local stack's sitemaps list what a visitor sees, and no more."""
import datetime
import json
import pathlib
import tempfile
import time

from stack import SHOWS_WITHIN, TABLE_OF_CONTENT, Stack

ORIGIN = "https://www.lantern.example"
# Seconds until a scheduled post is due: more than its record needs to be written.
DUE_IN = 3
BY_CRON = "published by cron"
# Each is one request of an editor's. 11 to 20 are posts, 30 to 42 pages, 50 to 55 of other types: see posts.json.
EDITS = {
    "a new slug": "wp_update_post(['ID' => 11, 'post_name' => 'soup-for-ten']);",
    "published, from a draft": "wp_update_post(['ID' => 15, 'post_status' => 'publish']);",
    "a new post, saved twice": """
        $id = wp_insert_post(['post_title' => 'New', 'post_content' => 'A text.', 'post_status' => 'publish', 'import_id' => 90]);
        wp_set_object_terms($id, 'winter', 'post_tag');
        wp_update_post(['ID' => $id, 'post_title' => 'Newer']);""",
    "in the trash": "wp_trash_post(12); wp_trash_post(52);",
    "from the trash, as a draft": "wp_untrash_post(12);",
    "published again": "wp_update_post(['ID' => 12, 'post_status' => 'publish']);",
    "from the trash, as it was": """
        add_filter('wp_untrash_post_status', fn($new, $id, $before) => $before, 10, 3);
        wp_untrash_post(52);""",
    "a password": "wp_update_post(['ID' => 13, 'post_password' => 'larch']);",
    "no password": "wp_update_post(['ID' => 13, 'post_password' => '']);",
    "private": "wp_update_post(['ID' => 51, 'post_status' => 'private']);",
    "a new slug above a page": "wp_update_post(['ID' => 30, 'post_name' => 'about-us']);",
    "below another page": "wp_update_post(['ID' => 31, 'post_parent' => 41]);",
    "below no page": "wp_update_post(['ID' => 31, 'post_parent' => 0]);",
    "published, above two pages": "wp_update_post(['ID' => 32, 'post_status' => 'publish']);",
    "a draft again, above two pages": "wp_update_post(['ID' => 32, 'post_status' => 'draft']);",
    "published, above a guide": "wp_publish_post(54); wp_update_post(['ID' => 54]);",
    "in the trash, above a page": "wp_trash_post(30); wp_trash_post(40);",
    "deleted, above a page": "wp_delete_post(38, true); wp_delete_post(52, true);",
    "deleted": "wp_delete_post(11, true); wp_delete_post(18);",
    "no pages": "wp_insert_post(['post_title' => 'A note', 'post_type' => 'order_note', 'post_status' => 'publish']); "
                "wp_insert_post(['post_title' => 'A start', 'post_status' => 'auto-draft']);",
    "scheduled": f"wp_update_post(['ID' => 14, 'edit_date' => true, 'post_status' => 'future', 'post_date' => wp_date('Y-m-d H:i:s', time() + {DUE_IN}), "
                 f"'post_date_gmt' => gmdate('Y-m-d H:i:s', time() + {DUE_IN})]);",
}


def run(program, waymark, form, blog):
    """What the sitemaps list otherwise than a visitor sees it, after the first edit for which they do."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        settings = folder / "settings.jsonl"
        settings.write_text(json.dumps({"id": "site/www.lantern.example", "type": "site", "name": "Lantern"}) + "\n")
        with Stack(waymark, folder, settings) as stack:
            keys = {"TABLE": TABLE_OF_CONTENT, "REGION": "eu-west-1", "KEY": "local", "SECRET": "local", "ENDPOINT": stack.dynamodb}
            with blog(program, folder, {f"WAYMARK_{name}": value for name, value in keys.items()}) as site:
                return edited(site, stack, form)


def edited(site, stack, form):
    site.permalinks(form)
    site.php("content.php")
    for edit, code in [("the content", None), *EDITS.items(), (BY_CRON, None)]:
        if code:
            site.php("edit.php", code)
        if edit == BY_CRON:
            time.sleep(DUE_IN)
            site.php("wp-cron.php")
        if differences := same(stack, shown(site)):
            return [f"after the edit {edit!r}:", *differences]
    # What the plugin wrote is what it says each night, so that nothing has to be written then.
    records = {record["id"]: record for record in map(json.loads, site.records().splitlines())}
    items = {item["id"]["S"]: plain({"M": item}) for item in stack.items(TABLE_OF_CONTENT)}
    items = {id: item for id, item in items.items() if item["type"] != "site"}
    differ = sorted(id for id in records.keys() | items.keys() if records.get(id) != items.get(id))
    return stack.audit() + [f"{id}: the table has {items.get(id)}, `wp waymark` {records.get(id)}" for id in differ]


def shown(site):
    """The posts that WordPress's own sitemaps list and a visitor sees, with their times."""
    return {f"{ORIGIN}{path}": instant(modified) for path, modified in site.posts().items() if site.status(path) == 200}


def same(stack, expected):
    """Waits until the sitemaps list this. Returns what differs when the time is over."""
    found, until = None, time.monotonic() + SHOWS_WITHIN
    while found != expected and time.monotonic() < until:
        found = stack.listed_if_any()
        if isinstance(found, dict):
            found = {loc: instant(page["lastmod"]) for loc, page in found.items()}
        time.sleep(0.2)
    if isinstance(found, str):
        return [found]
    return [f"{loc}: listed {found.get(loc)}, WordPress has {expected.get(loc)}" for loc in sorted(found.keys() | expected.keys())
            if found.get(loc) != expected.get(loc)]


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(datetime.timezone.utc)


def plain(value):
    """A value of DynamoDB's as JSON has it."""
    (kind, content), = value.items()
    if kind == "M":
        return {name: plain(value) for name, value in content.items()}
    return [plain(value) for value in content] if kind == "L" else content
