#!/usr/bin/env python3
"""Holds what runs in GitHub's workflows beside our own code to what was looked at: actions by digest, Python's packages by hash.

    pinned_test.py     needs PyYAML"""
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GITHUB = ROOT / ".github"
# A tag can be moved to other code; a commit's digest cannot. The comment is for people, and for what proposes updates.
PINNED = re.compile(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
USES = re.compile(r"(?:^|\s)uses:\s*(.*?)\s*$")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
NAMED = re.compile(r"([\w.-]+)(\[[\w,.-]+\])?==(\S+)")


def foreign_actions(text):
    """What a workflow or an action uses and is not in this repository, as it is written."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    used = [match[1] for line in lines if (match := USES.search(line))]
    return [one for one in used if not one.strip("'\"").startswith("./")]


def unpinned(text):
    return [one for one in foreign_actions(text) if not PINNED.fullmatch(one)]


def actions_are_named_by_digest():
    digest = "0123456789abcdef" * 2 + "01234567"
    for right in (f"- uses: a/b@{digest} # v1.2.3", f"  uses: a/b/c@{digest} # v1.2.3", "- uses: ./.github/actions/sitemap", "# uses: a/b@v1"):
        assert not unpinned(right), right
    for wrong in ("- uses: a/b@v1", "- uses: a/b@v1.2.3 # v1.2.3", f"- uses: a/b@{digest}", f"- uses: a/b@{digest[1:]} # v1.2.3",
                  f"uses: a/b@{digest} # v1", "- uses: docker://a:1", f"- {{ name: x, uses: a/b@{digest} }}"):
        assert unpinned(wrong), wrong
    files = [*GITHUB.rglob("*.yml"), *GITHUB.rglob("*.yaml")]
    total = 0
    digests = {}
    for file in files:
        text = file.read_text()
        assert not unpinned(text), f"{file.relative_to(ROOT)}: by no digest, or without its version: {unpinned(text)}"
        # Nothing that YAML reads as `uses` is written so that it was not seen above.
        assert len(foreign_actions(text)) == sum(not one.startswith("./") for one in used_in(yaml.safe_load(text))), file
        for one in foreign_actions(text):
            name, digest, version = re.fullmatch(r"(\S+)@(\S+) # (\S+)", one).groups()
            assert digests.setdefault((name, version), digest) == digest, f"{name} {version} has two digests"
            total += 1
    assert total >= 9, total


def used_in(node):
    if isinstance(node, dict):
        if isinstance(node.get("uses"), str):
            yield node["uses"]
        node = list(node.values())
    for one in node if isinstance(node, list) else ():
        yield from used_in(one)


def locked(text):
    """`{name: version}` of a file with hashes, each line of which has to be a package or a hash."""
    found, hashes = {}, 0
    for line in text.splitlines():
        if match := NAMED.match(line):
            assert line.endswith(" \\"), f"no hash: {line}"
            found[match[1].lower()], hashes = match[3], 0
        else:
            assert not line or line.startswith("#") or HASH.fullmatch(line), f"neither a package nor a hash: {line}"
    return found


def packages_are_named_by_hash():
    for wrong in ("--index-url https://example.com/simple", "--find-links /tmp", "a==1", "a>=1 \\", "https://example.com/a.whl"):
        try:
            locked(wrong)
        except AssertionError:
            continue
        raise AssertionError(f"not refused: {wrong}")
    for name in ("bundle", "command"):
        has = locked((ROOT / f"infra/release/{name}.txt").read_text())
        wants = [line.split("#")[0].strip() for line in (ROOT / f"infra/release/{name}.in").read_text().splitlines()]
        wants = dict(line.lower().split("==") for line in wants if line)
        assert wants and wants.items() <= has.items(), f"{name}.txt is not of {name}.in: make it anew as bundle.in says"
    for file in (GITHUB / "workflows").glob("*.yml"):
        for line in file.read_text().splitlines():
            if re.search(r"\bpip\d?\"? (install|download)\b", line):
                assert re.search(r" install --no-deps --require-hashes -r infra/release/\w+\.txt$", line), f"{file.name}: {line.strip()}"


def a_release_waits_for_the_advisories():
    step = "infra/release/advisories"
    for name in ("release", "advisories"):
        workflow = yaml.safe_load((GITHUB / f"workflows/{name}.yml").read_text())
        assert workflow["permissions"] == {"contents": "read"}, name
        [job] = [job for job in workflow["jobs"].values() if any(one.get("run") == step for one in job["steps"])]
        assert "permissions" not in job and "if" not in job and "continue-on-error" not in str(job), name
    jobs = yaml.safe_load((GITHUB / "workflows/release.yml").read_text())["jobs"]
    assert "advisories" in jobs["publish"]["needs"]
    script, run = (ROOT / step).read_text(), (ROOT / ".ci/run").read_text()
    [version] = re.findall(r"^VERSION=(\S+)", script, re.MULTILINE)
    assert f"cargo-deny --version {version} " in run, "advisories and .ci/run install two versions of cargo-deny"


if __name__ == "__main__":
    actions_are_named_by_digest()
    packages_are_named_by_hash()
    a_release_waits_for_the_advisories()
    print("actions are named by digest, and packages by hash")
