#!/usr/bin/env python3
"""What smoke.py decides, without AWS: python3 -m unittest discover -s tests/aws -p '*_test.py'"""
import contextlib
import gzip
import http.server
import pathlib
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import judge
import records
import smoke
from door import Door, Seen
from table import NOT_SHOWN, OK, SEEN, Fact, NotShown, Table, Verdict, ok, printable, seen

SECURITY = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs/SECURITY.md").read_text()
DOCUMENT = b'<urlset><url><loc>https://a.example/</loc></url></urlset>\n'


def answer(status=200, body=DOCUMENT, problem="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Seen(status, {"etag": '"1"', "content-length": str(len(body))} | named, body, 0.1, problem)


class Judging(unittest.TestCase):
    def each(self, right, judged, wrong):
        """`right` is ok, and each answer of `wrong` is not, for the reason beside it."""
        self.assertEqual(judged(right).state, OK, judged(right))
        for one, reason in wrong:
            with self.subTest(reason):
                verdict = judged(one)
                self.assertEqual(verdict.state, SEEN)
                self.assertIn(reason, verdict.detail)

    def test_head(self):
        self.each(answer(body=b"", content_length="58"), lambda one: judge.head(one, '"1"'), [
            (Seen(seconds=10.0, problem="it did not end within 10 s"), "no answer, 10.00 s: it did not end within 10 s"),
            (answer(body=b"x"), "a body of 1 bytes"),
            (answer(body=b"", etag='W/"1"'), "not a strong one"),
            (answer(body=b"", etag='"2"'), "a GET's is \"1\""),
            (answer(502, b"Bad gateway"), "and not 200: Bad gateway"),
        ])

    def test_not_modified(self):
        self.each(answer(304, b""), lambda one: judge.not_modified(one, '"1"'), [
            (answer(200), "and not 304"),
            (answer(304, b"", etag='"2"'), "its ETag is \"2\""),
            (answer(304, b"", problem="it did not end within 10 s"), "did not end"),
        ])

    def test_identity(self):
        self.each(answer(), lambda one: judge.identity(one, DOCUMENT), [
            (answer(content_encoding="gzip"), "nobody asked for Content-Encoding: gzip"),
            (answer(etag='W/"1"'), "not a strong one"),
            (answer(body=DOCUMENT[:30]), "does not end as a sitemap does"),
            (answer(body=DOCUMENT + b"\n"), "are not the 58 that came from the URL"),
            (answer(content_length="99"), "content-length says 99, and 58 bytes came"),
        ])
        streamed = answer(x_amzn_remapped_content_length="58")
        del streamed.headers["content-length"]
        self.assertIn("x-amzn-remapped-content-length: 58", judge.identity(streamed).detail)
        streamed.headers["x-amzn-remapped-content-length"] = "59"
        self.assertEqual(judge.identity(streamed).state, SEEN)

    def test_compressed(self):
        packed = gzip.compress(DOCUMENT)
        self.each(answer(body=packed, content_encoding="gzip", etag='W/"1"'),
                  lambda one: judge.compressed(one, DOCUMENT, same_as=packed), [
            (answer(body=DOCUMENT, content_encoding="gzip", etag='W/"1"'), "somebody has inflated it on the way"),
            (answer(body=packed), "its Content-Encoding is None, not gzip"),
            (answer(body=packed[:-4], content_encoding="gzip", etag='W/"1"'), "no gzip of the document"),
            (answer(body=b"", content_encoding="gzip", etag='W/"1"'), "no gzip of the document"),
            (answer(body=gzip.compress(DOCUMENT, 1) + gzip.compress(b""), content_encoding="gzip", etag='W/"1"'), "that came from the URL"),
            (answer(body=packed, content_encoding="gzip"), "not a weak one"),
            (answer(502, b""), "and not 200"),
        ])
        self.each(answer(body=packed), lambda one: judge.compressed(one, DOCUMENT, is_file=True), [
            (answer(body=packed, content_encoding="gzip"), "its Content-Encoding is gzip, not None"),
        ])

    def test_other_answers(self):
        self.each(answer(301, b"Moved", location="/sitemap_index.xml"), lambda one: judge.redirect(one, "a.example"), [
            (answer(301, b"Moved", location="https://b.example/sitemap_index.xml"), "301 to https://b.example"),
            (answer(302, b"Moved", location="/sitemap_index.xml"), "and not 301"),
        ])
        self.each(answer(404, b"Not found\n"), judge.not_found, [(answer(200), "and not 404")])
        self.each(answer(403, b"Forbidden"), judge.refused, [(answer(200), "and not 403")])
        self.each(answer(body=b"\n"), judge.empty_text, [
            (answer(body=b""), "not one line break"), (answer(404), "and not 200"),
        ])
        self.each(answer(503, b"", retry_after="30", cache_control="no-store"), judge.unavailable, [
            (answer(503, b"", cache_control="no-store"), "no Retry-After"),
            (answer(503, b"", retry_after="30", cache_control="max-age=60"), "without no-store"),
            (answer(200), "and not 503"),
        ])
        self.each(answer(), lambda one: judge.same_document(one, DOCUMENT), [(answer(body=b"other"), "another document")])
        page = answer(body=b"<!doctype html>", content_type="text/html; charset=utf-8", cache_control="private, no-store")
        self.each(page, judge.view, [
            (answer(content_type="application/xml"), "not text/html"),
            (answer(content_type="text/html", cache_control="max-age=60"), "without no-store"),
        ])
        self.each(answer(content_type="application/xml"), judge.crawlers_view, [(page, "not XML")])

    def test_cached(self):
        miss, hit = answer(x_cache="Miss from cloudfront"), answer(x_cache="Hit from cloudfront")
        self.assertEqual(judge.cached([miss, miss, hit]).state, OK)
        for answers in ([miss, miss], [answer()], [hit, answer(503)]):
            self.assertEqual(judge.cached(answers).state, SEEN)

    def test_locs(self):
        self.assertEqual(judge.locs(answer()), 1)
        self.assertEqual(judge.locs(answer(body=b"<urlset></urlset>")), 0)
        self.assertIsNone(judge.locs(answer(404)))
        self.assertIsNone(judge.locs(answer(problem="the body broke off")))


class Account(unittest.TestCase):
    def test_a_new_account_leaves_one_execution_for_crawlers(self):
        streams = [judge.Stream("content", 4, 1), judge.Stream("sitemap", 4, 1)]
        verdict = judge.executions(10, 10, 0, streams)
        self.assertEqual(verdict.state, SEEN)
        self.assertIn("may take 9, which leaves 1 for http", verdict.detail)
        self.assertIn("request-service-quota-increase --service-code lambda --quota-code L-B99A9384", verdict.detail)
        # A table of the user's own takes what was left, and more.
        verdict = judge.executions(10, 10, 0, [*streams, judge.Stream("source", 4, 1)])
        self.assertIn("may take 13, which leaves 0 for http", verdict.detail)
        self.assertEqual(judge.executions(1000, 1000, 0, streams).state, OK)
        self.assertEqual(judge.executions(19, 19, 0, streams).state, OK)
        self.assertEqual(judge.executions(18, 18, 0, streams).state, SEEN)
        # What others have reserved is not free; what http has, is its own.
        self.assertEqual(judge.executions(1000, 15, 0, streams).state, SEEN)
        self.assertEqual(judge.executions(1000, 15, 50, streams).state, OK)

    def test_an_event_source_that_is_not_enabled_is_seen(self):
        verdict = judge.executions(1000, 1000, 0, [judge.Stream("content", 4, 1, "Disabled")])
        self.assertEqual(verdict, seen("the event source of content is Disabled"))

    def test_alarms(self):
        self.assertEqual(judge.alarms(["a", "b"], [("a", "OK"), ("b", "INSUFFICIENT_DATA")]),
                         ok("2 alarms: 1 INSUFFICIENT_DATA, 1 OK"))
        self.assertEqual(judge.alarms(["a", "b"], [("a", "ALARM")]), seen("a is in ALARM; b does not exist"))

    def test_ceilings(self):
        self.assertEqual(judge.ceilings({"a": (0, -1, -1), "b": (500, 500, 500)}), ok("a: none; b: 500"))
        self.assertIn("a should have no units a second at most, and has 500 read units", judge.ceilings({"a": (0, 500, 500)}).detail)
        for read, write in ((-1, -1), (500, -1), (-1, 500), (400, 400)):
            self.assertEqual(judge.ceilings({"a": (500, read, write)}).state, SEEN, (read, write))

    def test_throttled_keys(self):
        self.assertEqual(judge.throttled_keys({"a": ("ENABLED", "THROTTLED_KEYS"), "b": ("ENABLING", "THROTTLED_KEYS")}), ok("of 2 tables"))
        self.assertEqual(judge.throttled_keys({"a": ("DISABLED", None)}), seen("a is DISABLED, None"))
        self.assertEqual(judge.throttled_keys({"a": ("ENABLED", "ACCESSED_AND_THROTTLED_KEYS")}).state, SEEN)

    def test_who_hears_of_alarms(self):
        self.assertEqual(judge.subscriptions([("a@b.example", "arn:aws:sns:x:1:y:z")]), ok("1 confirmed"))
        self.assertEqual(judge.subscriptions([("a@b.example", "PendingConfirmation")]).state, SEEN)
        self.assertEqual(judge.subscriptions([]), seen("the topic has no subscription"))

    def test_counters(self):
        self.assertEqual(judge.counters({"http Invocations": 12.0, "sweep Duration": None, "x": 1234567.5}, 300),
                         ok("http Invocations 12; sweep Duration not yet there; x 1,234,567.5"))
        with self.assertRaises(NotShown):
            judge.counters({"http Invocations": None}, 300)
        self.assertEqual(judge.trouble({"http Errors": 0.0, "http Throttles": None}).state, OK)
        self.assertEqual(judge.trouble({"http Errors": 0.0, "http Throttles": 3.0}), seen("http Throttles: 3"))
        with self.assertRaises(NotShown):
            judge.trouble({"http Errors": None})


class Roles(unittest.TestCase):
    def setUp(self):
        self.grants = judge.grants(SECURITY)
        self.questions = judge.questions(self.grants)

    def test_what_security_md_lists_is_read(self):
        roles = list(dict.fromkeys(grant.role for grant in self.grants))
        self.assertEqual(set(roles), set(smoke.ROLES))
        self.assertIn(judge.Grant("RegenerateRole", "SitemapTable", ("INDEX#*",), ("dynamodb:UpdateItem",)), self.grants)

    def asked(self, role, key, action):
        [expected] = {dict(question.expected)[action] for question in self.questions
                      if (question.role, question.resource, question.keys) == (role, "SitemapTable", (key,))
                      and action in question.actions}
        return expected

    def test_each_kind_of_row_is_asked_for(self):
        update, delete = "dynamodb:UpdateItem", "dynamodb:DeleteItem"
        self.assertEqual([self.asked(role, "INDEX#*", update) for role in smoke.ROLES], [False, True, False, False])
        self.assertEqual([self.asked(role, "INDEX#*", delete) for role in smoke.ROLES], [False, False, False, True])
        self.assertEqual([self.asked(role, "LEDGER#*", update) for role in smoke.ROLES], [True, True, False, True])
        for role in smoke.ROLES:
            for action in judge.WRITES:
                self.assertFalse(self.asked(role, judge.OTHER, action), (role, action))

    def test_no_role_may_write_content_or_delete_an_object(self):
        for question in self.questions:
            for action, is_allowed in question.expected:
                if question.resource == "ContentTable" or action == "s3:DeleteObject":
                    self.assertFalse(is_allowed, question)
        self.assertEqual({question.role for question in self.questions if question.resource == "ContentTable"}, set(smoke.ROLES))

    def test_rows_of_a_transaction_are_asked_for_together(self):
        together = [question for question in self.questions if len(question.keys) > 1]
        self.assertTrue(all(is_allowed for question in together for _, is_allowed in question.expected))
        self.assertEqual({question.role for question in together}, set(smoke.ROLES) - {"HttpRole"})

    def decided(self, question, change=()):
        return {action: "allowed" if is_allowed else "implicitDeny" for action, is_allowed in question.expected} | dict(change)

    def test_a_decision_that_is_other_than_listed_is_seen(self):
        self.assertEqual(judge.role([(question, self.decided(question)) for question in self.questions]).state, OK)
        for question in self.questions:
            for action, is_allowed in question.expected:
                for decision in ("explicitDeny", "implicitDeny", "no decision") if is_allowed else ("allowed", "no decision"):
                    verdict = judge.role([(question, self.decided(question, [(action, decision)]))])
                    self.assertEqual(verdict.state, SEEN, (question, decision))
                    self.assertIn(f"{action} on {question.resource}", verdict.detail)
        # Denied by whatever it may be is denied.
        question = next(one for one in self.questions if one.resource == "ContentTable")
        decided = {action: "explicitDeny" for action in question.actions}
        self.assertEqual(judge.role([(question, decided)]).state, OK)


class Tables(unittest.TestCase):
    def table(self, *facts, emulator=False):
        lines = []
        return Table(facts, emulator, lines.append), lines

    def test_each_fact_has_one_line(self):
        table, lines = self.table(Fact("a"), Fact("bc"), Fact("d"))
        table.head()
        table.put("a", ok("fine"))
        table.put("bc", seen("a | b\nc"))
        table.close("interrupted")
        self.assertEqual(lines[2:], ["| a  | ok        | fine |", "| bc | seen      | a \\| b c |",
                                     "| d  | not shown | interrupted |"])
        self.assertEqual(table.summary(), "3 facts: 1 ok, 1 seen, 1 not shown")
        with self.assertRaises(AssertionError):
            table.put("a", ok("again"))

    def test_what_an_emulator_cannot_show_is_never_ok(self):
        facts = Fact("can"), Fact("cannot", "no CDN"), Fact("means nothing", "no IAM", ignored=True)
        for verdict in (ok("x"), seen("x"), Verdict(NOT_SHOWN, "x")):
            table, _ = self.table(*facts, emulator=True)
            for fact in facts:
                table.put(fact.name, verdict)
            self.assertEqual(table.verdicts["can"], verdict)
            # It can still show that something is wrong.
            self.assertEqual(table.verdicts["cannot"].state, SEEN if verdict.state == SEEN else NOT_SHOWN)
            self.assertEqual(table.verdicts["means nothing"].state, NOT_SHOWN)

    def test_what_is_private_is_not_printed(self):
        text = printable("User: arn:aws:sts::123456789012:assumed-role/Admin/bob@example.com is not authorized to perform: "
                         "iam:SimulatePrincipalPolicy on account 123456789012 at abcdefghij0123456789abcd.lambda-url.eu-west-1.on.aws")
        self.assertEqual(text, "User: <arn> is not authorized to perform: iam:SimulatePrincipalPolicy on account <account> "
                               "at <function url>")
        self.assertEqual(len(printable("x" * 10_000)), 504)

    def test_each_fact_names_a_line_of_the_docs(self):
        for fact in smoke.FACTS:
            page, text = fact.docs
            lines = (smoke.ROOT / "docs" / page).read_text().splitlines() if page else []
            self.assertEqual(sum(text in line for line in lines), 1, f"{fact.name}: docs/{page} should have one line with {text!r}")

    def test_what_is_seen_names_its_line(self):
        table, lines = self.table(Fact("fact", docs=("CDN.md", "a line")), Fact("other", docs=("CDN.md", "a line")))
        table.put("fact", seen("not so"))
        table.put("other", ok("so"))
        self.assertIn('not so (docs/CDN.md: "a line")', lines[0])
        self.assertNotIn("docs/", lines[1])

    def test_the_facts_have_names_of_their_own(self):
        self.assertEqual(len({fact.name for fact in smoke.FACTS}), len(smoke.FACTS))


class Records(unittest.TestCase):
    def test_all_bear_the_mark_of_their_run_and_an_id_of_smokes(self):
        made = records.of_site("a.example", "token", smoke.datetime.datetime(2026, 1, 2, tzinfo=smoke.datetime.timezone.utc))
        self.assertLessEqual(len(made), 100, "a transaction's actions")
        self.assertEqual([record["id"] for record in made], [*records.ids(), "site/a.example"], "the site comes last")
        for record in made:
            self.assertEqual((record[records.MARK], record["site"]), ("token", "a.example"))
        for record in made[:-1]:
            self.assertTrue(record["id"].startswith(records.PREFIX))
            self.assertTrue(record["url"].startswith("https://a.example/waymark-smoke/"))
            self.assertEqual(record["modified_at"], "2026-01-02T00:00:00Z")

    def test_a_distribution_has_names(self):
        for host, expected in (("d1.cloudfront.net", True), ("a.example", True), ("x.b.example", True), ("x.y.b.example", False),
                               ("b.example", False), ("c.example", False)):
            self.assertEqual(judge.is_alias(host, "d1.cloudfront.net", ["a.example", "*.b.example"]), expected, host)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers well, late, never, or in part, as the path says."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/never":
            self.server.over.wait(20)
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.send_header("X-Host", self.headers["Host"])
        self.send_header("X-Encoding", self.headers["Accept-Encoding"])
        self.end_headers()
        if self.path == "/stalls":
            self.wfile.write(b"01234")
            self.server.over.wait(20)
            self.close_connection = True
        elif self.path == "/breaks":
            self.wfile.write(b"01234")
            self.close_connection = True
        elif self.command == "GET":
            self.wfile.write(b"0123456789")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Doors(unittest.TestCase):
    @contextlib.contextmanager
    def door(self, tls=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.over = True, threading.Event()
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Door("a.example", server.server_address, is_plain=True)
        finally:
            server.over.set()
            server.shutdown()
            server.server_close()

    def test_what_came_is_told_also_in_part(self):
        with self.door() as door:
            whole = door.ask("/", {"Accept-Encoding": "gzip"})
            self.assertEqual((whole.status, whole.body, whole.problem), (200, b"0123456789", ""))
            self.assertEqual((whole.header("X-Host"), whole.header("x-encoding")), ("a.example", "gzip"))
            head = door.ask("/", method="HEAD")
            self.assertEqual((head.status, head.body, head.problem, head.header("content-length")), (200, b"", "", "10"))
            broken = door.ask("/breaks")
            self.assertEqual((broken.status, broken.body), (200, b"01234"))
            self.assertIn("5 bytes of its Content-Length are missing", broken.problem)

    def test_nothing_is_waited_for_beyond_its_limit(self):
        with self.door() as door:
            for path, status, method in (("/never", None, "GET"), ("/never", None, "HEAD"), ("/stalls", 200, "GET")):
                begun = time.monotonic()
                answer = door.ask(path, method=method, limit=0.3)
                self.assertLess(time.monotonic() - begun, 5)
                self.assertEqual((answer.status, answer.problem), (status, "it did not end within 0.3 s"))

    def test_who_does_not_listen_is_a_problem_and_no_error(self):
        with self.door() as door:
            pass
        answer = door.ask("/")
        self.assertIsNone(answer.status)
        self.assertIn("ConnectionRefusedError", answer.problem)

    def test_a_host_is_asked_over_tls_wherever_it_is_reached(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=a.example",
                            "-addext", "subjectAltName=DNS:a.example", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True, timeout=60)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate, key)
            trust = ssl.create_default_context(cafile=certificate)
        with self.door(tls) as plain:
            answer = Door("a.example", plain.address, context=trust).ask("/")
            self.assertEqual((answer.status, answer.body, answer.header("x-host"), answer.problem), (200, b"0123456789", "a.example", ""))
            for door in (Door("b.example", plain.address, context=trust), Door("a.example", plain.address)):
                answer = door.ask("/")
                self.assertIsNone(answer.status)
                self.assertIn("CERTIFICATE_VERIFY_FAILED", answer.problem)

    def test_a_wait_says_what_it_waited_for(self):
        looks = iter(range(10))
        self.assertEqual(smoke.waited("three", lambda: next(looks), lambda n: n == 3, 5, pause=0)[0], 3)
        with self.assertRaisesRegex(smoke.Late, "not within 0 s: a sitemap; the last answer: 404, 0 bytes, 0.00 s"):
            smoke.waited("a sitemap", lambda: Seen(404), lambda answer: answer.status == 200, 0, pause=0)


if __name__ == "__main__":
    unittest.main()
