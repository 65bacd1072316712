#!/usr/bin/env python3
"""Runs real systems of other projects with content of ours, and compares what they write with the recorded fixtures.

    tests/systems/run [--record] [--waymark PROGRAM] [--packages DIR] [NAME…]

Each folder beside this file is a system, with its pinned packages (requirements.txt, package.json or Cargo.toml). They are installed in a temporary
folder, or in DIR, which is kept for the next run. Without a NAME all run. `--record` writes the fixtures anew.

Exit status: 1 if something differs from its fixture, 3 if nothing does, but a system could not be installed here."""
import argparse
import pathlib
import sys
import tempfile
import traceback

import blogs
import generators
import install
import mappers
import readers

HERE = pathlib.Path(__file__).resolve().parent
WAYMARK = HERE.parent.parent / "target/debug/waymark"
DIFFERS, NOT_INSTALLED = 1, 3


def systems():
    """The folders of the systems, by name."""
    return {path.name: path for path in sorted(HERE.iterdir()) if any((path / pins).exists() for pins in install.PINS)}


def kind(folder):
    """What is done with a system, by the files that its folder has."""
    if (folder / "mapping.json").exists():
        return mappers
    if (folder / "forms.json").exists():
        return blogs
    return generators if (folder / "system.json").exists() else readers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--waymark", type=pathlib.Path, default=WAYMARK)
    parser.add_argument("--packages", type=pathlib.Path)
    arguments = parser.parse_args()
    known = systems()
    if unknown := set(arguments.names) - known.keys():
        parser.error(f"no such system: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    waymark = arguments.waymark.resolve()
    if not waymark.exists():
        parser.error(f"no {waymark}: build it with `cargo build -p waymark-cli`, or name one with --waymark")

    status = 0
    for name in arguments.names or known:
        with tempfile.TemporaryDirectory(prefix=f"{name}-") as temporary:
            folder = arguments.packages.resolve() / name if arguments.packages else pathlib.Path(temporary)
            try:
                program = install.install(known[name], folder)
            except install.NotInstalled as error:
                print(f"{name}: NOT DONE: {error}", flush=True)
                status = status or NOT_INSTALLED
                continue
            try:
                differences = kind(known[name]).run(known[name], program, waymark, arguments.record)
            except Exception:
                differences = [traceback.format_exc()]
        if differences:
            status = DIFFERS
        print(f"{name}: {'FAIL' if differences else 'recorded' if arguments.record else 'ok'}", *differences, sep="\n    ", flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
