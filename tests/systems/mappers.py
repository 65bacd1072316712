"""Object mappers: each writes the pages of content.json into a local stack, which must list the right ones.

Fixtures: `items.json` has the items as they are stored, in the form of `aws dynamodb scan`. `values.json` has what becomes of a value of
each kind: its type and text, `omitted`, `refused` with the error's name, or `no type` if the mapper has none for it."""
import json
import pathlib
import tempfile

import fixtures
from stack import HOST, PROBES, TABLE, Stack

CONTENT = pathlib.Path(__file__).with_name("content.json")
# Attributes with the time of the run, by the names that mappers give them.
OF_THE_RUN = {"_ct", "_md"}
THEN = "2026-01-01T00:00:00.000Z"


def content():
    return json.loads(CONTENT.read_text(encoding="utf-8"))


def run(system, program, waymark, record):
    """What differs from the fixtures, and from what must be listed."""
    mapping = system / "mapping.json"
    keys = [next(iter(key.items())) for key in json.loads(mapping.read_text())["key"]]
    writers = {"write.py": ["venv/bin/python", "write.py"], "write.mjs": ["node", "write.mjs"], "write.rs": [program.folder / "target/debug/write"]}
    writer = next(writer for name, writer in writers.items() if (system / name).exists())
    with tempfile.TemporaryDirectory() as name, running(waymark, pathlib.Path(name), mapping) as stack:
        stack.call("CreateTable", {
            "TableName": PROBES, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": type} for name, type in keys],
            "KeySchema": [{"AttributeName": name, "KeyType": key} for (name, _), key in zip(keys, ["HASH", "RANGE"])],
        })
        refused = json.loads(program.run(*writer, extra={"AWS_ENDPOINT_URL_DYNAMODB": stack.dynamodb}))
        differences = stack.lists(content()["listed"]) or stack.audit()
        items = [undated(item) for item in stack.items(TABLE)]
        values = {}
        for item in stack.items(PROBES):
            kind = item["kind"]["S"]
            values[kind] = item.get(kind, "omitted")
    values |= refused
    differences += fixtures.compare(system / "items.json", lines(items), record)
    return differences + fixtures.compare(system / "values.json", fixtures.by_line(values), record)


def running(waymark, folder, mapping):
    """A stack with no page but those of the mapped table."""
    settings = folder / "settings.jsonl"
    settings.write_text(json.dumps({"id": f"site/{HOST}", "type": "site", "name": "Lantern"}) + "\n")
    return Stack(waymark, folder, settings, mapping)


def undated(item):
    return {name: {"S": THEN} if name in OF_THE_RUN else value for name, value in item.items()}


def lines(items):
    """An item a line."""
    return '{"Items": [\n' + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]}\n"
