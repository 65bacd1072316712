#!/usr/bin/env python3
"""Compares a million URLs with a million by `waymark diff`: every planted change told once, in under 200 MB.

    cargo build --profile sim -p waymark-cli --no-default-features --bin waymark
    python3 tests/bench/diff.py target/sim/waymark
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes  # noqa: E402

PER_SITEMAP = 50_000
MAX_MEGABYTES = 200
LIMIT_SECONDS = 3_600
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n'
)
ORIGIN = "https://www.example.com"


def loc(number):
    return f"{ORIGIN}/archive/{number * 7_919 % 1_000_003:07}/a-page-with-a-usual-name-{number}/"


def entry(number, day, images):
    image = "".join(f"<image:image><image:loc>{ORIGIN}/media/{number}-{at}.jpg</image:loc></image:image>" for at in range(images))
    return f"<url><loc>{loc(number)}</loc><lastmod>2026-01-{day:02}T08:00:00+00:00</lastmod>{image}</url>\n"


def write(folder, entries):
    folder.mkdir()
    names = []
    for first in range(0, len(entries), PER_SITEMAP):
        names.append(f"post-sitemap{len(names) + 1}.xml")
        with open(folder / names[-1], "w", encoding="utf-8") as file:
            file.write(HEAD)
            file.writelines(entry(*one) for one in entries[first : first + PER_SITEMAP])
            file.write("</urlset>\n")
    lines = "".join(f"<sitemap><loc>{ORIGIN}/{name}</loc></sitemap>" for name in names)
    index = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{lines}</sitemapindex>'
    (folder / "sitemap_index.xml").write_text(index, encoding="utf-8")
    (folder / "robots.txt").write_text(f"User-agent: *\nSitemap: {ORIGIN}/sitemap_index.xml\n", encoding="utf-8")


def high_water(pid):
    """The most memory that a process had so far, in kB (Linux)."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found.group(1)) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("waymark")
    parser.add_argument("--pages", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        before = [(number, 1 + number % 28, number % 3) for number in range(options.pages)]
        after, expected = [], set()
        # In another order, so that sorting has something to do.
        for number, day, images in reversed(before):
            if number % 1_000 == 7:
                expected.add(f"- {loc(number)}")
            elif number % 1_000 == 8:
                expected.add(f"~ {loc(number)}")
                after.append((number, 28 if day != 28 else 1, images))
            elif number % 1_000 == 9:
                expected.add(f"~ {loc(number)}")
                after.append((number, day, images + 1))
            else:
                after.append((number, day, images))
        for number in range(options.pages, options.pages + options.pages // 1_000):
            expected.add(f"+ {loc(number)}")
            after.append((number, 1, 0))
        write(folder / "before", before)
        write(folder / "after", after)
        temporary = folder / "temporary"
        temporary.mkdir()
        began = time.monotonic()
        with open(folder / "output", "wb") as output:
            process = subprocess.Popen(
                [os.path.abspath(options.waymark), "diff", "before", "after"],
                cwd=folder,
                stdout=output,
                env={**os.environ, "TMPDIR": str(temporary)},
            )
            # Not the resource usage: that begins with what this script has in memory.
            peak = 0
            with processes.limit(process, LIMIT_SECONDS):
                while True:
                    peak = max(peak, high_water(process.pid))
                    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                    if pid:
                        break
                    time.sleep(0.02)
        seconds = time.monotonic() - began
        status = os.waitstatus_to_exitcode(status)
        lines = (folder / "output").read_text(encoding="utf-8").splitlines()
        told = [re.match(r"[-+~] \S+", line).group() for line in lines[:-1]]
        megabytes = peak / 1_000
        print(f"{len(before):,} against {len(after):,}: {lines[-1]}")
        print(f"{seconds:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of CPU, {megabytes:.0f} MB at most")
        problems = []
        if status != 1:
            problems.append(f"the status is {status}, not 1")
        if sorted(told) != sorted(expected):
            problems.append(f"{len(told)} changes were told, {len(expected)} planted, {len(set(told) ^ expected)} differ")
        if megabytes > MAX_MEGABYTES:
            problems.append(f"more than {MAX_MEGABYTES} MB")
        if list(temporary.iterdir()):
            problems.append("a temporary file was left behind")
        sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
