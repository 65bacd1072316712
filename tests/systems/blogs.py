"""WordPress: each form of its permalinks, with content of ours, as it serves and exports it.

`posts.json` has the posts, and which of them a visitor sees. `forms.json` has the forms of permalinks. Fixtures: for each form,
`site/FORM/export.xml` is WordPress's export, `posts.csv` a table of its posts, and `answers.json` has what it answers: the text of
robots.txt, sitemaps, REST API and feed, and for each other address the status, or `password` if it asks for one. `seen.json` has what `waymark import` makes of these."""
import contextlib
import datetime
import http.client
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import xml.etree.ElementTree as xml
import zipfile

import edits
import fixtures
from generators import undated
from stack import wait_for

import processes

HERE = pathlib.Path(__file__).resolve().parent
SYSTEM = HERE / "wordpress"
PLUGIN = HERE.parent.parent / "examples/wordpress/waymark.php"
MAPPING = PLUGIN.with_name("rest-mapping.json")
ORIGIN = "https://www.lantern.example"
WITHIN, STARTS_WITHIN = 120, 30
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
# The types of posts that are public, by their names in the REST API.
TYPES = {"posts": "post", "pages": "page", "recipe": "recipe", "guide": "guide"}
FIELDS = "id,type,link,title,status,content,date_gmt,modified_gmt,parent"
# The drafts without a slug, and what is published below them, in posts.json.
DRAFTS = {32, 33, 54}
# What a visitor does not see: its kinds, and the sources that cannot tell it.
PASSWORD, BELOW_DRAFT = "posts with a password", "pages below a draft without a slug, which answer 404"
NOT_PUBLIC = "posts of types that are not public, unless their addresses show it"
BELOW_INDEX = "addresses below `/index.php/` with letters that are not ASCII, which answer 404"
CANNOT_TELL = {
    "export with --types": [BELOW_INDEX], "export": [NOT_PUBLIC, BELOW_INDEX], "CSV": [BELOW_DRAFT], "REST API": [BELOW_DRAFT],
    "sitemaps": [PASSWORD, BELOW_DRAFT, BELOW_INDEX], "feed": [PASSWORD],
}
# What is left out of an export: what it says to its reader, when it was made, when a post went to the trash, and elements that say nothing.
LEFT_OUT = [
    "<!--.*?-->", r"(?<=</description>\n)\t<pubDate>.*?</pubDate>", r"<wp:postmeta>\s*<wp:meta_key><!\[CDATA\[_wp_trash_meta_time[\s\S]*?</wp:postmeta>",
    r"<(excerpt:encoded|wp:(comment_status|ping_status|menu_order))>.*?</\1>", r"(?<=\t\t)<description></description>", r"(?<=\n)\s*\n",
]


