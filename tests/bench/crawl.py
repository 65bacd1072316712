#!/usr/bin/env python3
"""Joins five million lines of a log with a million listed pages: CPU beside GoAccess and awk, and the most memory, in one run.

    cargo build --profile sim -p waymark-cli --no-default-features --bin waymark
    python3 tests/bench/crawl.py target/sim/waymark

The peers do less: awk only counts bots' addresses, and GoAccess (Debian's package; left out with a word if it is not installed) knows
no listing. All read the same file. The answer is compared with what was planted, so that speed does not come from reading less. Ratios
are of CPU time (user and system), because the machine has other work."""

import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes  # noqa: E402



ORIGIN = "https://www.example.com"
PER_SITEMAP = 50_000
LIMIT_SECONDS = 3_600
MAX_MEGABYTES = 300
MAX_RATIO_TO_AWK = 4.0
MIN_RATIO_TO_GOACCESS = 12.0
# Agents with an address of the operator's own, or a browser's with none of them.
BOTS = [
    ("66.249.66.1", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    ("157.55.39.7", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
    ("198.51.100.4", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)"),
    ("198.51.100.5", "Mozilla/5.0 (compatible; Bytespider; spider-feedback@bytedance.com)"),
]
BROWSERS = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
]
SHARE_OF_BOTS = 0.3
SHARE_OF_UNLISTED = 0.05
AWK = 'BEGIN { FS = "\\"" } $6 ~ /Googlebot|bingbot|ClaudeBot|Bytespider/ { split($2, word, " "); count[word[2]]++ } END { for (url in count) n++; print n }'


def path(number):
    return f"/section-{number % 40}/a-page-with-a-usual-name-{number}"


def write_listing(folder, pages, draw):
    names = []
    begin = datetime.datetime(2026, 10, 1)
    for first in range(0, pages, PER_SITEMAP):
        names.append(f"post-sitemap{len(names) + 1}.xml")
        with open(folder / names[-1], "w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n')
            for number in range(first, min(pages, first + PER_SITEMAP)):
                day = begin + datetime.timedelta(minutes=draw.randrange(80_000))
                file.write(f"<url><loc>{ORIGIN}{path(number)}</loc><lastmod>{day.isoformat()}Z</lastmod></url>\n")
            file.write("</urlset>\n")
    lines = "".join(f"<sitemap><loc>{ORIGIN}/{name}</loc></sitemap>" for name in names)
    index = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{lines}</sitemapindex>'
    (folder / "sitemap_index.xml").write_text(index, encoding="utf-8")
    (folder / "robots.txt").write_text(f"User-agent: *\nSitemap: {ORIGIN}/sitemap_index.xml\n", encoding="utf-8")


def write_log(file, lines, pages, draw):
    """Returns the numbers of the pages that verified or unverifiable bots fetched, and the bots' requests."""
    begin = datetime.datetime(2026, 10, 1)
    fetched, requests = set(), 0
    with open(file, "w", encoding="utf-8") as log:
        for at in range(lines):
            time = begin + datetime.timedelta(seconds=at * 58 * 86_400 // lines)
            is_bot = draw.random() < SHARE_OF_BOTS
            number = draw.randrange(pages)
            target = path(number)
            if draw.random() < SHARE_OF_UNLISTED:
                target = f"/old/{number}?session={draw.randrange(1 << 30)}"
                number = None
            if is_bot:
                client, agent = draw.choice(BOTS)
                requests += 1
                if number is not None:
                    fetched.add(number)
            else:
                client = f"{draw.randrange(1, 223)}.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(1, 255)}"
                agent = draw.choice(BROWSERS)
            log.write(f'{client} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] "GET {target} HTTP/1.1" 200 {draw.randrange(90_000)} "-" "{agent}"\n')
    return fetched, requests


def measured(arguments, out):
    """Runs a program. Returns its CPU seconds and the most memory, in MB."""
    with open(out, "wb") as file:
        process = subprocess.Popen(arguments, stdout=file)
        with processes.limit(process, LIMIT_SECONDS):
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{arguments[0]} failed: status {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("waymark")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=5_000_000)
    options = parser.parse_args()
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        listing, log, out = folder / "site", folder / "access.log", folder / "out"
        listing.mkdir()
        write_listing(listing, options.pages, draw)
        fetched, requests = write_log(log, options.lines, options.pages, draw)
        print(f"{options.lines:,} lines, {log.stat().st_size / 1e6:.0f} MB, {options.pages:,} pages")
        own, memory = measured([options.waymark, "crawl", str(log), "--sitemaps", str(listing), "--json"], out)
        report = json.loads(out.read_bytes())
        found = (report["total"]["listed"], report["total"]["ever"], report["logs"]["requests"])
        if found != (options.pages, len(fetched), requests):
            raise SystemExit(f"listed, fetched, requests: {found} instead of {(options.pages, len(fetched), requests)}")
        print(f"waymark   {own:7.1f} s of CPU {memory:6.0f} MB {options.lines / own:12,.0f} lines a CPU second")
        awk, used = measured(["awk", AWK, str(log)], out)
        print(f"awk       {awk:7.1f} s of CPU {used:6.0f} MB {options.lines / awk:12,.0f} lines a CPU second")
        print(f"waymark takes {own / awk:.2f} x the CPU of awk (at most {MAX_RATIO_TO_AWK})")
        wrong = own / awk > MAX_RATIO_TO_AWK or memory > MAX_MEGABYTES
        if shutil.which("goaccess"):
            arguments = ["goaccess", str(log), "--log-format=COMBINED", "--no-progress", "-o", str(folder / "goaccess.json")]
            peer, used = measured(arguments, out)
            print(f"goaccess  {peer:7.1f} s of CPU {used:6.0f} MB {options.lines / peer:12,.0f} lines a CPU second")
            print(f"waymark is {peer / own:.1f} x as fast as goaccess (at least {MIN_RATIO_TO_GOACCESS})")
            wrong |= peer / own < MIN_RATIO_TO_GOACCESS
        else:
            print("NOT DONE: goaccess is not installed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
