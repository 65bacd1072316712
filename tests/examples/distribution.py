"""The parts of examples/distribution for CDK and Terraform, compared with those for CloudFormation (tests/deploy/existing.py), which
tests/deploy/existing_test.py compares with infra/cdn.yaml. The CDK parts are synthesised; the Terraform file is parsed."""

import json
import shutil
import subprocess
import sys

import hcl2

from stack import ROOT

sys.path.insert(0, str(ROOT / "tests/deploy"))
from existing import FOLDER, FUNCTION_URL, Existing  # noqa: E402

PARTS = ROOT / FOLDER
FUNCTION = ROOT / "infra/cdn/viewer-request.js"
# A site's app, with the parts as docs/guide/your-distribution.md says.
APP = """
import { App, Stack } from "aws-cdk-lib";
import { Distribution } from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { WaymarkPaths, WaymarkPermissions } from "./cdk.mjs";

const stack = new Stack(new App(), "Site");
const site = { origin: new HttpOrigin("origin.example.com", { originId: "site" }) };
const waymark = new WaymarkPaths(stack, "Waymark", { functionUrl: process.env.FUNCTION_URL });
const distribution = new Distribution(stack, "Distribution", {
  defaultBehavior: site,
  additionalBehaviors: { ...waymark.behaviors, "*.xml": site },
});
new WaymarkPermissions(stack, "Permissions", { functionArn: "arn", distributionArn: distribution.distributionArn });
"""
# Names that are made anew, and what only explains.
FREE = {"Name", "Comment"}


def check(tools, cdk, folder, plain):
    parts = Existing()
    check_cdk(parts, synthesised(tools, cdk, folder))
    check_terraform(parts, plain(hcl2.loads((PARTS / "main.tf").read_text())))


def same(what, found, expected):
    found, expected = ({name: one for name, one in value.items() if name not in FREE} for value in (found, expected))
    assert found == expected, f"{what}: {found} instead of {expected}"


