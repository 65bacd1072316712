#!/usr/bin/env python3
"""Sends what no well-meaning client would to the sites of a running local stack, and checks every answer.

    abuse.py                          all checks, on a stack that this starts and ends
    abuse.py --waymark PATH           the binary [target/debug/waymark]
    abuse.py --function PATH          through the double of a function URL, with this binary of `http` behind it
    abuse.py --seconds N              of full load, and of slow clients [10]
    abuse.py --only NAME              checks whose name has this in it; may be given several times

Three sites are loaded: the one that is abused, another, and a private one. Their documents are fetched once, and from then
on `judge` holds each answer against them: a 200 is byte for byte a document of the site that was asked, a redirect leads to
a path of the same site, and all else is one of a few fixed texts; no header but the known ones; nothing that was sent comes
back, and nothing internal. Each check adds what it is about. The process may not grow by more than a bound during any.

The server is hyper in infra/local, which stands in for the CDN and for Lambda's Function URL. What is found in `http` itself
(routes, headers, bodies) holds for both; framing, header limits and slow clients are the stand-in's, and Lambda's are not
tested here. With --function they are left out, and the others ask the deployed binary, with fewer requests where there are
very many. Exit status: 1 if a check failed."""
import argparse
import collections
import concurrent.futures
import contextlib
import gzip
import itertools
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from abused import (BUCKET, CANARY, FUNCTION_BYTES, INDEX, INTERNAL, LARGE, OTHER, PRIVATE, QUIET, REFUSED, SITE, SMALL, TIMEOUT,
                    Stack, Wrong, fixed, header, length, percentile, request, short)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN = 5

# By how much a check may let the process grow.
GROWTH_BYTES = 100_000_000
# Clients that are slow in reading, and as many in sending.
SLOW = 200
# What a slow reader may hold, which is in steps and in hyper's buffers: a third of the document that it asks for.
READER_BYTES = 1_000_000
# How long others may wait meanwhile: seconds, of the slowest in a hundred.
SLOW_P99 = 2.0

# What a CDN does not key its cache by; each alone, all at once, and some together must change nothing.
UNKEYED = [(name, value) for name, value in [
    *itertools.product(["X-Forwarded-Host", "X-Host", "X-Original-Host", "X-Forwarded-Server", "X-HTTP-Host-Override",
                        "X-Waymark-Host"], [OTHER, PRIVATE, "evil.example:80@x", f"{CANARY}.example", "../" + OTHER]),
    *itertools.product(["X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Path", "X-Forwarded-Prefix"],
                       ["/robots.txt", "//evil.example/", "/site.json"]),
    ("Forwarded", f"for=1.2.3.4;host={OTHER};proto=gopher"), ("X-Forwarded-Proto", "gopher"), ("X-Forwarded-Scheme", "http"),
    ("X-Forwarded-Port", "1"), ("X-Forwarded-For", "127.0.0.1, ::1"), ("X-Real-IP", "127.0.0.1"), ("Via", f"1.1 {CANARY}"),
    ("X-HTTP-Method-Override", "DELETE"), ("X-Method-Override", "POST"), ("X-Amz-Website-Redirect-Location", "//evil.example"),
    ("Accept", f"text/html;{CANARY}"), ("Accept", "application/json"), ("Accept-Language", "de"), ("Accept-Charset", "utf-16"),
    ("User-Agent", f"Mozilla/5.0 {CANARY}"), ("User-Agent", "Googlebot/2.1"), ("Referer", "https://evil.example/"),
    ("Origin", "https://evil.example"), ("Cookie", f"a={CANARY}"), ("Authorization", "Basic YTpi"), ("X-Debug", "1"),
    ("Cache-Control", "no-cache, no-store, max-age=0"), ("Pragma", "no-cache"), ("Upgrade-Insecure-Requests", "1"),
    ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-User", "?1"), ("TE", "trailers"), ("Max-Forwards", "0"),
    ("Upgrade", "h2c"), ("Range", "bytes=0-0"), ("If-Range", "\"x\""), ("Prefer", "return=minimal"), ("Save-Data", "on"),
]]
# What an answer may depend on, if its Vary says so.
VARIANTS = [("Accept-Encoding", "gzip"), ("Accept-Encoding", "br, gzip;q=0.5"), ("Accept-Encoding", "identity;q=0, *"),
            ("Sec-Fetch-Dest", "document")]


