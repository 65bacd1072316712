"""What every mapper of Python is given to write: the pages of content.json, and values of one kind each."""
import datetime
import json
import os
import pathlib

TIMES = ["modified", "expires"]
# `absent` has none: the attribute is not given at all.
VALUES = {
    "instant": datetime.datetime(2026, 3, 1, 10, 20, 30, 500000, datetime.timezone.utc), "day": datetime.date(2026, 3, 1),
    "yes": True, "no": False, "nothing": None, "blank": "", "words": {"a", "b"}, "no_words": set(), "steps": ["a", "b"],
    "share": 0.8, "count": 42, "nested": {"title": "Soup"},
}
ENDPOINT = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
PAGES, PROBES = "magazine", "values"


def pages():
    """The pages, with times as such."""
    for page in json.loads(pathlib.Path("content.json").read_text())["pages"]:
        yield page | {name: datetime.datetime.fromisoformat(page[name].replace("Z", "+00:00")) for name in TIMES if name in page}


def probe(write, without=()):
    """Writes an item for each kind: `write(id, attributes)`. Prints those that are refused, and those that the mapper has no type for."""
    refused = {kind: "no type" for kind in without}
    for kind, attributes in [("absent", {})] + [(kind, {kind: value}) for kind, value in VALUES.items() if kind not in without]:
        try:
            write(kind, attributes)
        except Exception as error:
            refused[kind] = f"refused: {type(error).__name__}"
    print(json.dumps(refused))
