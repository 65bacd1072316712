#!/usr/bin/env python3
"""Packs what a release has for download, into target/release-files or --out.

    release.py bundle ARCHITECTURE BUILT    what `sam build` made in the folder BUILT, to be deployed with the SAM CLI alone
    release.py command TARGET BINARY        the command `waymark`, built for a target
    release.py sums                         SHA256SUMS of all that is there
    release.py commit                       prints the commit of this tree, with `-dirty` if files were changed
    release.py tag TAG                      fails unless the tag is of this version, and all of this tree says so
    release.py notes                        prints what CHANGELOG.md says of this version

The same input gives the same bytes. `build` in this folder builds and packs in one step."""
import argparse
import datetime
import hashlib
import os
import pathlib
import re
import string
import subprocess
import sys
import tomllib

import archive
from sbom import SECONDS, Crates

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# What the template calls the functions' processors, and what cargo calls their target.
ARCHITECTURES = {"arm64": "aarch64-unknown-linux-gnu", "x86_64": "x86_64-unknown-linux-gnu"}
TARGETS = (*ARCHITECTURES.values(), "aarch64-apple-darwin", "x86_64-apple-darwin")
# What `sam build` calls a function, and its folder in the template. One is of a nested stack.
FUNCTIONS = {"IngestFunction": "ingest", "RegenerateFunction": "regenerate", "HttpFunction": "http", "SweepFunction": "sweep",
             "Redirects/RedirectsFunction": "redirects"}
NESTED = ("cdn.yaml", "monitoring.yaml", "redirects.yaml", "us-east-1.yaml")
# Sections of samconfig.toml that need the sources.
ONLY_WITH_SOURCES = ("build", "validate")
# An ELF file's machine, at byte 18: which processor a program is for.
ELF_MACHINES = {"arm64": 183, "x86_64": 62}


def version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def template_version(template):
    """The output `Version` of a template's text."""
    found = re.findall(r"^  Version:\n    Description: .*\n    Value: (\S+)$", template, re.MULTILINE)
    if len(found) != 1:
        raise SystemExit(f"template.yaml should have one output Version, and has {len(found)}")
    return found[0]


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True, timeout=SECONDS)
    if done.returncode:
        raise SystemExit(f"git {arguments[0]} failed, and a release has to name its commit: {done.stderr.strip()}")
    return done.stdout.strip()


def commit_of_tree():
    return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "--untracked-files=no") else "")


def commit():
    """The commit that is built: what `build` found when it began, whatever has changed since."""
    return os.environ.get("WAYMARK_COMMIT") or commit_of_tree()


def commit_date():
    """When the commit was made: a date that the same commit always has."""
    seconds = int(git("show", "--no-patch", "--format=%ct", commit().removesuffix("-dirty")))
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def replaced(text, old, new, times, name):
    """The text with `old` replaced, which has to be there so many times."""
    if text.count(old) != times:
        raise SystemExit(f"{name} should have {old.strip()!r} {times} times, and has it {text.count(old)} times: see {__file__}")
    return text.replace(old, new)


def without_builds(template, functions, name):
    """A template of which so many functions are built."""
    return replaced(template, "      BuildMethod: rust-cargolambda\n", "      SkipBuild: true\n", functions, name)


def nested_template(name):
    """A template of infra for functions that are built."""
    template = (ROOT / "infra" / name).read_text()
    return without_builds(template, 1, name) if name == "redirects.yaml" else template


def built_template(template, architecture):
    """template.yaml for functions that are built: nothing is left to build, and no other processor can be chosen."""
    template = without_builds(template, sum("/" not in logical for logical in FUNCTIONS), "template.yaml")
    return replaced(template, "    Default: arm64\n    AllowedValues: [arm64, x86_64]\n",
                    f"    Default: {architecture}\n    AllowedValues: [{architecture}]\n"
                    f"    ConstraintDescription: must be {architecture}, for which the functions of this bundle are built\n",
                    1, "template.yaml")


def without_sources(samconfig):
    """samconfig.toml without what concerns a build."""
    kept = []
    for section in re.split(r"^(?=\[)", samconfig, flags=re.MULTILINE):
        match = re.match(r"\[\w+\.(\w+)\.", section)
        if not match or match[1] not in ONLY_WITH_SOURCES:
            kept.append(section)
    text = "".join(kept)
    head = replaced(text, " They are global, since `sam build` has to know of an\n# Architecture too.\n", "\n", 1, "samconfig.toml")
    return replaced(head, "# `sam build && sam deploy` deploys", "# `sam deploy` deploys", 1, "samconfig.toml")


def checked_function(path, architecture):
    """The bytes of a built function, which has to be for these processors."""
    if not path.is_file():
        raise SystemExit(f"{path} is not there: first `sam build --build-dir {path.parent.parent} "
                         f"--parameter-overrides Architecture={architecture}`")
    content = path.read_bytes()
    machine = int.from_bytes(content[18:20], "little")
    if content[:4] != b"\x7fELF" or machine != ELF_MACHINES[architecture]:
        raise SystemExit(f"{path} is not a program for {architecture}: build it with "
                         f"`sam build --parameter-overrides Architecture={architecture}`")
    return content


