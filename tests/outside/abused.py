"""The local stack that is abused, connections to it, and what is true of each of its answers."""
import collections
import contextlib
import gzip
import http.client
import itertools
import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

FUNCTION_URL = pathlib.Path(__file__).with_name("function_url.py")
SITE, OTHER, PRIVATE = "www.abused.example", "other.example", "private.example"
# The largest sitemap: 3 MB, more than the buffers of a connection that nobody reads hold.
PAGES, PADDING = 6_000, "x" * 400
INDEX, SMALL, LARGE = "/sitemap_index.xml", "/page-sitemap.xml", "/post-sitemap.xml"

# How long a connection may stay silent before nothing more is expected of it.
QUIET = 1.0
TIMEOUT = 60.0
STARTS_WITHIN = 120.0

CANARY = "waymark-canary"
TEXTS = {
    301: b"Moved permanently\n",
    404: b"Not found\n",
    405: b"Method not allowed\n",
    503: b"Unavailable for the moment\n",
}
# hyper's own, without a body.
REFUSED = {400, 413, 414, 417, 431, 501, 505}
HEADERS = set("""allow cache-control cache-tag connection content-encoding content-length content-security-policy content-type date etag
    last-modified location retry-after transfer-encoding vary x-content-type-options x-robots-tag""".split())
# A function URL's own.
URL_HEADERS = {"x-amzn-remapped-content-length", "x-amzn-requestid", "x-amzn-trace-id"}
# They tell two equal answers apart.
OF_THE_MOMENT = {"date", "x-amzn-requestid", "x-amzn-trace-id"}
# What an execution environment of the function has, in template.yaml.
FUNCTION_BYTES = 512 * 1024 * 1024
LOCATION = re.compile(r"/sitemap_index\.xml(\.gz)?|/[A-Za-z0-9_-]{1,64}-sitemap\.(xml|txt)(\.gz)?")
BUCKET = "waymark-sitemaps"
INTERNAL = re.compile(rf"{BUCKET}|published/|site\.json|/tmp|/home|/root|/src/|\.rs\b|panicked|backtrace|SdkError|arn:|"
                      r"NoSuchKey", re.IGNORECASE)

Answer = collections.namedtuple("Answer", "status headers body whole")


class Wrong(Exception):
    """An answer that must not be, with what was sent."""


def short(data):
    text = repr(bytes(data))[2:-1]
    return text if len(text) <= 300 else f"{text[:200]} … ({len(data)} bytes)"


def percentile(sorted_seconds, share):
    return sorted_seconds[min(len(sorted_seconds) - 1, int(len(sorted_seconds) * share))]


def header(answer, name):
    """A header's values, in the order in which they came."""
    return [value for known, value in answer.headers if known == name]


def fixed(answer):
    """What two equal answers have in common."""
    return answer.status, sorted(pair for pair in answer.headers if pair[0] not in OF_THE_MOMENT), answer.body


def length(answer):
    """The Content-Length, which a function URL gives another name."""
    return header(answer, "content-length") or header(answer, "x-amzn-remapped-content-length")


