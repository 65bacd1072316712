"""What is in a binary: its crates as cargo resolves them for a target, as a CycloneDX 1.6 document, and their licences' texts.

A crate that only builds (a build script's, a procedural macro's) has the scope `excluded`."""
import json
import pathlib
import re
import subprocess
import tomllib
import uuid

SPEC = "1.6"
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
# A line of `cargo tree --prefix depth`: its depth, the crate, and further remarks in brackets.
LINE = re.compile(r"^(\d+)(\S+) v(\S+)(?: \(.*)?$")
LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|notice|unlicen[cs]e|copyright)", re.IGNORECASE)
RULE = "=" * 78
NO_FILE = "Its package has no licence file."
# Of a command: cargo may have to fetch all crates first, or wait for the lock that another cargo holds.
SECONDS = 1_800


def cargo(root, *arguments):
    return subprocess.run(["cargo", *arguments], cwd=root, check=True, text=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout


def edges(tree):
    """Of what `cargo tree --prefix depth` prints: each crate as (name, version), with what it depends on."""
    found, path = {}, []
    for line in tree.splitlines():
        if not line:
            continue
        match = LINE.match(line)
        if not match:
            raise SystemExit(f"cargo tree has printed a line that is not understood: {line!r}")
        depth, crate = int(match[1]), (match[2], match[3])
        del path[depth:]
        if path:
            found[path[-1]].add(crate)
        found.setdefault(crate, set())
        path.append(crate)
    return found


def resolved(root, packages, target, kinds, features):
    chosen = [part for package in packages for part in ("--package", package)]
    chosen += ["--features", ",".join(features)] if features else []
    return edges(cargo(root, "tree", "--locked", "--target", target, "--edges", kinds, "--prefix", "depth", "--format", "{p}", *chosen))


class Crates:
    """The crates of some packages of the workspace, built for a target."""

    def __init__(self, root, packages, target, features=()):
        self.packages = packages
        self.all = resolved(root, packages, target, "normal,build", features)
        self.linked = set(resolved(root, packages, target, "normal,no-proc-macro", features))
        metadata = json.loads(cargo(root, "metadata", "--locked", "--all-features", "--format-version", "1"))
        self.known = {(package["name"], package["version"]): package for package in metadata["packages"]}
        lock = tomllib.loads((root / "Cargo.lock").read_text())
        self.checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}

    def component(self, crate):
        name, version = crate
        package = self.known[crate]
        component = {"type": "library", "bom-ref": reference(crate), "name": name, "version": version,
                     "scope": "required" if crate in self.linked else "excluded"}
        if package["license"]:
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}] # an older form of `OR`
        if package["source"] == CRATES_IO:
            component["purl"] = f"pkg:cargo/{name}@{version}"
            component["hashes"] = [{"alg": "SHA-256", "content": self.checksums[crate]}]
        elif package["source"]:
            raise SystemExit(f"{name} {version} is from {package['source']}, and the SBOM knows crates.io alone")
        if package["repository"]:
            component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        return component

    def document(self, name, version, commit, date):
        """The SBOM of the archive `name`, as bytes."""
        root = {"type": "application", "bom-ref": name, "name": name, "version": version,
                "licenses": [{"expression": "Apache-2.0"}], "properties": [{"name": "waymark:commit", "value": commit}]}
        components = [self.component(crate) for crate in sorted(self.all)]
        dependencies = [{"ref": name, "dependsOn": sorted(reference(crate) for crate in self.all if crate[0] in self.packages)}]
        dependencies += [{"ref": reference(crate), "dependsOn": sorted(map(reference, self.all[crate]))} for crate in sorted(self.all)]
        document = {
            "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": SPEC,
            "version": 1,
            "metadata": {"timestamp": date, "component": root},
            "components": components,
            "dependencies": dependencies,
        }
        # The same content, the same number.
        document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document)).urn
        return (json.dumps(document, indent=1) + "\n").encode()

    def licences(self):
        """The licence files of all crates of others that are linked, as bytes; each text once."""
        texts = {}
        for crate in sorted(self.linked):
            package = self.known[crate]
            if not package["source"]:
                continue
            folder = pathlib.Path(package["manifest_path"]).parent
            files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
            for text in {path.read_text(errors="replace").strip(): None for path in files} or [NO_FILE]:
                texts.setdefault(text, []).append(f"{crate[0]} {crate[1]}: {package['license'] or 'see the text'}\n")
        parts = [f"{RULE}\n{''.join(titles)}{RULE}\n\n{text}\n\n" for text, titles in texts.items()]
        return ("The licences of the crates that are in these programs.\n\n" + "".join(parts)).encode()


def reference(crate):
    return f"{crate[0]}@{crate[1]}"
