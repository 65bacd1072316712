#!/usr/bin/env python3
"""Tests the action `.github/actions/sitemap`: its script as a runner calls it, with a folder in place of GitHub's releases.

    action_test.py WAYMARK [--yaml]     the built command; --yaml has action.yml read, too, which needs PyYAML

What GitHub does with action.yml itself has not been seen."""
import hashlib
import importlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "infra/release"))
import archive # noqa: E402

ACTION = ROOT / ".github/actions/sitemap"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
MACHINE = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}[platform.machine()]
SYSTEM = {"Linux": "unknown-linux-gnu", "Darwin": "apple-darwin"}[platform.system()]
TARGET = f"{MACHINE}-{SYSTEM}"
SECONDS = 120
SITE = "https://www.example.com"
# It prints its arguments as JSON, one a line, and a line that would be a command of the workflow; its status is STATUS.
DOUBLE = """#!/usr/bin/env python3
import json, os, sys
for argument in sys.argv[1:]:
    print(json.dumps(argument))
    if argument.startswith("--format=markdown="):
        open(argument.removeprefix("--format=markdown="), "w").write("the summary\\n")
assert "GH_TOKEN" not in os.environ
print("::set-output name=status::0")
sys.exit(int(os.environ.get("STATUS", "0")))
"""
# In place of GitHub's: it notes its arguments and its token in a file beside it, and verifies nothing if GH_STATUS says so.
GH = """#!/bin/sh
printf '%s\\n' "$@" "$GH_TOKEN" >"${0%/*}/log"
echo 'Loaded 1 attestation'
[ "${GH_STATUS:-0}" = 0 ] || printf '::warning::x\\nno attestations found' >&2
exit "${GH_STATUS:-0}"
"""


def sitemap(*paths):
    urls = "".join(f"<url><loc>{SITE}/{path}</loc></url>" for path in paths)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


