#!/usr/bin/env python3
"""The parts of examples/distribution: they are those of infra/cdn.yaml, and do the same in a distribution that a site already has.

    existing_test.py [WAYMARK]     the binary [target/debug/waymark]
    existing_test.py --write       writes infra/cdn/viewer-request.js into cloudformation.yaml, and redirect-request.js into redirects.yaml

Needs PyYAML and node. tests/examples/distribution.py compares the parts for CDK and Terraform with those for CloudFormation."""
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from cdn import MANAGED, ROOT, Cdn, Stack
from cdn_test import BUCKET, CHROME, DOCUMENTS, FREE_BEHAVIOURS, NAVIGATION, OTHER, PAGES, PREFIX, SITE, WAYMARK, Origin, stack
from existing import DISTRIBUTION, FOLDER, Existing

# Begins the keys under which CloudFront keeps what Waymark answers.
GUARD = f"{PREFIX}*"
# Documents that stay the site's.
SITES = {"/robots.txt", "/feed.atom", "/sitemap.css", "/0123abcd.txt"}
TEMPLATE = ROOT / FOLDER / "cloudformation.yaml"
REDIRECTS = ROOT / FOLDER / "redirects.yaml"
SECONDS = 120


def write():
    for name, template in [("viewer-request.js", TEMPLATE), ("redirect-request.js", REDIRECTS)]:
        code = textwrap.indent((ROOT / "infra/cdn" / name).read_text(), " " * 8)
        text, found = re.subn(r"(?<= FunctionCode: \|\n).*?(?=\n(?: {2})?\w)", lambda _: code, template.read_text(), flags=re.DOTALL)
        assert found == 1, template
        template.write_text(text)


class Parts(unittest.TestCase):
    def test_the_resources_are_those_of_the_stacks_own_distribution(self):
        own, parts = stack(CdnCachePolicy="managed"), Existing()
        for logical in ["ViewerRequest", "HeadersPolicy", "OriginAccessControl", "UrlPermission", "FunctionPermission"]:
            self.assertEqual(parts.resource(logical), own.resource(logical), logical)
        self.assertEqual(set(parts.stack.template["Resources"]), set(own.template["Resources"]) - {DISTRIBUTION, "CachePolicy", "MovedRequest", "KeyValueStore", "RedirectRequest"})
        self.assertIn((ROOT / "infra/cdn/viewer-request.js").read_text(), parts.resource("ViewerRequest")["FunctionCode"])

    def test_the_resources_for_redirects_are_those_of_the_stacks_own_distribution(self):
        own, parts = stack(RedirectStore="own"), Stack(f"{FOLDER}/redirects.yaml")
        self.assertEqual(set(parts.template["Resources"]), {"KeyValueStore", "RedirectRequest"})
        for logical in parts.template["Resources"]:
            self.assertEqual(parts.resource(logical), own.resource(logical), logical)

    def test_the_origin_is_the_stacks(self):
        config = stack().resource(DISTRIBUTION)["DistributionConfig"]
        self.assertEqual(Existing().pasted["Origins"], [one for one in config["Origins"] if one["Id"] == "waymark"])

    def test_the_behaviours_are_the_stacks_for_sitemaps_gzip_files_and_the_view_and_a_guard(self):
        chosen = [Cdn(stack(CdnPaths=choice, CdnCachePolicy="managed", RobotsTxt="site"), None).behaviours()[:-1]
                  for choice in ["crawlers-gz", "crawlers-view"]]
        expected = chosen[0] + [one for one in chosen[1] if one not in chosen[0]]
        expected.append(expected[0] | {"PathPattern": GUARD})
        self.assertEqual(Existing().pasted["CacheBehaviors"], expected)
        self.assertEqual(len(expected), FREE_BEHAVIOURS, "with the default behaviour, and without gzip files")
        self.assertLessEqual({one["CachePolicyId"] for one in expected}, set(MANAGED))


