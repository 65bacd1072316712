#!/usr/bin/env python3
"""Tests what packs a release (infra/release), with programs of a few bytes, and that the workflow calls it as it is to be called.

    release_test.py     needs cargo, git, unzip, sha256sum, PyYAML and cyclonedx-python-lib[json-validation]"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib

import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "infra/release"))
import release # noqa: E402
import sbom # noqa: E402

VERSION = release.version()
SECONDS = 300 # on a busy machine, with cargo's lock held by others


def program(architecture):
    """A file with the head of a program for a processor."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + release.ELF_MACHINES[architecture].to_bytes(2, "little") + bytes(40)


def built(folder, architecture):
    """What `sam build` leaves."""
    for logical in release.FUNCTIONS:
        (folder / logical).mkdir(parents=True, exist_ok=True)
        (folder / logical / "bootstrap").write_bytes(program(architecture) + logical.encode())
    return folder


def refused(step, text):
    """The step fails with a message that has this text in it."""
    try:
        step()
    except SystemExit as refusal:
        assert text in str(refusal), refusal
    else:
        raise AssertionError(f"not refused: {text}")


def again(folder, *step):
    """Packs the same in another process, whose sets have another order, and from another folder."""
    subprocess.run([sys.executable, ROOT / "infra/release/release.py", "--out", folder / "second", *step], check=True, cwd=folder,
                   env=os.environ | {"PYTHONHASHSEED": "1"}, stdout=subprocess.DEVNULL, timeout=SECONDS)


def same_twice(folder, *names):
    for name in names:
        assert (folder / "first" / name).read_bytes() == (folder / "second" / name).read_bytes(), f"{name} is another when packed again"


def a_bundle_is_whole_and_the_same_each_time(folder):
    for architecture in release.ARCHITECTURES:
        source = built(folder / architecture, architecture)
        release.bundle(architecture, source, folder / "first")
        name = f"waymark-bundle-{VERSION}-{architecture}"
        subprocess.run(["unzip", "-q", folder / "first" / f"{name}.zip", "-d", folder], check=True, timeout=SECONDS)
        files = {str(path.relative_to(folder / name)): path for path in (folder / name).rglob("*") if path.is_file()}
        assert files.keys() == {
            "README.md", "LICENSE", "LICENSES-OF-OTHERS.txt", "samconfig.toml", "sbom.cdx.json", "template.yaml", "infra/cdn.yaml",
            "infra/monitoring.yaml", "infra/redirects.yaml", "infra/us-east-1.yaml", *(f"functions/{name}/bootstrap" for name in release.FUNCTIONS.values())}
        for path in files.values():
            assert path.stat().st_mode & 0o777 == (0o755 if path.name == "bootstrap" else 0o644), path
        for logical, function in release.FUNCTIONS.items():
            assert files[f"functions/{function}/bootstrap"].read_bytes().endswith(logical.encode())
        assert VERSION in files["README.md"].read_text() and "$" not in files["README.md"].read_text()
        a_template_is_of_what_is_there(files["template.yaml"].read_text(), architecture)
        nested = yaml.load(files["infra/redirects.yaml"].read_text(), Tagged)["Resources"]["RedirectsFunction"]
        assert nested["Metadata"] == {"SkipBuild": True} and nested["Properties"]["Code"] == "../functions/redirects"
        samconfig = tomllib.loads(files["samconfig.toml"].read_text())
        whole = tomllib.loads((ROOT / "samconfig.toml").read_text())
        for environment in ("default", "staging", "production"):
            expected = {name: whole[environment][name] for name in ("global", "deploy")}
            assert samconfig.pop(environment) == expected, environment
        assert samconfig == {"version": 0.1}
    for path in source.rglob("bootstrap"):
        path.chmod(0o700)
        os.utime(path, (1, 1))
    again(folder, "bundle", architecture, source)
    same_twice(folder, f"{name}.zip", f"{name}.cdx.json")
    refused(lambda: release.bundle("arm64", folder / "x86_64", folder / "none"), "is not a program for arm64")
    refused(lambda: release.bundle("arm64", folder / "nowhere", folder / "none"), "first `sam build")
    assert not (folder / "none").exists()


class Tagged(yaml.SafeLoader):
    """Reads the short forms of CloudFormation's functions as lists of their name and value."""


Tagged.add_multi_constructor("!", lambda loader, tag, node: [tag, node.value])


def a_template_is_of_what_is_there(text, architecture):
    """It is the repository's but for what must differ."""
    template, source = yaml.load(text, Tagged), yaml.load((ROOT / "template.yaml").read_text(), Tagged)
    parameter = template["Parameters"]["Architecture"]
    assert (parameter["Default"], parameter["AllowedValues"]) == (architecture, [architecture])
    own = {logical: function for logical, function in release.FUNCTIONS.items() if "/" not in logical}
    for logical, function in own.items():
        resource = template["Resources"][logical]
        assert resource["Metadata"].pop("SkipBuild") is True and resource["Properties"]["CodeUri"] == f"functions/{function}"
        assert source["Resources"][logical]["Metadata"].pop("BuildMethod") == "rust-cargolambda"
    functions = {name for name, one in source["Resources"].items() if one["Type"] == "AWS::Serverless::Function"}
    assert functions == own.keys(), "a function is not in the bundle"
    for one in (template, source):
        del one["Parameters"]["Architecture"]
    assert str(template) == str(source) # nodes below a tag have places, which a text of a list has not
    nested = {one["Properties"]["TemplateURL"] for one in template["Resources"].values() if one["Type"] == "AWS::CloudFormation::Stack"}
    assert nested <= {f"infra/{name}" for name in release.NESTED}, nested


