"""Fixtures: what a system wrote, recorded in its folder."""
import difflib
import json


def by_line(values):
    """An object as JSON, a line for each name."""
    lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in sorted(values.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def compare(path, found, record):
    """The lines that differ from a fixture, or none. With `record` the fixture is written."""
    if record:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
        return []
    if not path.exists():
        return [f"no fixture {path.name}: record it with --record"]
    expected = path.read_text(encoding="utf-8")
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), f"recorded {path.name}", "found now", lineterm="", n=1)
    return list(lines)