def at_once(workers, work, items):
    """Each item's result, several at a time; what fails is raised here."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def keep_asking(stack, clients, seconds):
    """The sorted times of requests that clients sent one after the other, each on its connection, for so long."""
    wanted = [(path, coding) for path in [INDEX, SMALL, SMALL + ".gz", "/robots.txt"] for coding in ["identity", "gzip"]]
    until = time.monotonic() + seconds

    def client(first):
        times = []
        with stack.connect() as connection:
            for path, coding in itertools.islice(itertools.cycle(wanted), first, None):
                begun = time.monotonic()
                if begun >= until:
                    return times
                sent = request(path, [("Accept-Encoding", coding)])
                connection.send(sent)
                answer = connection.answer()
                if not answer or stack.judge(answer, sent).body != stack.documents[SITE][path, coding]:
                    raise Wrong(f"not what is published: {short(sent)}")
                times.append(time.monotonic() - begun)

    return sorted(itertools.chain.from_iterable(at_once(clients, client, range(clients))))


def load(stack, seconds):
    """Every answer under load is the right one; and `wrk`, if there is one, at full speed."""
    times = keep_asking(stack, 16, seconds)
    figures = f"{len(times) / seconds:,.0f} a second all compared, p99 {percentile(times, 0.99) * 1000:.0f} ms"
    if stack.url:
        return figures  # of the double's speed
    if not (wrk := shutil.which("wrk")):
        return figures + "; no wrk here, so this was all the load"
    url = "http://{}:{}".format(*stack.address) + SMALL
    command = [wrk, "-t2", "-c64", f"-d{seconds}s", "--latency", "-H", f"Host: {SITE}", url]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + TIMEOUT).stdout
    stack.expect("Non-2xx" not in said and "Socket errors" not in said, f"wrk: {said}")
    rate, p99 = re.search(r"Requests/sec:\s+(\S+)", said)[1], re.search(r"99%\s+(\S+)", said)[1]
    return f"{figures}; wrk {float(rate):,.0f} a second, p99 {p99}"


def slow_clients(stack, seconds):
    """Clients that read a byte a second, and clients that send one: the others are answered meanwhile."""
    with contextlib.ExitStack() as held:
        readers = [held.enter_context(stack.connect(receive_buffer=4096)) for _ in range(SLOW)]
        senders = [held.enter_context(stack.connect()) for _ in range(SLOW)]
        return beside(stack, seconds, readers, senders)


def beside(stack, seconds, readers, senders):
    """What becomes of others, and of the slow in the end."""
    for reader in readers:
        reader.send(request(LARGE, [("Connection", "close")]))
    for sender in senders:
        sender.send(request(INDEX)[:-2] + b"X-Slow: ")
    stack.rest()
    stopped, read = threading.Event(), []

    def crawl():
        while not stopped.wait(1):
            read.append(readers[0].socket.recv(1))
            for reader in readers[1:]:
                reader.socket.recv(1)
            for sender in senders:
                sender.send(b"x")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        crawling = pool.submit(crawl)
        try:
            times = keep_asking(stack, 4, seconds)
        finally:
            stopped.set()
        crawling.result()
    p99 = percentile(times, 0.99)
    stack.expect(p99 < SLOW_P99, f"others waited {p99:.1f} s")
    # The slow are not cut short: who goes on gets all of it.
    _, _, body = (b"".join(read) + readers[0].file.read()).partition(b"\r\n\r\n")
    stack.expect(body == stack.documents[SITE][LARGE, "identity"], f"a slow reader gets {len(body)} bytes")
    senders[0].send(b"\r\n\r\n")
    answer = senders[0].answer()
    stack.expect(answer and answer.status == 200, f"a slow sender gets {answer}")
    return f"{len(times)} others answered, p99 {p99 * 1000:.0f} ms"


def unknown_paths(stack, _):
    """100,000 paths and hosts that nobody has heard of."""
    number = 1_000 if stack.url else 100_000

    def sent(n):
        if n % 10 < 6:
            return request(f"/{CANARY}/{n:x}.php?{n}"), SITE
        if n % 10 < 9:
            return request(f"/x{n}-sitemap{n + 2}.xml"), SITE
        return request(INDEX, host=f"h{n}.example"), None

    def batch(first):
        with stack.connect() as connection:
            requests = [sent(n) for n in range(first, first + 100)]
            connection.send(b"".join(raw for raw, _ in requests))
            for raw, host in requests:
                answer = connection.answer()
                if not answer or stack.judge(answer, raw, host).status != 404:
                    raise Wrong(f"not 404: {short(raw)} {answer}")

    begun = time.monotonic()
    at_once(8, batch, range(0, number, 100))
    return f"{number:,} at {number / (time.monotonic() - begun):,.0f} a second"


def large_heads(stack, _):
    """Headers and request lines beyond all measure are refused or ignored."""
    cases = {
        "a header of 64 KB": request(INDEX, [("X-Long", "x" * 65_536)]),
        "a header of 1 MB": request(INDEX, [("X-Long", "x" * 1_000_000)]),
        "5,000 headers": request(INDEX, [(f"X-{n}", "x") for n in range(5_000)]),
        "100,000 headers": request(INDEX, [("X", "x")] * 100_000),
        "a name of 70 KB": request(INDEX, [("X" * 70_000, "x")]),
        "a cookie of 64 KB": request(INDEX, [("Cookie", "a=b; " * 13_000)]),
        "Accept-Encoding of 10,000 codings": request(INDEX, [("Accept-Encoding", "x;q=0.1," * 10_000)]),
        "a path of 64 KB": request("/" + "x" * 65_535),
        "a path of 1 MB": request("/" + "x" * 1_000_000),
        "a query of 60 KB": request(INDEX + "?" + "x" * 60_000),
        "a host of 64 KB": request(INDEX, host="x" * 65_536),
        "a method of 64 KB": request(INDEX, method="X" * 65_536),
        "1 MB without a line's end": b"G" * 1_000_000,
        "1 MB of line ends": b"\r\n" * 500_000,
    }
    statuses = collections.Counter()
    for name, raw in cases.items():
        # No answer: the server closed while it was still being told, and the answer was lost with the connection.
        answer = stack.ask(None, raw=raw) if "line" not in name else stack.closes(raw)
        statuses[answer.status if answer else "closed"] += 1
        stack.expect(not answer or answer.status in {200, 404, 405, *REFUSED}, f"{name}: {answer}")
        stack.serves()
    return ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items(), key=str))


def traversal(stack, _):
    """No spelling of a path leads out of a site's published documents."""
    inside = ["site.json", f"published/{SITE}/site.json", f"{SITE}/site.json", f"{BUCKET}/published/{SITE}/site.json",
              f"{OTHER}/page-sitemap.xml", f"{OTHER}/site.json", "etc/passwd"]
    ups = ["", "/", "./", "../", "../../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%252e%252e%252f", "..\\", "..%5c", ".%2e/",
           "%c0%ae%c0%ae/", "%c0%ae%c0%ae%c0%af", "%e0%80%ae%e0%80%ae/", "%uff0e%uff0e/", "..%00/", "..;/", "....//",
           "\xc0\xae./", "%2f", "%5c", ";/", "x/../", "post-sitemap.xml/../", "sitemap_index.xml/../../", "robots.txt%00/"]
    suffixes = ["", "%00.xml", "%00-sitemap.xml", "?.xml", ";.xml", "#.xml", "/.", "%20", "."]
    targets = [f"/{up}{path}{suffix}" for up, path, suffix in itertools.product(ups, inside, suffixes)]
    targets += [f"/{up}{SITE}{up}site-sitemap{suffix}.xml" for up, suffix in itertools.product(ups, ["%2f", "..", "1/../site"])]
    targets += [f"//{OTHER}{SMALL}", f"/\\{OTHER}{SMALL}", "//evil.example/sitemap.xml", "/%2f/evil.example/x-sitemap1.xml",
                "/\\evil.example/x-sitemap1.xml", "//evil.example/x-sitemap0.xml", "/@evil.example-sitemap1.xml",
                "/.evil.example/x-sitemap1.xml", "site.json", "*", "..", "evil.example:80", "file:///etc/passwd",
                f"s3://{BUCKET}/published/{SITE}/site.json", f"http://{OTHER}/site.json", f"http://{SITE}/../{OTHER}/site.json",
                "/site-sitemap.json", "/SITEMAP_INDEX.XML", "/sitemap_index%2exml", "/sitemap_index.xml%00",
                "/sitemap_index.xml/"]

    def look(target):
        answer = stack.ask(target)
        stack.expect(answer and answer.status in (400, 404), f"{target}: {answer and fixed(answer)}")

    at_once(8, look, targets)
    # In a target with a host in it the stand-in goes by the header all the same.
    for target, host in itertools.product([f"http://{SITE}{SMALL}", f"http://{OTHER}{SMALL}"], [SITE, OTHER]):
        answer = stack.ask(target, host=host)
        stack.expect(answer and answer.body == stack.documents[host][SMALL, "identity"], f"{target} for {host}: {answer}")
    for form in [SMALL, SMALL + ".gz", "/page-sitemap.txt", "/page-sitemap.txt.gz"]:
        answer = stack.ask(form, host=PRIVATE)
        stack.expect(answer and answer.status == 404, f"a private site's {form}: {answer}")
    return f"{len(targets)} targets"


