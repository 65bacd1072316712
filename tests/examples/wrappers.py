"""The wrappers for CDK and Terraform, around what `sam package` makes of template.yaml: the CDK app is synthesised; the Terraform
module is parsed, and formatted where there is a terraform. Its provider is in no package registry, so it is not validated."""

import json
import re
import shutil
import subprocess
import sys
import tomllib

import boto3
import hcl2
import yaml

import distribution
from stack import ROOT

sys.path.insert(0, str(ROOT / "tests/deploy"))
from emulator import Emulator  # noqa: E402

CDK = ROOT / "examples/cdk"
TERRAFORM = ROOT / "examples/terraform"


class Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short functions, which are left as they are."""


Loader.add_multi_constructor("!", lambda loader, suffix, node: suffix)


def check(tools, cdk, folder):
    template = packaged(tools, folder)
    declared = yaml.load(template.read_text(), Loader)
    check_cdk(tools, cdk, folder, template, declared)
    check_terraform(declared)
    distribution.check(tools, cdk, folder, plain)


def packaged(tools, folder):
    """template.yaml as `sam package` leaves it. The functions in it are their sources, not built ones, which no wrapper can tell."""
    made = folder / "packaged.yaml"
    with Emulator(tools, folder / "package") as aws:
        boto3.client(
            "s3", endpoint_url=aws.endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        ).create_bucket(Bucket="artifacts")
        aws.run("sam", "package", "--template-file", ROOT / "template.yaml", "--s3-bucket", "artifacts", "--output-template-file", made,
                cwd=aws.folder)
    assert "s3://artifacts/" in made.read_text() and "CodeUri: functions" not in made.read_text()
    return made


def assert_fits(what, parameters, declared):
    for name, value in parameters.items():
        assert name in declared["Parameters"], f"{what}: the template has no parameter {name}"
        assert isinstance(value, str), f"{what}: {name} is no text"


def check_cdk(tools, cdk, folder, template, declared):
    # Beside its packages, as in a project.
    app = folder / "cdk"
    shutil.copytree(CDK, app)
    (app / "node_modules").symlink_to(cdk / "node_modules")
    (app / "packaged.yaml").symlink_to(template)
    wanted = json.loads((CDK / "package.json").read_text())["dependencies"]
    for package, version in wanted.items():
        found = json.loads((cdk / "node_modules" / package / "package.json").read_text())["version"]
        assert found == version, f"{cdk} has {package} {found}, not {version}"
    command = json.loads((CDK / "cdk.json").read_text())["app"]
    done = subprocess.run(command, shell=True, cwd=app, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(app), "CDK_OUTDIR": str(app / "out")},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}"

    synthesised = json.loads((app / "out/WaymarkProduction.template.json").read_text())
    nested = [one for one in synthesised["Resources"].values() if one["Type"] == "AWS::CloudFormation::Stack"]
    assert len(nested) == 1, synthesised
    properties = nested[0]["Properties"]
    assert_fits("examples/cdk", properties["Parameters"], declared)
    # The template is an asset: the file that CDK uploads to the address which the nested stack names.
    assets = json.loads((app / "out/WaymarkProduction.assets.json").read_text())["files"]
    (key, asset), = [(key, one) for key, one in assets.items() if key in json.dumps(properties["TemplateURL"])]
    assert (app / "out" / asset["source"]["path"]).read_bytes() == template.read_bytes(), asset
    outputs = [one["Value"]["Fn::GetAtt"][1] for one in synthesised["Outputs"].values() if "Fn::GetAtt" in one["Value"]]
    assert len(outputs) == 2, synthesised["Outputs"]
    for output in outputs:
        assert output.removeprefix("Outputs.") in declared["Outputs"], output
    lint = subprocess.run([tools / "cfn-lint", app / "out/WaymarkProduction.template.json"], text=True, capture_output=True, timeout=300)
    assert lint.returncode == 0, lint.stdout + lint.stderr


def plain(value):
    """What the parser gives, without its own marks and the quotation marks around texts."""
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items() if not name.startswith("__")}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value[1:-1] if isinstance(value, str) and value.startswith('"') else value


def check_terraform(declared):
    module = plain(hcl2.loads((TERRAFORM / "waymark/main.tf").read_text()))
    stacks = [one["aws_cloudformation_stack"]["waymark"] for one in module["resource"] if "aws_cloudformation_stack" in one]
    assert len(stacks) == 1, module["resource"]
    # As samconfig.toml has them.
    capabilities = tomllib.loads((ROOT / "samconfig.toml").read_text())["default"]["deploy"]["parameters"]["capabilities"]
    assert stacks[0]["capabilities"] == capabilities.split(), stacks
    variables = {name: one for variable in module["variable"] for name, one in variable.items()}
    used = set(re.findall(r"\bvar\.(\w+)", (TERRAFORM / "waymark/main.tf").read_text()))
    assert used == set(variables), f"variables: used {used}, declared {set(variables)}"

    text = (TERRAFORM / "main.tf").read_text()
    given = plain(hcl2.loads(text))["module"][0]["waymark"]
    assert_fits("examples/terraform", given["parameters"], declared)
    arguments = set(given) - {"source"}
    required = {name for name, one in variables.items() if "default" not in one}
    assert required <= arguments <= set(variables), f"arguments of the module: {arguments}"
    outputs = set(re.findall(r'\boutputs\["(\w+)"\]', text))
    assert outputs and outputs <= set(declared["Outputs"]), outputs

    terraform = shutil.which("terraform")
    if terraform:
        done = subprocess.run([terraform, "fmt", "-check", "-diff", "-recursive", TERRAFORM, distribution.PARTS],
                              text=True, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    print(f"the Terraform module is parsed{', and formatted' if terraform else '; there is no terraform to see how it is formatted'}")
