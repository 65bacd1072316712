#!/usr/bin/env python3
"""Says whether the tools on the PATH can build and deploy the package; ends with status 1 if not.

    tools.py            looks at the SAM CLI, cargo-lambda and Zig
    tools.py --check    tests itself, and holds infra/release/bundle.in and docs/OPERATIONS.md to it"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The first with lambda-builders 1.66, which has the functions share one target folder. Since 1.151 Rust is no beta feature.
LEAST_SAM = (1, 165, 0)
# What CI builds with. Earlier ones were not tried.
LEAST_CARGO_LAMBDA = (1, 9, 2)
# 0.16's `ar` breaks aws-lc-sys. Only what was tried is let through, in whatever patch release.
ZIG = (0, 15)
PINNED_ZIG = (0, 15, 2)
SECONDS = 60


def dotted(version):
    return ".".join(map(str, version))


def numbers(text):
    """The first version in a text."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text or "")
    return tuple(map(int, found.groups())) if found else None


def said(*command):
    """What a command says of its version, or nothing if it is not there."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def complaints(sam, cargo_lambda, zig):
    """What is wrong with these versions; each is a tuple, or nothing if the tool is not there."""
    for name, version, least, package in (
        ("the SAM CLI", sam, LEAST_SAM, "aws-sam-cli"),
        ("cargo-lambda", cargo_lambda, LEAST_CARGO_LAMBDA, "cargo-lambda"),
    ):
        if version is None:
            yield f"{name} is not on the PATH: pip install '{package}>={dotted(least)}'"
        elif version < least:
            yield f"{name} is {dotted(version)}, and building takes {dotted(least)} or later: pip install '{package}>={dotted(least)}'"
    # cargo-lambda links with it, also for this machine's own processor.
    if zig is None:
        yield f"Zig is not there, with which cargo-lambda links: pip install ziglang=={dotted(PINNED_ZIG)}"
    elif zig[:2] != ZIG:
        yield (f"Zig, with which cargo-lambda links, is {dotted(zig)}, and only {dotted(ZIG)} was tried (0.16's ar breaks "
               f"aws-lc-sys): pip install ziglang=={dotted(PINNED_ZIG)}")


def check():
    assert numbers("SAM CLI, version 1.165.0\n") == (1, 165, 0)
    assert numbers("cargo-lambda 1.9.2 (67129fc 2026-08-21Z)\n") == (1, 9, 2)
    assert numbers("") is None and numbers(None) is None
    good = (LEAST_SAM, LEAST_CARGO_LAMBDA, PINNED_ZIG)
    assert not list(complaints(*good))
    assert not list(complaints((2, 0, 0), (1, 10, 0), (0, 15, 9)))
    for wrong in ((None, *good[1:]), ((1, 164, 9), *good[1:]), (good[0], None, good[2]), (good[0], (1, 9, 1), good[2]),
                  (*good[:2], None), (*good[:2], (0, 16, 0)), (*good[:2], (0, 14, 1))):
        [complaint] = complaints(*wrong)
        assert "pip install" in complaint, complaint
    pinned = dict(line.split("==") for line in (ROOT / "infra/release/bundle.in").read_text().splitlines() if "==" in line)
    assert numbers(pinned["aws-sam-cli"]) >= LEAST_SAM, "bundle.in has an older SAM CLI than tools.py asks for"
    assert numbers(pinned["cargo-lambda"]) == LEAST_CARGO_LAMBDA, "bundle.in and tools.py differ in cargo-lambda"
    assert numbers(pinned["ziglang"]) == PINNED_ZIG, "bundle.in and tools.py differ in Zig"
    guide = (ROOT / "docs/OPERATIONS.md").read_text()
    for version in (LEAST_SAM, LEAST_CARGO_LAMBDA, PINNED_ZIG):
        assert dotted(version) in guide, f"docs/OPERATIONS.md does not name {dotted(version)}"


if __name__ == "__main__":
    check()
    if sys.argv[1:] != ["--check"]:
        # Where cargo-lambda looks for Zig, in its order.
        zig = numbers(said("python3", "-m", "ziglang", "version")) or numbers(said("zig", "version"))
        found = list(complaints(numbers(said("sam", "--version")), numbers(said("cargo", "lambda", "--version")), zig))
        print("\n".join(found) or "the tools can build the package")
        sys.exit(1 if found else 0)
