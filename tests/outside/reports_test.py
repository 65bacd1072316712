"""The reports of `waymark check` against the schemas of their forms: SARIF 2.1.0 and the JUnit XML that Jenkins reads.

    reports_test.py --sarif SCHEMA.json --junit SCHEMA.xsd [--command target/debug/waymark]

What is checked has a finding for many rules, and text that would be markup, a placeholder or no XML. Needs lxml and jsonschema.
The schemas come from packages of others: see .ci/run. Exit status: 1 if a report is not valid."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
from lxml import etree

NASTY = ["/a b", "/{0}", "/[x](http://evil.example)", "/&lt;script&gt;", "/]]&gt;", "/\u202e", "/\ufffe", "/\U0001f600", "/&amp;&quot;'"]
HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def documents(folder):
    """Files with findings, one of them with a name that no URI has."""
    locs = "".join("<url><loc>https://www.example.com%s</loc></url>" % path for path in NASTY)
    files = {
        "nasty #1 100%.xml": HEAD + locs + "</urlset>",
        "foreign.xml": HEAD + '<a xmlns="urn:x"/><url><loc>https://other.example/</loc><priority>2</priority></url></urlset>',
        "cut.xml": HEAD + "<url>",
        "empty.xml": "",
        "sound.xml": HEAD + "<url><loc>https://www.example.com/</loc></url></urlset>",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in files]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sarif", required=True)
    parser.add_argument("--junit", required=True)
    parser.add_argument("--command", default="target/debug/waymark")
    options = parser.parse_args()
    schema = json.loads(pathlib.Path(options.sarif).read_text(encoding="utf-8"))
    # Of the draft that the schema names. Its formats (uri, date-time) are looked at, too, as far as Python's library can.
    validator = jsonschema.validators.validator_for(schema)
    validator = validator(schema, format_checker=validator.FORMAT_CHECKER)
    junit = etree.XMLSchema(etree.parse(options.junit))
    wrong = checked = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = documents(folder)
        for targets in ([files[-1]], files):
            for fail_on in ("error", "note", "never"):
                sarif, xml = folder / "check.sarif", folder / "check.xml"
                command = [options.command, "check", *targets, "--origin", "https://www.example.com", "--fail-on", fail_on]
                command += ["--format", "sarif=%s" % sarif, "--format", "junit=%s" % xml]
                ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
                expected = 0 if fail_on == "never" else 1
                if ended.returncode not in (0, expected):
                    sys.exit("%s: status %s: %s" % (command, ended.returncode, ended.stderr))
                log = json.loads(sarif.read_text(encoding="utf-8"))
                for error in validator.iter_errors(log):
                    wrong += 1
                    print("SARIF: %s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:200]))
                report = etree.parse(str(xml))
                if not junit.validate(report):
                    wrong += 1
                    print("JUnit: %s" % junit.error_log[0])
                cases, failures = (len(report.findall(".//" + tag)) for tag in ("testcase", "failure"))
                suite = report.find("testsuite")
                if (suite.get("tests"), suite.get("failures")) != (str(cases), str(failures)):
                    wrong += 1
                    print("JUnit: says %s, has %d and %d" % (dict(suite.attrib), cases, failures))
                if bool(failures) != (ended.returncode == 1):
                    wrong += 1
                    print("JUnit: %d failures, and status %d" % (failures, ended.returncode))
                found = len(log["runs"][0]["results"])
                if (found < 10) != (targets != files):
                    wrong += 1
                    print("SARIF: %d results" % found)
                checked += 2
                print("%d targets, --fail-on %s: %d results, %d of %d cases fail" % (len(targets), fail_on, found, failures, cases))
    print("%d passed, %d failed" % (checked - min(wrong, checked), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