class Blog:
    """A WordPress without content, served on loopback while it is entered."""

    def __init__(self, program, folder, environment=None):
        self.program, self.folder, self.environment = program, folder / "wordpress", environment or {}
        builds = program.folder / "node_modules/@wp-playground/wordpress-builds/src"
        plugins = self.folder / "wp-content/plugins"
        for archive, into in [("wordpress/wp-6.5.zip", self.folder), ("sqlite-database-integration/sqlite-database-integration.zip", plugins)]:
            zipfile.ZipFile(builds / archive).extractall(into)
        sqlite = plugins / "sqlite-database-integration"
        (plugins / "sqlite-database-integration-main").rename(sqlite)
        shutil.copy(sqlite / "db.copy", self.folder / "wp-content/db.php")
        for path in [*SYSTEM.glob("*.php"), SYSTEM / "posts.json"]:
            shutil.copy(path, self.folder)
        shutil.copytree(SYSTEM / "theme", self.folder / "wp-content/themes/lantern")
        (self.folder / "wp-content/mu-plugins").mkdir()
        for path in [SYSTEM / "lantern.php", PLUGIN]:
            shutil.copy(path, self.folder / "wp-content/mu-plugins")
        self.php("install.php")

    def php(self, script, *arguments, **more):
        """What a script of the site prints."""
        return self.program.run("php", self.folder / script, *arguments, extra=self.environment | more)

    def permalinks(self, form):
        self.php("permalinks.php", form["permalinks"])

    def records(self):
        """What `wp waymark` prints."""
        return self.php("edit.php", "(WP_CLI::$commands['waymark'])();", AS_CLI="1", **{"WAYMARK_TABLE": "waymark-content"} | self.environment)

    def __enter__(self):
        with open(self.folder.parent / "server.log", "w") as log:
            server = ["php", "-S", "127.0.0.1:0", "-t", self.folder, self.folder / "router.php"]
            environment = self.program.environment | self.environment
            self.server = subprocess.Popen(server, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment)
        log = pathlib.Path(log.name)
        try:
            wait_for(lambda: f"php serves: {log.read_text()}", lambda: " started" in log.read_text(), STARTS_WITHIN)
            self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())[1])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        processes.end(self.server)

    def get(self, path):
        """The status of an answer, its text, and where it redirects to."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WITHIN)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.getheader("Location")
        finally:
            connection.close()

    def text(self, path):
        status, text, _ = self.get(path)
        if status != 200:
            raise ValueError(f"{path} answers {status}: {text}")
        return text

    def posts(self):
        """The posts that WordPress's own sitemaps list, with their times."""
        found = {}
        for sitemap in locations(self.text("/wp-sitemap.xml")):
            for url in xml.fromstring(self.text(sitemap).encode()).iter(f"{SITEMAP}url"):
                if "-posts-" in sitemap and url.findtext(f"{SITEMAP}loc") != f"{ORIGIN}/":
                    found[path(url.findtext(f"{SITEMAP}loc"))] = url.findtext(f"{SITEMAP}lastmod")
        return found

    def status(self, path):
        """What a visitor gets at an address: its status, where it redirects to, or `password` if it asks for one."""
        status, text, location = self.get(path)
        if location:
            return f"{status} {location.removeprefix(ORIGIN)}"
        return "password" if status == 200 and "post-password-form" in text else status


def run(system, program, waymark, record):
    """What differs from the fixtures, and what WordPress and Waymark do not agree about without a reason."""
    forms = json.loads((system / "forms.json").read_text())
    differences, seen = [], {}
    with tempfile.TemporaryDirectory() as folder, Blog(program, pathlib.Path(folder)) as blog:
        began = datetime.datetime.now(datetime.timezone.utc)
        blog.php("content.php")
        # In the zone of the site a day may have begun already.
        days = {(began + datetime.timedelta(days=days)).date().isoformat() for days in (0, 1)}
        for name, form in forms.items():
            blog.permalinks(form)
            export = undated(blog.php("export.php"), days, LEFT_OUT)
            site = system / "site" / name
            differences += fixtures.compare(site / "export.xml", export, record)
            differences += fixtures.compare(site / "posts.csv", undated(blog.php("list.php"), days, []), record)
            differences += fixtures.compare(site / "answers.json", fixtures.by_line(answers(blog, form, export)), record)
            seen[name] = use(waymark, site, form)
            differences += disagreements(name, site, seen[name])
            differences += of_plugin(waymark, blog, name, site)
    differences += fixtures.compare(system / "seen.json", text(seen), record)
    return differences + edits.run(program, waymark, forms["name"], Blog)


def answers(blog, form, export):
    """What WordPress answers at the addresses of its documents, and at those of all posts and archives."""
    # Without permalinks WordPress has no robots.txt, so that the address of its sitemap has to be known.
    found = {"/robots.txt": blog.text("/robots.txt")} if form["permalinks"] else {}
    for path in [index(form), *locations(blog.text(index(form)))]:
        found[path] = blog.text(path)
    for rest in TYPES:
        found[api(form, rest)] = blog.text(api(form, rest))
    found[feed(form)] = undated(blog.text(feed(form)), set(), ["<lastBuildDate>.*?</lastBuildDate>"])
    for path in {*own(found), *links(export).values()}:
        found[path] = blog.status(path)
    return found


