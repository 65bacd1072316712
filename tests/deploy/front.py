"""A server on loopback that asks the emulator what it is asked, under another host and with headers of its own."""
import http.client
import http.server
import threading
import urllib.parse

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        upstream = http.client.HTTPConnection(self.server.upstream.hostname, self.server.upstream.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        try:
            upstream.request(self.command, self.path, body=body, headers=headers | self.server.headers)
            answer = upstream.getresponse()
            content = answer.read()
        finally:
            upstream.close()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
        if length is not None and answer.status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer

    def log_message(self, *_):
        pass


class Front(http.server.ThreadingHTTPServer):
    """Open while it is entered; `headers` replace what the client sent."""

    daemon_threads = True

    def __init__(self, upstream, headers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream, self.headers = urllib.parse.urlsplit(upstream), headers
        self.base = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
