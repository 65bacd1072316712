#!/usr/bin/env python3
"""Loads content into an empty local stack, in bulk and through its functions in turn, and prints what they take and the ratios.

    cargo build --release --bin waymark
    python3 tests/bench/serve.py target/release/waymark                 # 50,000 generated pages
    python3 tests/bench/serve.py target/release/waymark --content FILE  # content of yours

A stack with a table of the user's, here an empty one, is loaded through the functions. Both must publish the same counts."""

import argparse
import json
import pathlib
import sys
import tempfile

from build import generate, run

MAPPING = {"key": [{"pk": "S"}], "fields": {"type": "type", "url": "url"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("waymark")
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--content", help="instead of generated pages")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--bulk-only", action="store_true", help="without the functions' load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        content = options.content or str(folder / "content.jsonl")
        if not options.content:
            generate(content, options.pages)
        mapping = folder / "mapping.json"
        mapping.write_text(json.dumps(MAPPING))
        bulk = [options.waymark, "serve", "--once", "--json", "--port", "0", "--dynamodb-port", "0", "--s3-port", "0", "--content", content]
        by_functions = [*bulk, "--source-table", "none", "--source-mapping", str(mapping)]
        for _ in range(options.rounds):
            took, published = {}, {}
            for name, arguments in {"in bulk": bulk, "through the functions": by_functions}.items():
                if name != "in bulk" and options.bulk_only:
                    continue
                status, output, seconds, cpu, megabytes = run(arguments, name)
                if status == 2:
                    sys.exit("the load failed")
                took[name], published[name] = (seconds, cpu, megabytes), json.loads(output)["report"]["series"]
                print(f"{sum(series['entries'] for series in published[name]):,} entries")
            if not options.bulk_only:
                ratios = [one / other for one, other in zip(*took.values())]
                print("in bulk: {:.3f} of the time, {:.3f} of the CPU time, {:.2f} of the memory".format(*ratios))
                counts = [[(one["site"], one["series"], one["entries"]) for one in series] for series in published.values()]
                if counts[0] != counts[1]:
                    sys.exit("they publish different sitemaps")


if __name__ == "__main__":
    main()
