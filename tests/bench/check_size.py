#!/usr/bin/env python3
"""`waymark check` of a large site: an index of 50,000 sitemaps with 5,000,000 URLs, served on loopback; the same URLs in a hundred
sitemaps; and these as files. Prints memory and processor time, which should be below 300 MB and above 500,000 URLs a second.

    check_size.py --command target/release/waymark [--sitemaps 50000] [--urls 100]

Exit status: 1 if it takes more memory, or finds something else than it should. How fast the processor is, is only printed."""

import argparse
import json
import multiprocessing
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes  # noqa: E402

HOST = "https://www.example.com"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
MOST_BYTES = 300_000_000
# Longer than it takes on a busy machine.
PATIENCE = 1_800


def urlset(number, urls):
    """Sitemap so-and-so. Its URLs are in no other, and their lastmods differ."""
    entries = "".join(
        "<url><loc>%s/%d/a-page-of-the-site-%d/</loc><lastmod>20%02d-%02d-%02dT10:%02d:00+00:00</lastmod></url>\n"
        % (HOST, number, page, page % 20 + 5, page % 12 + 1, page % 28 + 1, number % 60)
        for page in range(urls)
    )
    return '<?xml version="1.0" encoding="UTF-8"?>\n<urlset %s>\n%s</urlset>\n' % (NS, entries)


def index(sitemaps):
    entries = "".join("<sitemap><loc>%s/%d-sitemap.xml</loc></sitemap>\n" % (HOST, number) for number in range(sitemaps))
    return '<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex %s>\n%s</sitemapindex>\n' % (NS, entries)


def serve(listener, sitemaps, urls):
    """A server of its own process, so that its time is not counted."""

    def answer(connection):
        with connection, connection.makefile("rb") as requests:
            while first := requests.readline():
                while requests.readline().strip():
                    pass
                path = first.split()[1].decode()
                media = "application/xml"
                if path == "/robots.txt":
                    media, body = "text/plain", "User-agent: *\nDisallow:\nSitemap: %s/sitemap.xml\n" % HOST
                elif path == "/sitemap.xml":
                    body = index(sitemaps)
                else:
                    body = urlset(int(path[1:].split("-")[0]), urls)
                body = body.encode()
                head = "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (media, len(body))
                connection.sendall(head.encode() + body)

    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def check(command, arguments, expected):
    """Runs a check, and says what it took. Returns what is wrong."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([command, "check", *arguments, "--json", "--rate", "0", "--jobs", "4"], stdout=subprocess.PIPE)
    with processes.limit(process, PATIENCE):
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return ["status %d after %.0f s" % (process.returncode, time.monotonic() - began)]
    report = json.loads(out)
    urls, memory, seconds = report["totals"]["urls"], usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime
    print(
        "%d sitemaps, %d URLs: %.0f MB of memory, %.1f s of processor time (%.0f URLs/s), %.1f s"
        % (report["totals"]["sitemaps"], urls, memory / 1e6, seconds, urls / seconds, time.monotonic() - began)
    )
    wrong = []
    if urls != expected or report["counts"]:
        wrong.append("found %d URLs, and %s" % (urls, report["counts"]))
    if memory > MOST_BYTES:
        wrong.append("took more than %d MB" % (MOST_BYTES // 1_000_000))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="target/release/waymark")
    parser.add_argument("--sitemaps", type=int, default=50_000)
    parser.add_argument("--urls", type=int, default=100)
    options = parser.parse_args()
    total = options.sitemaps * options.urls
    # The index has as many sitemaps as it may have, and so have the files.
    near = ["--skip", "file.near"]
    files = 100
    wrong = []
    for sitemaps, urls in [(options.sitemaps, options.urls), (files, total // files)]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            server = multiprocessing.Process(target=serve, args=(listener, sitemaps, urls), daemon=True)
            server.start()
            try:
                mapped = "%s=http://127.0.0.1:%d" % (HOST, port)
                wrong += check(options.command, [HOST + "/", "--map", mapped, *near], sitemaps * urls)
            finally:
                server.kill()
    with tempfile.TemporaryDirectory() as name:
        for number in range(files):
            pathlib.Path(name, "%d-sitemap.xml" % number).write_text(urlset(number, total // files), encoding="utf-8")
        pathlib.Path(name, "sitemap.xml").write_text(index(files), encoding="utf-8")
        wrong += check(options.command, [name, "--origin", HOST, *near], total // files * files)
    print("\n".join(wrong) or "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
