#!/usr/bin/env python3
"""The distribution of infra/cdn.yaml in a model of CloudFront (cdn.py), in front of a running local stack.

    cdn_test.py [WAYMARK]     the binary [target/debug/waymark]

Needs PyYAML and node. What is published on two sites must reach each viewer as the stack itself answers it, whatever other
viewers sent before, with each cache policy and each choice of paths; and no path of a site's pages may be taken."""
import collections
import gzip
import hashlib
import http.client
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from cdn import MANAGED, ROOT, Cdn, Stack, processes

WAYMARK = ROOT / "target/debug/waymark"
STARTS_WITHIN = 120.0
BUCKET = "waymark-sitemaps"
SITE, OTHER = "www.example.com", "other.example"
KEY = "0123abcd"
PREFIX = re.search(r'EDGE_PREFIX: &str = "([^"]+)"', (ROOT / "shared/front/src/cdn_path.rs").read_text())[1]

OWN, MANAGED_POLICY = "own", "managed"
CHOICES = ["all", "crawlers", "crawlers-view", "crawlers-gz", "crawlers-feed", "crawlers-key"]
# CloudFront's flat-rate plans, the default behaviour included:
# https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/flat-rate-pricing-plan.html
FREE_BEHAVIOURS, PRO_BEHAVIOURS = 5, 10

DOCUMENTS = ["/sitemap_index.xml", "/page-sitemap.xml", "/page-sitemap.xml.gz", "/page-sitemap.txt", "/page-sitemap.txt.gz",
             "/robots.txt", "/feed.atom", "/sitemap.css", "/sitemap.xsl", "/sitemap-view.js", "/sitemap-view.css", "/sitemap.xml",
             "/page-sitemap1.xml", "/none-sitemap.xml", f"/{KEY}.txt"]
