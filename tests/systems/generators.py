"""Generators of sites: each builds a small site of ours, and Waymark does with its sitemaps what a user would.

`system.json` has the commands that build the site, the folder that they write if it is not `out`, expressions for what differs from run to
run and is left out (times of the run become 2026-01-01), and the reasons for each rule that `check` finds broken, each note of `import` and each kind of change of `diff`. Fixtures: `site` has the sitemaps and robots.txt as the
generator wrote them. `seen.json` has what `check`, `import`, `build` and `diff` make of them."""
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import fixtures

ORIGIN = "https://www.lantern.example"
WITHIN = 120
PATTERNS = ["**/*sitemap*.xml", "**/*sitemap*.xml.gz", "**/sitemap/*.xml", "**/*sitemap*.txt", "**/rss.xml", "robots.txt"]

TIME = re.compile(r"(?P<day>20\d\d-\d\d-\d\d)(?P<time>[T ]\d\d:\d\d:\d\d(\.\d+)?)?")
THEN = "2026-01-01"


def run(system, program, waymark, record):
    """What differs from the fixtures, and what has no reason."""
    described = json.loads((system / "system.json").read_text())
    out = program.folder / described.get("out", "out")
    shutil.rmtree(out, ignore_errors=True)
    began = datetime.datetime.now(datetime.timezone.utc)
    for command in described["build"]:
        program.run(*command)
    # In the zones of the sites a day may have begun already.
    days = {(began + datetime.timedelta(days=days)).date().isoformat() for days in (0, 1)}
    files = {str(path.relative_to(out)): path.read_bytes() for pattern in PATTERNS for path in out.glob(pattern) if path.is_file()}
    for name in [name for name in files if not name.endswith(".gz")]:
        files[name] = undated(files[name].decode(), days, described.get("of_the_run", [])).encode()
    if not files:
        return [f"{out} has no sitemap"]
    site, differences = system / "site", []
    if record:
        shutil.rmtree(site, ignore_errors=True)
        for name, content in files.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_bytes(content)
    recorded = {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    for name in sorted(files.keys() | recorded.keys()):
        if files.get(name) == recorded.get(name):
            continue
        if name not in files or name not in recorded:
            differences.append(f"{name} is only in what was {'recorded' if name in recorded else 'found now'}")
        elif name.endswith(".gz"):
            differences.append(f"{name} has other bytes")
        else:
            differences += fixtures.compare(site / name, files[name].decode(), False)
    seen = use(waymark, site)
    differences += fixtures.compare(system / "seen.json", text(seen), record)
    return differences + unexplained(seen, described["reasons"])


def undated(text, days, expressions):
    """A text without what differs from run to run: all times of these days become one, and what the expressions match is removed."""
    for expression in expressions:
        text = re.sub(expression, "", text)
    return TIME.sub(lambda found: THEN + (found["time"][0] + "00:00:00" if found["time"] else "") if found["day"] in days else found[0], text)


def use(waymark, site):
    """What Waymark's commands say of a site's sitemaps."""
    with tempfile.TemporaryDirectory() as folder:
        records, built = pathlib.Path(folder) / "records.jsonl", pathlib.Path(folder) / "built"
        checked = called(waymark, "check", site, "--origin", ORIGIN)
        imported = called(waymark, "import", site, "--output", records)
        called(waymark, "build", records, "--out", built)
        compared = called(waymark, "diff", site, built, failed={"changes": [{"change": "not compared"}]})
        lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    return {
        "check": sorted(f"{found['file'].removeprefix(ORIGIN)}:{found.get('line', 0)} {found['severity']} {found['rule']}"
                        for found in checked["findings"]),
        "import": {
            "records": sorted(lines, key=lambda record: record["id"]),
            "notes": {name: note["count"] for name, note in imported["notes"].items()},
            "problems": len([problem for source in imported["sources"] for problem in source["problems"]]),
            "skipped": imported["skipped"], "left_out": imported["left_out"],
        },
        "diff": [{name: value for name, value in change.items() if not name.startswith("sitemap_")} for change in compared["changes"]],
        "spelled_otherwise": compared.get("spellings", []),
    }


def called(waymark, *arguments, failed=None):
    """What a command prints as JSON; it may find something, but not fail, unless `failed` says what stands for that."""
    done = subprocess.run([waymark, *arguments, "--json"], text=True, capture_output=True, timeout=WITHIN)
    if done.returncode == 2 and failed:
        return failed
    if done.returncode not in (0, 1):
        raise ValueError(f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def text(seen):
    """JSON with a line for each finding, record and change."""
    def lines(values):
        return "[" + ",".join(f"\n    {json.dumps(value, ensure_ascii=False)}" for value in values) + ("\n  ]" if values else "]")

    imported = seen["import"]
    parts = [f'  "check": {lines(seen["check"])}', f'  "records": {lines(imported["records"])}']
    parts += [f"  {json.dumps(name)}: {json.dumps(imported[name], sort_keys=True)}" for name in ("problems", "notes", "skipped", "left_out")]
    parts += [f'  "diff": {lines(seen["diff"])}', f'  "spelled_otherwise": {lines(seen["spelled_otherwise"])}']
    return "{\n" + ",\n".join(parts) + "\n}\n"


def causes(seen):
    """The names of all that was found."""
    imported = seen["import"]
    found = {f"check {line.rsplit(' ', 1)[1]}" for line in seen["check"]}
    found |= {f"import {name}" for part in ("notes", "skipped", "left_out") for name in imported[part]}
    for change in seen["diff"]:
        fields = [name for name in change if name not in ("change", "loc")] if change["change"] == "changed" else []
        found |= {f"diff {change['change']}{' ' if fields else ''}{' '.join(fields)}"}
    found |= {"import problem"} if imported["problems"] else set()
    return found | ({"diff spelling"} if seen["spelled_otherwise"] else set())


def unexplained(seen, reasons):
    """What was found without a reason in system.json, and reasons for nothing."""
    found = causes(seen)
    return [f"no reason in system.json for: {cause}" for cause in sorted(found - reasons.keys())] + \
        [f"a reason in system.json for what was not found: {cause}" for cause in sorted(reasons.keys() - found)]