def injection(stack, _):
    """Line ends and NUL, raw and encoded, in every part of a request."""
    ends = ["\r\n", "\n", "\r", "\0", "%0d%0a", "%0a", "%0d", "%00", "%250d%250a", "%e5%98%8a%e5%98%8d", "\u0085",
            "\\r\\n", "%23%0d%0a"]
    payloads = [f"{end}{text}" for end in ends for text in
                [f"X-{CANARY}: 1", f"Set-Cookie: {CANARY}=1", "Location: //evil.example",
                 f"Content-Length: 0{end}{end}HTTP/1.1 200 OK{end}{end}{CANARY}", f"<script>{CANARY}</script>"]]
    names = sorted({name for name, _ in UNKEYED + VARIANTS} |
                   {"If-None-Match", "If-Modified-Since", "Accept-Encoding", "Range", "Connection", "Content-Type", "Expect"})
    raws = [request(path.format(payload)) for payload in payloads for path in
            ["/{}", INDEX + "{}", INDEX + "?{}", "/sitemap.xml{}", "/sitemap.xml?next={}", "/post{}-sitemap1.xml",
             "/post-sitemap1{}.xml", "/post-sitemap1.xml?{}", "/robots.txt?{}"]]
    raws += [request(path, [(name, f"a{payload}")])
             for payload, name, path in itertools.product(payloads, names, [INDEX, "/sitemap.xml"])]
    raws += [request(INDEX, host=SITE + payload) for payload in payloads]
    raws += [request(INDEX, method="GET" + payload) for payload in payloads]
    if stack.url:
        raws = raws[::5]

    def look(raw):
        # What follows an injected end is a request of its own, or no request at all; each answer is judged.
        with stack.connect(timeout=QUIET) as connection:
            connection.send(raw + request(INDEX, [("Connection", "close")]))
            answers = list(iter(connection.answer, None))
        for answer in answers:
            # A broken Host names no site, or the one before the break.
            stack.judge(answer, raw)
        return len(answers)

    answers = sum(at_once(32, look, raws))
    stack.expect(answers > len(raws) / 2, f"only {answers} answers")
    return f"{len(raws)} requests, {answers} answers"