NOT_FOUND = "<!doctype html><title>Nothing here</title>"
CHROME = ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36")
GOOGLEBOT = ("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
NAVIGATION = ("Sec-Fetch-Dest", "document")

# Paths of pages as sites have them, with the words of our own paths in as many places as they may be in.
PAGES = """
/ /about /about/ /about-us.html /contact /contact.php /index.html /index.htm /index.php /default.aspx /home.jsp /blog /blog/
/blog/how-sitemaps-work/ /blog/how-sitemaps-work /blog/sitemap /blog/sitemaps/ /blog/what-is-an-xml-sitemap/
/blog/what-is-an-xml-sitemap.html /blog/sitemap-xml-explained /blog/sitemap.xml-explained/ /blog/sitemap.xml-explained
/blog/sitemap.xml/ /blog/sitemap.xml/comments /blog/sitemap.xml.html /blog/our-sitemap.txt-file/ /blog/our-sitemap.txt/
/blog/robots.txt-guide/ /blog/robots.txt/ /robots /robots/ /robots.html /robots.txt.html /blog/robots.txt
/sitemap /sitemap/ /Sitemap /sitemap.html /sitemap.htm /sitemap.php /sitemap.asp /sitemap.aspx /sitemap.jsp /sitemap.json /sitemap/index.html
/sitemap-page /sitemap_page.html /html-sitemap /html-sitemap/ /en/sitemap /en/sitemap.html /de/sitemap/ /fr/plan-du-site /site-map /site-map.html
/sitemap/posts/2026 /sitemap-view /sitemap-view/ /sitemap-viewer.html /sitemap.css/ /sitemap-generator/ /tools/sitemap-generator.php
/tools/xml-sitemap-validator /docs/sitemap.pdf /docs/sitemaps.md /images/sitemap.png /images/sitemap-example.jpg /img/sitemap.svg /img/sitemap.gif
/assets/sitemap.js /assets/sitemap.min.css /feed /feed/ /feed.xml /feed.rss /feed.json /feed.html /blog/feed.atom-or-rss/ /blog/feed.atom /news/feed/ /atom.xml /rss.xml
/2026/11/24/sitemap-lastmod/ /2026/11/24/gzip-your-sitemap.gz-files/ /category/sitemaps/page/2/ /tag/xml/ /tag/sitemap.xml-tips
/author/jane-doe/ /shop/ /shop/product-1 /shop/product.xml/ /search /cart /login /api/v1/pages /api/v1/pages.xml /api/sitemap /app.js
/style.css /main.css /script.js /favicon.ico /manifest.json /ads.txt /llms.txt /humans.txt /security.txt /.well-known/security.txt
/key.txt /0123abcd /0123abcd.html /0123abcd.txt/ /archive.tar.gz /backup.gz /data.xml /data.xml.gz /news.xml /opensearch.xml /browserconfig.xml
/%73itemap /sitemap%2exml/ /a-sitemap /a-sitemap/ /a-sitemap.text /waymark-edge /waymark-edge/ /wiki/Site_map /wiki/Sitemaps
""".split()


def parameters(**changed):
    return {"HttpFunctionArn": "arn", "HttpFunctionUrl": "https://f.lambda-url.r.on.aws/", "HttpAuth": "AWS_IAM", "Aliases": SITE,
            "CertificateArn": "arn", "SiteOrigin": "origin.example.com", "RobotsTxt": "generated", "LlmsTxt": "site", "IndexNowKey": KEY, "LogBucket": "",
            "MovedPaths": "", "MovedStatus": "404", "RedirectStore": "", "CdnPaths": "all", "CdnCachePolicy": OWN, "CdnHeadersPolicy": "own", "CdnWebAclArn": "",
            "CdnPriceClass": "PriceClass_All"} | changed


def stack(**changed):
    return Stack("infra/cdn.yaml", **parameters(**changed))


# Where pages went: to an address, or None for those that are gone.
DEPARTURES = {
    f"https://{SITE}/blog/old/": f"https://{SITE}/1/", f"https://{SITE}/blog/gone/": None,
    f"https://{SITE}/a/": f"https://{SITE}/b/#lost", f"https://{SITE}/b/": f"https://{SITE}/%63/", f"https://{SITE}/c/": f"https://{SITE}/2/#part",
    f"https://{SITE}/to-gone/": f"https://{SITE}/blog/gone/", f"https://{SITE}/away/": "https://shop.example/?a=1&b=%222%22",
    f"https://{SITE}/loop/": f"https://{SITE}/loop2/", f"https://{SITE}/loop2/": f"https://{SITE}/loop/",
    f"https://{SITE}/caf%C3%A9/": f"https://{SITE}/3/", f"https://{SITE}/~old/": f"https://{SITE}/4/",
    **{f"https://{SITE}/hop{n}/": f"https://{SITE}/hop{n + 1}/" for n in range(8)},
}


def redirect_key(loc):
    """The key of an address in normal form, as shared/edge/tests/keeping/directed.rs has it."""
    return f"{urllib.parse.urlsplit(loc).hostname}/{hashlib.sha256(loc.encode()).hexdigest()[:32]}"


class Origin:
    """A local stack with two sites."""

    def __init__(self, waymark, folder):
        content, log, self.log = (folder / name for name in ["content.jsonl", "ready", "log"])
        dates = {"status": "published", "modified_at": "2026-01-02T03:04:05Z"}
        records = [{"id": f"site/{SITE}", "type": "site", "site": SITE, "indexnow_key": KEY, "not_found_page": NOT_FOUND}, {"id": f"site/{OTHER}", "type": "site", "site": OTHER}]
        records += [{"id": f"page/{site}/{n}", "type": "page", "url": f"https://{site}/{n}/", **dates} for site in [SITE, OTHER] for n in range(40)]
        records += [{"id": f"departed{n}", "type": "page", "url": loc, **({"moved_to": target} if target else {"gone": True}), **dates}
                    for n, (loc, target) in enumerate(DEPARTURES.items())]
        content.write_text("".join(json.dumps(record) + "\n" for record in records))
        ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]
        with open(log, "w") as out, open(self.log, "w") as error:
            self.process = subprocess.Popen([waymark, "serve", *ports, "--content", content], stdout=out, stderr=error)
        try:
            until = time.monotonic() + STARTS_WITHIN
            while "\nready " not in (said := log.read_text()):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{waymark} serve is not ready within {STARTS_WITHIN} s: {said}{self.log.read_text()}")
                time.sleep(0.1)
        except BaseException:
            self.end()
            raise
        ports = {name: int(port) for name, port in re.findall(r"^(\w+) http://127\.0\.0\.1:(\d+)$", said, re.MULTILINE)}
        self.address, self.s3 = ("127.0.0.1", ports["site"]), ports["s3"]

    def end(self):
        processes.end(self.process)

    def direct(self, path, headers=(), host=SITE):
        """What the stack answers itself, without any cache."""
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        for name, value in [("Host", host), *headers]:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body

    def object(self, key, body=None, headers=()):
        """A published object of the bucket, and its metadata; or it is replaced."""
        connection = http.client.HTTPConnection("127.0.0.1", self.s3, timeout=60)
        connection.request("GET" if body is None else "PUT", f"/{BUCKET}/published/{key}", body, dict(headers))
        answer = connection.getresponse()
        stored = answer.read()
        connection.close()
        assert answer.status == 200, (key, answer.status, stored)
        return stored, [pair for pair in answer.getheaders() if pair[0].lower().startswith(("x-amz-meta-", "content-type", "cache-control"))]


