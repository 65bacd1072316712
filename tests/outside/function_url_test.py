#!/usr/bin/env python3
"""What the double of a function URL does, and what of Waymark's answers survives it, also where a URL is said to do wrong.

    function_url_test.py [--waymark PATH] [--function PATH]

The first tests have a scripted function behind the double, the others the binary of `http` and a local stack."""
import argparse
import collections
import contextlib
import gzip
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import urllib.parse

import abused
from abused import BUCKET, INDEX, OTHER, ROOT, SITE, SMALL, Connection, Stack, header, request
from function_url import Function, Server

FEED, ROBOTS, TEXT = "/feed.atom", "/robots.txt", "/page-sitemap.txt"
NAVIGATION = ("Sec-Fetch-Dest", "document")
# Seconds for which an answer hangs here, and within which one that does not must have come.
HANGS, SOON = 4.0, 3.0

options = argparse.Namespace(waymark=ROOT / "target/debug/waymark", function=ROOT / "target/debug/waymark-http")

# A function that answers as its path says, in the runtime's protocol, byte by byte as `lambda_runtime` 1.5 does.
SCRIPTED = '''#!{python}
import http.client, json, os, sys
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
STREAMED = {{"Transfer-Encoding": "chunked", "Lambda-Runtime-Function-Response-Mode": "streaming",
            "Content-Type": "application/vnd.awslambda.http-integration-response"}}
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    answer = api.getresponse()
    event, invocation = json.loads(answer.read()), answer.getheader("Lambda-Runtime-Aws-Request-Id")
    path = event["rawPath"]
    address = f"/2018-06-01/runtime/invocation/{{invocation}}/"
    def post(headers, status, *chunks, trailers=b""):
        prelude = json.dumps({{"statusCode": status, "headers": headers, "cookies": []}}).encode()
        api.putrequest("POST", address + "response")
        for header in STREAMED.items():
            api.putheader(*header)
        api.endheaders()
        for chunk in [prelude, bytes(8), *chunks]:
            api.send(b"%x\\r\\n%b\\r\\n" % (len(chunk), chunk))
        api.send(b"0\\r\\n" + trailers + b"\\r\\n")
        api.getresponse().read()
    if path == "/ends":
        sys.exit(3)
    elif path == "/fails":
        api.request("POST", address + "error", b'{{"errorMessage": "on purpose"}}')
        api.getresponse().read()
    elif path == "/buffered":
        api.request("POST", address + "response", b'{{"statusCode": 200}}')
        api.getresponse().read()
    elif path == "/trailers":
        post({{}}, 200, b"begun", trailers=b"Lambda-Runtime-Function-Error-Type: Runtime.StreamError\\r\\n")
    elif path == "/as-lambda_runtime-does":
        post({{}}, 200, b"begun", b"Lambda-Runtime-Function-Error-Type: Runtime.StreamError\\r\\n")
    elif path == "/headers":
        post({{"content-length": "4", "connection": "close", "date": "never", "transfer-encoding": "x", "x-own": ["1", "2"]}},
             200, b"body")
    elif path == "/own":
        post({{"x-amzn-remapped-date": "never"}}, 200, b"body")
    elif path == "/no-gzip":
        post({{"content-encoding": "gzip"}}, 200, b"plain")
    else:
        post({{"content-type": "application/json"}}, 200, json.dumps([event, dict(os.environ)]).encode())
'''


def ask(address, path, headers=(), method="GET", timeout=abused.TIMEOUT, host=SITE):
    with Connection(address, timeout) as connection:
        connection.send(request(path, headers, host, method))
        return connection.answer(bodiless=method == "HEAD")


