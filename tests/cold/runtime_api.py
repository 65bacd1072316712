"""What a function meets when it starts: Lambda's runtime API, and an AWS that refuses everything, both on one loopback port.

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


class RuntimeApi(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Hands out `events`, one after the other, and takes the answers. Who asks for one more waits until the end of the process;
    by then `idle` is set. Times are of the monotonic clock, in seconds. With a `certificate`, a PEM file with its key, it speaks
    TLS."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, events, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.events, self.handed = collections.deque(events), 0
        self.asked, self.answers, self.answered, self.calls = [], [], [], 0
        self.idle, self.ended = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"

    def __exit__(self, *_):
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A function that is ended breaks its connections."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        if self.path == "/2018-06-01/runtime/invocation/next":
            self.next_event()
        else:
            self.refuse(404, NO_OBJECT, "application/xml")

    def next_event(self):
        self.server.asked.append(time.monotonic())
        if not self.server.events:
            self.server.idle.set()
            self.server.ended.wait()
            return
        self.server.handed += 1
        self.send(200, json.dumps(self.server.events.popleft()).encode(), "application/json", {
            "Lambda-Runtime-Aws-Request-Id": f"00000000-0000-4000-8000-{self.server.handed:012}",
            "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + 900_000),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:measured",
            "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0",
        })

    def do_POST(self):
        # A sender may hold back a body's next part until the last is acknowledged, which a kernel likes to take 40 ms for.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        body = self.body()
        if self.path.startswith("/2018-06-01/runtime/"):
            self.server.answered.append(time.monotonic())
            self.server.answers.append((self.path.rsplit("/", 1)[1], body))
            self.send(202, b'{"status":"OK"}', "application/json")
        else:
            self.refuse(400, NO_TABLE, "application/x-amz-json-1.0")

    def refuse(self, status, body, content_type):
        self.server.calls += 1
        self.send(status, body, content_type)

    def send(self, status, body, content_type, headers=()):
        self.send_response(status)
        for name, value in {**dict(headers), "Content-Type": content_type, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def body(self):
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"] or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return b"".join(chunks)

    def log_message(self, *_):
        """The function's own output is what counts."""