def request(path, headers=(), host=SITE, method="GET", version="1.1"):
    lines = [f"{method} {path} HTTP/{version}", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


def memory(pid, field):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024


class Connection:
    """A connection on which anything may be sent, and answers are read one by one."""

    def __init__(self, address, timeout=TIMEOUT, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, raw):
        """Whether all of it was taken: the server may have heard enough, and answered or closed."""
        try:
            self.socket.sendall(raw)
            return True
        except OSError:
            return False

    def answer(self, bodiless=False):
        """The next answer, or nothing if the connection ended, or stayed silent, before one began."""
        try:
            start = self.file.readline(65_536)
        except OSError:
            return None
        if not start:
            return None
        parts = re.fullmatch(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r\n", start)
        if not parts:
            raise Wrong(f"no status line: {short(start)}")
        headers = []
        while (line := self.file.readline(65_536)) not in (b"\r\n", b""):
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or not line.endswith(b"\r\n") or "\r" in value[:-2]:
                raise Wrong(f"no header: {short(line)}")
            headers.append((name.lower(), value.strip()))
        status = int(parts[1])
        if status < 200:
            return self.answer(bodiless)
        fields = dict(headers)
        try:
            body, whole = self.body(fields, bodiless or status in (204, 304))
        except (OSError, ValueError):
            body, whole = b"", False
        return Answer(status, headers, body, whole)

    def body(self, fields, bodiless):
        if bodiless:
            return b"", True
        if "transfer-encoding" in fields:
            chunks = []
            while size := int(self.file.readline(100), 16):
                chunks.append(self.file.read(size))
                self.file.read(2)
            return b"".join(chunks), self.file.readline(100) == b"\r\n"
        if "content-length" in fields:
            length = int(fields["content-length"])
            body = self.file.read(length)
            return body, len(body) == length
        return self.file.read(), True


class Stack:
    """A local stack, the documents of its sites, and what was found wrong. With a `function`, the binary of `http`, all is asked
    through the double of a function URL."""

    def __init__(self, waymark, folder, function=None, pages=PAGES):
        content, log, self.log, url_log = (folder / name for name in ["content.jsonl", "ready", "log", "url"])
        self.url = None
        content.write_text("".join(json.dumps(record) + "\n" for record in records(pages)))
        ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]
        # To a file: nobody reads a pipe once it is ready.
        with open(log, "w") as out, open(self.log, "w") as error:
            self.process = subprocess.Popen([waymark, "serve", *ports, "--content", content], stdout=out, stderr=error)
        try:
            ports = self.ports(self.process, log, "\nready ")
            self.address, self.s3, self.dynamodb = ("127.0.0.1", ports["site"]), ports["s3"], ports["dynamodb"]
            if function:
                self.log = folder / "function"
                command = [sys.executable, FUNCTION_URL, "--s3", f"http://127.0.0.1:{self.s3}", "--bucket", BUCKET,
                           "--binary", function, "--log", self.log]
                with open(url_log, "w") as out:
                    self.url = subprocess.Popen(command, stdout=out, stderr=out)
                self.address = ("127.0.0.1", self.ports(self.url, url_log, "url http")["url"])
            self.learn()
        except BaseException:
            self.end()
            raise

    def ports(self, process, log, ready):
        """Those that a process says it has once it is ready."""
        until = time.monotonic() + STARTS_WITHIN
        while ready not in (said := log.read_text()):
            if process.poll() is not None or time.monotonic() > until:
                raise Wrong(f"{process.args[0]} does not start: {said}{self.log.read_text()}")
            time.sleep(0.1)
        return {name: int(port) for name, port in re.findall(r"^(\w+) http://127\.0\.0\.1:(\d+)$", said, re.MULTILINE)}

    def learn(self):
        self.wrong, self.count = [], itertools.count()
        self.documents = {site: self.fetch(site) for site in [SITE, OTHER, PRIVATE]}
        # Also what only the bucket holds must be there, or it could not be found out.
        if b'"public":true' not in self.object(f"{SITE}/site.json"):
            raise Wrong("the site file is not where it is looked for")

    def fetch(self, site):
        """Each path of a site, and what is served there: to those who read gzip, and to others."""
        found, paths = {}, [INDEX, INDEX + ".gz", "/robots.txt", "/sitemap.css"]
        paths += ["/feed.atom"] if site != PRIVATE else []
        for path in paths:
            for coding in ["identity", "gzip"]:
                with self.connect() as connection:
                    connection.send(request(path, [("Accept-Encoding", coding)], site))
                    answer = connection.answer()
                if not answer or answer.status != 200 or not answer.whole:
                    raise Wrong(f"{site}{path} cannot be had: {answer}")
                plain = gzip.decompress(answer.body) if answer.body[:2] == b"\x1f\x8b" else answer.body
                if INTERNAL.search(plain.decode()):
                    raise Wrong(f"{site}{path} tells internals")
                found[path, coding] = answer.body
            if path == INDEX:
                with self.connect() as connection:
                    connection.send(request(path, [("Sec-Fetch-Dest", "document")], site))
                    found[path, "view"] = connection.answer().body
                listed = [urllib.parse.urlsplit(loc).path for loc in re.findall(r"<loc>(.*?)</loc>", plain.decode())]
                paths += [form + suffix for loc in listed for form in [loc, loc.removesuffix(".xml") + ".txt"]
                          for suffix in ["", ".gz"]]
        return found

    def object(self, key, body=None, headers=()):
        """A published object's bytes in the bucket; or puts others there, as only a damaged bucket has."""
        connection = http.client.HTTPConnection("127.0.0.1", self.s3, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request("PUT" if body is not None else "GET", f"/{BUCKET}/published/{key}", body, dict(headers))
            return connection.getresponse().read()

    def connect(self, **options):
        return Connection(self.address, **options)

    def end(self):
        with contextlib.ExitStack() as ends:
            for process in filter(None, [self.process, self.url]):  # the double first, and the stack in any case
                ends.callback(processes.end, process)

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")  # 5: forget the peak

    def memory(self, field):
        """VmRSS, what the stack has now; VmHWM, the most it had since its peak was forgotten."""
        return memory(self.process.pid, field)

    def function_peak(self):
        """The most that a process of the function had that is there now."""
        until = time.monotonic() + TIMEOUT
        while True:
            children = pathlib.Path(f"/proc/{self.url.pid}/task").glob("*/children")
            try:
                return max(memory(pid, "VmHWM") for threads in children for pid in threads.read_text().split())
            except (FileNotFoundError, ProcessLookupError):
                # A thread of the double has ended between two looks. Its children are another one's now.
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def rest(self):
        """Waits until the process has next to nothing to do: what fits into the buffers of its connections has been sent."""
        def spent():
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])  # utime and stime, in hundredths of a second
        before, until = spent(), time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            time.sleep(0.5)
            earlier, before = before, spent()
            if before - earlier < 10:
                return
        raise Wrong("it does not come to rest")

    def judge(self, answer, sent, host=SITE):
        """What is true of every answer, to whatever it answers."""
        next(self.count)
        def wrong(what):
            raise Wrong(f"{what}\n    sent {short(sent)}\n    got  {answer.status} {answer.headers} {short(answer.body)}")
        if not answer.whole:
            wrong("it breaks off")
        if unknown := {name for name, _ in answer.headers} - (HEADERS | URL_HEADERS if self.url else HEADERS):
            wrong(f"headers of its own: {unknown}")
        said = "\n".join(f"{name}: {value}" for name, value in answer.headers)
        if sent.startswith(b"HEAD "):
            if answer.body:
                wrong("a body")
        elif answer.status == 200:
            if answer.body not in self.documents.get(host, {}).values():
                wrong(f"no document of {host}")
        else:
            said += answer.body.decode("latin-1")
            # People get the view's page of what is not there.
            pages = [of.get((INDEX, "view")) for of in self.documents.values()] if answer.status == 404 else []
            if answer.status not in {304, *TEXTS, *REFUSED} or answer.body not in [TEXTS.get(answer.status, b""), *pages]:
                wrong("no error of ours")
        if CANARY in said or INTERNAL.search(said) or "evil" in said:
            wrong("it tells what it should not")
        locations = header(answer, "location")
        if len(locations) != (answer.status == 301) or not all(map(LOCATION.fullmatch, locations)):
            wrong(f"leads to {locations}")
        return answer

    def ask(self, path, headers=(), host=SITE, method="GET", raw=None):
        """The one answer to a request on a connection of its own, judged; nothing if there was none."""
        sent = raw or request(path, headers, host, method)
        with self.connect() as connection:
            connection.send(sent)
            answer = connection.answer(bodiless=sent.startswith(b"HEAD "))
        return answer and self.judge(answer, sent, host)

    def closes(self, raw):
        """The answer to what need not have one, if there is one soon."""
        with self.connect(timeout=QUIET) as connection:
            connection.send(raw)
            answer = connection.answer()
            return answer and self.judge(answer, raw)

    def expect(self, condition, what):
        """Notes what is wrong, and goes on."""
        if not condition:
            self.wrong.append(what)

    def serves(self):
        """It serves the documents that it did."""
        for coding in ["identity", "gzip"]:
            answer = self.ask(INDEX, [("Accept-Encoding", coding)])
            if not answer or answer.body != self.documents[SITE][INDEX, coding]:
                raise Wrong(f"the index is not served any more: {answer}")


def records(pages):
    """What is published."""
    dates = {"status": "published", "modified_at": "2026-01-02T03:04:05Z"}
    yield {"id": f"site/{SITE}", "type": "site", "site": SITE, "entries_per_sitemap": 50_000}
    yield {"id": f"site/{PRIVATE}", "type": "site", "site": PRIVATE, "public": False}
    for n in range(pages):
        yield {"id": f"post/{n}", "type": "post", "url": f"https://{SITE}/{n}/{PADDING}", **dates}
    for site, n in itertools.product([SITE, OTHER, PRIVATE], range(3)):
        yield {"id": f"page/{site}/{n}", "type": "page", "url": f"https://{site}/page-{n}/", **dates}
