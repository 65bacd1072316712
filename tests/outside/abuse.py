#!/usr/bin/env python3
"""Abuses the sites of a running stack over plain sockets, and looks at every byte that comes back.

    abuse.py [--seconds N] [--paths N]     with target/debug/waymark and its sample site; exit status 1 on a failure

Every answer, whatever was asked: no 5xx; no header but those a site sends, so that none was injected; nothing of the
request but a redirect's own path; nothing internal in an error; the lifetime and the Vary that its status has; no
redirect but to a path of the site. Between the checks the site is served as before, and the process' memory is bounded.

The server in front of the functions' code is hyper's, as on any plain server. In AWS it is Lambda's, behind a CDN, which
parse requests and limit them by themselves: what is said here of malformed requests is said of hyper."""
import argparse
import asyncio
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = b"www.lantern-and-larch.example"
EVIL = b"evil.example"
MARK = b"zq9marker"
# What an answer may have. Anything else was injected, or tells of what is behind.
HEADERS = {"date", "content-type", "content-length", "transfer-encoding", "content-encoding", "connection", "cache-control",
           "vary", "etag", "last-modified", "x-robots-tag", "x-content-type-options", "location", "allow"}
INTERNAL = re.compile(rb"published/|site\.json|/root|/tmp|/home|\.rs\b|panic|aws|amz|dynamo|bucket|NoSuch|GetObject|Service|"
                      rb"lambda|hyper|stack|Err\(|127\.0\.0\.1", re.I)
DOCUMENT_CACHE = "public, max-age=60, s-maxage=60, stale-while-revalidate=60, stale-if-error=86400"
BRIEF = "public, max-age=60, s-maxage=60"
# The embedded DynamoDB and S3 live in the same process; this is what abuse may add to all of it.
MAX_GROWTH_KIB = 96 * 1024
TIMEOUT = 20
# Seconds in which an ordinary request must be answered while others are slow.
PATIENCE = 2


class Failure(Exception):
    pass


class Answer:
    def __init__(self, status, version, headers, body):
        self.status, self.version, self.headers, self.body = status, version, headers, body

    def all(self, name):
        return [value for key, value in self.headers if key == name]

    def one(self, name):
        values = self.all(name)
        if len(values) > 1:
            raise Failure(f"{name} twice: {values}")
        return values[0] if values else None

    def content(self):
        """All but the time at which it was sent."""
        return self.status, sorted(header for header in self.headers if header[0] != "date"), self.body


