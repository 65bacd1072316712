#!/usr/bin/env python3
"""Compares `waymark build` with what others make a sitemap of the same 50,000 records with: CPU seconds, peak memory, bytes.

    cargo build --release -p waymark-cli --no-default-features --bin waymark
    python3 tests/bench/peers.py target/release/waymark

The others come from their registries into target/bench. All are run in turn, several times, and the medians are printed: on a
shared machine a time says little, but those that are measured in turn can be compared. Each reads the records as JSON Lines and
writes gzip; `waymark build` also writes the plain sitemap, the index and robots.txt.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes  # noqa: E402

# Of an installation, a build, or one that is measured.
SECONDS = 3_600
HERE = pathlib.Path(__file__).resolve().parent / "peers"
FOLDER = pathlib.Path("target/bench").resolve()
MANIFEST = """[package]
name = "peer"
version = "0.0.0"
edition = "2024"
[workspace]
[[bin]]
name = "sitemap-rs"
path = "HERE/sitemap_rs.rs"
[[bin]]
name = "format"
path = "HERE/format.rs"
[[bin]]
name = "quick-xml"
path = "HERE/quick_xml.rs"
[dependencies]
waymark-sitemap = { path = "HERE/../../../shared/sitemap" }
sitemap-rs = "0.7"
flate2 = { version = "1", default-features = false, features = ["zlib-rs"] }
jiff = "0.2"
quick-xml = "0.41"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
[profile.release]
lto = "thin"
codegen-units = 1
"""


def install(only_rust):
    (FOLDER / "rs").mkdir(parents=True, exist_ok=True)
    (FOLDER / "rs/Cargo.toml").write_text(MANIFEST.replace("HERE", str(HERE)), encoding="utf-8")
    subprocess.run(["cargo", "build", "--quiet", "--release", "--target-dir", FOLDER / "rs/target"], cwd=FOLDER / "rs", check=True,
                   timeout=SECONDS)
    if only_rust:
        return
    if not (FOLDER / "venv").exists():
        subprocess.run([sys.executable, "-m", "venv", FOLDER / "venv"], check=True, timeout=SECONDS)
        subprocess.run([FOLDER / "venv/bin/pip", "-q", "install", "django==5.2.*"], check=True, timeout=SECONDS)
    if not (FOLDER / "npm/node_modules/next-sitemap").exists():
        (FOLDER / "npm").mkdir(parents=True, exist_ok=True)
        packages = ["sitemap@9", "next-sitemap@4.2"]
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", FOLDER / "npm", *packages], check=True,
                       timeout=SECONDS)


def generate(path, count):
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            page = {
                "id": f"post/{number}",
                "type": "post",
                "url": f"https://www.example.com/{number * 7_919 % 1_000_003:07}/a-page-with-a-usual-name/",
                "modified_at": f"2026-{1 + number % 10:02}-{1 + number % 28:02}T08:00:00Z",
                "images": [{"url": f"https://www.example.com/media/{number * 31 % 65_521:05}.jpg"}],
            }
            file.write(json.dumps(page) + "\n")


def measure(arguments):
    process = subprocess.Popen([str(argument) for argument in arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with processes.limit(process, SECONDS):
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("waymark")
    parser.add_argument("--only-rust", action="store_true", help="leave out sitemap.js, Django and Python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=50_000)
    options = parser.parse_args()
    install(options.only_rust)
    content, settings = FOLDER / "content.jsonl", FOLDER / "settings.jsonl"
    generate(content, options.records)
    setting = {"id": "site/www.example.com", "type": "site", "entries_per_sitemap": 50_000}
    settings.write_text(json.dumps(setting), encoding="utf-8")
    out = {name: FOLDER / f"{name}.xml.gz" for name in ["sitemap.js", "next-sitemap", "Django", "sitemap-rs", "quick-xml", "loop", "format", "gzip"]}
    rust = FOLDER / "rs/target/release"
    tools = {
        "waymark build": ([options.waymark, "build", settings, content, "--out", FOLDER / "built"], FOLDER / "built/post-sitemap.xml.gz"),
        "Waymark's format layer alone": ([rust / "format", content, out["format"]], out["format"]),
        "gzip of the same sitemap alone": ([rust / "format", content, out["format"], out["gzip"]], out["gzip"]),
        "sitemap-rs": ([rust / "sitemap-rs", content, out["sitemap-rs"]], out["sitemap-rs"]),
        "a loop over quick-xml": ([rust / "quick-xml", content, out["quick-xml"]], out["quick-xml"]),
    }
    others = {
        "sitemap.js": (["node", HERE / "sitemap.mjs", FOLDER / "npm", content, out["sitemap.js"]], out["sitemap.js"]),
        "next-sitemap": (["node", HERE / "next_sitemap.mjs", FOLDER / "npm", content, out["next-sitemap"]], out["next-sitemap"]),
        "Django, without images": ([FOLDER / "venv/bin/python", HERE / "django_sitemap.py", content, out["Django"]], out["Django"]),
        "a loop in Python": ([sys.executable, HERE / "loop.py", content, out["loop"]], out["loop"]),
    }
    if not options.only_rust:
        tools |= others
    measured = {name: [] for name in tools}
    for _ in range(options.rounds):
        for name, (arguments, _) in tools.items():
            measured[name].append(measure(arguments))
    print("| | CPU seconds | peak memory | gzip |\n|---|---|---|---|")
    medians = {name: statistics.median(cpu for cpu, _ in measured[name]) for name in tools}
    for name, (_, file) in tools.items():
        seconds = medians[name]
        memory = statistics.median(memory for _, memory in measured[name])
        print(f"| {name} | {seconds:.2f} | {memory:.0f} MB | {file.stat().st_size / 1_000:,.0f} KB |")
    above = medians["waymark build"] - medians["Waymark's format layer alone"]
    print(f"\nOf waymark build, {above:.2f} s are above the format layer.")


if __name__ == "__main__":
    main()
