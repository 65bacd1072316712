"""The small sites that the guide's stories are about: what www.example.com answers, served on loopback."""

import http.server
import threading

import processes

HOST = "www.example.com"
ORIGIN = f"https://{HOST}"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
POSTS = {f"2026/{name}": f"2026-0{month}-1{month}" for month, name in enumerate(["soup", "snow", "bread", "ice", "candles", "lamps"], 1)}
# Seconds to answer a request, and to stop.
WITHIN = 30


def document(root, entries):
    lines = "".join(f"  {entry}\n" for entry in entries)
    return "application/xml", f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} {NAMESPACE}>\n{lines}</{root}>\n'


def sitemap(*pages):
    return document("urlset", [f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>" for loc, lastmod in pages])


def index(*names):
    return document("sitemapindex", [f"<sitemap><loc>{ORIGIN}/{name}-sitemap.xml</loc></sitemap>" for name in names])


ROBOTS = "text/plain", f"User-agent: *\nDisallow: /search/\n\nSitemap: {ORIGIN}/sitemap_index.xml\n"
HOME = f"{ORIGIN}/", "2026-10-01T08:00:00+00:00"
ABOUT = f"{ORIGIN}/about/", "2026-02-11"
CONTACT = f"{ORIGIN}/contact/", "2026-03-05"
UNTIMELY = f"{ORIGIN}/contact/", "2026-03-05 09:30:00"
NAMES = ["lamp/", "lamp/?colour=red&amp;size=2", "stove/", "pot/"]
PRODUCTS = [(f"{ORIGIN}/{name}", f"2026-05-0{day}") for day, name in enumerate(NAMES, 1)]

# A site without a fault.
SOUND = {
    "/robots.txt": ROBOTS,
    "/sitemap_index.xml": index("page", "post"),
    "/page-sitemap.xml": sitemap(HOME, ABOUT, CONTACT),
    "/post-sitemap.xml": sitemap(*((f"{ORIGIN}/{name}/", day) for name, day in POSTS.items())),
}
# Two faults are left: a time without its T, and a sitemap that is gone.
REPAIRED = SOUND | {
    "/sitemap_index.xml": index("page", "post", "product", "author"),
    "/page-sitemap.xml": sitemap(HOME, ABOUT, UNTIMELY),
    "/product-sitemap.xml": sitemap(*PRODUCTS),
}
SITES = {
    "sound": SOUND,
    # These two, http in place of https, a page that robots.txt disallows, and a & in a URL.
    "faulty": REPAIRED | {
        "/page-sitemap.xml": sitemap(HOME, ABOUT, UNTIMELY, (f"{ORIGIN}/search/help/", "2026-04-05")),
        "/post-sitemap.xml": sitemap(*((f"http://{HOST}/{name}/", day) for name, day in POSTS.items())),
        "/product-sitemap.xml": sitemap(*((loc.replace("&amp;", "&"), day) for loc, day in PRODUCTS)),
    },
    "repaired": REPAIRED,
    # A deployment that answers with the home page where a sitemap was.
    "broken": REPAIRED | {"/post-sitemap.xml": ("text/html", "<!doctype html>\n<title>Example</title>\n<p>Welcome\n")},
}


class Site:
    """Serves one of the sites on a free port of loopback, until `end`. `name` may change between requests."""

    def __init__(self):
        self.name = None
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = WITHIN

            def do_GET(self):
                kind, text = SITES.get(site.name, {}).get(self.path.partition("?")[0], ("text/plain", None))
                self.send_response(404 if text is None else 200)
                body = (text or "not found\n").encode()
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body if self.command == "GET" else b"")

            do_HEAD = do_GET

            def log_message(self, *_):
                """Logs nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.thread.join(processes.ENDS_WITHIN)
        assert not self.thread.is_alive(), f"the site did not end within {processes.ENDS_WITHIN} s"
        self.server.server_close()
