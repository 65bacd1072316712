#!/usr/bin/env python3
"""A double of a streamed function URL: an HTTP server on loopback, and behind it the binary of `http` as Lambda runs it.

    function_url.py --s3 http://127.0.0.1:PORT [OPTION...]

It prints `url http://127.0.0.1:PORT`, and serves until it is told to end. Every request becomes an event, which a process of
the binary takes from a runtime API and answers in the streaming protocol. A process answers one request at a time, as an
execution environment does; more are started as they are needed. Like the CDN, it names the site by the viewer's Host.

--s3 URL            the S3 with the published objects, on loopback
--bucket NAME       its bucket [waymark-sitemaps]
--binary PATH       [target/debug/waymark-http]
--gzip WHERE        the function's GZIP [encoded]
--environments N    processes at most; further requests wait [8]
--inflate           undo Content-Encoding: gzip, as streamed function URLs are said to do
--hang-on-empty W   let an answer whose body has no bytes hang: `after-head`, its head is sent and the connection stays open;
                    `before-head`, nothing is sent
--hang SECONDS      for so long, then the connection is closed [60]
--log FILE          the output of the processes [standard error]

AWS's emulator (emulated.py) runs the same binary, and shows what this need not: prelude, events of the other functions, time-outs, a start
without settings. It cannot be behind this server. It answers one event at a time, keeps the trailers of a body that breaks off to
itself, which is what readers are tested with here, and comes with the SAM CLI, which these tests otherwise do without.

What it does as AWS says or as others saw is in docs/TESTING.md; AWS itself was not seen. Nothing of it leaves the machine:
the processes have no credentials, and 127.0.0.1 for every endpoint of AWS."""
import argparse
import contextlib
import email.utils
import json
import pathlib
import queue
import re
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/cold")]

import processes  # noqa: E402
from runtime_api import RuntimeApi  # noqa: E402

LOOPBACK = "127.0.0.1"
DOMAIN = "doubledoubledouble.lambda-url.us-east-1.on.aws"

# The function's in template.yaml.
TIMEOUT_SECONDS = 60
# How long a request waits for a process to be free.
FREE_WITHIN = 60.0

# Four times what CloudFront lets through, so that the function sees what it would be spared:
# https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html
MAX_HEAD_BYTES = 131_072
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html: a request's payload.
MAX_BODY_BYTES = 6_291_456

PRELUDE_END = bytes(8)
RESPONSE_TYPE = "application/vnd.awslambda.http-integration-response"

