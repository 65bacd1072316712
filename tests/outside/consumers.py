#!/usr/bin/env python3
"""Lets readers of sitemaps that others wrote read a running site in each of its forms, and holds what they find against
what is expected.

    consumers.py BASE --site HOST --expected FILE --packages DIR [--dynamodb ENDPOINT]

BASE is where the site answers on loopback, HOST what its URLs say, FILE what expected.py printed, and DIR where npm put
sitemapper and hpagent. With ENDPOINT, the local stack's DynamoDB, pages come and go, and the feed must tell of them; that takes
minutes, since a feed is published once a minute. The readers fetch https://HOST with their own code: see https_front. Each must find every address as often as there are sitemaps for it to
stand in, and must have fetched every document itself. Exit status: 1 if one did not."""
import argparse
import collections
import datetime
import functools
import gzip
import http.client
import json
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import warnings
from xml.etree import ElementTree

from https_front import Front

SITEMAPPER = pathlib.Path(__file__).with_name("sitemapper.mjs")
NAME = re.compile(r"/(?P<series>[A-Za-z0-9_-]+)-sitemap\d*\.xml$")
NAMESPACES = {"": "http://www.sitemaps.org/schemas/sitemap/0.9", "video": "http://www.google.com/schemas/sitemap-video/1.1"}
CONTENT_TABLE = "waymark-content"
# Seconds from an edit to the feed that tells of it: a feed changes once a minute, and `sweep`, which publishes the later
# change, comes once a minute, too. A third minute for a machine that is busy with other things.
SETTLED_WITHIN = 180.0
SHOWN = 5


def fetched(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def ultimate_sitemap_parser(starts):
    return [page.url for start in starts for page in usp_tree(start).all_pages()]


def usp_tree(start):
    from usp.fetch_parse import SitemapFetcher

    tree = SitemapFetcher(start, recursion_level=0).sitemap()
    for sitemap in tree.all_sitemaps():
        if hasattr(sitemap, "reason"):
            raise ValueError(f"{sitemap.url}: {sitemap.reason}")
    return tree


def advertools(starts):
    import advertools as reader

    found = []
    for start in starts:
        table = reader.sitemap_to_df(start)
        if "errors" in table:
            raise ValueError(table["errors"].dropna().tolist())
        found += table["loc"].tolist()
    return found


def sitemapper(starts, packages):
    command = ["node", SITEMAPPER, packages, *starts]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=600).stdout)


