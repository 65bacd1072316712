"""Lambda's runtime API on loopback, and what a function meets when its start is measured.

<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>"""
import collections
import http.server
import json
import socket
import socketserver
import ssl
import threading
import time

# Each answer that can be told of at once, so that a client gives up rather than tries again.
NO_TABLE = json.dumps({"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "none"}).encode()
NO_OBJECT = b"<?xml version='1.0' encoding='UTF-8'?><Error><Code>NoSuchKey</Code><Message>none</Message></Error>"
RUNTIME = "/2018-06-01/runtime/"


class RuntimeApi(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """The protocol. A subclass says what the next event is, and takes the answers. With a `certificate`, a PEM file with its key,
    it speaks TLS."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.handed = 0
        threading.Thread(target=self.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"

    # Seconds that an invocation is given.
    timeout_seconds = 900

    def next_event(self):
        """The next event. Waits for it, and is nothing once no more comes."""
        raise NotImplementedError

    def take(self, kind, handler):
        """An answer, `response` or `error`, with the handler's headers, and its chunks as they come."""
        raise NotImplementedError

    def other(self, handler):
        """A request that is none of a runtime's."""
        handler.send(404, b"", "text/plain")

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A function that is ended breaks its connections."""


class Measured(RuntimeApi):
    """Hands out `events`, one after the other, and keeps the answers. Who asks for one more waits until the end of the process;
    by then `idle` is set. Times are of the monotonic clock, in seconds. It is also an AWS that refuses everything."""

    def __init__(self, events, certificate=None):
        self.events = collections.deque(events)
        self.asked, self.answers, self.answered, self.calls = [], [], [], 0
        self.idle, self.ended = threading.Event(), threading.Event()
        super().__init__(certificate)

    def next_event(self):
        self.asked.append(time.monotonic())
        if self.events:
            return self.events.popleft()
        self.idle.set()
        self.ended.wait(self.timeout_seconds)
        return None

    def take(self, kind, handler):
        body = b"".join(handler.chunks())
        self.answered.append(time.monotonic())
        self.answers.append((kind, body))

    def other(self, handler):
        self.calls += 1
        if handler.command == "GET":
            handler.send(404, NO_OBJECT, "application/xml")
        else:
            b"".join(handler.chunks())
            handler.send(400, NO_TABLE, "application/x-amz-json-1.0")

    def __exit__(self, *_):
        self.ended.set()
        super().__exit__()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        if self.path != f"{RUNTIME}invocation/next":
            self.server.other(self)
            return
        event = self.server.next_event()
        if event is None:
            return
        self.server.handed += 1
        self.send(200, json.dumps(event).encode(), "application/json", {
            "Lambda-Runtime-Aws-Request-Id": f"00000000-0000-4000-8000-{self.server.handed:012}",
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + self.server.timeout_seconds) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:measured",
            "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0",
        })

    def do_POST(self):
        # A sender may hold back a body's next part until the last is acknowledged, which a kernel likes to take 40 ms for.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        if self.path.startswith(RUNTIME):
            self.server.take(self.path.rsplit("/", 1)[1], self)
            self.send(202, b'{"status":"OK"}', "application/json")
        else:
            self.server.other(self)

    def send(self, status, body, content_type, headers=()):
        self.send_response(status)
        for name, value in {**dict(headers), "Content-Type": content_type, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def chunks(self):
        """The body's parts as they come. Afterwards `trailers` has what came behind it."""
        self.trailers = []
        if self.headers["Transfer-Encoding"] != "chunked":
            yield self.rfile.read(int(self.headers["Content-Length"] or 0))
            return
        while size := int(self.chunk_size(), 16):
            chunk = self.rfile.read(size)
            if len(chunk) < size:
                raise ConnectionError("the body breaks off")
            yield chunk
            self.rfile.readline()
        while line := self.rfile.readline().strip():
            self.trailers.append(line.decode("latin-1"))

    def chunk_size(self):
        line = self.rfile.readline()
        if not line:
            raise ConnectionError("the body breaks off")
        return line.split(b";")[0]

    def log_message(self, *_):
        """The function's own output is what counts."""
