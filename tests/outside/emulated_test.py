#!/usr/bin/env python3
"""The functions as they are deployed, on AWS's own emulator of Lambda's runtime interface.

    emulated_test.py --tools BIN --package FILE [--waymark PATH]

BIN is the bin folder of a venv with the SAM CLI, whose wheel has the emulator. FILE is a release's bundle. A local stack is the
rest of AWS. What the emulator shows, and what it does not, is in docs/TESTING.md."""
import argparse
import contextlib
import gzip
import json
import pathlib
import sys
import tempfile
import unittest
import zipfile

from abused import BUCKET, ROOT, SITE, Stack
from emulated import LARGE, Bucket, Emulator, installed
from function_url import PRELUDE_END, event_of

INDEX = "/sitemap_index.xml"
FUNCTIONS = ["http", "ingest", "redirects", "regenerate", "sweep"]
STORE_ARN = "arn:aws:cloudfront::123456789012:key-value-store/00000000-0000-0000-0000-000000000000"
# At most so many bytes of a stored object are not sent (sitemap::format).
FRAME = 1_000
# Seconds of the function that is to exceed them.
SHORT = 2

options = argparse.Namespace(waymark=ROOT / "target/debug/waymark")


def stream_event(table, keys, event="MODIFY"):
    """As Lambda makes it of a record of a stream of keys."""
    return {"Records": [{
        "eventID": "1", "eventName": event, "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
        "dynamodb": {"ApproximateCreationDateTime": 1_800_000_000, "Keys": {name: {"S": value} for name, value in keys.items()},
                     "SequenceNumber": "100000000000000000001", "SizeBytes": 20, "StreamViewType": "KEYS_ONLY"},
        "eventSourceARN": f"arn:aws:dynamodb:us-east-1:123456789012:table/{table}/stream/2026-01-01T00:00:00.000"}]}