def scrapy(forms):
    """As its reactor runs once in a process, all forms at once."""
    from scrapy.crawler import CrawlerProcess
    from scrapy.spiders import SitemapSpider

    class Spider(SitemapSpider):
        name = "sitemaps"

        def sitemap_filter(self, entries):
            for entry in entries:
                if entries.type == "urlset":
                    # The pages themselves are not there to be fetched.
                    self.found.append(entry["loc"])
                else:
                    yield entry

    process = CrawlerProcess({"LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False})
    found = {form: [] for form in forms}
    for form, starts in forms.items():
        process.crawl(Spider, sitemap_urls=starts, found=found[form])
    process.start(install_signal_handlers=False)
    return found


def lines(starts):
    return [line for start in starts for line in fetched(start).decode("ascii").splitlines()]


def gzipped_lines(starts):
    return [line for start in starts for line in gzip.decompress(fetched(start)).decode("ascii").splitlines()]


def one_by_one(read):
    return lambda forms: {form: read(starts) for form, starts in forms.items()}


class Check:
    """What is expected of each reader, and what was found wrong."""

    def __init__(self, front, expected, packages):
        self.front, self.entries, self.packages = front, expected["entries"], packages
        self.locs = collections.Counter(entry["loc"] for entry in self.entries)
        self.site = f"https://{front.host}"
        robots = fetched(f"{self.site}/robots.txt").decode()
        self.indexes = re.findall(r"^Sitemap: (\S+)$", robots, re.MULTILINE)
        roots = [ElementTree.fromstring(fetched(index)) for index in self.indexes]
        self.shards = [loc.text for root in roots for loc in root.findall("sitemap/loc", NAMESPACES)]
        self.failures = 0

    def report(self, what, wrong):
        self.failures += bool(wrong)
        print(f"{what:<48} {'FAIL' if wrong else 'ok'}")
        for text in wrong[:SHOWN]:
            print(f"    {text}")

    def of_path(self, suffix):
        return [shard.removesuffix(".xml") + suffix for shard in self.shards]

    def forms(self, *names):
        starts = {
            "robots.txt": [f"{self.site}/robots.txt"],
            "index.xml": self.indexes,
            "index.xml.gz": [f"{index}.gz" for index in self.indexes],
            ".xml.gz": self.of_path(".xml.gz"),
            ".txt": self.of_path(".txt"),
            ".txt.gz": self.of_path(".txt.gz"),
        }
        return {name: starts[name] for name in names}

    def reader(self, name, read, forms):
        """`read` takes all forms and gives each one's addresses."""
        self.front.served.clear()
        found = read(forms)
        for form in forms:
            counts = collections.Counter(found[form])
            wrong = [f"missing: {loc}" for loc in self.locs - counts] + [f"too many: {loc}" for loc in counts - self.locs]
            self.report(f"{name} from {form}: {len(found[form])} URLs", wrong)
        suffixes = {".xml" if form in ("robots.txt", "index.xml", "index.xml.gz") else form for form in forms}
        wanted = {url.removeprefix(self.site) for suffix in suffixes for url in self.of_path(suffix)}
        self.report(f"{name} fetched {len(wanted)} documents", sorted(wanted.difference(self.front.served)))

    def readers(self):
        by_npm = functools.partial(sitemapper, packages=self.packages)
        xml = self.forms("robots.txt", "index.xml.gz", ".xml.gz")
        self.reader("ultimate-sitemap-parser", one_by_one(ultimate_sitemap_parser), xml | self.forms(".txt"))
        self.reader("advertools", one_by_one(advertools), xml)
        self.reader("scrapy", scrapy, xml)
        self.reader("sitemapper", one_by_one(by_npm), self.forms("index.xml", "index.xml.gz", ".xml.gz"))
        self.reader("plain lines", one_by_one(lines), self.forms(".txt"))
        self.reader("gzipped lines", one_by_one(gzipped_lines), self.forms(".txt.gz"))

    def details(self):
        """All that is said of each page in each series, as ultimate-sitemap-parser reads it; it knows no videos."""
        tree = usp_tree(f"{self.site}/robots.txt")
        found = {}
        for sitemap in tree.all_sitemaps():
            if not (name := NAME.search(sitemap.url)):
                continue
            root = ElementTree.fromstring(fetched(sitemap.url))
            videos = {url.findtext("loc", None, NAMESPACES): videos_of(url) for url in root.findall("url", NAMESPACES)}
            for page in sitemap.pages:
                found[name["series"], page.url] = {
                    "lastmod": moment(page.last_modified),
                    "images": [image.loc for image in page.images or []],
                    "alternates": dict(page.alternates or []),
                    "videos": videos[page.url],
                    "news": news_of(page.news_story),
                }
        wrong = []
        for entry in self.entries:
            details = found.pop((entry["series"], entry["loc"]), None)
            if not details:
                wrong.append(f"missing in {entry['series']}: {entry['loc']}")
                continue
            for field in details.keys() & entry.keys():
                expected = comparable(field, entry[field])
                if details[field] != expected:
                    wrong.append(f"{entry['series']} {entry['loc']} {field}: {details[field]}, expected {expected}")
        wrong += [f"too many in {series}: {loc}" for series, loc in found]
        self.report(f"details of {len(self.entries)} entries", wrong)

    def feed(self, dynamodb):
        """Nothing of a first load; then two pages that come, the newer one first, and go."""
        self.feed_has([])
        if not dynamodb:
            return
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        pages = [
            {"id": f"page/of-today-{n}", "type": "page", "url": f"{self.site}/of-today-{n}/", "published_at": now,
             "title": f"{n} & <more> \N{FIRE}", "description": f"No {n} \"today\""} for n in (1, 2)]
        for known, page in enumerate(pages, 1):
            dynamodb("PutItem", {"Item": {name: {"S": value} for name, value in page.items()}})
            self.feed_has(pages[:known])
        for page in pages:
            dynamodb("DeleteItem", {"Key": {"id": {"S": page["id"]}}})
        self.feed_has([])

    def feed_has(self, pages):
        import feedparser

        expected = [(page["url"], page["title"], page["description"]) for page in reversed(pages)]
        until = time.monotonic() + SETTLED_WITHIN
        while True:
            feed = feedparser.parse(f"{self.site}/feed.atom")
            found = [(entry.link, entry.title, entry.get("summary")) for entry in feed.entries]
            if found == expected or time.monotonic() > until:
                break
            time.sleep(0.2)
        wrong = [] if found == expected else [f"{found}, expected {expected}"]
        wrong += [f"{feed.bozo_exception}"] if feed.bozo else []
        if feed.get("status") != 200 or feed.version != "atom10":
            wrong.append(f"status {feed.get('status')}, version {feed.version!r}")
        wrong += [f"no {name}" for name in ("id", "title", "updated", "link", "author") if not feed.feed.get(name)]
        wrong += [f"not {entry.link}: {entry.id}" for entry in feed.entries if entry.id != entry.link]
        wrong += [f"no time: {entry.link}" for entry in feed.entries if not entry.get("updated_parsed")]
        self.report(f"feedparser from feed.atom: {len(expected)} entries", wrong)


def videos_of(url):
    return [
        {name: video.findtext(f"video:{name}", None, NAMESPACES)
         for name in ("thumbnail_loc", "title", "description", "content_loc", "player_loc")}
        | {"tags": [tag.text for tag in video.findall("video:tag", NAMESPACES)]}
        for video in url.findall("video:video", NAMESPACES)
    ]


def news_of(story):
    return story and {
        "name": story.publication_name, "language": story.publication_language,
        "publication_date": moment(story.publish_date), "title": story.title,
    }


def moment(time):
    """In UTC; a date is its midnight."""
    if isinstance(time, str):
        time = datetime.datetime.fromisoformat(time.replace("Z", "+00:00"))
    return time and (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc))


def comparable(field, value):
    if field == "lastmod":
        return moment(value)
    if field == "news" and value:
        return value | {"publication_date": moment(value["publication_date"])}
    return value



class DynamoDb:
    """The local stack's, as its protocol is: it wants a signature, and looks at none."""

    def __init__(self, endpoint):
        self.endpoint = urllib.parse.urlsplit(endpoint)

    def __call__(self, action, request):
        connection = http.client.HTTPConnection(self.endpoint.hostname, self.endpoint.port, timeout=60)
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{action}", "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20260101T000000Z", "Authorization": "AWS4-HMAC-SHA256 "
            "Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none",
        }
        connection.request("POST", "/", json.dumps({"TableName": CONTENT_TABLE} | request), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(f"{action}: {answer.read()}")
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--site", required=True)
    parser.add_argument("--expected", required=True)
    parser.add_argument("--packages", required=True)
    parser.add_argument("--dynamodb")
    arguments = parser.parse_args()
    with open(arguments.expected, encoding="utf-8") as file:
        expected = json.load(file)
    # What they have to say of their own age and progress.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, Front(arguments.site, arguments.base, folder) as front:
        check = Check(front, expected, arguments.packages)
        check.details()
        check.readers()
        check.feed(arguments.dynamodb and DynamoDb(arguments.dynamodb))
    sys.exit(check.failures > 0)


if __name__ == "__main__":
    main()