async def read_answer(reader, method=b"GET"):
    """The next answer of a connection, or nothing at its end."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head[:-4].split(b"\r\n")
        match = re.fullmatch(rb"(HTTP/1\.[01]) (\d{3})(?: [^\r\n]*)?", lines[0])
        if not match:
            raise Failure(f"no status line: {lines[0][:200]!r}")
        status = int(match[2])
        headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(b":")
            if not colon or not re.fullmatch(rb"[a-zA-Z0-9-]+", name) or re.search(rb"[\0\r\n]", value):
                raise Failure(f"no header: {line[:200]!r}")
            headers.append((name.decode().lower(), value.strip().decode("latin-1")))
        if status != 100:
            break
    answer = Answer(status, match[1], headers, b"")
    if method == b"HEAD" or status in (204, 304):
        return answer
    if answer.one("transfer-encoding") == "chunked":
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            chunk = await reader.readexactly(size + 2)
            if size == 0:
                return answer
            answer.body += chunk[:-2]
    length = answer.one("content-length")
    answer.body = await (reader.readexactly(int(length)) if length is not None else reader.read())
    return answer


def sound(answer, asked):
    """What holds for every answer."""
    def refuse(what):
        raise Failure(f"{what}\n  asked    {asked[:300]!r}\n  answered {answer.status} {answer.headers} {answer.body[:200]!r}")

    if answer.status >= 500:
        refuse("a 5xx")
    unknown = {name for name, _ in answer.headers} - HEADERS
    if unknown:
        refuse(f"headers that no site sends: {unknown}")
    sent = "\n".join(value for _, value in answer.headers).encode("latin-1") + answer.body
    location = answer.one("location")
    if EVIL in sent or (MARK in sent and not (location and re.fullmatch(r"/[A-Za-z0-9_-]+-sitemap\.(xml|xml\.gz|txt)", location))):
        refuse("the request is reflected")
    if answer.one("x-robots-tag") is None:
        # Refused by the server, before a site's code saw it.
        if answer.status not in (400, 408, 413, 414, 417, 431, 501, 505) or answer.body:
            refuse("not by the site, and not a bare refusal")
        return answer
    if answer.one("x-content-type-options") != "nosniff":
        refuse("sniffed")
    if answer.status != 200 and INTERNAL.search(answer.body):
        refuse("something internal")
    cache, path = answer.one("cache-control"), asked.split(b" ")[1] if b" " in asked else b""
    if answer.status == 301:
        if not location or not re.fullmatch(r"/[A-Za-z0-9_.-]+", location):
            refuse("a redirect elsewhere")
    elif location is not None:
        refuse("a location without a redirect")
    if answer.status in (301, 404) and cache != BRIEF:
        refuse("kept too long")
    if answer.status == 405 and (cache != "no-store" or answer.one("allow") != "GET, HEAD"):
        refuse("not a proper 405")
    if answer.status in (200, 304) and b"sitemap.css" not in path:
        if cache != DOCUMENT_CACHE or answer.one("vary") != "Accept-Encoding, Sec-Fetch-Dest" or not answer.one("etag"):
            refuse("a document without its lifetime, Vary or ETag")
    if answer.status not in (200, 301, 304, 404, 405):
        refuse("a status that no site has")
    return answer


class Abuse:
    def __init__(self, port, pid, options):
        self.port, self.pid, self.options = port, pid, options
        self.answers = 0
        self.paths, self.baseline = [], {}

    async def connect(self, limit=1 << 20):
        return await asyncio.open_connection("127.0.0.1", self.port, limit=limit)

    async def send(self, *requests, most=None):
        """Writes raw requests to a connection of their own, and returns its answers, all sound, up to its end or `most`."""
        asked = b"".join(requests)
        reader, writer = await self.connect()
        answers = []
        try:
            writer.write(asked)
            while most is None or len(answers) < most:
                request = requests[min(len(answers), len(requests) - 1)]
                answers.append(sound(await asyncio.wait_for(read_answer(reader, request.split(b" ")[0]), TIMEOUT), request))
                self.answers += 1
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            if getattr(error, "partial", b""):
                raise Failure(f"an answer broke off: {error.partial[:200]!r} to {asked[:300]!r}") from error
        except asyncio.TimeoutError as error:
            raise Failure(f"no answer in {TIMEOUT} s: {asked[:300]!r}") from error
        finally:
            writer.close()
        return answers

    async def shout(self, data):
        """Writes and half-closes a connection; all that comes back, which may be cut short by a refusal."""
        reader, writer = await self.connect()
        reply = b""
        try:
            writer.write(data)
            await writer.drain()
            writer.write_eof()
            while piece := await asyncio.wait_for(reader.read(65_536), TIMEOUT):
                reply += piece
        except OSError:
            pass
        except asyncio.TimeoutError as error:
            raise Failure(f"no end in {TIMEOUT} s: {data[:300]!r}") from error
        finally:
            writer.close()
        return reply

    async def ask(self, path, *headers, method=b"GET", version=b"1.1", host=HOST):
        """The one answer to a request that is well-formed but for what is given."""
        head = [b"%s %s HTTP/%s" % (method, path, version), b"Host: " + host, b"Connection: close", *headers]
        answers = await self.send(b"\r\n".join(head) + b"\r\n\r\n")
        if len(answers) != 1:
            raise Failure(f"{len(answers)} answers to {head!r}")
        return answers[0]

    def rss(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])

    async def learn(self):
        """The documents that there are, and how each is answered when nobody plays tricks."""
        index = await self.ask(b"/sitemap_index.xml")
        shards = [path.encode() for path in re.findall(r"<loc>https?://[^/]+(/[^<]+)</loc>", index.body.decode())]
        if index.status != 200 or not shards:
            raise Failure("the sample site is not there")
        self.paths = [b"/sitemap_index.xml", *shards, b"/robots.txt", shards[0].replace(b".xml", b".txt"), shards[0] + b".gz",
                      b"/sitemap.css", b"/sitemap.xml", shards[0].replace(b".xml", b"1.xml"), b"/nothing", b"/site.json"]
        self.baseline = {path: (await self.ask(path)).content() for path in self.paths}

    async def same(self, path, *headers, **how):
        answer = await self.ask(path, *headers, **how)
        if answer.content() != self.baseline[path]:
            raise Failure(f"{path!r} is answered otherwise to {headers!r} {how}: {answer.status} {answer.headers}")

    async def run(self, name, check):
        answers, before, begun = self.answers, self.rss(), time.monotonic()
        told = await check()
        await self.same(b"/sitemap_index.xml")
        grown = self.rss() - before
        if grown > MAX_GROWTH_KIB:
            raise Failure(f"{name}: {grown} KiB more memory")
        print(f"{name:<34} {self.answers - answers:>7} answers {time.monotonic() - begun:>6.1f} s {grown:>+7} KiB  {told or ''}", flush=True)

    # -- What a client can say ------------------------------------------------------------------------------------

    async def unkeyed_headers(self):
        """No header but Accept-Encoding and the conditional ones has to do with an answer: a cache keyed by less than
        all headers is not poisoned. The site's own header is the CDN's to set."""
        names = [b"X-Forwarded-Host", b"X-Forwarded-Server", b"X-Forwarded-Proto", b"X-Forwarded-Scheme", b"X-Forwarded-Port",
                 b"X-Forwarded-For", b"X-Forwarded-Prefix", b"X-Host", b"X-HTTP-Host-Override", b"X-Original-URL", b"X-Rewrite-URL",
                 b"X-HTTP-Method-Override", b"X-Amz-Website-Redirect-Location", b"Referer", b"Origin", b"Cookie", b"Authorization",
                 b"User-Agent", b"Accept", b"Accept-Language", b"Via", b"Upgrade-Insecure-Requests", b"X-Waymark-Host"]
        values = [EVIL, b"http", b"/site.json", b"//" + EVIL + b"/", b"../" + MARK, b"<script>" + MARK + b"</script>"]
        for path in self.paths:
            for value in values:
                await self.same(path, *(name + b": " + value for name in names))
            await self.same(path, b"Forwarded: host=" + EVIL + b";proto=http;for=" + MARK)
            await self.same(path, b"X-Waymark-Host: " + HOST, b"X-Waymark-Host: " + EVIL)
            # One site runs here, and the local stack leads every host to it; nothing says which one was asked.
            await self.same(path, host=EVIL)
            await self.same(path + b"", b"Sec-Fetch-Dest: document")
        for name in names:
            await self.same(b"/sitemap.xml", name + b": " + EVIL)

    async def traversal(self):
        """Nothing but published documents, however the path is spelled."""
        up = [b"..", b"%2e%2e", b"%2E.", b".%2e", b"%252e%252e", b"%c0%ae%c0%ae", b"..;", b"..%00", b"%uff0e%uff0e", b"....", b"..\\"]
        slash = [b"/", b"%2f", b"%5c", b"\\", b"%252f", b"//", b"%c0%af", b"/./"]
        ends = [b"site.json", b"etc/passwd", b"robots.txt", b"published/" + HOST + b"/site.json", b"post-sitemap.xml"]
        for dots in up:
            for cut in slash:
                for end in ends:
                    for path in (b"/" + dots + cut + end, b"/a" + cut + dots + cut + end):
                        for answer in await self.send(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, HOST)):
                            if answer.status not in (400, 404):
                                raise Failure(f"{path!r} is {answer.status}")
        for path in [b"//robots.txt", b"/./robots.txt", b"/robots.txt/", b"/robots.txt%00", b"/robots.txt;a=b", b"/ROBOTS.TXT", b"/%72obots.txt"]:
            if (await self.ask(path)).status != 404:
                raise Failure(f"a second path of robots.txt: {path!r}")
        for target, expected in [(b"http://%s/robots.txt" % HOST, 200), (b"http://%s/robots.txt" % EVIL, 200), (b"http://%s@%s/x" % (HOST, EVIL), 404),
                                 (b"//%s/robots.txt" % EVIL, 404), (b"http://%s//%s" % (HOST, EVIL), 404), (b"file:///etc/passwd", 404)]:
            answers = await self.send(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, HOST))
            if any(answer.status not in (expected, 400) for answer in answers):
                raise Failure(f"{target!r}: {[answer.status for answer in answers]}")

    async def injection(self):
        """Line ends, NUL and markup in path, query, header names and values."""
        ends = [b"\r\n", b"\n", b"\r", b"%0d%0a", b"%0a", b"%0d", b"\xe5\x98\x8a\xe5\x98\x8d", b"\0", b"%00", b"\x0b", b"\x85", b"%E2%80%A8"]
        for end in ends:
            payload = end + b"X-Injected: " + MARK + end + end + b"<html>" + MARK
            for path in [b"/" + payload, b"/sitemap.xml" + payload, b"/sitemap.xml?a=" + payload, b"/" + MARK + end + b"-sitemap1.xml",
                         b"/" + MARK + b"-sitemap1.xml?" + payload, b"/post-sitemap1.xml#" + payload]:
                await self.send(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, HOST))
            for name in [b"Host", b"X-Waymark-Host", b"Accept-Encoding", b"If-None-Match", b"If-Modified-Since", b"Range", b"X" + end + b"Y", b"Cookie", b"Expect"]:
                for path in (b"/sitemap.xml", b"/robots.txt"):
                    await self.send(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s: a%s\r\n\r\n" % (path, HOST, name, payload))
        for path in [b"/sitemap.xml?//" + EVIL, b"/sitemap.xml?url=http://" + EVIL, b"/" + EVIL + b"/-sitemap1.xml", b"//" + EVIL + b"/x-sitemap1.xml",
                     b"/\\" + EVIL + b"-sitemap1.xml", b"/.-sitemap1.xml", b"/javascript:alert(1)-sitemap0.xml", b"/" + MARK + b"-sitemap1.xml"]:
            await self.ask(path)

    async def large_heads(self):
        """Heads of 64 KB and more: answered or refused, and the connection is over."""
        await self.same(b"/robots.txt", b"X-Large: " + b"a" * 65_536)
        for size in (100_000, 1_000_000, 4_000_000):
            for head in (b"X-Large: " + b"a" * size, b"a" * size + b": x", b"\r\n".join(b"X-%d: %d" % (n, n) for n in range(size // 16)),
                         b"Cookie: " + b"a=b; " * (size // 5), b"Accept-Encoding: " + b"gzip;q=0.1," * (size // 11)):
                await self.send(b"GET /robots.txt HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n\r\n" % (HOST, head))
            await self.send(b"GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (b"a" * size, HOST))
            await self.send(b"GET /robots.txt?%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (b"a" * size, HOST))

    async def conditions(self):
        """Ranges are not offered and change nothing; If-None-Match is a list of any length."""
        for value in [b"bytes=0-0", b"bytes=-1", b"bytes=0-,0-,0-", b"bytes=" + b"0-1," * 5_000 + b"0-1", b"bytes=99999999999999999999-", b"bytes=5-1", b"x=y"]:
            for path in self.paths:
                await self.same(path, b"Range: " + value)
                await self.same(path, b"Range: " + value, b'If-Range: "x"')
        for path in self.paths:
            status, headers, _ = self.baseline[path]
            etag = dict(headers).get("etag")
            if status != 200:
                continue
            many = b", ".join(b'"%032x"' % n for n in range(1_500))
            await self.same(path, b"If-None-Match: " + many)
            for value in (b"*", many + b", " + etag.encode(), b"W/" + etag.encode(), b'"x",,' + etag.encode()):
                answer = await self.ask(path, b"If-None-Match: " + value)
                if answer.status != 304 or answer.body or answer.one("etag") != etag:
                    raise Failure(f"{path!r}: {value[-60:]!r} is answered {answer.status}")
            for value in (b"", b'"', b'W/"', b'"\xff"', b"," * 50_000, b"\x80" * 100):
                await self.same(path, b"If-None-Match: " + value)
            for value in (b"Sat, 99 Foo 9999 99:99:99 GMT", b"0", b"-1", b"9" * 1_000):
                await self.same(path, b"If-Modified-Since: " + value)

    async def old_and_many(self):
        """HTTP/1.0, HEAD, and requests one behind the other."""
        for path in self.paths:
            answer = await self.ask(path, version=b"1.0")
            if answer.one("transfer-encoding") or (answer.status, answer.body) != (self.baseline[path][0], self.baseline[path][2]):
                raise Failure(f"HTTP/1.0: {path!r} is {answer.status} {answer.headers}")
            head = await self.ask(path, method=b"HEAD")
            if head.status != self.baseline[path][0] or head.one("etag") != dict(self.baseline[path][1]).get("etag"):
                raise Failure(f"HEAD {path!r} is {head.status}")
        if [answer.status for answer in await self.send(b"GET /robots.txt HTTP/1.0\r\n\r\n")] != [404]:
            raise Failure("a request without a host has a site")
        for junk in [b"GET /robots.txt\r\n\r\n", b"GET /robots.txt HTTP/0.9\r\n\r\n", b"GET /robots.txt HTTP/9.9\r\n\r\n", b"\r\n" * 9_000, b"\x16\x03\x01" * 100,
                     b"GET\t/robots.txt\tHTTP/1.1\r\n\r\n", b"GET /a b HTTP/1.1\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n", b"\xff" * 5_000 + b"\r\n\r\n"]:
            reply = await self.shout(junk)
            # HTTP/2's settings are what it may say to what is no HTTP/1.
            if reply and not reply.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400", b"HTTP/1.1 404", b"HTTP/1.1 505")):
                raise Failure(f"{junk[:50]!r} is answered {reply[:200]!r}")
        asked = [self.paths[n % len(self.paths)] for n in range(300)]
        answers = await self.send(*(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, HOST) for path in asked), most=len(asked))
        if [answer.content()[2] for answer in answers] != [self.baseline[path][2] for path in asked]:
            raise Failure("pipelined answers are out of order")

    async def bodies(self):
        """Methods that there are not, and bodies that nobody asked for. What is in a body is never a request."""
        for method in [b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"TRACE", b"PROPFIND", b"PURGE", b"get", b"G" * 5_000, b"DEBUG", b"BREW"]:
            for path in (b"/robots.txt", b"/sitemap.xml", b"/nothing"):
                for answer in await self.send(b"%s %s HTTP/1.1\r\nHost: %s\r\nX-A: %s\r\nConnection: close\r\n\r\n" % (method, path, HOST, MARK)):
                    if answer.status not in (405, 400):
                        raise Failure(f"{method[:20]!r} is {answer.status}")
        inner = b"GET /nothing-smuggled HTTP/1.1\r\nHost: %s\r\n\r\n" % HOST
        chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
        framings = [
            (b"Content-Length: %d" % len(inner), inner),
            (b"Transfer-Encoding: chunked", chunk),
            (b"Transfer-Encoding: chunked\r\nContent-Length: 4", chunk),
            (b"Content-Length: 4\r\nTransfer-Encoding: chunked", chunk),
            (b"Content-Length: %d\r\nContent-Length: 0" % len(inner), inner),
            (b"Content-Length: 0, %d" % len(inner), inner),
            (b"Content-Length: +%d" % len(inner), inner),
            (b"Content-Length: -1", inner),
            (b"Content-Length: 99999999999999999999999", inner),
            (b"Transfer-Encoding: chunked, identity", chunk),
            (b"Transfer-Encoding: xchunked", chunk),
            (b"Transfer-Encoding: chunked", b"ffffffffffffffffff\r\n" + inner),
            (b"Transfer-Encoding: chunked", b"-1\r\n" + inner),
            (b"Transfer-Encoding: chunked", b"5;" + b"x" * 100_000 + b"\r\n" + inner),
            (b"Transfer-Encoding: chunked", b"zz\r\n" + inner),
            (b"Expect: 100-continue\r\nContent-Length: %d" % len(inner), inner),
            (b"Expect: " + MARK + b"\r\nContent-Length: %d" % len(inner), inner),
            (b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__", b""),
        ]
        for method in (b"GET", b"HEAD", b"POST"):
            for framing, body in framings:
                asked = b"%s /robots.txt HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n%s" % (method, HOST, framing, body)
                replies = asyncio.StreamReader()
                replies.feed_data(await self.shout(asked))
                replies.feed_eof()
                statuses = []
                while not replies.at_eof():
                    statuses.append(sound(await read_answer(replies, method), asked).status)
                    self.answers += 1
                if 404 in statuses or len(statuses) > 2:
                    raise Failure(f"a body was taken for a request: {method!r} {framing!r}: {statuses}")

    # -- How much of it -------------------------------------------------------------------------------------------

    async def unknown_paths(self):
        """As many paths as were never heard of: each a 404, none remembered."""
        count, connections, batch = self.options.paths, 16, 250
        # Of these the bucket is asked: there could be such a sitemap.
        likely = [b"/%s%d-sitemap%d.xml" % (MARK, n, n + 2) for n in range(min(count // 50, 2_000))]
        unlikely = (b"/%s/%d" % (MARK, n) for n in range(count - len(likely)))

        async def work(paths):
            reader, writer = await self.connect()
            while asked := [path for _, path in zip(range(batch), paths)]:
                writer.write(b"".join(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, HOST) for path in asked))
                for path in asked:
                    answer = await asyncio.wait_for(read_answer(reader), TIMEOUT)
                    # All is looked at in the first answer; that the others are the same is enough.
                    if answer.status != 404 or answer.body != b"Not found\n" or answer.one("cache-control") != BRIEF:
                        raise Failure(f"{path!r} is {answer.status}")
                    self.answers += 1
            writer.close()

        unlikely = iter(unlikely)
        likely = iter(likely)
        await asyncio.gather(*(work(unlikely) for _ in range(connections)), *(work(likely) for _ in range(4)))

    async def slow_clients(self):
        """Clients that send a byte a second, and clients that ask on and on and read nothing: others are served."""
        seconds, count = max(self.options.seconds, 3), 300
        request = b"GET /%s HTTP/1.1\r\nHost: %s\r\n" % (b"a" * 4_000, HOST)
        slow = [await self.connect() for _ in range(count)]
        deaf = [await self.connect(limit=1) for _ in range(50)]
        flood = b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (self.paths[1], HOST) * 2_000
        for _, writer in deaf:
            writer.transport.pause_reading()
            writer.write(flood)
        worst, served, end, at = 0, 0, time.monotonic() + seconds, 0
        while time.monotonic() < end:
            for _, writer in slow:
                writer.write(request[at:at + 1])
            at += 1
            until = time.monotonic() + 1
            while time.monotonic() < until:
                begun = time.monotonic()
                await self.same(self.paths[served % len(self.paths)])
                worst, served = max(worst, time.monotonic() - begun), served + 1
        for _, writer in slow + deaf:
            writer.transport.abort()
        if worst > PATIENCE:
            raise Failure(f"a request took {worst:.1f} s while {count} clients were slow")
        return f"{count} slow and {len(deaf)} deaf clients; others waited {worst * 1000:.0f} ms at most"

    async def load(self):
        """Full speed for some seconds: every answer is a 200."""
        seconds, connections = self.options.seconds, 64
        path = self.paths[1].decode()
        if wrk := shutil.which("wrk"):
            command = [wrk, "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-H", f"Host: {HOST.decode()}", f"http://127.0.0.1:{self.port}{path}"]
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
            text = (await process.communicate())[0].decode()
            if "Non-2xx" in text or "Socket errors" in text or process.returncode:
                raise Failure(text)
            self.answers += int(re.search(r"(\d+) requests in", text)[1])
            return f"wrk: {re.search(r'Requests/sec: +(.+)', text)[1]} a second, p99 {re.search(r'99% +(.+)', text)[1]}"
        end, expected = time.monotonic() + seconds, self.baseline[path.encode()]

        async def work():
            reader, writer = await self.connect()
            while time.monotonic() < end:
                writer.write(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path.encode(), HOST))
                answer = await asyncio.wait_for(read_answer(reader), TIMEOUT)
                if (answer.status, answer.body) != (200, expected[2]):
                    raise Failure(f"{answer.status} under load")
                self.answers += 1
            writer.close()

        before = self.answers
        await asyncio.gather(*(work() for _ in range(connections)))
        return f"own clients (wrk is not installed): {(self.answers - before) / seconds:.0f} a second"


async def abuse(port, pid, options):
    abuse = Abuse(port, pid, options)
    await abuse.learn()
    for check in (abuse.unkeyed_headers, abuse.traversal, abuse.injection, abuse.large_heads, abuse.conditions, abuse.old_and_many,
                  abuse.bodies, abuse.unknown_paths, abuse.slow_clients, abuse.load):
        await abuse.run(check.__name__.replace("_", " "), check)
    print(f"{abuse.answers} answers; {abuse.rss() // 1024} MiB of memory")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=30, help="of load, and of slow clients (30)")
    parser.add_argument("--paths", type=int, default=100_000, help="that were never heard of (100,000)")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/debug/waymark")
    options = parser.parse_args()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        def text(file):
            file.seek(0)
            return file.read()

        command = [options.binary, "--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT)
        try:
            for _ in range(240):
                if "\nready " in text(out):
                    break
                if process.poll() is not None:
                    sys.exit(f"waymark has ended:\n{text(err)}")
                time.sleep(0.5)
            port = int(re.search(r"^site http://127\.0\.0\.1:(\d+)$", text(out), re.M)[1])
            asyncio.run(abuse(port, process.pid, options))
            process.send_signal(signal.SIGINT)
            if process.wait(30) or "panicked" in text(err):
                raise Failure(f"waymark did not end well: {process.returncode}\n{text(err)[-2000:]}")
        except Failure as failure:
            sys.exit(f"FAILED: {failure}\n{text(err)[-2000:]}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