class Paths(unittest.TestCase):
    def test_no_page_of_a_site_is_taken(self):
        self.assertGreaterEqual(len(set(PAGES)), 100)
        for choice in CHOICES:
            cdn = Cdn(stack(CdnPaths=choice), None)
            for page in PAGES:
                self.assertEqual(cdn.behaviour(page)["TargetOriginId"], "site", f"{choice} {page}")

    def test_the_behaviours_are_as_many_as_plans_allow(self):
        for choice, most in [(choice, FREE_BEHAVIOURS) for choice in CHOICES[1:]] + [("all", PRO_BEHAVIOURS)]:
            behaviours = Cdn(stack(CdnPaths=choice), None).behaviours()
            self.assertLessEqual(len(behaviours), most, choice)
        alone = Cdn(stack(SiteOrigin=""), None).behaviours()
        self.assertEqual([one["TargetOriginId"] for one in alone], ["waymark"])

    def test_each_choice_has_what_crawlers_need_and_its_own(self):
        crawlers = {"/sitemap_index.xml", "/sitemap.xml", "/page-sitemap.xml", "/page-sitemap1.xml", "/none-sitemap.xml", "/page-sitemap.txt",
                    "/robots.txt", "/sitemap.xsl"}
        own = {"crawlers": set(), "crawlers-view": {"/sitemap-view.js", "/sitemap-view.css"}, "crawlers-feed": {"/feed.atom"},
               "crawlers-gz": {"/page-sitemap.xml.gz", "/page-sitemap.txt.gz"}, "crawlers-key": {f"/{KEY}.txt"}, "all": set(DOCUMENTS)}
        for choice in CHOICES:
            cdn = Cdn(stack(CdnPaths=choice), None)
            taken = {path for path in DOCUMENTS if cdn.behaviour(path)["TargetOriginId"] == "waymark"}
            self.assertEqual(taken, crawlers | own[choice], choice)
        without = Cdn(stack(RobotsTxt="site", IndexNowKey=""), None)
        for path in ["/robots.txt", f"/{KEY}.txt"]:
            self.assertEqual(without.behaviour(path)["TargetOriginId"], "site", path)

    def test_llms_txt_is_the_sites_unless_asked_for(self):
        for choice in CHOICES:
            for who, target in [("site", "site"), ("generated", "waymark")]:
                cdn = Cdn(stack(CdnPaths=choice, LlmsTxt=who), None)
                self.assertEqual(cdn.behaviour("/llms.txt")["TargetOriginId"], target, choice)
                self.assertEqual(cdn.behaviour("/blog/llms.txt")["TargetOriginId"], "site", choice)
        self.assertLessEqual(len(Cdn(stack(LlmsTxt="generated"), None).behaviours()), PRO_BEHAVIOURS)

    def test_a_managed_policy_takes_the_place_of_our_own(self):
        for choice in CHOICES:
            managed = stack(CdnPaths=choice, CdnCachePolicy=MANAGED_POLICY)
            self.assertIsNone(managed.resource("CachePolicy"))
            for behaviour in Cdn(managed, None).behaviours()[:-1]:
                self.assertIn(behaviour["CachePolicyId"], MANAGED)

    def test_parameters_reach_the_distribution(self):
        config = stack().resource("Distribution")["DistributionConfig"]
        self.assertEqual((config["PriceClass"], "WebACLId" in config), ("PriceClass_All", False))
        config = stack(CdnWebAclArn="arn:acl", CdnPriceClass="PriceClass_100").resource("Distribution")["DistributionConfig"]
        self.assertEqual((config["PriceClass"], config["WebACLId"]), ("PriceClass_100", "arn:acl"))
        for chosen, expected in [("own", "HeadersPolicy"), ("none", None), ("67f7725c-6f97-4210-82d7-5512b31e9d03",) * 2]:
            chosen_stack = stack(CdnHeadersPolicy=chosen)
            self.assertEqual(chosen_stack.resource("HeadersPolicy") is None, chosen != "own")
            for behaviour in Cdn(chosen_stack, None).behaviours()[:-1]:
                self.assertEqual(behaviour.get("ResponseHeadersPolicyId"), expected)