# Response headers that come out under this prefix. Of Content-Length, Connection and Date that was seen; API Gateway's
# documentation has the others: https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
REMAPPED = {"authorization", "connection", "content-length", "content-md5", "date", "server", "www-authenticate"}
PREFIX = "x-amzn-remapped-"
DROPPED = {"keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}

REASONS = {200: "OK", 301: "Moved Permanently", 304: "Not Modified", 400: "Bad Request", 404: "Not Found",
           405: "Method Not Allowed", 413: "Content Too Large", 429: "Too Many Requests",
           431: "Request Header Fields Too Large", 502: "Bad Gateway", 503: "Service Unavailable",
           505: "HTTP Version Not Supported"}

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
REQUEST_LINE = re.compile(rf"({TOKEN}) ([!-~\x80-\xff]+) HTTP/(\d\.\d)")
HEADER = re.compile(rf"({TOKEN}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}(;[^\r\n]*)?\r\n")


class Broken(Exception):
    """The function did not answer, or not as it must."""


class Refused(Exception):
    """A request of which no event is made; its status."""


class Invocation:
    """One event and its answer, which may be read while it still comes."""

    def __init__(self, event, environment):
        self.event, self.environment, self.parts = event, environment, queue.SimpleQueue()

    def next(self):
        """The head, then each part of the body, then nothing."""
        try:
            part = self.parts.get(timeout=TIMEOUT_SECONDS)
        except queue.Empty:
            self.environment.process.kill()
            raise Broken(f"no answer within {TIMEOUT_SECONDS} s: {self.event['rawPath']}") from None
        if isinstance(part, Exception):
            raise part
        return part


class Environment(RuntimeApi):
    """A process of the function with a runtime API of its own."""
    timeout_seconds = TIMEOUT_SECONDS

    def __init__(self, function):
        super().__init__()
        self.function, self.invocations, self.current = function, queue.SimpleQueue(), None
        self.process = subprocess.Popen([function.binary], env=function.environment(self.address), stdin=subprocess.DEVNULL,
                                        stdout=function.log, stderr=function.log)
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        status = self.process.wait()  # no limit: it lives as long as it is asked
        self.function.gone(self)
        self.invocations.put(None)
        if self.current:
            self.current.parts.put(Broken(f"the process ended with {status}"))
        self.shutdown()
        self.server_close()

    def next_event(self):
        if self.handed:
            self.current = None
            self.function.free(self)
        invocation = self.invocations.get()  # no limit: the next request may come late
        return invocation and invocation.event

    def invoke(self, event):
        self.current = invocation = Invocation(event, self)
        self.invocations.put(invocation)
        if self.process.poll() is not None:
            invocation.parts.put(Broken("the process ended before it was asked"))
        return invocation

    def take(self, kind, handler):
        invocation, headers = self.current, handler.headers
        if invocation is None:
            raise Broken(f"{kind} without an invocation: {b''.join(handler.chunks())}")
        try:
            if kind != "response":
                raise Broken(f"the function failed: {b''.join(handler.chunks())}")
            if (headers["Lambda-Runtime-Function-Response-Mode"], headers["Content-Type"]) != ("streaming", RESPONSE_TYPE):
                raise Broken(f"no streamed response of an HTTP function: {headers.items()}")
            head = None
            begun = b""
            for chunk in handler.chunks():
                if head is None:
                    begun += chunk
                    prelude, end, chunk = begun.partition(PRELUDE_END)
                    if not end:
                        continue
                    head = json.loads(prelude)
                    invocation.parts.put(head)
                if chunk:
                    invocation.parts.put(chunk)
            if head is None:
                raise Broken(f"no prelude: {begun[:200]}")
            if handler.trailers:
                raise Broken(f"the function failed on the way: {handler.trailers}")
            invocation.parts.put(None)
        except (Broken, ValueError, ConnectionError) as error:
            invocation.parts.put(error if isinstance(error, Broken) else Broken(repr(error)))


class Function:
    """The processes of the binary. Open while it is entered."""

    def __init__(self, binary, s3, bucket, log, gzip="encoded", environments=8):
        if not re.fullmatch(r"http://127\.0\.0\.1:\d+/?", s3):
            raise ValueError(f"{s3} is no port of {LOOPBACK}: nothing that runs here may reach beyond this machine")
        self.binary, self.s3, self.bucket, self.log, self.gzip = str(binary), s3.rstrip("/"), bucket, log, gzip
        self.most, self.all, self.idle = environments, set(), []
        self.changed = threading.Condition()

    def environment(self, address):
        """All that a process finds: what Lambda sets, what template.yaml sets, and what keeps it on this machine."""
        return {
            "AWS_LAMBDA_RUNTIME_API": address, "AWS_LAMBDA_FUNCTION_NAME": "http", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "INFO",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023",
            "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "LANG": "en_US.UTF-8", "TZ": ":UTC",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "BUCKET_NAME": self.bucket, "STACK_NAME": "double", "MONITORING": "full", "GZIP": self.gzip,
            # No credentials of anybody, no files with any, no metadata service, and every endpoint on this machine.
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local",
            "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": f"http://{LOOPBACK}:9", "AWS_ENDPOINT_URL_S3": self.s3,
        }

    def invoke(self, event):
        return self.taken().invoke(event)

    def taken(self):
        """A process that is free, or that is started now; waits for one if there are enough."""
        until = time.monotonic() + FREE_WITHIN
        with self.changed:
            while not self.idle and len(self.all) >= self.most:
                if not self.changed.wait(until - time.monotonic()):
                    raise Refused(429)
            if self.idle:
                return self.idle.pop()
            environment = Environment(self)
            self.all.add(environment)
            return environment

    def free(self, environment):
        with self.changed:
            if environment in self.all:
                self.idle.append(environment)
                self.changed.notify()

    def gone(self, environment):
        with self.changed:
            self.all.discard(environment)
            if environment in self.idle:
                self.idle.remove(environment)
            self.changed.notify()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.changed:
            running, self.most = [environment.process for environment in self.all], 0
        with contextlib.ExitStack() as ends:
            for process in running:
                ends.callback(processes.end, process, within=10)
                process.terminate()


class Server(socketserver.ThreadingTCPServer):
    """The function's URL. Open while it is entered. `inflates` and `hangs` are what it is said to do wrong: see above."""
    allow_reuse_address = daemon_threads = True
    request_queue_size = 512

    def __init__(self, function, inflates=False, hangs=None, hang_seconds=60.0):
        super().__init__((LOOPBACK, 0), Connection)
        self.function, self.inflates, self.hangs, self.hang_seconds = function, inflates, hangs, hang_seconds
        self.ended = threading.Event()
        self.base = f"http://{LOOPBACK}:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients that are gone. Anything else is a fault of this file."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Connection(socketserver.StreamRequestHandler):
    """A client's connection: strict HTTP/1.1, as AWS's own servers see to it that a function gets nothing malformed."""
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def handle(self):
        self.goes_on = True
        while self.goes_on:
            try:
                request = self.request_head()
                if request is None:
                    return
                self.answer(*request)
            except Refused as refused:
                self.goes_on = False
                self.refuse(refused.args[0])
            self.wfile.flush()

    def request_head(self):
        """Method, target, headers and body of the next request, or nothing if none comes."""
        left = MAX_HEAD_BYTES

        def line():
            nonlocal left
            found = self.rfile.readline(left + 1)
            left -= len(found)
            if left < 0:
                raise Refused(431)
            if not found.endswith(b"\r\n"):
                # A client that is gone, or no line of a head.
                raise Refused(400)
            return found[:-2].decode("latin-1")

        try:
            if not self.rfile.peek(1):
                return None
        except OSError:
            return None
        start = REQUEST_LINE.fullmatch(line())
        if not start:
            raise Refused(400)
        method, target, self.version = start.groups()
        if self.version not in ("1.0", "1.1"):
            raise Refused(505)
        headers = []
        while text := line():
            header = HEADER.fullmatch(text)
            if not header:
                raise Refused(400)
            headers.append((header[1].lower(), header[2]))
        joined = {}
        for name, value in headers:
            joined[name] = f"{joined[name]},{value}" if name in joined else value
        options = joined.get("connection", "").lower()
        self.goes_on = self.version == "1.1" and "close" not in options
        return method, target, joined, self.request_body(joined)

    def request_body(self, headers):
        """The body, whole. What says of its length twice or strangely is refused: the next request begins behind it."""
        lengths, coding = headers.get("content-length"), headers.get("transfer-encoding")
        if headers.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        if coding is not None:
            if lengths is not None or coding.lower() != "chunked" or self.version == "1.0":
                raise Refused(400)
            return b"".join(self.request_chunks())
        if lengths is None:
            return b""
        if not re.fullmatch(r"[0-9]{1,15}", lengths):
            raise Refused(400)
        if int(lengths) > MAX_BODY_BYTES:
            raise Refused(413)
        return self.read(int(lengths))

    def request_chunks(self):
        left = MAX_BODY_BYTES
        while True:
            size = self.rfile.readline(1_000)
            if not CHUNK_SIZE.fullmatch(size):
                raise Refused(400)
            size = int(size.split(b";")[0].strip(), 16)
            left -= size
            if left < 0:
                raise Refused(413)
            if not size:
                break
            yield self.read(size)
            if self.rfile.readline(3) != b"\r\n":
                raise Refused(400)
        for _ in range(100):  # trailers
            text = self.rfile.readline(MAX_HEAD_BYTES)
            if text == b"\r\n":
                return
            if not text.endswith(b"\r\n"):
                break
        raise Refused(400)

    def read(self, size):
        body = self.rfile.read(size)
        if len(body) < size:
            raise Refused(400)
        return body

    def answer(self, method, target, headers, body):
        event = event_of(method, target, headers, body, self.version)
        try:
            invocation = self.server.function.invoke(event)
            head = invocation.next()
            fields = self.fields(head)
        except Broken as broken:
            print(f"{method} {target}: {broken}", file=sys.stderr, flush=True)
            self.send_head(502, [("Content-Type", "application/json")], event["requestContext"]["requestId"])
            self.send_body([b"Internal Server Error"], method, 502)
            return
        parts = iter(invocation.next, None)
        if self.server.inflates and ("content-encoding", "gzip") in fields:
            fields.remove(("content-encoding", "gzip"))
            parts = inflated(parts)
        try:
            first = next(parts, None)
            if first is None and self.server.hangs:
                self.hang(head["statusCode"], fields, event)
                return
            self.send_head(head["statusCode"], fields, event["requestContext"]["requestId"])
            self.send_body(rest(first, parts), method, head["statusCode"])
        except Broken as broken:
            # Without a last chunk: whoever reads it sees that it breaks off.
            print(f"{method} {target}: {broken}", file=sys.stderr, flush=True)
            self.goes_on = False

    def hang(self, status, fields, event):
        """As if the end of a body without bytes were never seen."""
        self.goes_on = False
        if self.server.hangs == "after-head":
            self.send_head(status, fields, event["requestContext"]["requestId"])
            self.wfile.flush()
        self.server.ended.wait(self.server.hang_seconds)

    def fields(self, head):
        """The headers of an answer, those renamed that the URL renames."""
        fields = []
        for name, values in head["headers"].items():
            name = name.lower()
            if name.startswith(PREFIX):
                raise Broken(f"{name} is a header of the URL's own, which then answers 500")
            for value in [values] if isinstance(values, str) else values:
                if name not in DROPPED:
                    fields.append((PREFIX + name if name in REMAPPED else name, value))
        return fields + [("set-cookie", cookie) for cookie in head.get("cookies", [])]

    def send_head(self, status, fields, request_id):
        fields = [("Date", email.utils.formatdate(usegmt=True)), *fields,
                  ("Connection", "keep-alive" if self.goes_on else "close"), ("x-amzn-RequestId", request_id),
                  ("X-Amzn-Trace-Id", f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]};Sampled=0")]
        if status not in (204, 304) and self.version == "1.1":
            fields.append(("Transfer-Encoding", "chunked"))
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, '')}", *(f"{name}: {value}" for name, value in fields), "", ""]
        self.wfile.write("\r\n".join(lines).encode("latin-1"))

    def send_body(self, parts, method, status):
        """Each part as it comes. Of a HEAD or a 304 there is none, whatever the function sends."""
        has_body = method != "HEAD" and status not in (204, 304)
        for part in parts:
            if not has_body:
                continue
            if self.version == "1.1":
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            else:
                self.wfile.write(part)
            self.wfile.flush()
        if has_body and self.version == "1.1":
            self.wfile.write(b"0\r\n\r\n")

    def refuse(self, status):
        with contextlib.suppress(OSError):
            head = f"HTTP/1.1 {status} {REASONS[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            self.wfile.write(head.encode())