class Paths(unittest.TestCase):
    def test_every_page_stays_the_sites_and_in_the_behaviour_that_it_had(self):
        before, after = Cdn(Existing("no"), None), Cdn(Existing(), None)
        for page in itertools.chain(PAGES, SITES, ["/assets/app.css", "/api/pages.xml", "/feed.xml", "/humans.txt"]):
            if page != PREFIX: # which no site has
                self.assertEqual(after.behaviour(page), before.behaviour(page), page)

    def test_the_site_answers_no_path_under_which_waymarks_files_are_kept(self):
        """CloudFront's default key is the path alone, whatever the behaviour (understanding-the-cache-key.html), and a site's may cache."""
        cdn = Cdn(Existing(), None)
        for host, kind, path in itertools.product([SITE, OTHER], ["document", "view"], DOCUMENTS):
            self.assertEqual(cdn.behaviour(f"{PREFIX}{host}/{kind}{path}")["TargetOriginId"], "waymark", path)

    def test_behind_the_sites_own_patterns_sitemaps_stay_the_sites(self):
        first, last = Cdn(Existing("first"), None), Cdn(Existing("last"), None)
        for path in ["/sitemap_index.xml", "/page-sitemap.xml", "/page-sitemap.txt"]:
            self.assertEqual(first.behaviour(path)["TargetOriginId"], "waymark", path)
            self.assertEqual(last.behaviour(path)["TargetOriginId"], "site", path)

    def test_without_the_parts_the_distribution_is_as_before(self):
        self.assertEqual({one["TargetOriginId"] for one in Cdn(Existing("no"), None).behaviours()}, {"site"})


class Behind(unittest.TestCase):
    """What viewers get of a running stack."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.origin = Origin(cls.waymark, pathlib.Path(cls.folder.name))
        cls.addClassCleanup(cls.origin.end)

    def setUp(self):
        self.cdn = Cdn(Existing(), self.origin.address)
        self.enterContext(self.cdn)

    def test_documents_are_answered_as_the_stack_answers_them(self):
        for host, path, coding in itertools.product([SITE, OTHER], DOCUMENTS, ["", "gzip", "br, gzip"]):
            headers = [("Accept-Encoding", coding)] if coding else []
            answer = self.cdn.get(path, headers, host)
            if path in SITES:
                self.assertIsNone(answer, path)
                continue
            status, sent, body = self.origin.direct(path, headers, host)
            self.assertEqual((answer.status, answer.body), (status, body), f"{host}{path} {coding}")
            for name in ["etag", "location", "content-type", "content-encoding", "cache-control", "x-robots-tag"]:
                self.assertEqual(answer.headers.get(name), sent.get(name), f"{host}{path} {coding} {name}")

    def test_the_cache_has_nothing_under_an_address_of_the_site(self):
        """So neither the switch nor the way back needs an invalidation."""
        for path in DOCUMENTS:
            self.cdn.get(path)
        self.assertTrue(self.cdn.kept)
        for path, _ in self.cdn.kept:
            self.assertTrue(path.startswith(f"{PREFIX}{SITE}/"), path)

    def test_a_viewer_who_knows_the_prefix_gets_a_404(self):
        for kind, path in itertools.product(["document", "view", "x"], DOCUMENTS):
            self.assertEqual(self.cdn.get(f"{PREFIX}{SITE}/{kind}{path}").status, 404, path)

    def test_the_bucket_can_be_compared_with_what_the_site_lists_before_the_switch(self):
        """The commands of docs/guide/your-distribution.md."""
        site = pathlib.Path(self.folder.name) / "before"
        site.mkdir()
        bucket = f"s3://{BUCKET}/published/{SITE}"
        access = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.origin.s3}", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
                  "AWS_REGION": "us-east-1"}
        for listed, gone in [(40, 0), (41, 1)]:
            (site / "sitemap.txt").write_text("".join(f"https://{SITE}/{n}/\n" for n in range(listed)))
            (site / "robots.txt").write_text(f"Sitemap: https://{SITE}/sitemap.txt\n")
            done = subprocess.run([self.waymark, "diff", site, bucket, "--max-removed", "0"], env=os.environ | access, text=True, capture_output=True,
                                  timeout=SECONDS)
            self.assertEqual(done.returncode, gone, done.stdout + done.stderr)
            self.assertIn(f" {gone} gone", done.stdout)
        done = subprocess.run([self.waymark, "check", bucket, "--origin", f"https://{SITE}"], env=os.environ | access, text=True, capture_output=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("40 URLs", done.stdout)

    def test_a_person_sees_the_view_and_what_it_loads(self):
        page = self.cdn.get("/page-sitemap.xml", [NAVIGATION, CHROME])
        self.assertTrue(page.headers["content-type"].startswith("text/html"))
        linked = {path.decode() for path in re.findall(rb'(?:src|href)="(/[^"]*)"', page.body)}
        answers = {path: self.cdn.get(path, [CHROME]) for path in linked}
        self.assertLessEqual({path for path, answer in answers.items() if answer is None}, SITES)
        self.assertLessEqual({answer.status for answer in answers.values() if answer}, {200})
        self.assertLessEqual({"/sitemap-view.js", "/sitemap-view.css"}, {path.partition("?")[0] for path in linked})


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        Behind.waymark = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else WAYMARK
        unittest.main()
