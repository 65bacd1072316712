#!/usr/bin/env python3
"""Evaluates the expressions of the alarms that compare metrics, which no emulator does: what sets each off, and what does not. Also
looks at the expression that the dashboard searches with.

Syntax: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html and
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html"""
import json
import pathlib
import re
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short functions, which are left as texts or lists."""


def plain(loader, _, node):
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    return loader.construct_sequence(node, deep=True)


Loader.add_multi_constructor("!", plain)


def alarms():
    """The alarms with an expression: their properties, by name."""
    found = {}
    for template in ("infra/monitoring.yaml", "infra/us-east-1.yaml"):
        for name, resource in yaml.load((ROOT / template).read_text(), Loader)["Resources"].items():
            if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"]:
                found[name] = resource["Properties"]
    return found


def value(expression, metrics):
    """An expression's value in a period. A metric that is None has no data; an expression that uses it has none either, but in FILL."""
    text = re.sub(r"\bAND\b", "and", re.sub(r"\bOR\b", "or", expression.strip()))
    known = {"IF": lambda condition, then, otherwise: then if condition else otherwise,
             "FILL": lambda metric, number: number if metric is None else metric}
    words = set(re.findall(r"[A-Za-z]\w*", text)) - {"and", "or"} - set(known)
    assert words <= set(metrics), f"{expression}: {words - set(metrics)} have no value here"
    return eval(text, {"__builtins__": {}}, known | metrics) # noqa: S307: a text of this repository


COMPARISONS = {"GreaterThanThreshold": lambda one, other: one > other,
               "GreaterThanOrEqualToThreshold": lambda one, other: one >= other}

# For each alarm, metrics of a period that is bad, and of one that is not.
CASES = {
    "HttpRefusals": (
        [{"requests": 100, "refused": 51}, {"requests": 10, "refused": 10}, {"requests": 99, "refused": 99}, {"requests": 5000, "refused": 5000}],
        [{"requests": 100, "refused": 50}, {"requests": 99, "refused": 98}, {"requests": 10, "refused": 9}, {"requests": 9, "refused": 9},
         {"requests": None, "refused": None}, {"requests": 200, "refused": None}]),
    "StreamThrottles": ([{"ingest": 1, "regenerate": None}, {"ingest": None, "regenerate": 1}], [{"ingest": None, "regenerate": 0}]),
    "TableThrottles": (
        [{"contentReads": 100, "contentWrites": None, "sitemapReads": None, "sitemapWrites": None},
         {"contentReads": 25, "contentWrites": 25, "sitemapReads": 25, "sitemapWrites": 25}],
        [{"contentReads": None, "contentWrites": None, "sitemapReads": None, "sitemapWrites": 99}]),
    "RegenerateBusy": (
        [{"regenerate": 3000, "ingest": None}, {"regenerate": 1801, "ingest": 90}],
        # The slices of a scan; a busy site; a site without changes.
        [{"regenerate": 514, "ingest": None}, {"regenerate": 14400, "ingest": 14400}, {"regenerate": 14400, "ingest": 720},
         {"regenerate": None, "ingest": None}]),
    "ContentUnread": ([{"written": 1, "invocations": None}], [{"written": 1, "invocations": 1}, {"written": None, "invocations": None}]),
    "Staleness": (
        [{"changes": 1, "published": None, "skipped": None}],
        [{"changes": 1, "published": 1, "skipped": None}, {"changes": 1, "published": None, "skipped": 1},
         {"changes": None, "published": None, "skipped": None}]),
    "RowsUnread": ([{"changes": 1, "invocations": None}], [{"changes": 1, "invocations": 1}, {"changes": None, "invocations": None}]),
    "DeliveryFailures": ([{"ingest": 1, "regenerate": None}, {"ingest": None, "regenerate": 1}], [{"ingest": None, "regenerate": None}]),
    # Above the parameters' defaults. A rate counts from twenty requests.
    "ErrorRate4xx": ([{"requests": 20, "rate": 26}], [{"requests": 19, "rate": 100}, {"requests": 20, "rate": 25}, {"requests": None, "rate": None}]),
    "ErrorRate5xx": ([{"requests": 20, "rate": 6}], [{"requests": 19, "rate": 100}, {"requests": 20, "rate": 5}, {"requests": None, "rate": None}]),
}


class Alarms(unittest.TestCase):
    def test_each_expression_tells_bad_periods_from_others(self):
        found = alarms()
        self.assertEqual(set(found), set(CASES), "each has its cases")
        defaults = yaml.load((ROOT / "infra/us-east-1.yaml").read_text(), Loader)["Parameters"]
        for name, properties in found.items():
            [result] = [one for one in properties["Metrics"] if "Expression" in one]
            self.assertNotEqual(result.get("ReturnData"), False, name)
            stats = {one["Id"]: one["MetricStat"] for one in properties["Metrics"] if "MetricStat" in one}
            self.assertEqual(len({one["Period"] for one in stats.values()}), 1, f"{name}: one period")
            threshold = properties["Threshold"]
            threshold = defaults[threshold]["Default"] if isinstance(threshold, str) else threshold
            is_bad = COMPARISONS[properties["ComparisonOperator"]]
            for expected, periods in zip((True, False), CASES[name]):
                self.assertTrue(periods, name)
                for metrics in periods:
                    self.assertEqual(set(metrics), set(stats), name)
                    self.assertEqual(is_bad(value(result["Expression"], metrics), threshold), expected, (name, metrics))

    def test_an_alarm_does_not_look_back_longer_than_cloudwatch_allows(self):
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html: seven days, if the period is an
        # hour or more, and otherwise one day.
        for name, properties in alarms().items():
            period = next(one["MetricStat"]["Period"] for one in properties["Metrics"] if "MetricStat" in one)
            self.assertLessEqual(period * properties["EvaluationPeriods"], 7 * 86_400 if period >= 3_600 else 86_400, name)

    def test_the_widget_of_refusals_leaves_out_notices(self):
        body = yaml.load((ROOT / "infra/monitoring.yaml").read_text(), Loader)["Resources"]["Dashboard"]["Properties"]["DashboardBody"]
        expressions = [one["expression"] for widget in json.loads(body)["widgets"] for metric in widget["properties"]["metrics"]
                       for one in metric if isinstance(one, dict) and "expression" in one]
        [search] = [one for one in expressions if one.startswith("SEARCH(")]
        # Without NOT, the word Refused finds NoticesRefused, too: a name is searched by its parts.
        self.assertRegex(search, r"^SEARCH\('\{Waymark,Stack\} Stack=\"\$\{Stack\}\" Refused NOT MetricName=\"NoticesRefused\"', 'Sum', 300\)$")


if __name__ == "__main__":
    unittest.main()
