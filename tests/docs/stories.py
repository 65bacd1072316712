#!/usr/bin/env python3
"""Runs the commands of the guide's stories, each page from begin to end in an empty folder, and compares what they print.

    stories.py WAYMARK     the built command

A command stands in an indented block, as in first_site.py. These are the rules of such a page:

- A command runs once. Its status is 0, and it prints what follows it. A page that is about a status prints it: `; echo "status $?"`.
- A command of SERVERS runs until the page is over. The next one runs once it has printed what follows it.
- `<!-- The site: NAME -->` says what www.example.com answers from there on: one of sites.SITES. As that is on loopback, `check` and
  `import` get `--map`, and `diff` gets the address there. Ports are free ones.
- After a paragraph that begins with `**In AWS, not tried` a block needs an account. It is printed, and not run: its syntax is checked, and
  whether the options of `waymark` are those of `--help`. A block that names nothing of AWS must not hide there.
- No block is left out: there are as many commands as PAGES says, and no indented line is outside of them.
- The page and its line in README.md name the minutes that reading the page and pasting its commands take."""

import math
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

import first_site  # noqa: E402
import processes  # noqa: E402
import sites  # noqa: E402

# Each page, the number of its commands that run here, and of those that need AWS.
PAGES = (
    ("docs/guide/check-my-site.md", 7, 0),
    ("docs/guide/static-build.md", 16, 0),
    ("docs/guide/beside-my-distribution.md", 10, 5),
)
SITE = re.compile(r"<!-- The site: (.*?) -->")
NOT_RUN = "**In AWS, not tried"
# What a command that needs an account says.
NEEDS_AWS = re.compile(r"\b(?:aws|sam) [a-z]|--stack |s3://")
SERVERS = ("waymark serve", "python3 -m http.server")
# The ports that pages name.
PORTS = ("8080", "8000", "9000")
# Seconds for one command, and for a server to say that it is ready: far longer than either takes on a busy machine.
RUNS_WITHIN = 120
STARTS_WITHIN = 120
# What the minutes are made of: how fast somebody reads what is new to them, code too, and pastes a command and looks at what it prints.
# Assumptions, on the slow side. What the commands run for is seconds, and is printed.
WORDS_A_MINUTE = 200
SECONDS_A_COMMAND = 10


class Page:
    """Runs a page's commands in a folder."""

    def __init__(self, waymark, folder):
        self.waymark, self.folder = waymark, folder
        self.exports = ""
        self.ports = {}
        self.servers = []
        self.site = sites.Site()
        (folder / "bin").mkdir()
        (folder / "home").mkdir()
        self.write_shim()
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        # Nothing of AWS is in it, so a page cannot reach an account.
        self.environment = {"PATH": path, "HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"}

    def write_shim(self):
        """Writes the command that asks this page's site and this page's stack."""
        stack = [f"--dynamodb-port {self.ports['8000']}", f"--s3-port {self.ports['9000']}"] if "8000" in self.ports else []
        waymark = shlex.quote(str(self.waymark))
        script = f"""#!/bin/sh
case "$1" in
serve) exec {waymark} "$@" --port 0 --dynamodb-port 0 --s3-port 0;;
check | import) case "$*" in *--map\\ *) ;; *) set -- "$@" --map {sites.ORIGIN}={self.site.address};; esac; exec {waymark} "$@";;
diff)
  for word in "$@"; do shift; [ "$word" != {sites.ORIGIN}/ ] || word={self.site.address}/; set -- "$@" "$word"; done
  exec {waymark} "$@" --same-origin;;
{first_site.WITHOUT_STACK}) exec {waymark} "$@";;
*) exec {waymark} "$@" {' '.join(stack)};;
esac
"""
        (self.folder / "bin/waymark").write_text(script)
        (self.folder / "bin/waymark").chmod(0o755)

    def own(self, text):
        """The text with this page's ports; a server takes any that is free."""
        return re.sub(rf"\b({'|'.join(PORTS)})\b", lambda port: self.ports.get(port[1], "0"), text)

    def start(self, script, **pipes):
        return subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.folder / "home",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **pipes,
        )

    def run(self, command, expected):
        if command.startswith(SERVERS):
            self.serve(command, expected)
            return
        # A block that prints nothing here ends at the first line that fails, so that none fails unseen.
        fails = "set -euo pipefail" if expected is None else "set -o pipefail"
        process = self.start(f"{self.own(self.exports)}\n{fails}\n{self.own(command)}", stdout=subprocess.PIPE)
        try:
            printed, _ = process.communicate(timeout=RUNS_WITHIN)
        except subprocess.TimeoutExpired:
            processes.end(process, signal.SIGKILL, is_group=True)
            raise AssertionError(f"{command}\nhas not ended within {RUNS_WITHIN} s") from None
        assert process.returncode == 0, f"{command}\nended with {process.returncode}\n{printed}"
        self.exports += "".join(f"{line}\n" for line in re.findall(r"^export .*", command, re.M))
        if expected is not None:
            lines = [self.own(line) for line in expected]
            assert first_site.is_printed(lines, printed), f"{command}\nprinted\n{printed}and not\n" + "\n".join(lines)

    def serve(self, command, expected):
        """Starts a server, and reads its ports from what it prints."""
        assert expected, f"{command}: the page does not say what it prints when it is ready"
        path = self.folder / f"log{len(self.servers)}"
        with open(path, "w") as log:
            process = self.start(f"{self.exports}\nexec {self.own(command)}", stdout=log)
        self.servers.append(process)
        ready = first_site.pattern(expected)
        for port in PORTS:
            first, *more = re.split(rf"\b{port}\b", ready)
            ready = first + "".join(f"(?P<p{port}>[0-9]+){text}" if n == 0 else f"(?P=p{port}){text}" for n, text in enumerate(more))
        until = time.monotonic() + STARTS_WITHIN
        while not (printed := re.match(ready, path.read_text())):
            fate = "ended" if process.poll() is not None else f"was not ready within {STARTS_WITHIN} s"
            assert process.poll() is None and time.monotonic() < until, f"{command}\n{fate}, and printed\n{path.read_text()}"
            time.sleep(0.1)
        self.ports |= {name[1:]: port for name, port in printed.groupdict().items()}
        assert not command.startswith("waymark") or set(PORTS) <= set(self.ports), f"{command}: the page does not show all of its ports"
        self.write_shim()

    def end(self):
        for process in self.servers:
            processes.end(process, signal.SIGINT, is_group=True)
        self.site.end()


