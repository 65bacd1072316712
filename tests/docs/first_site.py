#!/usr/bin/env python3
"""Runs the commands of README.md, docs/guide/first-site.md and some of docs/cli on a local stack, and compares what they print.

    first_site.py WAYMARK AWS     the built command, and the AWS CLI

A command stands in an indented block. One that begins with `$ ` is followed by what it prints, in which a line `…` stands for any
lines. A change takes a moment to arrive, so such a command is tried again for a while. The ports are the stack's own, and
`cargo run` is the built command. Then it compares the options of docs/cli/serve.md with `--help`."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

STARTS_WITHIN = 120
ARRIVES_WITHIN = 30
# The sections whose commands are run in order, on one stack: a file, its heading, and how many commands it has.
SECTIONS = (
    ("README.md", "## Try it", 4),
    ("docs/guide/first-site.md", "## Start", 2),
    ("docs/guide/first-site.md", "## Change a record", 7),
    ("docs/guide/first-site.md", "## Explain", 1),
    ("docs/guide/first-site.md", "## Check and build", 3),
    ("docs/cli/explain.md", "# `waymark explain`", 2),
    ("docs/cli/explain.md", "## Many at once", 1),
    ("docs/cli/status.md", "# `waymark status`", 1),
    ("docs/cli/status.md", "## Waiting", 1),
    ("docs/cli/audit.md", "# `waymark audit`", 1),
)
# Verbs that look at no stack, and so take no ports.
WITHOUT_STACK = "check|diff|import|build"
# Options of every verb, which docs/reference/cli.md has.
EVERYWHERE = {"--json", "--color", "--help"}
STARTS = "cargo run"


def blocks(text):
    """The indented blocks of a text: the paragraph before each, its lines, its command, and the lines that it should print, or None.

    A command ends at the first line that does not end in `\\`."""
    before = ""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.strip("\n").split("\n")
        if not all(line.startswith("    ") for line in lines):
            before = paragraph.strip("\n")
            continue
        lines = [line[4:] for line in lines]
        if lines[0].startswith("$ "):
            length = next((n for n, line in enumerate(lines, 1) if not line.endswith("\\")), len(lines))
            yield before, lines, "\n".join(lines[:length])[2:], lines[length:]
        else:
            yield before, lines, "\n".join(lines), None


def commands(text, heading):
    """The commands of a section, each with the lines that it should print, or None."""
    section = f"\n{text}".split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]
    for _, _, command, expected in blocks(section):
        yield command, expected


def pattern(expected):
    """A regular expression of the lines that are expected: a line `…` is any lines, one that ends so any end."""
    return "".join("(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace(re.escape("…"), ".*") + "\n" for line in expected)


def is_printed(expected, printed):
    """Whether `printed` is what is expected."""
    return re.fullmatch(pattern(expected), printed) is not None


class Stack:
    def __init__(self, waymark, aws, folder):
        self.log = folder / "log"
        ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([waymark, "serve", *ports], stdout=log, stderr=subprocess.DEVNULL)
        until = time.monotonic() + STARTS_WITHIN
        while "Ctrl-C stops\n" not in self.log.read_text():
            assert self.process.poll() is None and time.monotonic() < until, f"{waymark} was not ready within {STARTS_WITHIN} s"
            time.sleep(0.2)
        self.ports = dict(re.findall(r"^(dynamodb|s3|site) http://127\.0\.0\.1:(\d+)$", self.log.read_text(), re.M))
        own = f"--dynamodb-port {self.ports['dynamodb']} --s3-port {self.ports['s3']}"
        shims = {
            "cargo": f'[ "$1 $2 $3" = "run -q --" ] || exit 99; shift 3\n'
            f'[ "$1" != --once ] || exec {shlex.quote(waymark)} "$@" {" ".join(ports)}\n'
            f'case "$1" in {WITHOUT_STACK}) exec {shlex.quote(waymark)} "$@";; esac\n'
            f'exec {shlex.quote(waymark)} "$@" {own}',
            "aws": f'exec {shlex.quote(aws)} "$@"',
        }
        for name, script in shims.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        self.environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}
        self.folder = folder
        self.exports = ""

    def own(self, text):
        """The text with this stack's ports."""
        for name, usual in (("site", 8080), ("dynamodb", 8000), ("s3", 9000)):
            text = text.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{self.ports[name]}")
        return text

    def run(self, command):
        """What a command prints. Variables stay set for those after it."""
        script = f"set -o pipefail\n{self.exports}\n{self.own(command)}"
        self.exports += "\n".join(re.findall(r"^export .*", command, re.M)) + "\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout

    def end(self):
        processes.end(self.process, signal.SIGINT)


def look(stack, command, expected):
    if command == STARTS:
        printed = stack.log.read_text()
        assert is_printed([stack.own(line) for line in expected], printed), f"{command} printed\n{printed}"
        return
    if expected is None:
        status, printed = stack.run(command)
        assert status == 0, f"{command}\nended with {status}\n{printed}"
        return
    until = time.monotonic() + ARRIVES_WITHIN
    while True:
        _, printed = stack.run(command)
        if is_printed(expected, printed):
            return
        assert time.monotonic() < until, f"{command}\nprinted\n{printed}and not, within {ARRIVES_WITHIN} s,\n" + "\n".join(expected)
        time.sleep(0.5)


def compare_options(waymark):
    shown = subprocess.run([waymark, "serve", "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    known = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", shown, re.M)) - EVERYWHERE
    rows = re.findall(r"^\| (`--[^|]*) \|", (ROOT / "docs/cli/serve.md").read_text(), re.M)
    documented = {option for row in rows for option in re.findall(r"`(--[\w-]+)", row)}
    assert known == documented, f"docs/cli/serve.md: only in --help {known - documented}, only there {documented - known}"
    print(f"docs/cli/serve.md: its {len(known)} options are those of --help")


def main():
    waymark, aws = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
    compare_options(waymark)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(waymark, aws, pathlib.Path(folder))
        try:
            for file, heading, count in SECTIONS:
                found = list(commands((ROOT / file).read_text(), heading))
                assert len(found) == count, f"{file}, {heading}: {len(found)} commands, not {count}"
                for command, expected in found:
                    look(stack, command, expected)
                print(f"{file}, {heading.lstrip('# ')}: {count} command{'s' * (count > 1)} print{'s' * (count == 1)} what is said")
        finally:
            stack.end()


if __name__ == "__main__":
    main()
