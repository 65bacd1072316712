"""Readers of sitemaps, feeds and robots.txt: each reads a site of the local stack in the forms that it knows.

A program is given the site's origin, and prints the addresses that it finds from each form. Fixture: `reads.json`, with `all` for each
form of which it finds every address and no other, `nothing`, the name of the error, or what is missing and too many."""
import json
import pathlib
import socket
import tempfile
import urllib.error
import urllib.request

import fixtures
import stack

# By the start of a reader: what it must find there.
FORMS = {
    "robots.txt": "pages", "sitemap_index.xml": "pages", "sitemap_index.xml.gz": "pages", "post-sitemap.xml": "posts",
    "post-sitemap.xml.gz": "posts", "post-sitemap.txt": "posts", "post-sitemap.txt.gz": "posts", "feed.atom": "changes",
    "robots.txt lines": "sitemaps",
}
POSTS, PAGES, CHANGES = ["/soup-for-nine/", "/search?b=2&a=1", "/caf%C3%A9/"], ["/", "/about/"], ["/new/"]
SITEMAPS = ["/sitemap_index.xml"]
SHOWN_WITHIN = 180


def run(system, program, waymark, record):
    """What differs from the fixture."""
    reader = ["venv/bin/python", "read.py"] if (system / "read.py").exists() else ["node", "read.mjs"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    origin = f"http://{host}"
    with tempfile.TemporaryDirectory() as folder:
        content = pathlib.Path(folder) / "content.jsonl"
        records = [{"id": f"site/{host}", "type": "site", "base_url": origin, "name": "Lantern"}]
        records += [page("post", origin, path) for path in POSTS] + [page("page", origin, path) for path in PAGES]
        content.write_text("".join(json.dumps(line) + "\n" for line in records))
        with stack.Stack(waymark, pathlib.Path(folder), content=content, port=host.rsplit(":", 1)[1]) as running:
            # A feed tells of changes, and a first load is none.
            item = {name: {"S": value} for name, value in page("post", origin, CHANGES[0]).items()}
            running.call("PutItem", {"TableName": "waymark-content", "Item": item})
            stack.wait_for(lambda: f"{origin}/feed.atom tells of {CHANGES}", lambda: CHANGES[0] in fetched(f"{origin}/feed.atom"), SHOWN_WITHIN)
            found = json.loads(program.run(*reader, origin).strip().rpartition("\n")[2])
    expected = {"pages": POSTS + PAGES + CHANGES, "posts": POSTS + CHANGES, "changes": CHANGES, "sitemaps": SITEMAPS}
    reads = {form: told(addresses, expected[FORMS[form]], origin) for form, addresses in found.items()}
    return fixtures.compare(system / "reads.json", fixtures.by_line(reads), record)


def page(type, origin, path):
    return {"id": path, "type": type, "url": origin + path, "modified_at": "2026-03-01", "title": "Soup & <bread>"}


def fetched(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()
    except urllib.error.URLError as error:
        return str(error)


def told(found, expected, origin):
    """`all`, `nothing`, the name of an error, or what is missing and too many."""
    if isinstance(found, str):
        return found.replace(origin, "")
    if not found:
        return "nothing"
    paths = [address.removeprefix(origin) for address in found]
    missing, beyond = sorted(set(expected) - set(paths)), sorted(set(paths) - set(expected))
    if len(paths) != len(set(paths)):
        beyond.append("some twice")
    return {"missing": missing, "beyond": beyond} if missing or beyond else "all"
