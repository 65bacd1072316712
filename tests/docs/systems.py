#!/usr/bin/env python3
"""Holds tables of the book to the fixtures of tests/systems: what object mappers write, what readers read, what imports cannot tell.

    systems.py [--write]

`--write` writes the tables anew. Exit status: 1 if a table differs."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/systems"))

import blogs  # noqa: E402
import mappers  # noqa: E402
import readers  # noqa: E402
from run import kind, systems  # noqa: E402

# The packages whose folders have another name.
PACKAGES = {
    "crawlee-js": "@crawlee/utils", "lib-dynamodb": "@aws-sdk/lib-dynamodb", "nova-odm": "@nova-odm/mapper",
    "onetable": "dynamodb-onetable", "serde-dynamo": "serde_dynamo", "typedorm": "@typedorm/core",
}
FORMS = {
    "robots.txt": "from robots.txt", "sitemap_index.xml": "index", "sitemap_index.xml.gz": "index, gzip", "post-sitemap.xml": "sitemap",
    "post-sitemap.xml.gz": "sitemap, gzip", "post-sitemap.txt": "text", "post-sitemap.txt.gz": "text, gzip", "feed.atom": "feed",
    "robots.txt lines": "`Sitemap` lines",
}

SOURCES = {
    "export with --types": "export with `--types`", "export": "export without", "CSV": "CSV of wp-cli", "REST API": "REST API",
    "sitemaps": "its own sitemaps", "feed": "its feed",
}


def named(folder):
    """A system's package with its version."""
    package = PACKAGES.get(folder.name, folder.name)
    pins = folder / "package.json"
    if pins.exists():
        return f"{package} {json.loads(pins.read_text())['dependencies'][package]}"
    pins = folder / "Cargo.toml"
    if pins.exists():
        version = re.search(rf'^{package} = .*?"=([0-9.]+)"', pins.read_text(), re.M)
        return f"{package} {version[1]}"
    versions = dict(line.lower().split("==") for line in (folder / "requirements.txt").read_text().split())
    return f"{package} {versions[package]}"


def table(heads, rows):
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [heads, ["---"] * len(heads), *rows]).replace("| --- ", "|---").replace("|--- |", "|---|")


def written(value):
    """A stored value, as its type and its text."""
    if isinstance(value, str):
        return re.sub(r"^refused: (.*)", r"refused: `\1`", value)
    (type, text), = value.items()
    return f"{type} `{text}`" if type in ("S", "N") and text else {"NULL": "NULL", "BOOL": "BOOL"}.get(type, f"{type}, empty" if not text else type)


def of_mappers(name):
    return [(folder, json.loads((folder / name).read_text())) for folder in systems().values() if kind(folder) is mappers]


def times():
    """What becomes of times, and the source of `modified_at` that reads it."""
    rows = []
    for folder, values in of_mappers("values.json"):
        source = json.loads((folder / "mapping.json").read_text())["fields"]["modified_at"]
        rows.append([named(folder), written(values["instant"]), written(values["day"]), f"`{json.dumps(source)}`"])
    return table(["mapper", "2026-03-01 10:20:30.5 UTC", "the day 2026-03-01", "`modified_at` in the mapping"], rows)


def others():
    """What becomes of other values, and what the mapping selects pages by."""
    kinds = ["nothing", "absent", "blank", "words", "no_words", "share"]
    rows = []
    for folder, values in of_mappers("values.json"):
        only = json.loads((folder / "mapping.json").read_text()).get("only")
        truth = written(values["yes"]) if written(values["yes"]) == written(values["no"]) else f"{written(values['yes'])}, {written(values['no'])}"
        rows.append([named(folder), truth, *(written(values[kind]) for kind in kinds), f"`{json.dumps(only)}`" if only else ""])
    return table(["mapper", "true, false", "null", "absent", "empty text", "set", "empty set", "0.8", "`only` in the mapping"], rows)


def read():
    """What each reader finds in each form."""
    rows = []
    for folder in systems().values():
        if kind(folder) is readers:
            reads = json.loads((folder / "reads.json").read_text())
            rows.append([named(folder), "Python" if (folder / "read.py").exists() else "JavaScript", *(of_form(reads.get(form)) for form in FORMS)])
    return table(["reader", "language", *FORMS.values()], rows)


def of_form(found):
    if found is None:
        return ""
    if isinstance(found, str):
        return {"all": "yes"}.get(found, re.sub("^error: (.*)", r"`\1`", found))
    return "some wrong"


def told():
    """What an import of each source of WordPress lists that a visitor does not see."""
    also = blogs.also_listed(blogs.SYSTEM)
    return table(["source", "also listed"], [[name, "; ".join(sorted(also[source])) or "nothing"] for source, name in SOURCES.items()])


PAGES = {"docs/cli/import.md": [told], "docs/reference/mappers.md": [times, others], "docs/reference/readers.md": [read]}


def main():
    differ = 0
    for name, tables in PAGES.items():
        page = (ROOT / name).read_text(encoding="utf-8")
        whole = page
        for make in tables:
            text = make()
            head = text.partition("\n")[0]
            begin = whole.find(head)
            if begin < 0:
                raise ValueError(f"{name} has no table with the heads {head}")
            lines = whole[begin:].splitlines(keepends=True)
            end = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
            whole = whole[:begin] + text + "".join(lines[end:])
        if "--write" in sys.argv[1:]:
            (ROOT / name).write_text(whole, encoding="utf-8")
        elif page != whole:
            differ = 1
            print(f"{name}: its tables are not those of the fixtures in tests/systems: run tests/docs/systems.py --write")
    sys.exit(differ)


if __name__ == "__main__":
    main()