def an_sbom_is_valid_and_has_what_is_linked(folder):
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    for name, has, has_not in (
        (f"waymark-bundle-{VERSION}-x86_64", {"waymark-engine", "aws-sdk-dynamodb", "lambda_runtime"}, {"dynoxide-rs", "waymark-cli", "stateright"}),
        (f"waymark-{VERSION}-aarch64-apple-darwin", {"waymark-cli", "dynoxide-rs", "parquet"}, {"stateright"}),
    ):
        text = (folder / "first" / f"{name}.cdx.json").read_text()
        errors = validator.validate_str(text)
        assert errors is None, errors
        document = json.loads(text)
        components = {one["bom-ref"]: one for one in document["components"]}
        names = {one["name"] for one in components.values()}
        assert has <= names and not has_not & names, has - names | has_not & names
        scopes = {one["name"]: one["scope"] for one in components.values()}
        assert (scopes["serde"], scopes["serde_derive"], scopes["cc"]) == ("required", "excluded", "excluded")
        refs = {name, *components}
        assert {one["ref"] for one in document["dependencies"]} == refs
        # Each is there because something there wants it.
        wanted = {to for one in document["dependencies"] for to in one["dependsOn"]}
        assert wanted == components.keys(), wanted ^ components.keys()
        for one in components.values():
            assert ("hashes" in one) == ("purl" in one) == (not one["name"].startswith("waymark-")), one
            assert one["licenses"], one
    assert sbom.edges("0a v1.0.0 (/x)\n1b v1.0.0\n2c v1.0.0\n1c v1.0.0 (*)\n\n0d v1.0.0 (proc-macro)\n") == {
        ("a", "1.0.0"): {("b", "1.0.0"), ("c", "1.0.0")}, ("b", "1.0.0"): {("c", "1.0.0")}, ("c", "1.0.0"): set(), ("d", "1.0.0"): set()}
    refused(lambda: sbom.edges("what is this"), "not understood")


def a_command_names_its_commit(folder):
    binary, target = folder / "waymark", "aarch64-apple-darwin"
    hash, changed, _ = release.commit().partition("-dirty")
    for said in (f"(built from source, template {VERSION})", f"(commit {'0' * 12}, template {VERSION})", f"(commit {hash[:12]}{changed}, template 0)"):
        binary.write_text(said)
        refused(lambda: release.command(target, binary, folder / "none"), "WAYMARK_COMMIT")
    binary.write_text(f"... (commit {hash[:12]}{changed}, template {VERSION}) ...")
    release.command(target, binary, folder / "first")
    again(folder, "command", target, binary)
    name = f"waymark-{VERSION}-{target}"
    same_twice(folder, f"{name}.tar.gz")
    with tarfile.open(folder / f"first/{name}.tar.gz") as packed:
        modes = {member.name.removeprefix(f"{name}/"): member.mode for member in packed}
        text = packed.extractfile(f"{name}/LICENSES-OF-OTHERS.txt").read().decode()
    assert modes == {"waymark": 0o755} | dict.fromkeys(["README.md", "LICENSE", "LICENSES-OF-OTHERS.txt", "sbom.cdx.json"], 0o644)
    assert re.search(r"^serde \d+\.\d+\.\d+: MIT OR Apache-2.0$", text, re.MULTILINE) and "waymark" not in text


def the_sums_are_those_of_all_files(folder):
    out = folder / "first"
    for _ in range(2):
        release.sums(out)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=out, check=True, timeout=SECONDS)
    named = {line.split("  ")[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    assert named == {path.name for path in out.iterdir()} - {"SHA256SUMS"} and len(named) == 6, named


def a_tag_is_of_the_version(_):
    refused(lambda: release.check_tag("v99.0.0"), f"the tag should be v{VERSION}")
    refused(lambda: release.check_tag(VERSION), f"the tag should be v{VERSION}")
    heading, text = release.notes(f"# Changelog\n\n## 99.0.0\n\nOther.\n\n## {VERSION}, unreleased\n\nThis.\n\n## 0.0.1\n\nOther.\n")
    assert (heading, text) == (f"{VERSION}, unreleased", "This.")
    refused(lambda: release.notes("## 99.0.0\n"), "has no section")
    heading, _ = release.notes((ROOT / "CHANGELOG.md").read_text())
    if "unreleased" in heading:
        refused(lambda: release.check_tag(f"v{VERSION}"), "in place of unreleased")
    elif release.commit_of_tree().endswith("-dirty"):
        refused(lambda: release.check_tag(f"v{VERSION}"), "files were changed")
    else:
        release.check_tag(f"v{VERSION}")
    refused(lambda: release.template_version("Outputs:\n"), "has 0")
    assert release.template_version((ROOT / "template.yaml").read_text()) == VERSION


def the_workflow_builds_what_there_is(_):
    """actionlint reads the form; this, whether the matrices are the architectures and targets that release.py knows."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    assert {one["architecture"] for one in jobs["bundle"]["strategy"]["matrix"]["include"]} == release.ARCHITECTURES.keys()
    for one in jobs["bundle"]["strategy"]["matrix"]["include"]:
        assert one["target"] == release.ARCHITECTURES[one["architecture"]], one
    assert {one["target"] for one in jobs["command"]["strategy"]["matrix"]["include"]} == set(release.TARGETS)
    for job in jobs.values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), f"an expression in a shell's text: {step}"
    assert all("write" not in str(job.get("permissions")) for name, job in jobs.items() if name != "publish")
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}


def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for test in (a_bundle_is_whole_and_the_same_each_time, a_command_names_its_commit, an_sbom_is_valid_and_has_what_is_linked,
                     the_sums_are_those_of_all_files, a_tag_is_of_the_version, the_workflow_builds_what_there_is):
            test(pathlib.Path(folder))
    print("a release is packed whole, and the same each time")


if __name__ == "__main__":
    main()
