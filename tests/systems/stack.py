"""A local stack of Waymark, and what its sitemaps list."""
import http.client
import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes  # noqa: E402

HOST = "www.lantern.example"
TABLE, PROBES = "magazine", "values"
# The content table of the local stack.
TABLE_OF_CONTENT = "waymark-content"
STARTS_WITHIN, SHOWS_WITHIN = 120, 60
NAMESPACES = {"": "http://www.sitemaps.org/schemas/sitemap/0.9", "image": "http://www.google.com/schemas/sitemap-image/1.1"}


class Stack:
    """Runs while it is entered, with a table of the user's if there is a mapping for it, and with the content of a file."""

    def __init__(self, waymark, folder, content, mapping=None, port=0):
        self.waymark, self.folder, self.content, self.port = waymark, folder, content, port
        self.mapping = ["--source-table", TABLE, "--source-mapping", mapping] if mapping else []

    def __enter__(self):
        log = self.folder / "stack.log"
        ports = ["--port", str(self.port), "--dynamodb-port", "0", "--s3-port", "0"]
        with open(log, "w") as out:
            self.process = subprocess.Popen([self.waymark, "serve", *ports, *self.mapping, "--content", self.content], stdout=out,
                                            stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: f"waymark serve is ready: {log.read_text()}", lambda: "\nready " in log.read_text(), STARTS_WITHIN)
            found = dict(re.findall(r"^(dynamodb|s3|site) (http://127\.0\.0\.1:\d+)$", log.read_text(), re.M))
            self.dynamodb, self.s3, self.site = found["dynamodb"], found["s3"], found["site"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        processes.end(self.process, signal.SIGINT)

    def call(self, action, request):
        """Calls DynamoDB as its protocol is: it wants a signature, and looks at none."""
        endpoint = urllib.parse.urlsplit(self.dynamodb)
        connection = http.client.HTTPConnection(endpoint.hostname, endpoint.port, timeout=60)
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{action}", "Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20260101T000000Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none",
        }
        connection.request("POST", "/", json.dumps(request), headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise ValueError(f"{action}: {answer.status} {body}")
        return json.loads(body)

    def items(self, table):
        """The items of a table, in the low-level form, sets and items sorted."""
        found = self.call("Scan", {"TableName": table})
        if "LastEvaluatedKey" in found:
            raise ValueError(f"{table} has more than a page of items")
        return sorted((in_order(item) for item in found["Items"]), key=json.dumps)

    def read(self, path):
        request = urllib.request.Request(self.site + path, headers={"Host": HOST})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return xml.fromstring(answer.read())

    def listed(self):
        """What the sitemaps say of each page."""
        origin, pages = f"https://{HOST}", {}
        for sitemap in self.read("/sitemap_index.xml").iterfind("sitemap/loc", NAMESPACES):
            for url in self.read(sitemap.text.removeprefix(origin)).iterfind("url", NAMESPACES):
                pages[url.findtext("loc", None, NAMESPACES)] = {
                    "lastmod": url.findtext("lastmod", None, NAMESPACES), "priority": url.findtext("priority", None, NAMESPACES),
                    "images": [image.text for image in url.iterfind("image:image/image:loc", NAMESPACES)],
                }
        return pages

    def listed_if_any(self):
        """What the sitemaps say of each page, or why they cannot be read."""
        try:
            return self.listed()
        except (urllib.error.URLError, xml.ParseError) as error:
            return str(error)

    def lists(self, expected):
        """Waits until exactly these pages are listed. Returns what differs when the time is over."""
        found, until = None, time.monotonic() + SHOWS_WITHIN
        while found != expected and time.monotonic() < until:
            found = self.listed_if_any()
            time.sleep(0.2)
        return [] if found == expected else [f"listed are {json.dumps(found)}", f"expected  {json.dumps(expected)}"]

    def audit(self):
        """What an audit finds."""
        ports = [word for name, url in (("dynamodb", self.dynamodb), ("s3", self.s3)) for word in (f"--{name}-port", url.rsplit(":", 1)[1])]
        done = subprocess.run([self.waymark, "audit", *self.mapping, *ports], text=True, capture_output=True, timeout=120)
        return [] if done.returncode == 0 else [f"audit: {line}" for line in (done.stdout + done.stderr).splitlines()]


def in_order(item):
    """An item with its sets sorted, all the way down."""
    if isinstance(item, list):
        return [in_order(value) for value in item]
    if isinstance(item, dict):
        return {name: sorted(value) if name in ("SS", "NS", "BS") else in_order(value) for name, value in sorted(item.items())}
    return item


def wait_for(what, holds, seconds):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds} s: {what()}")
        time.sleep(0.1)
