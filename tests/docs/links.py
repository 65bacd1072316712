#!/usr/bin/env python3
"""Checks the links of all Markdown files, and that the book is whole.

    links.py [ROOT]     the repository [this one]

- A relative link leads to a file or folder that exists, and its anchor to a heading of that file.
- A page of the book (docs/) links to pages of the book only: a built book has nothing else.
- docs/SUMMARY.md names each page of docs/ once, and no other.
- Each `docs/….md` that any file of the repository mentions exists.
- Each path in a table of CONTRIBUTING.md exists: from the root, or from a folder of the path before it in its row.

Looks at no address on the web. Prints each fault as FILE:LINE: TEXT, and ends with status 1 if there is one."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
MENTION = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")
INDENTED = "    "
# A code span that names a file or a folder.
PATH = re.compile(r"`([\w.*/-]+(?:/|\.(?:rs|py|md|json|yaml|yml|mjs|js|toml)))`")
# Its own test, which mentions pages that it makes up.
MADE_UP = pathlib.Path("tests/docs/links_test.py")


def prose(text):
    """The lines of a Markdown text that are no code, with their numbers; code spans are blanked."""
    fence = None
    is_code = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark:
            fence = None if fence else mark[1]
        elif not fence:
            # An indented line is code after a blank line, unless it continues a list, which this repository indents by less.
            is_code = line.startswith(INDENTED) and (is_code or not before.strip())
            if not is_code or not line.strip():
                yield number, re.sub(r"`[^`]*`", lambda span: "`" + " " * (len(span[0]) - 2) + "`", line)
        before = line


def headings(text):
    """The anchors of a text's headings, as GitHub and mdBook make them."""
    anchors = set()
    fence = False
    for line in text.splitlines():
        if re.match(r"\s*(```|~~~)", line):
            fence = not fence
        heading = None if fence else HEADING.match(line)
        if heading:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            anchor, n = slug, 0
            while anchor in anchors:
                n += 1
                anchor = f"{slug}-{n}"
            anchors.add(anchor)
    return anchors


def links(text):
    """The relative links of a Markdown text with their lines."""
    # A link's text may go over a line's end: joined lines keep the number of the first.
    lines = list(prose(text))
    whole = "\n".join(line for _, line in lines)
    numbers = [number for number, _ in lines]
    for link in LINK.finditer(whole):
        if not re.match(r"[a-z][a-z0-9+.-]*:", link[1]):
            yield numbers[whole.count("\n", 0, link.start())], link[1]


def lost_paths(root, text):
    """The paths in tables of a text that do not exist, with their lines."""
    for number, line in enumerate(text.splitlines(), 1):
        before = root
        for name in PATH.findall(line) if line.startswith("|") else []:
            around = [before, *before.parents]
            folders = [root, *(folder for folder in around if folder.is_dir() and folder.is_relative_to(root))]
            # A pattern is one that finds a file.
            found = next((path for folder in folders for path in folder.glob(name.rstrip("/"))), None)
            if found is None:
                yield number, name
            elif (root / name.rstrip("/")) == found:
                before = found


def faults(root, files):
    """What is wrong with `files`, paths relative to `root`."""
    book = root / "docs"
    pages = {file for file in files if file.suffix == ".md" and file.parts[0] == "docs"} - {pathlib.Path("docs/SUMMARY.md")}
    named = []
    for file in files:
        try:
            text = (root / file).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # a picture, or a file that was deleted and not committed yet
        for number, line in enumerate([] if file == MADE_UP else text.splitlines(), 1):
            for mention in MENTION.findall(line):
                if not (root / mention).is_file():
                    yield f"{file}:{number}: {mention} does not exist"
        if file.suffix != ".md":
            continue
        if file == pathlib.Path("CONTRIBUTING.md"):
            for number, name in lost_paths(root, text):
                yield f"{file}:{number}: {name} does not exist"
        for number, link in links(text):
            path, _, anchor = link.partition("#")
            target = (root / file).parent / path if path else root / file
            target = target.resolve()
            if not target.exists():
                yield f"{file}:{number}: {link} does not exist"
                continue
            if file.parts[0] == "docs" and not target.is_relative_to(book.resolve()):
                yield f"{file}:{number}: {link} is not in the book"
            if anchor and (target.suffix != ".md" or anchor not in headings(target.read_text())):
                yield f"{file}:{number}: {link}: there is no such heading"
            if file == pathlib.Path("docs/SUMMARY.md"):
                named.append(target.relative_to(root.resolve()))
    for page in sorted(pages):
        if named.count(page) != 1:
            yield f"docs/SUMMARY.md: names {page} {named.count(page)} times; it should once"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent.parent)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=root, capture_output=True, text=True, check=True,
        timeout=60
    )
    files = sorted({pathlib.Path(name) for name in listed.stdout.split("\0") if name})
    found = list(faults(root, files))
    for fault in found:
        print(fault)
    count = sum(file.suffix == ".md" for file in files)
    assert count > 10, f"only {count} Markdown files under {root}"
    if not found:
        print(f"{count} Markdown files: every link and path leads somewhere, and the book is whole")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