class Runner:
    """A folder with releases, and what a runner gives a step."""

    def __init__(self, folder):
        self.folder, self.temporary = folder, folder / "runner's temp"
        self.temporary.mkdir()
        self.gh = folder / "gh's folder/gh"
        self.gh.parent.mkdir()
        self.gh.write_text(GH)
        self.gh.chmod(0o755)

    def release(self, program, version=VERSION):
        """Puts a release of one program into the folder."""
        place = self.folder / f"releases/v{version}"
        place.mkdir(parents=True, exist_ok=True)
        name = f"waymark-{version}-{TARGET}"
        packed = archive.tarred(name, {"waymark": (program, True)})
        (place / f"{name}.tar.gz").write_bytes(packed)
        # Beside others, one of which has the name as its end.
        (place / "SHA256SUMS").write_text(
            f"{'0' * 64}  other-{name}.tar.gz\n{hashlib.sha256(packed).hexdigest()}  {name}.tar.gz\n{'1' * 64}  {name}.cdx.json\n")
        return place / f"{name}.tar.gz"

    def run(self, expected, **inputs):
        """What is printed, in the summary and in the outputs; `expected` is the status. Nothing is left behind."""
        output, summary = self.folder / "output", self.folder / "summary.md"
        for file in (output, summary):
            file.write_text("")
        environment = {"PATH": f"{self.gh.parent}:{os.environ['PATH']}", "HOME": str(self.folder), "RUNNER_TEMP": str(self.temporary),
                       "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "ACTION_REPOSITORY": "owner/repository",
                       "INPUT_RELEASES": str(self.folder / "releases"), "GH_TOKEN": "the token"}
        environment |= {name.upper(): value for name, value in inputs.items()}
        done = subprocess.run(["bash", ACTION / "run.sh"], env=environment, cwd=self.folder, text=True, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == expected, f"status {done.returncode}, not {expected}:\n{done.stdout}"
        assert not list(self.temporary.iterdir()), "its folder is removed"
        return done.stdout, summary.read_text(), output.read_text()


def arguments(printed):
    return [json.loads(line) for line in printed.splitlines() if line.startswith('"')]


def inputs_become_arguments(runner):
    runner.release(DOUBLE.encode())
    hostile = "https://www.example.com/a b'\"$(touch stolen)`touch stolen`;touch stolen&"
    printed, summary, output = runner.run(
        0, input_targets=f"  {hostile}\n\n--help \r\n", input_rules="protocol,google $(touch stolen)", input_fail_on="warning",
        input_baseline="a 'known' one.json", input_sarif="my report.sarif", input_origin=SITE,
        input_options="--header\nAuthorization: $TOKEN\n--pages=100\n")
    at = next(one for one in arguments(printed) if one.startswith("--format=markdown="))
    assert arguments(printed) == [
        "check", f"--origin={SITE}", "--rules=protocol,google $(touch stolen)", "--fail-on=warning",
        "--baseline=a 'known' one.json", "--format=sarif=my report.sarif", at, "--format=github",
        "--header", "Authorization: $TOKEN", "--pages=100", "--", hostile, "--help"], printed
    assert (summary, output) == ("the summary\n", "status=0\n")
    assert not list(runner.folder.rglob("stolen")), "no input is a command"
    # Without annotations nothing that is printed is a command of the workflow.
    printed, _, output = runner.run(1, input_targets="x", input_annotations="false", status="1")
    first, last = printed.splitlines()[0], printed.splitlines()[-1]
    token = first.removeprefix("::stop-commands::")
    assert first != token and len(token) == 32 and last == f"::{token}::" and output == "status=1\n", printed
    assert arguments(printed)[-3:] == ["--format=text", "--", "x"], printed
    printed, summary, output = runner.run(2, input_command="diff", input_targets="before\nafter", input_options="--max-removed=1%", status="2")
    assert arguments(printed) == ["diff", "--format=text", "--max-removed=1%", "--", "before", "after"], printed
    assert printed.startswith("::stop-commands::") and arguments(summary) == arguments(printed) and output == "status=2\n", printed


def what_is_wrong_runs_nothing(runner):
    packed = runner.release(DOUBLE.encode())

    def refused(text, **inputs):
        printed, _, output = runner.run(2, **{"input_targets": "x"} | inputs)
        assert printed.startswith("::error::") and text in printed and printed.count("\n") == 1, printed
        assert output == "status=2\n", output

    refused("should be check or diff", input_command="serve")
    refused("should be check or diff", input_command="check; touch stolen")
    refused("should be true or false", input_annotations="yes")
    refused("targets is empty", input_targets=" \n ")
    refused("diff compares two targets, and targets has 1 lines", input_command="diff")
    refused("the input fail-on is for check", input_command="diff", input_targets="a\nb", input_fail_on="never")
    refused("should be one such as", input_version="../../etc")
    refused("should be one such as", input_version="1\n::warning::x")
    refused("should begin with https://", input_releases="http://127.0.0.1:9/")
    for text, one in (("failed to copy", {"input_version": "9.9.9"}), ("failed to download", {"input_releases": "https://127.0.0.1:9"})):
        printed, _, output = runner.run(2, **{"input_targets": "x"} | one)
        assert text in printed and printed.splitlines()[-1].startswith("::error::") and output == "status=2\n", printed
    sums = packed.parent / "SHA256SUMS"
    good = sums.read_text()
    sums.write_text(good.replace(f"  {packed.name}", f"  not-{packed.name}"))
    refused("does not name")
    sums.write_text(good)
    content = bytearray(packed.read_bytes())
    content[-1] ^= 1
    packed.write_bytes(content)
    refused("Nothing was run")
    packed.write_bytes(content[:-10])
    refused("Nothing was run")


def what_github_did_not_build_is_not_run(runner):
    packed = runner.release(DOUBLE.encode())
    printed, _, _ = runner.run(0, input_targets="x")
    assert "Loaded" not in printed, printed
    log = runner.gh.parent / "log"
    command, verb, file, *rest = log.read_text().splitlines()
    assert (command, verb, pathlib.Path(file).name) == ("attestation", "verify", packed.name), file
    assert rest == ["--repo", "owner/repository", "--signer-workflow", "owner/repository/.github/workflows/release.yml", "the token"], rest
    printed, _, output = runner.run(2, input_targets="x", gh_status="1")
    assert printed.startswith("::error::") and printed.count("\n") == 1 and output == "status=2\n", printed
    assert "did not attest" in printed and "(no attestations found)" in printed and "Nothing was run" in printed, printed
    log.unlink()
    printed, _, _ = runner.run(0, input_targets="x", input_attestation="false", gh_status="1")
    assert arguments(printed) and not log.exists(), "it was not asked"
    printed, _, _ = runner.run(2, input_targets="x", input_attestation="no")
    assert "attestation is" in printed and not arguments(printed), printed
    # What is damaged is not asked for.
    packed.write_bytes(packed.read_bytes() + b"x")
    printed, _, _ = runner.run(2, input_targets="x")
    assert "checksum" in printed and not log.exists(), printed
    # Without gh: a PATH with what else the script needs.
    runner.release(DOUBLE.encode())
    tools = runner.folder / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "sed", "head", "uname", "mktemp", "rm", "cp", "awk", "sha256sum", "shasum", "cut", "tr"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    printed, _, output = runner.run(2, input_targets="x", path=str(tools))
    assert "there is no gh" in printed and "Nothing was run" in printed and output == "status=2\n", printed


def a_version_may_be_named(runner):
    runner.release(DOUBLE.encode(), "1.2.3-rc.1")
    for version in ("1.2.3-rc.1", "v1.2.3-rc.1"):
        printed, _, _ = runner.run(0, input_targets="x", input_version=version)
        assert arguments(printed)[0] == "check", printed


def the_command_itself(runner, waymark):
    runner.release(f"#!/bin/sh\nexec {shlex.quote(str(waymark.resolve()))} \"$@\"\n".encode()) # it is large
    for name, paths in (("before", ("", "old/")), ("after", ("", "new/"))):
        (runner.folder / name).mkdir()
        (runner.folder / name / "sitemap.xml").write_text(sitemap(*paths))
    printed, summary, output = runner.run(0, input_targets="before", input_origin=SITE, input_sarif="report.sarif")
    assert (output, summary.count("1 sitemap")) == ("status=0\n", 1), (printed, summary)
    assert json.loads((runner.folder / "report.sarif").read_text())["version"] == "2.1.0"
    (runner.folder / "after/sitemap.xml").write_text(sitemap("", "new/").replace("https:", "http:"))
    printed, summary, output = runner.run(1, input_targets="after", input_origin=SITE)
    assert output == "status=1\n" and "::error " in printed and "loc.host" in summary, (printed, summary)
    (runner.folder / "after/sitemap.xml").write_text(sitemap("", "new/"))
    printed, summary, output = runner.run(1, input_command="diff", input_targets="before\nafter")
    assert output == "status=1\n" and f"\n- {SITE}/old/ " in printed, printed
    lines = summary.splitlines()
    assert (lines[0], lines[-1]) == ("```diff", "```") and f"+ {SITE}/new/ " in summary, summary
    printed, _, output = runner.run(2, input_targets="nowhere")
    assert output == "status=2\n" and "nowhere" in printed, printed


def action_yml_hands_on_each_input():
    action = importlib.import_module("yaml").safe_load((ACTION / "action.yml").read_text())
    [step] = action["runs"]["steps"]
    assert "${{" not in step["run"], "an input in a shell's text could be any command"
    handed = {name: value for name, value in step["env"].items() if name.startswith("INPUT_")}
    assert handed == {f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    script = (ACTION / "run.sh").read_text()
    for name in step["env"]:
        assert name in script, f"run.sh does not use {name}"
    assert all(one["description"] for one in action["inputs"].values())
    guide = (ROOT / "docs/guide/download.md").read_text()
    rows = {line.split("`")[1]: line for line in guide.split("## In a workflow")[1].splitlines() if line.startswith("| `")}
    assert rows.keys() == action["inputs"].keys(), rows.keys() ^ action["inputs"].keys()


def main():
    waymark, *yaml = sys.argv[1:]
    for test in (inputs_become_arguments, what_is_wrong_runs_nothing, what_github_did_not_build_is_not_run, a_version_may_be_named,
                 lambda runner: the_command_itself(runner, pathlib.Path(waymark))):
        with tempfile.TemporaryDirectory() as folder:
            test(Runner(pathlib.Path(folder)))
    if yaml:
        action_yml_hands_on_each_input()
    print("the action's script does what its inputs say")


if __name__ == "__main__":
    main()
