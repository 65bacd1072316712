#!/usr/bin/env python3
"""Runs the examples that write records, each as it is in examples/, against a local stack: pages appear in the published sitemaps
and go. Then looks at the wrappers of the package for CDK and Terraform.

    ways_in.py --waymark BINARY --tools BIN --cdk FOLDER [--only NAME ...]

BIN is the bin folder of a venv with the packages of tests/deploy/requirements.txt and tests/examples/requirements.txt, whose Python
this is run with. FOLDER is where npm has installed what examples/cdk/package.json names. It needs php, node and flock."""

import argparse
import pathlib
import tempfile
import time

import django_site
import events
import nightly
import wordpress
import wrappers
from stack import Stack

EXAMPLES = {"nightly": nightly.check, "django": django_site.check, "wordpress": wordpress.check, "events": events.check}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True, type=pathlib.Path)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--cdk", required=True, type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=[*EXAMPLES, "wrappers"])
    options = parser.parse_args()
    chosen = options.only or [*EXAMPLES, "wrappers"]
    with tempfile.TemporaryDirectory() as folder:
        writers = [name for name in EXAMPLES if name in chosen]
        if writers:
            with Stack(options.waymark, folder) as stack:
                stack.tools = options.tools.resolve()
                for name in writers:
                    timed(name, lambda: EXAMPLES[name](stack))
                # All that was written is published, and nothing else.
                print(stack.run(stack.waymark, "audit", *stack.ports), end="", flush=True)
        if "wrappers" in chosen:
            timed("wrappers", lambda: wrappers.check(options.tools.resolve(), options.cdk.resolve(), pathlib.Path(folder)))


def timed(name, check):
    began = time.monotonic()
    check()
    print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
