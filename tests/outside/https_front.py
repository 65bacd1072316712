"""A forward proxy that plays the host of one site: what is asked of https://HOST is answered by a base on loopback.

So clients that know nothing of it fetch the addresses that are published, with their own code, TLS included. It has a
certificate of its own, made for the moment, and refuses every other host: nothing leaves the machine."""
import http.client
import http.server
import os
import pathlib
import ssl
import subprocess
import threading
import urllib.parse

HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"}
# What Python's ssl, requests and Node are told of proxy and certificate by.
PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
TRUST_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Tunnel(http.server.BaseHTTPRequestHandler):
    """One connection: CONNECT, then TLS, then requests."""

    protocol_version = "HTTP/1.1"
    tunnelled = False

    def do_CONNECT(self):
        if self.path != f"{self.server.host}:443":
            self.send_error(403)
            return
        self.send_response_only(200)
        self.end_headers()
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
        self.tunnelled, self.close_connection = True, False

    def do_GET(self):
        if not self.tunnelled:
            self.send_error(403)
            return
        base = http.client.HTTPConnection(self.server.base.hostname, self.server.base.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        try:
            base.request(self.command, self.path, headers=headers | {"Host": self.server.host})
            answer = base.getresponse()
            body = answer.read()
        finally:
            base.close()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(body)
        if length is not None:
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body)
        if answer.status == 200:
            self.server.served.append(self.path)

    do_HEAD = do_GET

    def finish(self):
        super().finish()
        self.connection.close()

    def log_message(self, *_):
        pass


class Front(http.server.ThreadingHTTPServer):
    """Open while it is entered, with the environment set so that clients go through it."""

    daemon_threads = True

    def __init__(self, host, base, folder):
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.host, self.base = host, urllib.parse.urlsplit(base)
        # Paths that were answered with a document.
        self.served = []
        certificate, key = pathlib.Path(folder, "certificate.pem"), pathlib.Path(folder, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-keyout", key, "-out", certificate],
            check=True, capture_output=True, timeout=60)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.proxy = f"http://127.0.0.1:{self.server_port}"
        os.environ |= dict.fromkeys(PROXY_VARIABLES, self.proxy) | dict.fromkeys(TRUST_VARIABLES, str(certificate))
        for name in ("NO_PROXY", "no_proxy"):
            os.environ.pop(name, None)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
