"""The log lines of the deployed functions are those of docs/reference/log.md: each of the code is in a table there, under its level, and
each of the tables is in the code.

    python3 tests/docs/log_lines.py
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/log.md"
# What runs in AWS.
SOURCES = [file for folder in ["shared/aws/src", "shared/edge/src", "shared/engine/src", "shared/front/src", "functions"]
           for file in sorted((ROOT / folder).rglob("*.rs"))]
CALL = re.compile(r"\b(info|warn|error)!\(")
# Strings, and what opens and closes.
PART = re.compile(r'"((?:[^"\\]|\\.)*)"|[()]', re.S)
# `| text | ...`, the text in code.
ROW = re.compile(r"^\| `([^`]*)` \|", re.M)
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.S)


def in_code():
    for file in SOURCES:
        source = file.read_text()
        for call in CALL.finditer(source):
            depth, text = 1, None
            for part in PART.finditer(source, call.end()):
                if part[1] is not None:
                    text = part[1]  # the last string of the call
                else:
                    depth += 1 if part[0] == "(" else -1
                if depth == 0:
                    break
            if text is None:
                sys.exit(f"log_lines.py: {file.relative_to(ROOT)}: a call of {call[1]}! has no text")
            # Names in braces stand for values.
            yield call[1], text.replace("{RESERVED_ID}", "…")


def in_page():
    for level, section in SECTION.findall(PAGE.read_text()):
        for text in ROW.findall(section):
            yield level.lower().split()[0], text


def main():
    code, page = set(in_code()), set(in_page())
    for level, text in sorted(code - page):
        print(f"{PAGE.relative_to(ROOT)}: no row under {level}: {text}")
    for level, text in sorted(page - code):
        print(f"{PAGE.relative_to(ROOT)}: no line of the code, under {level}: {text}")
    if not code:
        sys.exit("log_lines.py: no call was found")
    print(f"{len(code & page)} log lines")
    return code != page


if __name__ == "__main__":
    sys.exit(main())