def synthesised(tools, cdk, folder):
    app = folder / "distribution"
    app.mkdir()
    for file in [PARTS / "cdk.mjs", FUNCTION]:
        shutil.copy(file, app)
    (app / "node_modules").symlink_to(cdk / "node_modules")
    (app / "app.mjs").write_text(APP)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(app), "FUNCTION_URL": FUNCTION_URL, "CDK_OUTDIR": str(app / "out")}
    done = subprocess.run(["node", "app.mjs"], cwd=app, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, done.stdout
    template = app / "out/Site.template.json"
    lint = subprocess.run([tools / "cfn-lint", template], text=True, capture_output=True, timeout=300)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    return json.loads(template.read_text())["Resources"]


def check_cdk(parts, resources):
    # By the name that the model has for them: what others refer to is there by its logical id.
    named = {"ViewerRequest": "CloudFront::Function", "HeadersPolicy": "CloudFront::ResponseHeadersPolicy",
             "OriginAccessControl": "CloudFront::OriginAccessControl", "Distribution": "CloudFront::Distribution"}
    names, found = {}, {}
    for name, kind in named.items():
        (logical, found[name]), = [(logical, one["Properties"]) for logical, one in resources.items() if one["Type"] == f"AWS::{kind}"]
        names[logical] = name

    def resolved(value):
        if isinstance(value, list):
            return [resolved(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "Ref" in value:
            return names[value["Ref"]]
        if "Fn::GetAtt" in value:
            return names[value["Fn::GetAtt"][0]]
        return {name: resolved(one) for name, one in value.items()}

    function = parts.resource("ViewerRequest")
    same("the function's code", found["ViewerRequest"], {"FunctionCode": function["FunctionCode"], "AutoPublish": True,
                                                         "FunctionConfig": found["ViewerRequest"]["FunctionConfig"]})
    same("the function", found["ViewerRequest"]["FunctionConfig"], function["FunctionConfig"])
    for name in ["HeadersPolicy", "OriginAccessControl"]:
        same(name, found[name][f"{named[name].partition('::')[2]}Config"], parts.resource(name)[f"{named[name].partition('::')[2]}Config"])

    config = resolved(found["Distribution"]["DistributionConfig"])
    assert config["CacheBehaviors"][:-1] == parts.pasted["CacheBehaviors"], config["CacheBehaviors"]
    assert config["CacheBehaviors"][-1]["TargetOriginId"] == "site", "the site's own are last"
    assert [one for one in config["Origins"] if one["Id"] == "waymark"] == parts.pasted["Origins"], config["Origins"]

    permissions = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::Lambda::Permission"]
    for permission in permissions:
        assert {"Ref": next(logical for logical, name in names.items() if name == "Distribution")} in permission["SourceArn"]["Fn::Join"][1]
    same_permissions(parts, [without(permission, "SourceArn") for permission in permissions])


def without(properties, *left_out):
    return {name: one for name, one in properties.items() if name not in left_out}


def same_permissions(parts, found):
    expected = [without(parts.resource(name), "SourceArn") for name in ["UrlPermission", "FunctionPermission"]]
    assert found == expected, f"permissions: {found} instead of {expected}"


def check_terraform(parts, file):
    resources = {f"{kind}.{name}": one for resource in file["resource"] for kind, named in resource.items() for name, one in named.items()}
    site = resources["aws_cloudfront_distribution.site"]

    origin, = parts.pasted["Origins"]
    found, = [one for one in site["origin"] if one["origin_id"] == "waymark"]
    assert "HttpFunctionUrl" in found["domain_name"] and "origin_access_control.waymark" in found["origin_access_control_id"], found
    ours, = found["custom_origin_config"]
    same("the origin", {"OriginProtocolPolicy": ours["origin_protocol_policy"], "OriginSSLProtocols": ours["origin_ssl_protocols"],
                        "OriginReadTimeout": ours["origin_read_timeout"]}, origin["CustomOriginConfig"])

    behaviours = parts.pasted["CacheBehaviors"]
    assert file["locals"][0]["waymark_paths"] == [one["PathPattern"] for one in behaviours], file["locals"]
    content, = site["dynamic"][0]["ordered_cache_behavior"]["content"]
    association, = content["function_association"]
    assert "function.waymark.arn" in association["function_arn"] and "headers_policy.waymark" in content["response_headers_policy_id"], content
    for one in behaviours:
        same("a behaviour", {"TargetOriginId": content["target_origin_id"], "ViewerProtocolPolicy": content["viewer_protocol_policy"],
                             "Compress": content["compress"], "CachePolicyId": content["cache_policy_id"]},
             without(one, "PathPattern", "ResponseHeadersPolicyId", "FunctionAssociations"))
        assert [association["event_type"]] == [each["EventType"] for each in one["FunctionAssociations"]], association

    function = resources["aws_cloudfront_function.waymark"]
    assert FUNCTION.name in function["code"] and function["publish"] is True, function
    assert function["runtime"] == parts.resource("ViewerRequest")["FunctionConfig"]["Runtime"], function

    control = resources["aws_cloudfront_origin_access_control.waymark"]
    same("the access control", {"OriginAccessControlOriginType": control["origin_access_control_origin_type"],
                                "SigningBehavior": control["signing_behavior"], "SigningProtocol": control["signing_protocol"]},
         parts.resource("OriginAccessControl")["OriginAccessControlConfig"])

    policy = resources["aws_cloudfront_response_headers_policy.waymark"]
    same("the headers", {
        "RemoveHeadersConfig": {"Items": [{"Header": one["header"]} for one in policy["remove_headers_config"][0]["items"]]},
        "SecurityHeadersConfig": {"ContentTypeOptions": {"Override": policy["security_headers_config"][0]["content_type_options"][0]["override"]}},
        "CustomHeadersConfig": {"Items": [{"Header": one["header"], "Value": one["value"], "Override": one["override"]}
                                          for one in policy["custom_headers_config"][0]["items"]]},
    }, parts.resource("HeadersPolicy")["ResponseHeadersPolicyConfig"])

    permissions = [resources[f"aws_lambda_permission.{name}"] for name in ["waymark_url", "waymark_function"]]
    for permission in permissions:
        assert "HttpFunctionArn" in permission["function_name"] and "distribution.site.arn" in permission["source_arn"], permission
    pascal = [{"".join(part.title() for part in name.split("_")): one for name, one in permission.items()} for permission in permissions]
    same_permissions(parts, [without(one, "SourceArn") | {"FunctionName": "arn"} for one in pascal])