PLACES = [INDEX, INDEX + ".gz", SMALL, SMALL + ".gz", "/page-sitemap.txt", "/page-sitemap.txt.gz", "/robots.txt", "/feed.atom", "/sitemap.css", "/sitemap.xml",
          "/post-sitemap1.xml", "/nothing", "/nothing-sitemap.xml"]


def unkeyed_headers(stack, _):
    """What is not in a cache's key changes nothing in an answer; what does is named by its Vary."""
    choose = random.Random(1)
    sets = [[pair] for pair in UNKEYED] + [choose.sample(UNKEYED, choose.randint(2, 12)) for _ in range(60)] + [UNKEYED]

    def look(place):
        plain = fixed(stack.ask(place))
        vary = ",".join(value for name, value in plain[1] if name == "vary").lower().replace(" ", "").split(",")
        for headers in sets:
            answer = fixed(stack.ask(place, headers))
            stack.expect(answer == plain, f"{place} depends on {headers[:3]}: {answer[:2]}")
        for name, value in VARIANTS:
            same = fixed(stack.ask(place, [(name, value)])) == plain
            stack.expect(same or name.lower() in vary, f"{place} depends on {name}: {value}, and Vary is {vary}")
        # Who could not be told apart would make this check worthless.
        if place in (INDEX, SMALL):
            stack.expect(fixed(stack.ask(place, [("Accept-Encoding", "gzip")])) != plain, f"{place} is the same for all")

    at_once(4, look, PLACES)
    return f"{len(PLACES)} places, {len(sets) + len(VARIANTS)} sets of headers each"


