#!/usr/bin/env bash
# A gzip file may have several members (RFC 1952, 2.2), and means all of them. A crawler's library reads the first alone.
#
# Package: crawlee 1.11.0 (Python).
# Guess:   a sitemap that is compressed in two members, as `cat a.gz b.gz` and parallel compressors write them, gives all its
#          URLs, as Python's own gzip does; or reading it fails.
# Seen:    the URLs of the first member, without an error.
# So:      a sitemap should be one member, however it is made.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check crawlee==1.11.0

cat >read.py <<'PY'
import asyncio
import gzip
import http.server
import threading

from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader

HOST = "127.0.0.1"
begin = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        port = self.server.server_port
        first, second = (f"<url><loc>http://{HOST}:{port}/{name}</loc></url>" for name in ["first", "second"])
        members = [begin + first, second + "</urlset>"] if self.path == "/two.xml.gz" else [begin + first + second + "</urlset>"]
        body = b"".join(gzip.compress(member.encode()) for member in members)
        assert gzip.decompress(body).count(b"<loc>") == 2
        self.send_response(200)
        self.send_header("Content-Type", "application/gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


async def urls(path):
    found = []
    async with ImpitHttpClient() as client:
        loader = SitemapRequestLoader([f"http://{HOST}:{server.server_port}{path}"], http_client=client)
        while not await loader.is_finished():
            if request := await loader.fetch_next_request():
                found.append(request.url.rsplit("/", 1)[1])
                await loader.mark_request_as_handled(request)
    return found


server = http.server.ThreadingHTTPServer((HOST, 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
for path in ["/one.xml.gz", "/two.xml.gz"]:
    print(path, *asyncio.run(asyncio.wait_for(urls(path), 60)))
PY
timeout 120 venv/bin/python read.py | tee seen
printf '%s\n' '/one.xml.gz first second' '/two.xml.gz first' >expected
diff expected seen || { echo "this has changed" >&2; exit 1; }