class Double(unittest.TestCase):
    """The double itself."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        script = folder / "function"
        script.write_text(SCRIPTED.format(python=sys.executable))
        script.chmod(0o755)
        log = cls.stack.enter_context(open(folder / "log", "w"))
        cls.function = cls.stack.enter_context(Function(script, "http://127.0.0.1:9", BUCKET, log, environments=2))
        cls.url = cls.stack.enter_context(Server(cls.function))
        cls.inflating = cls.stack.enter_context(Server(cls.function, inflates=True))

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def ask(self, path, headers=(), url=None, **more):
        with contextlib.redirect_stderr(io.StringIO()):  # what the double says of a function that fails
            return ask((url or self.url).server_address, path, headers, **more)

    def test_an_event_is_what_a_function_url_makes_of_a_request(self):
        headers = [("Accept", "a"), ("ACCEPT", "b"), ("Cookie", "c=d"), ("X-Waymark-Host", OTHER)]
        event, _ = json.loads(self.ask("/a/../b%2f?c=d&c=%20", headers, host="WWW.Abused.Example.:8080").body)
        self.assertEqual((event["version"], event["rawPath"], event["rawQueryString"]), ("2.0", "/a/../b%2f", "c=d&c=%20"))
        self.assertEqual(event["headers"]["accept"], "a,b")
        self.assertEqual(event["headers"]["x-waymark-host"], SITE)
        self.assertTrue(event["headers"]["host"].endswith(".on.aws"))
        self.assertNotIn("cookie", event["headers"])
        self.assertEqual(event["requestContext"]["http"]["method"], "GET")

    def test_no_process_can_reach_aws(self):
        os.environ["AWS_PROFILE"] = "somebody"
        try:
            _, environment = json.loads(self.ask("/").body)
        finally:
            del os.environ["AWS_PROFILE"]
        self.assertNotIn("AWS_PROFILE", environment)
        endpoints = {name: value for name, value in environment.items() if "ENDPOINT" in name}
        self.assertEqual(set(endpoints), {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"})
        for endpoint in endpoints.values():
            self.assertEqual(urllib.parse.urlsplit(endpoint).hostname, "127.0.0.1")
        for s3 in ["https://s3.us-east-1.amazonaws.com", "http://127.0.0.1.example:9", "http://127.0.0.1:9@example.com"]:
            with self.assertRaises(ValueError):
                Function("nothing", s3, BUCKET, None)

    def test_headers_are_renamed_and_the_answer_is_chunked(self):
        answer = self.ask("/headers")
        self.assertEqual((answer.status, answer.body, answer.whole), (200, b"body", True))
        self.assertEqual(header(answer, "x-own"), ["1", "2"])
        self.assertEqual(header(answer, "x-amzn-remapped-content-length"), ["4"])
        self.assertEqual(header(answer, "x-amzn-remapped-connection"), ["close"])
        self.assertEqual(header(answer, "x-amzn-remapped-date"), ["never"])
        self.assertEqual(header(answer, "transfer-encoding"), ["chunked"])
        self.assertEqual(header(answer, "connection"), ["keep-alive"])
        self.assertEqual(header(answer, "content-length"), [])
        self.assertEqual(len(header(answer, "date")), 1)

    def test_a_function_that_fails_is_a_502(self):
        for path in ["/ends", "/fails", "/buffered", "/own"]:
            for _ in range(3):  # more than there are processes at a time
                answer = self.ask(path)
                self.assertEqual((answer.status, answer.body), (502, b"Internal Server Error"), path)
        self.assertEqual(self.ask("/").status, 200)

    def test_trailers_break_the_answer_off_and_those_of_lambda_runtime_do_not(self):
        self.assertFalse(self.ask("/trailers").whole)
        answer = self.ask("/as-lambda_runtime-does")
        self.assertTrue(answer.whole)
        self.assertTrue(answer.body.startswith(b"begunLambda-Runtime-Function-Error-Type"))

    def test_what_is_no_gzip_cannot_be_inflated(self):
        self.assertEqual(self.ask("/no-gzip").body, b"plain")
        answer = self.ask("/no-gzip", url=self.inflating)
        self.assertTrue(answer is None or not answer.whole)

    def test_what_is_malformed_reaches_no_function(self):
        for raw, status in [(b"GET / HTTP/1.1\nHost: a\n\n", 400), (b"GET  / HTTP/1.1\r\n\r\n", 400),
                            (b"GET / HTTP/1.1\r\na\rb: c\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n a: b\r\n\r\n", 400),
                            (b"GET / HTTP/2.0\r\n\r\n", 505), (b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400)]:
            with Connection(self.url.server_address) as connection:
                connection.send(raw)
                self.assertEqual(connection.answer().status, status, raw)


class Http(unittest.TestCase):
    """The deployed binary behind it. That each document comes through whole, with the length that it has, emulated_test.py shows without
    this server, and the readers and the checker in .ci/run with it."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        cls.local = Stack(options.waymark.resolve(), folder, pages=50)
        cls.stack.callback(cls.local.end)
        cls.log = cls.stack.enter_context(open(folder / "functions", "w"))
        s3 = f"http://127.0.0.1:{cls.local.s3}"
        cls.encoded, cls.files = (
            cls.stack.enter_context(Function(options.function.resolve(), s3, BUCKET, cls.log, gzip, environments=2))
            for gzip in ["encoded", "files"])

        def serve(*arguments, **more):
            return cls.stack.enter_context(Server(*arguments, **more)).server_address

        cls.plain, cls.inflating = serve(cls.encoded), serve(cls.encoded, inflates=True)
        cls.plain_files, cls.inflating_files = serve(cls.files), serve(cls.files, inflates=True)
        cls.after_head = serve(cls.encoded, hangs="after-head", hang_seconds=HANGS)
        cls.before_head = serve(cls.encoded, hangs="before-head", hang_seconds=HANGS)
        cls.documents = cls.local.documents[SITE]

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def test_what_has_no_body_is_answered_and_the_connection_goes_on(self):
        etag = header(ask(self.plain, SMALL), "etag")[0]
        with Connection(self.plain) as connection:
            for method, headers, status in [("HEAD", [], 200), ("GET", [("If-None-Match", etag)], 304),
                                            ("HEAD", [("If-None-Match", etag)], 304), ("HEAD", [NAVIGATION], 200),
                                            ("GET", [], 200)]:
                connection.send(request(SMALL, headers, method=method))
                answer = connection.answer(bodiless=method == "HEAD")
                self.assertEqual(answer.status, status, f"{method} {headers}")
                self.assertNotIn("application/octet-stream", header(answer, "content-type"), f"{method} {headers}")
            self.assertEqual(answer.body, self.documents[SMALL, "identity"])

    def test_an_inflated_answer_is_right_and_its_etag_is_weak(self):
        accepts = ("Accept-Encoding", "gzip")
        for path in [INDEX, SMALL, TEXT, FEED]:
            sent, inflated = ask(self.plain, path, [accepts]), ask(self.inflating, path, [accepts])
            self.assertEqual(header(sent, "content-encoding"), ["gzip"], path)
            self.assertEqual(header(inflated, "content-encoding"), [], path)
            self.assertEqual((inflated.whole, inflated.body), (True, self.documents[path, "identity"]), path)
            [etag] = header(inflated, "etag")
            self.assertEqual(header(sent, "etag"), [etag], path)
            self.assertTrue(etag.startswith('W/"'), f"{path}: {etag} is the strong ETag of other bytes")
            self.assertNotIn("content-length", dict(inflated.headers), path)
            # A copy of either is current under the form that it is of, and not under the other.
            self.assertEqual(ask(self.inflating, path, [accepts, ("If-None-Match", etag)]).status, 304, path)
            self.assertEqual(ask(self.inflating, path, [("If-None-Match", etag)]).status, 200, path)
            # Files are no encoding.
            if path not in (FEED,):
                self.assertEqual(ask(self.inflating, path + ".gz").body, self.documents[path + ".gz", "identity"], path)

    def test_a_cache_behind_a_url_that_inflates_at_times_never_mixes_forms(self):
        cache, strong = {}, collections.defaultdict(set)
        for turn in range(6):
            address = [self.plain, self.inflating][turn % 2]
            for path in [INDEX, SMALL, TEXT, FEED, SMALL + ".gz"]:
                for coding in ["identity", "gzip"]:
                    kept = cache.get((path, coding))
                    condition = [("If-None-Match", header(kept, "etag")[0])] if kept and turn % 3 else []
                    answer = ask(address, path, [("Accept-Encoding", coding), *condition])
                    if condition:
                        self.assertEqual(answer.status, 304, f"{path} {coding}")
                        self.assertEqual(header(answer, "etag"), header(kept, "etag"))
                        answer = kept
                    cache[path, coding] = answer
                    encoded = header(answer, "content-encoding") == ["gzip"]
                    plain = gzip.decompress(answer.body) if encoded else answer.body
                    self.assertEqual(plain, self.documents[path, "identity"], f"{path} {coding}")
                    [etag] = header(answer, "etag")
                    if not etag.startswith("W/"):
                        strong[path, etag].add(answer.body)
        for (path, etag), bodies in strong.items():
            self.assertEqual(len(bodies), 1, f"{path}: {len(bodies)} sequences of bytes under {etag}")

    def test_with_gzip_in_files_alone_there_is_nothing_to_inflate(self):
        for path in [INDEX, SMALL, TEXT, FEED, ROBOTS, SMALL + ".gz", TEXT + ".gz"]:
            for coding in ["identity", "gzip"]:
                answers = [abused.fixed(ask(address, path, [("Accept-Encoding", coding)]))
                           for address in [self.plain_files, self.inflating_files]]
                self.assertEqual(answers[0], answers[1], path)
                status, headers, body = answers[0]
                self.assertEqual((status, body), (200, self.documents[path, "identity"]), path)
                self.assertNotIn("content-encoding", dict(headers), path)
                self.assertFalse(dict(headers)["etag"].startswith("W/"), path)

    def timely(self, address, path, headers, method):
        """An answer that is whole in time, or nothing."""
        begun = time.monotonic()
        answer = ask(address, path, headers, method, timeout=SOON)
        return answer if answer and answer.whole and time.monotonic() - begun < SOON else None

    def requests(self):
        etag = header(ask(self.plain, SMALL), "etag")[0]
        bodies = [(INDEX, [], "GET", 200), (SMALL, [("Accept-Encoding", "gzip")], "GET", 200), (TEXT, [], "GET", 200),
                  (FEED, [], "GET", 200), (ROBOTS, [], "GET", 200), (SMALL, [NAVIGATION], "GET", 200),
                  ("/sitemap.xml", [], "GET", 301), ("/nothing", [], "GET", 404), (SMALL, [], "POST", 405),
                  (SMALL, [("If-None-Match", '"x"')], "GET", 200)]
        bodiless = [(SMALL, [], "HEAD", 200), (SMALL, [("If-None-Match", etag)], "GET", 304),
                    (SMALL, [("If-None-Match", etag)], "HEAD", 304), ("/nothing", [], "HEAD", 404)]
        return bodies, bodiless

    def test_where_a_body_without_bytes_never_ends_a_head_is_enough(self):
        bodies, bodiless = self.requests()
        for path, headers, method, status in bodies + bodiless:
            answer = self.timely(self.after_head, path, headers, method)
            self.assertEqual(answer and answer.status, status, f"{method} {path} {headers}")

    def test_where_an_answer_without_a_body_hangs_all_with_a_body_are_answered(self):
        bodies, bodiless = self.requests()
        for path, headers, method, status in bodies:
            answer = self.timely(self.before_head, path, headers, method)
            self.assertEqual(answer and answer.status, status, f"{method} {path} {headers}")
        # Nothing that the function says could help these. Were they answered, the mode would not hang.
        for path, headers, method, _ in bodiless[:2]:
            self.assertIsNone(self.timely(self.before_head, path, headers, method), f"{method} {path} {headers}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", type=pathlib.Path, default=options.waymark)
    parser.add_argument("--function", type=pathlib.Path, default=options.function)
    _, rest = parser.parse_known_args(namespace=options)
    unittest.main(argv=[sys.argv[0], *rest])