def ranges_and_conditions(stack, _):
    """A range is no reason to send part of a document, and a condition only then none to send it."""
    whole = stack.ask(SMALL)
    size, etag, [date] = len(whole.body), header(whole, "etag")[0], header(whole, "last-modified")
    values = ["bytes=0-0", "bytes=-1", "bytes=1-", f"bytes={size}-", f"bytes=0-{10**30}", "bytes=5-1", "bytes=0-0,-1",
              "bytes=" + "0-,1-," * 2_000 + "2-", "bytes=0-1,1-2,0-9", "bytes=", "bytes=a-b", "bytes=--1", "items=0-1",
              "bytes = 0-0", "\x80"]
    for value, extra in itertools.product(values, [[], [("If-Range", etag)], [("If-Range", date)], [("If-Range", "W/\"x\"")]]):
        for path in [SMALL, SMALL + ".gz"]:
            answer = stack.ask(path, [("Range", value), *extra])
            # That ranges are ignored is allowed (RFC 9110, section 14.2); a part that is served here needs a check of its own.
            is_whole = answer and (answer.status, answer.body) == (200, stack.documents[SITE][path, "identity"])
            stack.expect(is_whole, f"{path} {value[:40]} {extra}: {answer and answer.status}")
    many = ", ".join(f'"{n:032x}"' for n in range(2_000))
    far, past = "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"
    conditions = [("If-None-Match", value, 304) for value in
                  [etag, f"W/{etag}", "*", f"{many}, {etag}", f"{etag}, {many}", f", ,{etag}", f'"a,b", {etag}']]
    conditions += [("If-None-Match", value, 200) for value in
                   [many, "", ",", '"', etag[:-1], etag[1:], etag.strip('"'), f"w/{etag}", f"x{etag}", f"'{etag}'", '"*"', "**",
                    "\x80", "W/" * 5_000, '"' * 9_999, etag.upper() if etag.upper() != etag else '"A"', f'"{etag}"']]
    conditions += [("If-Modified-Since", value, 304) for value in [date, far]]
    conditions += [("If-Modified-Since", value, 200) for value in
                   [past, "", "yesterday", "0", "-1", "Mon, 31 Feb 2026 99:99:99 GMT", "9" * 5_000, "\x80",
                    "Thu, 01 Jan 0000 00:00:00 GMT", "Thu, 01 Jan 99999999999 00:00:00 GMT", f"{date}, {date}"]]
    for (name, value, status), method in itertools.product(conditions, ["GET", "HEAD"]):
        answer = stack.ask(SMALL, [(name, value)], method=method)
        is_right = answer and answer.status == status and (status == 304 or length(answer) == [str(size)])
        stack.expect(is_right, f"{method} {name}: {value[:60]} is not {status}: {answer}")
    both = stack.ask(SMALL, [("If-None-Match", '"x"'), ("If-Modified-Since", far)])
    stack.expect(both.status == 200, "If-Modified-Since wins over If-None-Match")
    return f"{len(values) * 8} ranges, {len(conditions) * 2 + 1} conditions"