def text_of(name, **values):
    return string.Template((HERE / name).read_text()).substitute(version=version(), commit=commit(), **values).encode()


def written(out, name, content):
    out.mkdir(parents=True, exist_ok=True)
    (out / name).write_bytes(content)
    print(f"{out / name}: {len(content):,} bytes")


def described(name, packages, target, features=()):
    """What each archive has: what is in its programs, and on which terms."""
    crates = Crates(ROOT, packages, target, features)
    return {
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), False),
        "LICENSES-OF-OTHERS.txt": (crates.licences(), False),
        "sbom.cdx.json": (crates.document(name, version(), commit(), commit_date()), False),
    }


def bundle(architecture, built, out):
    name = f"waymark-bundle-{version()}-{architecture}"
    template = (ROOT / "template.yaml").read_text()
    programs = {f"functions/{function}/bootstrap": (checked_function(built / logical / "bootstrap", architecture), True)
                for logical, function in FUNCTIONS.items()}
    files = programs | described(name, [f"waymark-{function}" for function in FUNCTIONS.values()], ARCHITECTURES[architecture])
    files |= {
        "README.md": (text_of("bundle.md", architecture=architecture), False),
        "template.yaml": (built_template(template, architecture).encode(), False),
        "samconfig.toml": (without_sources((ROOT / "samconfig.toml").read_text()).encode(), False),
    }
    files |= {f"infra/{nested}": (nested_template(nested).encode(), False) for nested in NESTED}
    written(out, f"{name}.zip", archive.zipped(name, files))
    written(out, f"{name}.cdx.json", files["sbom.cdx.json"][0])


def checked_command(binary):
    """The bytes of the command, whose `--version` has to name this commit and this template."""
    content = binary.read_bytes()
    hash, changed, _ = commit().partition("-dirty")
    said = f"(commit {hash[:12]}{changed}, template {template_version((ROOT / 'template.yaml').read_text())})"
    if said.encode() not in content:
        raise SystemExit(f"{binary} does not say {said} of its version: build it with WAYMARK_COMMIT={commit()}")
    return content


def command(target, binary, out):
    name = f"waymark-{version()}-{target}"
    program = checked_command(binary)
    files = described(name, ["waymark-cli"], target, ["parquet"]) # as `build` chooses
    files |= {"README.md": (text_of("command.md", target=target), False), "waymark": (program, True)}
    written(out, f"{name}.tar.gz", archive.tarred(name, files))
    written(out, f"{name}.cdx.json", files["sbom.cdx.json"][0])


def sums(out):
    names = sorted(path.name for path in out.iterdir() if path.name != "SHA256SUMS")
    if not names:
        raise SystemExit(f"{out} has no files")
    lines = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    written(out, "SHA256SUMS", "".join(lines).encode())


def notes(changelog):
    """What CHANGELOG.md says of this version: its heading's rest, and the text below it."""
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        if heading.split(",")[0].strip() == version():
            return heading, text.strip()
    raise SystemExit(f"CHANGELOG.md has no section {version()}: write what has changed")


def check_tag(tag):
    template = template_version((ROOT / "template.yaml").read_text())
    if template != version():
        raise SystemExit(f"Cargo.toml has the version {version()}, and template.yaml {template}: make them the same")
    if tag != f"v{version()}":
        raise SystemExit(f"the tag is {tag}, and Cargo.toml has the version {version()}: the tag should be v{version()}")
    heading, _ = notes((ROOT / "CHANGELOG.md").read_text())
    if "unreleased" in heading:
        raise SystemExit(f"CHANGELOG.md has the heading {heading!r}: write the date in place of unreleased")
    if commit_of_tree().endswith("-dirty"):
        raise SystemExit("files were changed since the commit: a release is of a commit")
    print(f"{tag}: {commit_of_tree()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target/release-files")
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("bundle")
    step.add_argument("architecture", choices=ARCHITECTURES)
    step.add_argument("built", type=pathlib.Path)
    step = steps.add_parser("command")
    step.add_argument("target", choices=TARGETS)
    step.add_argument("binary", type=pathlib.Path)
    steps.add_parser("sums")
    steps.add_parser("commit")
    steps.add_parser("notes")
    steps.add_parser("tag").add_argument("tag")
    arguments = parser.parse_args()
    match arguments.step:
        case "bundle":
            bundle(arguments.architecture, arguments.built, arguments.out)
        case "command":
            command(arguments.target, arguments.binary, arguments.out)
        case "sums":
            sums(arguments.out)
        case "commit":
            print(commit_of_tree())
        case "notes":
            print(notes((ROOT / "CHANGELOG.md").read_text())[1])
        case "tag":
            check_tag(arguments.tag)


if __name__ == "__main__":
    sys.exit(main())
