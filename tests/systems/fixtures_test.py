#!/usr/bin/env python3
"""Holds Waymark to what real systems wrote: `fixtures_test.py WAYMARK`. The fixtures are those that tests/systems/run recorded; nothing
is installed, and no network is used."""
import json
import pathlib
import subprocess
import sys
import unittest

import blogs
import generators
import mappers
from run import kind, systems

WAYMARK = pathlib.Path("target/debug/waymark")
WITHIN = 120


def waymark(*arguments, status=0):
    """What the command prints as JSON."""
    done = subprocess.run([WAYMARK, *arguments, "--json"], text=True, capture_output=True, timeout=WITHIN)
    if done.returncode != status:
        raise AssertionError(f"{arguments} ended with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


class Mappers(unittest.TestCase):
    folders = [folder for folder in systems().values() if kind(folder) is mappers]

    def test_the_items_of_each_mapper_list_the_right_pages(self):
        self.assertGreater(len(self.folders), 15)
        content = mappers.content()
        for folder in self.folders:
            with self.subTest(folder.name):
                records = waymark("mapping", folder / "mapping.json", "--item", folder / "items.json")
                self.assertEqual([problem for record in records for problem in record["problems"]], [])
                listed = {record["loc"]: record["fields"] for record in records if record["loc"]}
                self.assertEqual(listed.keys(), content["listed"].keys())
                left_out = {record["fields"]["url"]: record["left_out"]["name"] for record in records if record["left_out"]}
                self.assertEqual(left_out, content["left_out"])
                soup = listed["https://www.lantern.example/soup-for-nine/"]
                self.assertEqual(sorted(soup["terms"]["tag"]), ["soup", "winter"])
                self.assertEqual([image["url"] for image in soup["images"]], ["https://img.lantern.example/soup.jpg"])

    def test_each_mapper_has_a_value_of_each_kind(self):
        kinds = {"instant", "day", "yes", "no", "nothing", "absent", "blank", "words", "no_words", "steps", "share", "count", "nested"}
        for folder in self.folders:
            self.assertEqual(json.loads((folder / "values.json").read_text()).keys(), kinds, folder.name)


class Generators(unittest.TestCase):
    folders = [folder for folder in systems().values() if kind(folder) is generators]

    def test_the_commands_find_in_each_site_what_was_recorded(self):
        self.assertGreater(len(self.folders), 10)
        self.maxDiff = None
        for folder in self.folders:
            with self.subTest(folder.name):
                seen = generators.use(WAYMARK, folder / "site")
                self.assertEqual(generators.text(seen), (folder / "seen.json").read_text(encoding="utf-8"))
                self.assertEqual(generators.unexplained(seen, json.loads((folder / "system.json").read_text())["reasons"]), [])

    def test_what_has_no_reason_is_named_and_so_is_a_reason_for_nothing(self):
        seen = {"check": ["/sitemap.xml:3 error loc.form"], "import": {"records": [], "problems": 0, "notes": {}, "skipped": {}, "left_out": {}},
                "diff": [{"change": "changed", "loc": "/", "lastmod": ["a", None]}], "spelled_otherwise": []}
        self.assertEqual(generators.unexplained(seen, {"check loc.form": "why", "diff gone": "why"}),
                         ["no reason in system.json for: diff changed lastmod", "a reason in system.json for what was not found: diff gone"])

    def test_times_of_the_run_are_removed_and_no_others(self):
        text = "<a>2026-11-29T06:18:00Z</a><a>2026-11-29 06:18:00</a><b>2026-11-29</b><c>2026-03-01T10:20:30.500Z</c><d>x</d>"
        self.assertEqual(generators.undated(text, {"2026-11-29"}, ["<d>.*</d>"]),
                         "<a>2026-01-01T00:00:00Z</a><a>2026-01-01 00:00:00</a><b>2026-01-01</b><c>2026-03-01T10:20:30.500Z</c>")


class Blogs(unittest.TestCase):
    folders = [folder for folder in systems().values() if kind(folder) is blogs]

    def test_what_is_imported_of_a_blog_is_what_a_visitor_sees(self):
        self.assertGreater(len(self.folders), 0)
        self.maxDiff = None
        for folder in self.folders:
            seen = {}
            for name, form in json.loads((folder / "forms.json").read_text()).items():
                with self.subTest(f"{folder.name}, {name}"):
                    seen[name] = blogs.use(WAYMARK, folder / "site" / name, form)
                    self.assertEqual(blogs.disagreements(name, folder / "site" / name, seen[name]), [])
            self.assertEqual(blogs.text(seen), (folder / "seen.json").read_text(encoding="utf-8"))

    def test_what_a_visitor_does_not_see_is_named(self):
        site = self.folders[0] / "site/name"
        nothing = {"missing": ["/about/"], "beyond": {"/a-post-with-a-password/": "password"}}
        told = blogs.disagreements("name", site, {"feed": nothing, "export": nothing})
        self.assertEqual(told, ["name: feed does not list ['/about/']", "name: export lists what a visitor does not see: "
                                "['/a-post-with-a-password/']", "name: export does not list ['/about/']"])


if __name__ == "__main__":
    WAYMARK = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
