#!/usr/bin/env python3
"""stories.py finds what is wrong with a page, planted in small pages about a command that prints what it is given."""

import pathlib
import re
import tempfile
import unittest
from unittest import mock

import stories

# Takes the place of the built command. `serve` prints ports, and waits.
COMMAND = """#!/bin/sh
case "$2$1" in
--helpload) echo '  --stack <NAME>';;
--help*) exit 2;;
*serve) echo "dynamodb http://127.0.0.1:7001"; echo "s3 http://127.0.0.1:7002"; echo "site http://127.0.0.1:7003"; exec sleep 60;;
*) echo "$@";;
esac
"""
GOOD = """# Page

<!-- The site: sound -->

Say a name:

    export SITE=www.example.com

    $ waymark explain $SITE \\
        again
    explain www.example.com again

    $ false; echo "status $?"
    status 1

In another terminal:

    $ waymark serve
    dynamodb http://127.0.0.1:8000
    s3 http://127.0.0.1:9000
    site http://127.0.0.1:8080

    $ waymark explain http://127.0.0.1:8080
    explain http://127.0.0.1:8080 --dynamodb-port 8000 --s3-port 9000

**In AWS, not tried: load.**

    waymark load a.jsonl \\
      --stack $SITE
"""
RAN, NOT_RUN = 5, 1
# Seconds after which a command that hangs is given up here: the others of its page must not take so long.
SOON = 5


class Pages(unittest.TestCase):
    def run_page(self, text, count=RAN, needs_aws=NOT_RUN):
        with tempfile.TemporaryDirectory() as folder:
            waymark = pathlib.Path(folder) / "waymark"
            waymark.write_text(COMMAND)
            waymark.chmod(0o755)
            page = pathlib.Path(folder) / "page"
            page.mkdir()
            return stories.run(text, waymark, page, count, needs_aws)

    def test_a_good_page_runs_and_what_needs_aws_is_told_apart(self):
        self.assertEqual(self.run_page(GOOD), ["waymark load a.jsonl \\\n  --stack $SITE"])

    def test_each_fault_is_found(self):
        for old, new, fault in [
            ("    explain www.example.com again\n", "    explain www.example.com\n", "and not\nexplain www.example.com$"),
            ('$ false; echo "status $?"\n    status 1', "false", "^false\nended with 1"),
            ('$ false; echo "status $?"\n    status 1', "false\n    true", "^false\ntrue\nended with 1"),
            ("$ waymark serve\n", "$ python3 -m http.server --nonsense\n", "http.server --nonsense\nended, and printed\nusage"),
            ("    dynamodb http://127.0.0.1:8000\n", "    ready\n", "waymark serve\nwas not ready within 5 s"),
            ("site: sound", "site: none", "there is no site none"),
            ("waymark load a.jsonl \\\n      --stack $SITE", "echo a.jsonl", "is not run, and names nothing of AWS"),
            ("--stack $SITE", "--stack $SITE --fast", "waymark load has no --fast"),
            ("waymark load", "waymark lode", "there is no waymark lode"),
            ("--stack $SITE", "--stack $(", "unexpected EOF"),
            ("**In AWS, not tried: load.**", "Load:", "6 commands run here and 0 need AWS, not 5 and 1"),
            ("Say a name:\n\n", "Say a name:\n", "14 lines are indented, and 13 are in blocks"),
            ("    s3 http://127.0.0.1:9000\n", "    …\n", "does not show all of its ports"),
            ("# Page\n", "# Page\n\n```\nls\n```\n", "commands stand in indented blocks"),
            ('$ false; echo "status $?"\n    status 1', "sleep 60", "^sleep 60\nhas not ended within 5 s"),
        ]:
            within = SOON if f"within {SOON} s" in fault else stories.RUNS_WITHIN
            with self.subTest(new), mock.patch.multiple(stories, RUNS_WITHIN=within, STARTS_WITHIN=within):
                self.assertEqual(GOOD.count(old), 1, old)
                with self.assertRaises(AssertionError) as found:
                    self.run_page(GOOD.replace(old, new))
                self.assertRegex(str(found.exception), re.compile(fault, re.M))

    def test_a_page_of_which_nothing_runs_is_found(self):
        with self.assertRaisesRegex(AssertionError, "no command runs here"):
            self.run_page("# Page\n\n**In AWS, not tried.**\n\n    sam deploy\n", 0, 1)

    def test_minutes_that_are_not_named_are_found(self):
        file, count, _ = stories.PAGES[0]
        readme = (stories.ROOT / "README.md").read_text()
        stories.check_minutes(file, count, readme)
        for wrong, fault in [
            (readme.replace(file, "x.md"), "does not link to"),
            (readme.replace(" minutes", " hours"), "does not say that"),
        ]:
            with self.assertRaisesRegex(AssertionError, fault):
                stories.check_minutes(file, count, wrong)
        with self.assertRaisesRegex(AssertionError, "takes 16 minutes"):
            stories.check_minutes(file, count + 60, readme)

    def test_the_minutes_are_those_that_reading_and_pasting_take(self):
        self.assertEqual(stories.minutes("word " * 200, 6), 2)
        self.assertEqual(stories.minutes("word " * 201, 6), 3)


if __name__ == "__main__":
    unittest.main()
