#!/usr/bin/env python3
"""Holds Waymark to what real systems wrote: `fixtures_test.py WAYMARK`. The fixtures are those that tests/systems/run recorded; nothing
is installed, and no network is used."""
import json
import pathlib
import subprocess
import sys
import unittest

import mappers
from run import systems

WAYMARK = pathlib.Path("target/debug/waymark")
WITHIN = 120


def waymark(*arguments, status=0):
    """What the command prints as JSON."""
    done = subprocess.run([WAYMARK, *arguments, "--json"], text=True, capture_output=True, timeout=WITHIN)
    if done.returncode != status:
        raise AssertionError(f"{arguments} ended with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


class Mappers(unittest.TestCase):
    folders = [folder for folder in systems().values() if (folder / "mapping.json").exists()]

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


if __name__ == "__main__":
    WAYMARK = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