def index(form):
    return "/wp-sitemap.xml" if form["permalinks"] else "/?sitemap=index"


def api(form, rest):
    if form["permalinks"]:
        prefix = "/index.php" if form["permalinks"].startswith("/index.php/") else ""
        return f"{prefix}/wp-json/wp/v2/{rest}?per_page=100&_fields={FIELDS}"
    return f"/?rest_route=/wp/v2/{rest}&per_page=100&_fields={FIELDS}"


def feed(form):
    if not form["permalinks"]:
        return "/?feed=rss2"
    prefix = "/index.php" if form["permalinks"].startswith("/index.php/") else ""
    return f"{prefix}/feed{'/' if form['permalinks'].endswith('/') else ''}"


def locations(document):
    return [path(loc.text) for loc in xml.fromstring(document.encode()).iter(f"{SITEMAP}loc")]


def path(url):
    return url.removeprefix(ORIGIN) or "/"


def own(found):
    """The addresses that WordPress's own sitemaps list."""
    documents = [text for text in found.values() if isinstance(text, str) and "<urlset" in text]
    return {path for document in documents for path in locations(document)}


def links(export):
    """The addresses of an export's posts, by their numbers."""
    namespace = "{http://wordpress.org/export/1.2/}"
    return {int(item.findtext(f"{namespace}post_id")): path(item.findtext("link")) for item in xml.fromstring(export.encode()).iter("item")}


