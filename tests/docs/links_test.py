#!/usr/bin/env python3
"""links.py finds each kind of fault, planted in a small book, and finds nothing in the book without it."""

import pathlib
import tempfile
import unittest

import links

GOOD = {
    "README.md": "# Front\n\n[a page](docs/a.md), [its part](docs/a.md#the-part), [the licence](LICENSE), [web](https://example.com/x.md)\n",
    "LICENSE": "text\n",
    "docs/SUMMARY.md": "# Summary\n\n- [A](a.md)\n  - [`b`](b/b.md)\n",
    "docs/a.md": "# A\n\n## The `part`!\n\n[b](b/b.md), [here](#the-part)\n\n    [code](nowhere.md)\n\n```\n[code](nowhere.md)\n```\n`[code](no.md)`\n",
    "docs/b/b.md": "# B\n\nText over\na line's [end, of\na link](../a.md).\n",
    "code.rs": "// docs/a.md says more\n",
    "CONTRIBUTING.md": "`gone.rs`\n\n| `docs/b/b.md`, `a.md`, `b/` | `*.rs`, `x::y`, `code.rs` |\n",
}


def faults(changed):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        files = GOOD | changed
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return list(links.faults(root, sorted(pathlib.Path(name) for name in files)))


class Links(unittest.TestCase):
    def test_a_whole_book_has_no_fault(self):
        self.assertEqual(faults({}), [])

    def test_each_fault_is_found(self):
        for changed, fault in (
            ({"docs/b/b.md": "# B\n\ntext\n\n[x](nowhere.md)\n"}, "docs/b/b.md:5: nowhere.md does not exist"),
            ({"README.md": "[x](docs/a.md#the-parts)\n"}, "README.md:1: docs/a.md#the-parts: there is no such heading"),
            ({"docs/b/b.md": "# B\n\n[x](#c)\n"}, "docs/b/b.md:3: #c: there is no such heading"),
            ({"docs/b/b.md": "# B\n\n[x](../../LICENSE)\n"}, "docs/b/b.md:3: ../../LICENSE is not in the book"),
            ({"docs/b/b.md": "# B\n\none [link\nover two](no.md) lines\n"}, "docs/b/b.md:3: no.md does not exist"),
            ({"docs/b/b.md": "# B\n\n| a | [x](no.md) |\n"}, "docs/b/b.md:3: no.md does not exist"),
            ({"docs/c.md": "# C\n"}, "docs/SUMMARY.md: names docs/c.md 0 times; it should once"),
            ({"docs/SUMMARY.md": "- [A](a.md)\n- [B](b/b.md)\n- [A](a.md)\n"}, "docs/SUMMARY.md: names docs/a.md 2 times; it should once"),
            ({"code.rs": "// see\n// docs/OLD.md\n"}, "code.rs:2: docs/OLD.md does not exist"),
            ({"CONTRIBUTING.md": "| x | `code.rs`, `b.md` |\n"}, "CONTRIBUTING.md:1: b.md does not exist"),
            ({"CONTRIBUTING.md": "| `docs/b/` | `c/` |\n"}, "CONTRIBUTING.md:1: c/ does not exist"),
            ({"docs/b/b.md": "# B\n\n![a picture](b.png)\n"}, "docs/b/b.md:3: b.png does not exist"),
        ):
            with self.subTest(fault):
                self.assertEqual(faults(changed), [fault])


if __name__ == "__main__":
    unittest.main()