def versions_and_methods(stack, _):
    """HTTP/1.0, pipelining, methods that nobody offers, bodies that nobody wants."""
    documents = stack.documents[SITE]
    for path, kept in itertools.product([INDEX, SMALL + ".gz", "/page-sitemap.txt"], [False, True]):
        sent = request(path, [("Connection", "keep-alive")] if kept else [], version="1.0")
        with stack.connect() as connection:
            connection.send(sent)
            answer = stack.judge(connection.answer(), sent)
            stack.expect(answer.body == documents[path, "identity"], f"HTTP/1.0 {path}: {answer.status}")
            stack.expect(not header(answer, "transfer-encoding"), f"HTTP/1.0 {path}: chunked")
            if not kept:
                stack.expect(connection.file.read() == b"", f"HTTP/1.0 {path}: more than the answer")
    paths = [INDEX, SMALL, "/robots.txt", "/page-sitemap.txt"] * 25
    with stack.connect() as connection:
        connection.send(b"".join(map(request, paths)))
        for n, path in enumerate(paths):
            answer = stack.judge(connection.answer(), request(path))
            stack.expect(answer.body == documents[path, "identity"], f"pipelined, {n}th is not {path}")
    methods = ["OPTIONS", "TRACE", "DELETE", "PUT", "PATCH", "POST", "PROPFIND", "CONNECT", "get", "Get", "GETS", "BREW",
               "X-" + CANARY]
    for method, path in itertools.product(methods, [INDEX, "/", "/sitemap.xml", "/nothing", f"/?{CANARY}"]):
        target = f"{OTHER}:443" if method == "CONNECT" else path
        answer = stack.ask(target, [("X-Secret", CANARY)], method=method)
        is_refused = answer and answer.status == 405 and header(answer, "allow") == ["GET, HEAD"]
        stack.expect(is_refused, f"{method} {target}: {answer}")
    for method in ["G ET", "GE\tT", "G\0T", "", "GET\x80", "G(T"]:
        answer = stack.ask(INDEX, method=method)
        stack.expect(not answer or answer.status == 400, f"{method!r}: {answer and answer.status}")
    for version in ["0.9", "1.2", "2.0", "3", "1.1 x", "9" * 9_999]:
        answer = stack.ask(INDEX, raw=request(INDEX).replace(b"HTTP/1.1", f"HTTP/{version}".encode()))
        stack.expect(not answer or answer.status in REFUSED, f"HTTP/{version[:9]}: {answer and answer.status}")
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for frames in [b"\0" * 100_000, b"\xff" * 100_000, random.Random(1).randbytes(100_000), CANARY.encode() * 1_000]:
        with stack.connect(timeout=QUIET) as connection:
            connection.send(preface + frames)
            try:
                said = connection.file.read(1_000_000)
            except OSError:
                said = b""
            tells = CANARY.encode() in said or INTERNAL.search(said.decode("latin-1"))
            stack.expect(not tells, f"HTTP/2 tells {short(said)}")
        stack.serves()
    return f"{len(paths)} pipelined, {len(methods) * 5} odd methods"