@contextlib.contextmanager
def replayed(found):
    """A server on loopback that answers as WordPress did."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = found.get(self.path)
            body = text.encode() if isinstance(text, str) else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/xml; charset=UTF-8" if body.startswith(b"<") else "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def use(waymark, site, form):
    """What `waymark import` makes of each form in which WordPress gives its content, compared with what a visitor sees of it."""
    found, export = json.loads((site / "answers.json").read_text()), site / "export.xml"
    seen_by_visitors = {path for path in own(found) if found[path] == 200}
    posts = set(links(export.read_text()).values())
    named = ["--archives", "--archive-url", f"cuisine={form['cuisine']}"]
    seen = {}
    with tempfile.TemporaryDirectory() as folder, replayed(found) as origin:
        rest = []
        for name in TYPES:
            rest.append(pathlib.Path(folder) / f"{name}.json")
            rest[-1].write_text(found[api(form, name)])
        rss = pathlib.Path(folder) / "feed.xml"
        rss.write_text(found[feed(form)])
        for source, arguments, expected in [
            ("export with --types", [export, *named, "--types", ",".join(TYPES.values())], seen_by_visitors),
            ("export", [export, *named], seen_by_visitors),
            ("CSV", [site / "posts.csv"], seen_by_visitors & posts),
            ("sitemaps", [f"{ORIGIN}{'/' if form['permalinks'] else index(form)}", "--map", f"{ORIGIN}={origin}"], seen_by_visitors),
            ("REST API", [*rest, "--mapping", MAPPING], seen_by_visitors & posts),
            ("feed", [rss], {path for path in seen_by_visitors & posts if f"<link>{ORIGIN}{path}</link>" in found[feed(form)]}),
        ]:
            listed, notes = imported(waymark, *arguments)
            seen[source] = {
                "missing": sorted(expected - listed),
                "beyond": {path: found.get(path, "no answer recorded") for path in sorted(listed - expected)}, "notes": notes,
            }
    return seen


def imported(waymark, *arguments):
    """The addresses that would be listed after an import, and how often it notes what."""
    with tempfile.TemporaryDirectory() as folder:
        records = pathlib.Path(folder) / "records.jsonl"
        done = called(waymark, "import", *arguments, "--output", records)
        notes = {reason: note["count"] for part in ("notes", "skipped") for reason, note in json.loads(done)[part].items()}
        return listed(waymark, records), notes


def listed(waymark, records):
    """The addresses that sitemaps of these records list."""
    with tempfile.TemporaryDirectory() as folder:
        called(waymark, "build", records, "--out", pathlib.Path(folder) / "built")
        documents = [path.read_text(encoding="utf-8") for path in pathlib.Path(folder).rglob("*.xml")]
        return {path for document in documents if "<urlset" in document for path in locations(document)}


def called(waymark, *arguments):
    done = subprocess.run([waymark, *arguments, "--json"], text=True, capture_output=True, timeout=WITHIN)
    if done.returncode:
        raise ValueError(f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def disagreements(name, site, seen):
    """What is listed that a visitor does not see or the other way round, but for what a source cannot tell."""
    found, kinds = json.loads((site / "answers.json").read_text()), unlike(name, site)
    posts = links((site / "export.xml").read_text())
    shown, answers = shown_in(name, posts), {path for path in own(found) & set(posts.values()) if found[path] == 200}
    differences = [f"{name}: posts.json is wrong about {sorted(shown ^ answers)}"] if shown != answers else []
    for source, compared in seen.items():
        expected = set().union(*(kinds[kind] for kind in CANNOT_TELL[source]))
        if beyond := compared["beyond"].keys() - expected:
            differences.append(f"{name}: {source} lists what a visitor does not see: {sorted(beyond)}")
        if compared["missing"]:
            differences.append(f"{name}: {source} does not list {compared['missing']}")
    return differences


def groups():
    return json.loads((SYSTEM / "posts.json").read_text())


def shown_in(name, paths):
    """The addresses of the posts that a visitor sees in a form of permalinks."""
    names = ["shown", *(["shown without permalinks"] if name == "plain" else [])]
    return {paths[post["id"]] for group in names for post in groups()[group]}


def unlike(name, site):
    """The addresses of each kind that a visitor does not see, and that some source cannot tell from others."""
    paths, found = links((site / "export.xml").read_text()), json.loads((site / "answers.json").read_text())
    posts = {paths[post["id"]]: post for group in groups().values() for post in group}
    return {
        PASSWORD: {path for path, post in posts.items() if "post_password" in post},
        BELOW_DRAFT: {path for path, post in posts.items() if post.get("post_parent") in DRAFTS} - shown_in(name, paths),
        NOT_PUBLIC: {path for path, post in posts.items() if post.get("type", "post") not in TYPES.values()},
        BELOW_INDEX: {path for path in own(found) if path.startswith("/index.php/") and "%" in path},
    }


def also_listed(system):
    """The kinds that an import of each source lists, and a visitor does not see."""
    also = {source: set() for source in CANNOT_TELL}
    for name, sources in json.loads((system / "seen.json").read_text()).items():
        kinds = unlike(name, system / "site" / name)
        for source, compared in sources.items():
            also[source] |= {kind for kind, paths in kinds.items() if paths & compared["beyond"].keys()}
    return also


def of_plugin(waymark, blog, name, site):
    """What the plugin's records list otherwise than a visitor sees it."""
    found = json.loads((site / "answers.json").read_text())
    posts = {path for path in own(found) & set(links((site / "export.xml").read_text()).values()) if found[path] == 200}
    with tempfile.TemporaryDirectory() as folder:
        records = pathlib.Path(folder) / "records.jsonl"
        records.write_text(blog.records())
        lists = listed(waymark, records)
    return [] if lists == posts else [f"{name}: the plugin lists {sorted(lists - posts)}, and not {sorted(posts - lists)}"]


def text(seen):
    """JSON with a line for each source."""
    forms = []
    for form, sources in seen.items():
        lines = ",\n".join(f"    {json.dumps(source)}: {json.dumps(compared, ensure_ascii=False)}" for source, compared in sources.items())
        forms.append(f"  {json.dumps(form)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(forms) + "\n}\n"