class Site:
    """The site's own origin, as a function of the model."""

    def __init__(self, missing):
        self.missing, self.asked = missing, []

    def __call__(self, url, headers):
        self.asked.append((url, dict(headers)))
        found = {"/blog/": 200, "/blog/secret": 403, "/blog/broken": 500}
        return found.get(url.partition("?")[0], self.missing), [("content-type", "text/html"), ("x-from", "site")], b"the site's"


class Behind(unittest.TestCase):
    """What viewers get of a running stack."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.origin = Origin(cls.waymark, pathlib.Path(cls.folder.name))
        cls.addClassCleanup(cls.origin.end)

    def cdn(self, **changed):
        cdn = Cdn(stack(**changed), self.origin.address)
        self.enterContext(cdn)
        return cdn

    def policies(self):
        return ((policy, self.cdn(CdnCachePolicy=policy)) for policy in [OWN, MANAGED_POLICY])

    def test_every_path_is_answered_as_the_stack_answers_it(self):
        for policy, cdn in self.policies():
            for host, path, coding in itertools.product([SITE, OTHER], DOCUMENTS, ["", "gzip", "br,gzip", "br, gzip, deflate", "br"]):
                headers = [("Accept-Encoding", coding)] if coding else []
                status, sent, body = self.origin.direct(path, headers, host)
                answer = cdn.get(path, headers, host)
                self.assertEqual((answer.status, answer.body), (status, body), f"{policy} {host}{path} {coding}")
                for name in ["etag", "location", "content-type", "content-encoding", "cache-control", "x-robots-tag"]:
                    self.assertEqual(answer.headers.get(name), sent.get(name), f"{policy} {host}{path} {coding} {name}")
                self.assertNotIn(PREFIX.strip("/"), str(answer.headers))

    def test_who_reads_brotli_and_gzip_gets_gzip(self):
        for policy, cdn in self.policies():
            answer = cdn.get("/page-sitemap.xml", [("Accept-Encoding", "br, gzip")])
            self.assertEqual(answer.headers["content-encoding"], "gzip", policy)
            self.assertEqual(gzip.decompress(answer.body), cdn.get("/page-sitemap.xml").body)
            self.assertEqual(cdn.asked[0][1], {OWN: "gzip", MANAGED_POLICY: "br,gzip"}[policy])

    def test_a_document_is_kept_for_a_minute(self):
        for policy, cdn in self.policies():
            for after, hit in [(0, False), (59, True), (60, False), (119, True)]:
                cdn.now = after
                self.assertEqual(cdn.get("/page-sitemap.xml").hit, hit, f"{policy} after {after} s")
            self.assertTrue(cdn.get("/page-sitemap.xml?utm_source=x", [("Cookie", "a=b"), GOOGLEBOT]).hit, "no query and no cookie is in the key")

    def test_what_a_navigation_gets_is_not_kept_longer_than_the_policy_must(self):
        for (policy, cdn), most in zip(self.policies(), [0, 1]):
            page = cdn.get("/page-sitemap.xml", [NAVIGATION, CHROME])
            self.assertTrue(page.headers["content-type"].startswith("text/html"), policy)
            self.assertEqual(page.headers["cache-control"], "private, no-store")
            self.assertEqual(cdn.get("/page-sitemap.xml", [NAVIGATION, CHROME]).hit, most > 0)
            cdn.now += most
            self.assertFalse(cdn.get("/page-sitemap.xml", [NAVIGATION, CHROME]).hit)
            for headers in [[], [GOOGLEBOT, NAVIGATION], [CHROME, ("Sec-Fetch-Dest", "empty")], [CHROME, NAVIGATION, ("Signature-Agent", "x")]]:
                self.assertIn("xml", cdn.get("/page-sitemap.xml", headers).headers["content-type"], f"{policy} {headers}")
            self.assertIn("xml", cdn.get("/page-sitemap.xml?view=xml", [NAVIGATION, CHROME]).headers["content-type"])

    def test_where_the_views_files_are_not_a_person_gets_the_document(self):
        for choice in CHOICES:
            cdn = self.cdn(CdnPaths=choice)
            page = cdn.get("/page-sitemap.xml", [NAVIGATION, CHROME])
            is_view = page.headers["content-type"].startswith("text/html")
            self.assertEqual(is_view, choice in ("all", "crawlers-view"), choice)
            for path in re.findall(rb'(?:src|href)="(/[^"]+)"', page.body) if is_view else []:
                self.assertEqual(cdn.get(path.decode(), [CHROME]).status, 200, f"{choice} {path}")
        self.assertTrue(self.cdn(SiteOrigin="", CdnPaths="crawlers").get("/page-sitemap.xml", [NAVIGATION, CHROME]).headers["content-type"].startswith("text/html"))

    def test_a_503_is_kept_for_a_second_at_most(self):
        key = f"{OTHER}/page-sitemap.xml"
        stored, metadata = self.origin.object(key)
        for (policy, cdn), most in zip(self.policies(), [0, 1]):
            try:
                self.origin.object(key, stored[:-9] + bytes(9), metadata)
                broken = cdn.get("/page-sitemap.xml", host=OTHER)
                self.assertEqual((broken.status, broken.headers["cache-control"]), (503, "no-store"), policy)
            finally:
                self.origin.object(key, stored, metadata)
            self.assertEqual(cdn.get("/page-sitemap.xml", host=OTHER).status, 503 if most else 200, policy)
            cdn.now += most
            self.assertEqual(cdn.get("/page-sitemap.xml", host=OTHER).status, 200, policy)

    def test_a_404_and_a_redirect_are_kept_for_a_minute(self):
        for policy, cdn in self.policies():
            for path, status in [("/none-sitemap.xml", 404), ("/sitemap.xml", 301)]:
                begun = cdn.now
                for after, hit in [(0, False), (59, True), (60, False)]:
                    cdn.now = begun + after
                    answer = cdn.get(path)
                    self.assertEqual((answer.status, answer.hit), (status, hit), f"{policy} {path} after {after} s")

    def test_a_viewer_who_knows_the_prefix_gets_a_404(self):
        for policy, cdn in self.policies():
            for kind, path in itertools.product(["document", "view", "x"], ["/page-sitemap.xml", "/sitemap.xml", "/page-sitemap.txt", "/sitemap.xsl"]):
                for site in [SITE, OTHER]:
                    prefixed = f"{PREFIX}{site}/{kind}{path}"
                    answer = cdn.get(prefixed)
                    self.assertEqual(answer.status, 404, f"{policy} {prefixed}")
                    self.assertNotIn(PREFIX, str(answer.headers))
                    self.assertNotIn(PREFIX.encode(), answer.body)
            for path in [f"/../../{OTHER}/document/page-sitemap.xml", f"/%2e%2e/..{PREFIX}{OTHER}/document/page-sitemap.xml"]:
                self.assertEqual(cdn.get(path).status, 404, f"{policy} {path}")
            self.assertFalse([path for path, _ in cdn.asked if re.search(r"/(\.|%2e)", path, re.IGNORECASE)])
            # It has changed nothing of what others get.
            self.assertEqual(cdn.get("/page-sitemap.xml").body, self.origin.direct("/page-sitemap.xml")[2])

    def moved(self, missing=404, **changed):
        site = Site(missing)
        cdn = Cdn(stack(MovedPaths="/blog/*", **changed), self.origin.address, site)
        self.enterContext(cdn)
        return cdn, site

    def test_what_the_site_does_not_find_waymark_answers(self):
        for missing, status in [(404, "404"), (403, "403-404"), (404, "403-404")]:
            cdn, site = self.moved(missing, MovedStatus=status)
            for method in ["GET", "HEAD"]:
                for headers in [[], [NAVIGATION, CHROME], [GOOGLEBOT], [("X-Waymark-Host", OTHER)]]:
                    found = cdn.get("/blog/", headers, method=method)
                    self.assertEqual((found.status, found.headers["x-from"]), (200, "site"))
                    old = cdn.get("/blog/old/?utm=1", headers, method=method)
                    self.assertEqual((old.status, old.headers["location"]), (301, f"https://{SITE}/1/"), f"{missing} {headers}")
                    self.assertNotIn("x-robots-tag", old.headers)
                    self.assertEqual(cdn.get("/blog/gone/", headers, method=method).status, 410)
                    none = cdn.get("/blog/none/", headers, method=method)
                    self.assertEqual((none.status, none.headers["content-type"]), (404, "text/html; charset=utf-8"))
                    self.assertEqual(none.body.decode(), NOT_FOUND if method == "GET" else "")
            # Of another host there is neither such a page nor a page for 404.
            for host in [OTHER, "none.example", "../" + SITE]:
                other = cdn.get("/blog/old/", host=host)
                self.assertEqual((other.status, other.body), (404, b"Not found\n"), host)
            self.assertNotIn("host", {name for _, headers in site.asked for name in headers}, "each origin gets its own name")

    def test_no_other_answer_of_the_site_is_taken(self):
        cdn, site = self.moved()
        for path, status in [("/blog/secret", 403), ("/blog/broken", 500)]:
            self.assertEqual(cdn.get(path).status, status)
        asked = len(site.asked)
        self.assertEqual(cdn.get("/blog/old/", method="POST").status, 403, "CloudFront's own")
        self.assertIsNone(cdn.get("/other/none/"), "the default behaviour is the site's alone")
        # The sitemaps' own paths come first.
        self.assertEqual(cdn.get("/blog/sitemap.xml").body, self.cdn().get("/blog/sitemap.xml").body)
        self.assertEqual((len(site.asked), cdn.asked), (asked, [(f"{PREFIX}{SITE}/document/blog/sitemap.xml", "")]))

    def test_without_moved_paths_nothing_is_there_for_them(self):
        for without in [stack(), stack(MovedPaths="/blog/*", SiteOrigin="")]:
            self.assertIsNone(without.resource("MovedRequest"))
            cdn = Cdn(without, None)
            self.assertEqual(cdn.groups, {})
            self.assertNotIn("site-then-waymark", [one["TargetOriginId"] for one in cdn.behaviours()])

    def redirects(self, **changed):
        """A distribution with the store that the function redirects makes of the sites' rows (shared/edge/src/entry.rs)."""
        cdn = Cdn(stack(RedirectStore="own", **changed), self.origin.address)
        self.enterContext(cdn)
        cdn.functions["RedirectRequest"].pairs = {SITE: "3600", OTHER: "3600"} | {
            redirect_key(loc): target or "gone" for loc, target in DEPARTURES.items()}
        return cdn

    def test_what_departed_is_answered_before_the_site_is_asked_and_as_http_answers_it(self):
        cdn, met = self.redirects(), collections.Counter()
        spelled = ["/%62log/old/", "/blog/%6fld/", "/blog/ol%C3%A4/", "/blog/old/.", "//blog/old/", "/blog//old/", "/BLOG/old/", "/blog/old/%2f"]
        paths = [urllib.parse.urlsplit(loc).path for loc in DEPARTURES] + spelled + [page for page in PAGES if "%" not in page]
        for path, method, host in itertools.product(paths, ["GET", "HEAD"], [SITE, OTHER, SITE.upper(), f"{SITE}.:443", "none.example"]):
            if cdn.behaviour(path)["TargetOriginId"] != "site":
                continue
            answer = cdn.get(path, method=method, host=host)
            status, sent, body = self.origin.direct(path, host=host.lower().partition(":")[0].rstrip("."))
            if answer is None:
                met["site"] += 1
                # A path that the function does not look up is left to the site, whatever became of its page.
                self.assertTrue(status in (200, 404) or path in spelled, f"{host}{path} {status}")
                continue
            met[answer.status] += 1
            self.assertEqual((answer.status, answer.body), (status, body if method == "GET" else b""), f"{host}{path}")
            for name in ["location", "content-type", "cache-control", "x-robots-tag", "content-security-policy", "x-content-type-options"]:
                self.assertEqual(answer.headers.get(name), sent.get(name), f"{host}{path} {name}")
        self.assertTrue(met[301] > 8 and met[410] > 2 and met["site"] > 100, met)
        self.assertEqual(cdn.asked, [], "http was not asked")

    def test_all_else_is_the_sites_with_redirects_too(self):
        cdn = self.redirects()
        for url, method in [("/blog/old/?a=1", "GET"), ("/blog/old/", "POST"), ("/blog/old", "GET"), ("/blog/", "GET")]:
            self.assertIsNone(cdn.get(url, method=method), f"{method} {url}")
        cdn.functions["RedirectRequest"].pairs.pop(SITE) # which is closed
        self.assertIsNone(cdn.get("/blog/old/"))
        cdn.functions["RedirectRequest"].pairs = {}
        self.assertIsNone(cdn.get("/blog/old/"))

    def test_redirects_and_moved_paths_are_one_beside_the_other(self):
        cdn = self.redirects(MovedPaths="/blog/*")
        self.assertEqual([one["FunctionARN"] for path in ["/blog/old/", "/other/"] for one in cdn.behaviour(path)["FunctionAssociations"]],
                         ["MovedRequest", "RedirectRequest"])
        function = cdn.stack.resource("RedirectRequest")["FunctionConfig"]
        self.assertEqual(function["KeyValueStoreAssociations"], [{"KeyValueStoreARN": "KeyValueStore"}])

    def test_without_a_store_of_its_own_the_distribution_is_as_it_was(self):
        arn = "arn:aws:cloudfront::123456789012:key-value-store/0-0"
        for without in [stack(), stack(RedirectStore="own", SiteOrigin=""), stack(RedirectStore=arn)]:
            for logical in ["RedirectRequest", "KeyValueStore"]:
                self.assertIsNone(without.resource(logical))
            self.assertNotIn("RedirectRequest", Cdn(without, None).functions)

    def test_headers_of_lambdas_do_not_reach_viewers(self):
        cdn = self.cdn()
        behaviour = cdn.behaviour("/robots.txt")
        lambdas = [("x-amzn-remapped-content-length", "1"), ("x-amzn-trace-id", "Root=1"), ("cache-tag", "site:x"), ("etag", '"a"')]
        self.assertEqual(cdn.headers(lambdas, behaviour),
                         {"etag": '"a"', "x-robots-tag": "noindex, follow", "x-content-type-options": "nosniff"})
        self.assertEqual(cdn.headers([("x-robots-tag", "none")], behaviour)["x-robots-tag"], "none", "what the function says holds")
        self.assertNotIn("cache-tag", cdn.get("/robots.txt").headers)
        self.assertEqual(self.origin.direct("/robots.txt")[1][cdn.config["CacheTagConfig"]["HeaderName"]], f"site:{SITE}")

    def test_no_viewer_poisons_anothers_answer(self):
        """Any requests in any order: each is answered as the stack answers one that says only what may count."""
        draw = random.Random(7)
        noise = [("X-Waymark-Host", OTHER), ("X-Waymark-Host", SITE), ("X-Forwarded-Host", OTHER), ("X-Original-URL", "/robots.txt"),
                 ("Cookie", "a=b"), ("Authorization", "Basic YTpi"), ("Range", "bytes=0-0"), ("Accept", "text/html"),
                 ("Sec-Fetch-Dest", "empty"), ("Forwarded", f"host={OTHER}")]
        hosts = [(SITE, SITE), (SITE.upper(), SITE), (f"{SITE}.:443", SITE), (OTHER, OTHER), ("none.example", "none.example"),
                 ("../" + SITE, ""), (f"{SITE}/document", ""), (f"{SITE},{OTHER}", "")]
        answers = {}
        for policy, cdn in self.policies():
            hits = 0
            for _ in range(1500):
                said, host = draw.choice(hosts)
                path = draw.choice(DOCUMENTS + [f"{PREFIX}{OTHER}/document/page-sitemap.xml", f"{PREFIX}{SITE}/view/sitemap_index.xml"])
                coding = draw.choice(["", "gzip", "gzip, br", "identity"])
                navigates, agent = draw.random() < 0.4, draw.choice([CHROME, GOOGLEBOT])
                query = draw.choice(["", "", "?view=xml", "?view=html&a=1", "?x-waymark-host=other.example"])
                headers = draw.sample(noise, draw.randint(0, 3)) + [agent]
                if navigates:
                    headers.insert(0, NAVIGATION)
                headers += [("Accept-Encoding", coding)] if coding else []
                sees_view = navigates and agent == CHROME and "view=xml" not in query
                asked = (path, "gzip" in coding, sees_view, host)
                if asked not in answers:
                    plain = [("Accept-Encoding", "gzip")] * asked[1] + [NAVIGATION, CHROME] * sees_view
                    # Under no host there is nothing.
                    answers[asked] = self.origin.direct(*(path, plain, host) if host else ("/nothing", plain, "none.example"))
                status, sent, body = answers[asked]
                answer = cdn.get(path + query, headers, said)
                self.assertEqual((answer.status, answer.body), (status, body), f"{policy} {said}{path}{query} {headers}")
                for name in ["etag", "location", "content-encoding", "content-security-policy"]:
                    self.assertEqual(answer.headers.get(name), sent.get(name), f"{policy} {said}{path}{query} {headers} {name}")
                hits += answer.hit
                cdn.now += draw.choice([0] * 8 + [0.3, 2])
            self.assertGreater(hits, 100, f"{policy}: too few answers came from the cache to say anything")


if __name__ == "__main__":
    Behind.waymark = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else WAYMARK
    unittest.main()