def framing(stack, _):
    """A request's body is not taken for a request, however its length is told."""
    hidden = request("/robots.txt", host=OTHER)
    stolen = stack.documents[OTHER]["/robots.txt", "identity"]
    length, chunked = [("Content-Length", len(hidden))], [("Transfer-Encoding", "chunked")]
    end = b"0\r\n\r\n" + hidden
    both = ("Content-Length", len(end))
    cases = [(length, hidden), (chunked, b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)),
             ([*length, ("Expect", "100-continue")], hidden), ([*length, ("Expect", "the-impossible")], hidden),
             ([both, *chunked], end), ([*chunked, both], end), ([both, ("Transfer-Encoding", "identity")], end)]
    cases += [([both, ("Transfer-Encoding", value)], end) for value in
              ["xchunked", "chunked, identity", "identity, chunked", "gzip", "\x0bchunked", "chunked;q=1", "\"chunked\"",
               "Chunked\x80", ""]]
    cases += [([both, (name, "chunked")], end) for name in
              ["Transfer-Encoding ", " Transfer-Encoding", "Transfer_Encoding", "Transfer-Encoding\t",
               "X: y\nTransfer-Encoding"]]
    cases += [([("Content-Length", 0), *length], hidden), ([*length, ("Content-Length", 0)], hidden)]
    cases += [([("Content-Length", value)], hidden) for value in
              ["+0", "-1", "0x0", "0, 5", "0 0", "0;", "9" * 20, "18446744073709551616", "0.0", "0\x0b", "O", ""]]
    cases += [(chunked, size + b"\r\n" + hidden) for size in
              [b"10000000000000000", b"-1", b"0x0", b"g", b"", b" 5", b"+0", b"0" * 100_000, b"f" * 16,
               b"5;" + b"x" * 100_000]]
    cases += [(chunked, b"5\r\nabcdeXX0\r\n\r\n" + hidden), (chunked, b"0\n\n" + hidden), (chunked, b"0\r\r\n\n" + hidden),
              (chunked, b"5\r\nab\r\n\r\n" + hidden), (chunked, b"0\r\n" + b"X: y\r\n" * 20_000 + hidden)]

    def answers(case):
        headers, body = case
        with stack.connect(timeout=QUIET) as connection:
            sent = request(INDEX, headers) + body
            connection.send(sent)
            found = list(iter(connection.answer, None))
        for answer in found:
            stack.judge(answer, sent, OTHER if answer.body == stolen else SITE)
        return [answer.body for answer in found]

    # Were it a request, it would be seen.
    stack.expect(answers(([("Content-Length", 0)], hidden))[1:] == [stolen], "a second request is not seen")
    for (headers, body), found in zip(cases, at_once(16, answers, cases)):
        stack.expect(stolen not in found, f"the hidden request is answered: {headers} {short(body)}")
        stack.expect(len(found) <= 2, f"{len(found)} answers: {headers} {short(body)}")
    stack.expect(answers(([*length, ("Expect", "100-continue")], hidden))[:1] == [stack.documents[SITE][INDEX, "identity"]],
                 "a body on GET is not ignored")
    return f"{len(cases)} framings"


def damaged_bucket(stack, _):
    """What is in the bucket by mistake is not served, and an error tells nothing of it."""
    for body in [b"", b"<html>" + CANARY.encode(), gzip.compress(bytes(1_000)), stack.object(f"{SITE}/site.json")]:
        for name in ["page-sitemap.xml", "sitemap_index.xml", "robots.txt", "feed.atom"]:
            stack.object(f"{OTHER}/{name}", body)
        forms = [SMALL, SMALL + ".gz", "/page-sitemap.txt", "/page-sitemap.txt.gz", INDEX, INDEX + ".gz", "/robots.txt", "/feed.atom"]
        for path, method in itertools.product(forms, ["GET", "HEAD"]):
            answer = stack.ask(path, [("If-None-Match", "*")] if method == "HEAD" else [], OTHER, method)
            stack.expect(answer and answer.status == 503 and header(answer, "cache-control") == ["no-store"],
                         f"{method} {path}: {answer and answer.status}")
    # Ours by its header and metadata, and 300,000 times as large as they say.
    bomb = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x04\0" + bytes(4) + gzip.compress(bytes(300_000_000))[10:]
    document = {"digest": "0" * 32, "changed": 1_800_000_000, "bytes": 1_000, "entries": 3, "stamp": "0-0"}
    metadata = {f"x-amz-meta-document-{name}": value for name, value in document.items()}
    stack.object(f"{OTHER}/page-sitemap.xml", bomb, metadata)
    bombs = [SMALL, SMALL + ".gz", "/page-sitemap.txt", "/page-sitemap.txt.gz"]
    for path, coding in itertools.product(bombs, ["identity", "gzip"]):
        answer = stack.ask(path, [("Accept-Encoding", coding)], OTHER)
        stack.expect(answer and answer.status == 503, f"a bomb at {path}: {answer and answer.status}")
    found = stack.log.read_text().count("longer than its metadata says")
    stack.expect(found == 2 * len(bombs), f"{found} bombs were found out")
    return "4 × 4 objects and a bomb; failing calls and broken bodies: shared/front/tests/requests"