class Emulated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        with zipfile.ZipFile(options.package) as package:
            package.extractall(cls.folder)
        cls.bootstraps = {path.parent.name: path for path in cls.folder.glob("*/functions/*/bootstrap")}
        for path in cls.bootstraps.values():
            path.chmod(0o755)
        cls.local = Stack(options.waymark.resolve(), cls.folder, pages=50)
        cls.stack.callback(cls.local.end)
        cls.bucket = cls.stack.enter_context(Bucket(f"http://127.0.0.1:{cls.local.s3}"))
        cls.http = cls.stack.enter_context(cls.emulator("http"))

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    @classmethod
    def emulator(cls, name, without=(), changes=(), **more):
        """What template.yaml sets, and what keeps a function on this machine."""
        environment = {
            "STACK_NAME": "emulated", "MONITORING": "full", "BUCKET_NAME": BUCKET, "GZIP": "encoded", "CONTENT_TABLE": "waymark-content",
            "SITEMAP_TABLE": "waymark-sitemap", "SITES": "*", "AUDIT_HOURS": "24", "SOURCE_TABLE": "",
            "SOURCE_MAPPING": "", "INDEXNOW_ENDPOINT": "", "FAILURE_BUCKET": BUCKET,
            "PATH": "/usr/local/bin:/usr/bin:/bin", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ENDPOINT_URL_S3": cls.bucket.address,
            "AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{cls.local.dynamodb}",
        }
        environment = {name: value for name, value in environment.items() if name not in without} | dict(changes)
        return Emulator(installed(options.tools), cls.bootstraps[name], environment, cls.folder, **more)

    def tearDown(self):
        self.bucket.breaks = False
        self.bucket.answers.set()

    def ask(self, path, method="GET", emulator=None, **headers):
        """Prelude and body of a streamed answer."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()} | {"host": SITE}
        event = json.dumps(event_of(method, path, headers, b"", "1.1"))
        status, answer = (emulator or self.http).invoke(event)
        self.assertEqual(status, 200, answer)
        prelude, end, body = answer.partition(PRELUDE_END)
        self.assertEqual(end, PRELUDE_END, answer[:300])
        prelude = json.loads(prelude)
        self.assertEqual(set(prelude), {"statusCode", "headers", "cookies"})
        return prelude["statusCode"], prelude["headers"], body

    def test_the_bundle_has_all_functions(self):
        self.assertEqual(sorted(self.bootstraps), FUNCTIONS)

    def test_documents_come_through_whole(self):
        for (path, coding), body in self.local.documents[SITE].items():
            accepted = {"sec_fetch_dest": "document"} if coding == "view" else {"accept_encoding": coding}
            status, headers, found = self.ask(path, **accepted)
            self.assertEqual((status, found), (200, body), path)
            self.assertEqual(headers["content-length"], str(len(body)), path)

    def test_gzip_is_that_of_the_plain_document(self):
        plain = self.ask(INDEX)[2]
        _, headers, body = self.ask(INDEX, accept_encoding="gzip")
        self.assertEqual(headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(body), plain)

    def test_what_has_no_body_ends_with_its_prelude(self):
        _, headers, body = self.ask(INDEX)
        status, of_head, empty = self.ask(INDEX, "HEAD")
        self.assertEqual((status, of_head, empty), (200, headers, b""))
        status, unchanged, empty = self.ask(INDEX, if_none_match=headers["etag"])
        self.assertEqual((status, unchanged["etag"], empty), (304, headers["etag"], b""))
        self.assertEqual(self.ask(INDEX)[2], body)  # nothing of it is left

    def test_errors_are_answers(self):
        self.assertEqual(self.ask("/none.xml")[0], 404)
        self.assertEqual(self.ask(INDEX, "DELETE")[0], 405)

    def test_an_event_of_something_else_is_an_error_and_the_next_is_answered(self):
        status, answer = self.http.invoke("[]")
        self.assertIn("errorType", json.loads(answer), status)
        self.assertEqual(self.ask(INDEX)[0], 200)

    def test_a_body_that_breaks_off_is_told_by_its_length_alone(self):
        path = next(path for path, coding in self.local.documents[SITE] if coding == "gzip" and path.endswith("-sitemap.xml"))
        self.bucket.breaks = True
        status, headers, found = self.ask(path, accept_encoding="gzip")
        # The emulator keeps the trailers to itself, and ends the answer as any other.
        told = int(headers["content-length"])
        self.assertEqual(status, 200)
        self.assertTrue(LARGE - FRAME < told <= LARGE, told)
        self.assertTrue(0 < len(found) < told, len(found))
        self.bucket.breaks = False
        self.assertEqual(self.ask(path, accept_encoding="gzip")[2], self.local.documents[SITE][path, "gzip"])

    def test_a_time_out_is_told_and_the_next_event_is_answered(self):
        with self.emulator("http", seconds=SHORT) as emulator:
            self.assertEqual(self.ask(INDEX, emulator=emulator)[0], 200)
            self.bucket.answers.clear()
            event = json.dumps(event_of("GET", "/page-sitemap.xml", {"host": SITE}, b"", "1.1"))
            status, answer = emulator.invoke(event)
            self.assertIn(f"Task timed out after {SHORT}.00 seconds".encode(), answer, status)
            self.bucket.answers.set()
            self.assertEqual(self.ask(INDEX, emulator=emulator)[0], 200)

    def test_without_its_settings_a_function_does_not_start(self):
        for name, without in [("http", "BUCKET_NAME"), ("ingest", "CONTENT_TABLE"), ("regenerate", "SITEMAP_TABLE"),
                              ("redirects", "STORE_ARN")]:
            with self.emulator(name, without=[without]) as emulator:
                status, answer = emulator.invoke("{}")
                self.assertEqual((status, answer), (502, b""), name)
                self.assertIn(without, emulator.said())

    def test_ingest_answers_for_each_record(self):
        with self.emulator("ingest") as emulator:
            for event, failures in [({"Records": []}, []),
                                    (stream_event("waymark-content", {"id": "post/1"}), []),
                                    (stream_event("waymark-content", {"id": "none"}, "REMOVE"), [])]:
                status, answer = emulator.invoke(json.dumps(event))
                self.assertEqual((status, json.loads(answer)), (200, {"batchItemFailures": failures}), emulator.said())

    def test_regenerate_answers_for_each_row(self):
        with self.emulator("regenerate") as emulator:
            event = stream_event("waymark-sitemap", {"pk": f"INDEX#{SITE}", "sk": "page#0"})
            status, answer = emulator.invoke(json.dumps(event))
            self.assertEqual((status, json.loads(answer)), (200, {"batchItemFailures": []}), emulator.said())

    def test_redirects_answers_for_each_row(self):
        # Its store is CloudFront, which nothing on this machine is: what must be written there fails, and comes again.
        changes = {"STORE_ARN": STORE_ARN, "AWS_ENDPOINT_URL_CLOUDFRONT_KEYVALUESTORE": "http://127.0.0.1:9"}
        with self.emulator("redirects", changes=changes) as emulator:
            call = stream_event("waymark-sitemap", {"pk": f"MOVED#{SITE}#0", "sk": "00a"})
            for event in [{"Records": []}, call]:
                status, answer = emulator.invoke(json.dumps(event))
                self.assertEqual((status, json.loads(answer)), (200, {"batchItemFailures": []}), emulator.said())
            event = stream_event("waymark-sitemap", {"pk": f"MOVED#{SITE}#0", "sk": "0" * 64})
            status, answer = emulator.invoke(json.dumps(event))
            number = event["Records"][0]["dynamodb"]["SequenceNumber"]
            self.assertEqual(json.loads(answer), {"batchItemFailures": [{"itemIdentifier": number}]}, emulator.said())

    def test_what_fails_is_named(self):
        with self.emulator("ingest", changes={"CONTENT_TABLE": "none"}) as emulator:
            event = stream_event("waymark-content", {"id": "post/1"})
            status, answer = emulator.invoke(json.dumps(event))
            number = event["Records"][0]["dynamodb"]["SequenceNumber"]
            self.assertEqual(json.loads(answer), {"batchItemFailures": [{"itemIdentifier": number}]}, emulator.said())

    def test_sweep_answers_the_schedule_s_event(self):
        with self.emulator("sweep") as emulator:
            event = {"source": "aws.scheduler", "detail-type": "Scheduled Event", "detail": {}}
            status, answer = emulator.invoke(json.dumps(event))
            self.assertEqual((status, answer), (200, b"null"), emulator.said())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", type=pathlib.Path, default=options.waymark)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--package", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