def event_of(method, target, headers, body, version):
    """Payload format 2.0: https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads"""
    path, _, query = target.partition("?")
    # In a target with a host in it, what follows that. A client that is no proxy's does not send one.
    path = re.sub(r"^https?://[^/]*", "", path)
    # infra/cdn/viewer-request.js names the site so, whatever the viewer sent, and the CDN's Host is the function's own.
    site = re.sub(r"\.?(:\d*)?$", "", headers.get("host", "").lower())
    headers = {name: value for name, value in headers.items()
               if name not in ("x-waymark-host", "cookie", "connection", "transfer-encoding", "expect", "keep-alive")}
    headers |= {"host": DOMAIN, "x-forwarded-for": LOOPBACK, "x-forwarded-port": "443", "x-forwarded-proto": "https",
                "x-amzn-trace-id": f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}"}
    if site:
        headers["x-waymark-host"] = site
    now = time.time()
    event = {
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query, "headers": headers,
        "requestContext": {
            "accountId": "anonymous", "apiId": DOMAIN.split(".")[0], "domainName": DOMAIN,
            "domainPrefix": DOMAIN.split(".")[0], "requestId": str(uuid.uuid4()), "routeKey": "$default", "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)), "timeEpoch": int(now * 1000),
            "http": {"method": method, "path": path, "protocol": f"HTTP/{version}", "sourceIp": LOOPBACK,
                     "userAgent": headers.get("user-agent", "")},
        },
        "isBase64Encoded": False,
    }
    if query:
        event["queryStringParameters"] = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    if body:
        event["body"] = body.decode("latin-1")
    return event


