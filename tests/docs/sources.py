#!/usr/bin/env python3
"""Looks up each statement of docs/reference/aws.md in the page that makes it. Each has a source and the
month in which it was read, or says that none was found."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/aws.md"
# A page of the book is linked to. A file that is not in the book is named by its path in the repository.
ROW = re.compile(r"^\| `([^`]+)` \| (?:\[[^]]+\]\(([^)]+)\)|`([^`]+)`) \| (.+) \| ([^|]+) \|$")
# The beginning of a row that says so.
NONE = "none was found"
MONTH = re.compile(r"^(January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d$")


def faults(text, read):
    """What is wrong with the table in a text; `read` gives the text of a page that it links to."""
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    found = [] if rows else ["there is no table"]
    for at, row in enumerate(rows):
        match = ROW.match(row)
        if not match:
            found.append(f"not a line, a page, a source and a month: {row}")
            continue
        line, page, file, source, month = match.groups()
        page = page or ROOT / file
        if line not in read(page):
            found.append(f"{page} does not say: {line}")
        is_of_the_same_page = at and source.startswith("the same page")
        if "<https://" not in source and not is_of_the_same_page and not source.startswith(NONE):
            found.append(f"{line}: no source")
        if not MONTH.match(month):
            found.append(f"{line}: {month} is no month")
    return found


def check():
    """Faults are found."""
    head = "| line | page | source | read |\n|---|---|---|---|\n"
    good = "| `so` | [A](../A.md) | <https://a.example/> | November 2026 |\n"
    assert faults(head + good, lambda _: "it is so.") == []
    assert faults(head + good.replace("<https://a.example/>", NONE), lambda _: "it is so.") == []
    for bad in (good.replace("`so`", "`other`"), good.replace("<https://a.example/>", "somebody"), good.replace("November", "Autumn"), "| so |\n"):
        assert len(faults(head + bad, lambda _: "it is so.")) == 1, bad
    assert faults(head, lambda _: "") == ["there is no table"]


if __name__ == "__main__":
    check()
    wrong = faults(PAGE.read_text(), lambda page: (PAGE.parent / page).read_text())
    print("\n".join(wrong) or f"{PAGE.relative_to(ROOT)}: each statement is where it says, with its source")
    sys.exit(1 if wrong else 0)