CHECKS = [load, slow_clients, unknown_paths, large_heads, traversal, injection, unkeyed_headers, ranges_and_conditions,
          versions_and_methods, framing, damaged_bucket]
# They are about a server, and the double's is not the one that is deployed. The first alone needs a large document.
OF_THE_SERVER = [slow_clients, large_heads, framing]
FEW_PAGES = 200


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", type=pathlib.Path, default=ROOT / "target/debug/waymark", metavar="PATH")
    parser.add_argument("--function", type=pathlib.Path, metavar="PATH", help="http's binary, behind the double of a function URL")
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="of load, and of slow clients")
    parser.add_argument("--only", action="append", metavar="NAME", help="a check's name, or a part of it")
    arguments = parser.parse_args()
    checks = [check for check in CHECKS if not arguments.only or any(part in check.__name__ for part in arguments.only)]
    if arguments.function:
        left_out = [check for check in checks if check in OF_THE_SERVER]
        checks = [check for check in checks if check not in OF_THE_SERVER]
        print(f"left out, since they are about a server: {', '.join(check.__name__ for check in left_out) or 'none'}")
    if not checks:
        parser.error("no check has such a name")
    # A thousand connections, each with two ends in the server and one here.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000) if hard > 0 else 20_000, hard))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        function = arguments.function and arguments.function.resolve()
        pages = {"pages": FEW_PAGES} if function else {}
        stack = Stack(arguments.waymark.resolve(), pathlib.Path(folder), function, **pages)
        try:
            for check in checks:
                failed += not run(stack, check, arguments.seconds)
        finally:
            stack.end()
    print(f"{len(checks) - failed} of {len(checks)} checks passed, {next(stack.count)} answers")
    return 1 if failed else 0


def run(stack, check, seconds):
    """Whether a check passes; prints its line."""
    stack.forget_peak()
    before, begun, stack.wrong, figures = stack.memory("VmRSS"), time.monotonic(), [], ""
    try:
        figures = check(stack, seconds)
        stack.serves()
    except (Wrong, OSError) as error:
        stack.wrong.append(str(error))
    for process in filter(None, [stack.process, stack.url]):
        if process.poll() is not None:
            print(f"{check.__name__:22} the server ended with {process.returncode}: {stack.wrong}")
            sys.exit(1)
    growth = stack.memory("VmHWM") - before
    allowed = SLOW * READER_BYTES if check is slow_clients else GROWTH_BYTES
    stack.expect(growth <= allowed, f"grew by {growth / 1e6:.0f} MB")
    if stack.url:
        stack.expect((peak := stack.function_peak()) <= FUNCTION_BYTES, f"a process of the function had {peak / 1e6:.0f} MB")
    stack.expect("panicked" not in (log := stack.log.read_text()), log[-2000:])
    verdict = f"FAILED {len(stack.wrong)}" if stack.wrong else "ok"
    print(f"{check.__name__:22} {verdict:9} {time.monotonic() - begun:5.1f} s  {growth / 1e6:+4.0f} MB  {figures}", flush=True)
    for wrong in stack.wrong[:SHOWN]:
        print(f"  {wrong}")
    return not stack.wrong


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as wrong:
        print(f"abuse.py: {wrong}", file=sys.stderr)
        sys.exit(1)