def rest(first, parts):
    if first is not None:
        yield first
        yield from parts


def inflated(parts):
    """What is in a gzip member."""
    inflate = zlib.decompressobj(31)
    for part in parts:
        try:
            if plain := inflate.decompress(part):
                yield plain
        except zlib.error as error:
            raise Broken(f"no gzip, though the answer says so: {error}") from None
    if not inflate.eof or inflate.unused_data:
        raise Broken("not one gzip member, though the answer says so")


@contextlib.contextmanager
def signals():
    """A socket that has a byte once one of the signals has come that end this. The kernel may hand a signal to any thread, and only
    this byte wakes the main one, in which Python runs a signal's handler: one that waits for a lock sleeps on."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: None)
        yield reader
        signal.set_wakeup_fd(-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--s3", required=True, metavar="URL")
    parser.add_argument("--bucket", default="waymark-sitemaps", metavar="NAME")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/debug/waymark-http", metavar="PATH")
    parser.add_argument("--gzip", default="encoded", choices=["encoded", "files"])
    parser.add_argument("--environments", type=int, default=8, metavar="N")
    parser.add_argument("--inflate", action="store_true")
    parser.add_argument("--hang-on-empty", choices=["after-head", "before-head"])
    parser.add_argument("--hang", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        ended = stack.enter_context(signals())
        log = stack.enter_context(open(options.log, "w")) if options.log else sys.stderr
        function = Function(options.binary, options.s3, options.bucket, log, options.gzip, options.environments)
        stack.enter_context(function)
        server = stack.enter_context(Server(function, options.inflate, options.hang_on_empty, options.hang))
        print(f"url {server.base}", flush=True)
        ended.recv(1)


if __name__ == "__main__":
    main()