def check_syntax(waymark, command):
    """Checks what can be checked of a command that is not run."""
    assert NEEDS_AWS.search(command), f"{command}\nis not run, and names nothing of AWS"
    done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, timeout=RUNS_WITHIN)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    for verb, rest in re.findall(r"\bwaymark ([a-z]+)\b(.*)", command.replace("\\\n", " ")):
        shown = subprocess.run([waymark, verb, "--help"], capture_output=True, text=True, timeout=RUNS_WITHIN)
        assert shown.returncode == 0, f"{command}\nthere is no waymark {verb}"
        unknown = set(re.findall(r"(?<!\S)--[a-z-]+", rest)) - set(re.findall(r"--[a-z-]+", shown.stdout))
        assert not unknown, f"{command}\nwaymark {verb} has no {', '.join(sorted(unknown))}"


def blocks(text):
    """The commands of a page: the site at which each runs, whether it needs AWS, and the lines that it should print."""
    assert "```" not in text, "commands stand in indented blocks, not in fences"
    # A comment is between two blocks, and is no paragraph before one.
    first, *parts = SITE.split(text)
    found, lines = [], 0
    for name, part in zip([None, *parts[0::2]], [first, *parts[1::2]], strict=True):
        assert name is None or name in sites.SITES, f"there is no site {name}"
        for before, block, command, expected in first_site.blocks(part):
            lines += len(block)
            found.append((name, before.startswith(NOT_RUN), command, expected))
    indented = sum(line.startswith("    ") for line in text.splitlines())
    assert lines == indented, f"{indented} lines are indented, and {lines} are in blocks: one has no blank line around it"
    return found


def run(text, waymark, folder, count, needs_aws):
    """Runs the commands of a page, which has so many that run here and that need AWS. Returns the latter."""
    found = blocks(text)
    not_run = [command for _, is_aws, command, _ in found if is_aws]
    counts = len(found) - len(not_run), len(not_run)
    assert counts == (count, needs_aws), f"{counts[0]} commands run here and {counts[1]} need AWS, not {count} and {needs_aws}"
    assert count, "no command runs here"
    for command in not_run:
        check_syntax(waymark, command)
    page = Page(waymark, folder)
    try:
        for name, is_aws, command, expected in found:
            page.site.name = name
            if not is_aws:
                page.run(command, expected)
    finally:
        page.end()
    return not_run


def minutes(text, commands):
    """How long it takes to follow a page that has so many commands."""
    return math.ceil(len(text.split()) / WORDS_A_MINUTE + commands * SECONDS_A_COMMAND / 60)


def check_minutes(file, commands, readme):
    """Checks that the page and its line in the README name its minutes."""
    text = (ROOT / file).read_text()
    line = next((line for line in readme.splitlines() if f"]({file})" in line), None)
    assert line is not None, f"README.md does not link to {file}"
    taken = f"{minutes(text, commands)} minutes"
    for name, named in (("README.md", line), (file, text)):
        assert re.search(rf"\b{taken}\b", named), f"{name} does not say that {file} takes {taken}"


def main():
    waymark = pathlib.Path(sys.argv[1]).resolve()
    for file, count, needs_aws in PAGES:
        began = time.monotonic()
        check_minutes(file, count, (ROOT / "README.md").read_text())
        with tempfile.TemporaryDirectory() as folder:
            not_run = run((ROOT / file).read_text(), waymark, pathlib.Path(folder), count, needs_aws)
        print(f"{file}: {count} commands did what is said, in {time.monotonic() - began:.1f} s")
        for command in not_run:
            first, *more = command.splitlines()
            print(f"  NOT RUN, needs AWS: {first}{' …' * bool(more)}")


if __name__ == "__main__":
    main()
