#!/usr/bin/env python3
"""Builds content by `waymark build`, checks the folder, and prints time and memory. Twice, the bytes must be the same.

    cargo build --profile sim -p waymark-cli --no-default-features --bin waymark
    python3 tests/bench/build.py target/sim/waymark                    # a million generated pages
    python3 tests/bench/build.py target/sim/waymark --content FILE     # content of yours, of one site
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes  # noqa: E402

AT = "2026-11-25T00:00:00Z"
# The aims for a million generated pages, on two cores.
MAX_SECONDS = 30
MAX_MEGABYTES = 500
# Of any command: ten million pages take a while.
LIMIT_SECONDS = 7_200


def generate(path, pages):
    prime = 1_000_003 if pages <= 1_000_003 else 100_000_007 # each page has an address of its own
    with open(path, "w", encoding="utf-8") as file:
        settings = {"id": "site/www.example.com", "type": "site", "entries_per_sitemap": 10_000}
        file.write(json.dumps(settings) + "\n")
        for number in range(pages):
            kind = ("post", "post", "post", "product", "page")[number % 5]
            page = {
                "id": f"{kind}/{number}",
                "type": kind,
                "url": f"https://www.example.com/{kind}/{number * 7_919 % prime:07}/a-page-with-a-usual-name/",
                "modified_at": f"2026-{1 + number % 10:02}-{1 + number % 28:02}T08:00:00Z",
            }
            if number % 4 == 0:
                page["images"] = [{"url": f"https://www.example.com/media/{number}.jpg"}]
            file.write(json.dumps(page) + "\n")


def run(arguments, name=None):
    """Runs a command. Returns its status, its output, the seconds it took, those of CPU, and its peak memory in megabytes."""
    began = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    with processes.limit(process, LIMIT_SECONDS):
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    cpu, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1_000
    print(f"{seconds:.1f} s, {cpu:.1f} s of CPU, {megabytes:.0f} MB at most: {name or ' '.join(arguments[1:3])}")
    return process.returncode, output, seconds, cpu, megabytes


def digest(folder):
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("waymark")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--content", help="instead of generated pages")
    parser.add_argument("--once", action="store_true", help="not twice")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        content = options.content or str(folder / "content.jsonl")
        if not options.content:
            generate(content, options.pages)
        digests = set()
        for name in ["one"] if options.once else ["one", "two"]:
            arguments = [options.waymark, "build", content, "--out", str(folder / name), "--at", AT, "--json"]
            status, output, _, cpu, megabytes = run(arguments)
            if status == 2:
                sys.exit("the build failed")
            digests.add(digest(folder / name))
            if not options.content and (cpu > MAX_SECONDS or megabytes > MAX_MEGABYTES):
                problems.append(f"more than {MAX_SECONDS} s of CPU or {MAX_MEGABYTES} MB")
        answer = json.loads(output)
        (site,) = answer["sites"]
        left_out = {reason: pages["count"] for reason, pages in answer["left_out"]["reasons"].items()}
        print(f"{site['sitemaps']:,} sitemaps, {site['entries']:,} entries, {site['bytes']:,} bytes; left out: {left_out or 'nothing'}")
        if len(digests) != 1:
            problems.append("the bytes differ")
        origin = f"https://{site['host']}"
        status, output, *_ = run([options.waymark, "check", str(folder / "one"), "--origin", origin, "--json"])
        if status != 0:
            problems.append(f"waymark check has status {status}: {output[:2_000]}")
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
