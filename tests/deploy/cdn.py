"""A model of CloudFront: the distribution of infra/cdn.yaml, its behaviours, its function and its cache, in front of an origin.

What it does is what AWS's documentation says, of which the comments name the page under
https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/. It has one cache and one clock, which the caller moves. It
keeps an answer as long as CloudFront may at most: it evicts nothing."""
import collections
import functools
import http.client
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

ORIGIN_SECONDS = 60
# Of a call of the function, which takes a millisecond.
FUNCTION_SECONDS = 60

# using-managed-cache-policies.html
MANAGED = {
    "658327ea-f89d-4fab-a63d-7e88639e58f6": { # CachingOptimized
        "MinTTL": 1, "DefaultTTL": 86_400, "MaxTTL": 31_536_000,
        "ParametersInCacheKeyAndForwardedToOrigin": {
            "EnableAcceptEncodingGzip": True, "EnableAcceptEncodingBrotli": True,
            "HeadersConfig": {"HeaderBehavior": "none"}, "CookiesConfig": {"CookieBehavior": "none"},
            "QueryStringsConfig": {"QueryStringBehavior": "none"}}},
}
# custom-error-pages-expiration.html: the first are never kept against the origin's will, and all others are.
ERRORS_THAT_MAY_REFUSE = {404, 410, 414, 501}
ERROR_SECONDS = 10
# RequestAndResponseBehaviorCustomOrigin.html: a request has these without any policy.
ALWAYS_FORWARDED = ("if-none-match", "if-modified-since")

NOTHING = object() # AWS::NoValue
Answer = collections.namedtuple("Answer", "status headers body hit")


class Template(yaml.SafeLoader):
    """Reads CloudFormation's YAML: a tag becomes a mapping of one key."""


def tagged(loader, suffix, node):
    kind = {yaml.ScalarNode: loader.construct_scalar, yaml.SequenceNode: functools.partial(loader.construct_sequence, deep=True),
            yaml.MappingNode: functools.partial(loader.construct_mapping, deep=True)}
    return {"!" + suffix: kind[type(node)](node)}


Template.add_multi_constructor("!", tagged)


class Stack:
    """A template as CloudFormation would resolve it with these parameters. What a resource gives is its logical id."""

    def __init__(self, path, **parameters):
        self.template = yaml.load((ROOT / path).read_text(), Template)
        self.parameters = parameters
        if unknown := set(parameters) ^ set(self.template.get("Parameters", {})):
            raise ValueError(f"{path}: parameters that only one side has: {sorted(unknown)}")
        self.pseudo = {"AWS::StackName": "waymark", "AWS::StackId": "arn:aws:cloudformation:r:1:stack/waymark/0", "AWS::NoValue": NOTHING,
                       "AWS::Partition": "aws", "AWS::AccountId": "1"}

    def holds(self, condition):
        return self.resolve(self.template["Conditions"][condition])

    def resource(self, logical):
        """A resource's properties; None if a condition leaves it out."""
        resource = self.template["Resources"][logical]
        if "Condition" in resource and not self.holds(resource["Condition"]):
            return None
        return self.resolve(resource["Properties"])

    def resolve(self, value):
        if isinstance(value, list):
            return [one for one in map(self.resolve, value) if one is not NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and (tag := next(iter(value))).startswith("!"):
            return getattr(self, "resolve_" + tag[1:].lower())(value[tag])
        resolved = {name: self.resolve(one) for name, one in value.items()}
        return {name: one for name, one in resolved.items() if one is not NOTHING}

    def resolve_ref(self, name):
        return (self.pseudo | self.parameters | {logical: logical for logical in self.template.get("Resources", {})})[name]

    def resolve_if(self, parts):
        condition, then, otherwise = parts
        return self.resolve(then if self.holds(condition) else otherwise)

    def resolve_sub(self, parts):
        text, values = parts if isinstance(parts, list) else (parts, {})
        return re.sub(r"\$\{([\w:]+)\}", lambda name: self.resolve(values.get(name[1], {"!Ref": name[1]})), text)

    def resolve_split(self, parts):
        return self.resolve(parts[1]).split(parts[0])

    def resolve_select(self, parts):
        return self.resolve(parts[1])[parts[0]]

    def resolve_equals(self, parts):
        first, second = map(self.resolve, parts)
        return first == second

    def resolve_not(self, parts):
        return not self.resolve(parts[0])

    def resolve_and(self, parts):
        return all(map(self.resolve, parts))

    def resolve_or(self, parts):
        return any(map(self.resolve, parts))

    def resolve_condition(self, name):
        return self.holds(name)

    def resolve_getatt(self, name):
        return name.partition(".")[0]


class ViewerRequest:
    """The viewer-request function, in a process of node while it is entered. `pairs` is its key value store
    (functions-custom-methods.html: get() throws if there is no such key)."""

    LOOP = """
        const source = JSON.parse(process.argv[1]).replace(/^import (\\w+) from '(\\w+)';$/gm, 'const $1 = modules.$2;');
        let pairs = {};
        const get = async (key) => {
            if (!Object.hasOwn(pairs, key)) throw new Error('KeyNotFound');
            return pairs[key];
        };
        const modules = { cloudfront: { kvs: () => ({ get }) }, crypto: require('crypto') };
        const handler = new Function('modules', source + '; return handler;')(modules);
        require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
            const said = JSON.parse(line);
            pairs = said.pairs;
            console.log(JSON.stringify(await handler(said.event)));
        });"""

    def __init__(self, source):
        self.source, self.pairs = source, {}

    def __enter__(self):
        self.process = subprocess.Popen(["node", "-e", self.LOOP, json.dumps(self.source)], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        with processes.limit(self.process, FUNCTION_SECONDS):
            self.process.communicate() # ends its input, and it ends

    def __call__(self, request):
        with processes.limit(self.process, FUNCTION_SECONDS, f"answered {request}"):
            said = {"event": {"version": "1.0", "request": request}, "pairs": self.pairs}
            self.process.stdin.write(json.dumps(said) + "\n")
            line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the viewer-request function failed on {request}")
        return json.loads(line)


def fields(pairs):
    """Headers or a query as a function's event has them (functions-event-structure.html)."""
    found = {}
    for name, value in pairs:
        one = found.setdefault(name, {"value": value, "multiValue": []})
        one["multiValue"].append({"value": value})
    for one in found.values():
        if len(one["multiValue"]) == 1:
            del one["multiValue"]
    return found


def matches(pattern, path):
    """DownloadDistValuesCacheBehavior.html: `*` is any text, also with slashes, `?` one character; the case counts."""
    parts = (".*" if one == "*" else "." if one == "?" else re.escape(one) for one in "/" + pattern.removeprefix("/"))
    return re.fullmatch("".join(parts), path, re.DOTALL) is not None


def normalized(accepted, gzip, brotli):
    """ServingCompressedFiles.html: of Accept-Encoding these two are left, in this order, if the policy has them."""
    named = {coding.strip().lower() for coding, _, weight in (one.partition(";") for one in accepted.split(","))
             if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")}
    return ",".join(coding for coding, enabled in (("br", brotli), ("gzip", gzip)) if enabled and coding in named)


def directives(headers):
    said = ",".join(value for name, value in headers if name == "cache-control").lower()
    return {name.strip(): value.strip() for name, _, value in (one.partition("=") for one in said.split(","))}


class Cdn:
    """The distribution in front of `origin`, a (host, port), while it is entered. `site` answers for the site's own origin: it gets
    a path with its query and headers, and returns a status, headers and a body."""

    def __init__(self, stack, origin, site=None):
        self.stack, self.origin, self.site = stack, origin, site
        self.config = stack.resource("Distribution")["DistributionConfig"]
        self.groups = {one["Id"]: one for one in self.config.get("OriginGroups", {}).get("Items", [])}
        # By the names of their resources.
        associated = {one["FunctionARN"] for behaviour in self.behaviours() for one in behaviour.get("FunctionAssociations", [])}
        self.functions = {name: ViewerRequest(stack.resource(name)["FunctionCode"]) for name in associated}
        self.errors = {one["ErrorCode"]: one["ErrorCachingMinTTL"] for one in self.config.get("CustomErrorResponses", [])}
        self.kept, self.now, self.asked = {}, 0, []

    def __enter__(self):
        for function in self.functions.values():
            function.__enter__()
        return self

    def __exit__(self, *failed):
        for function in self.functions.values():
            function.__exit__(*failed)

    def behaviours(self):
        """All of them; the default is the last."""
        return [*self.config.get("CacheBehaviors", []), self.config["DefaultCacheBehavior"]]

    def behaviour(self, path):
        return next(one for one in self.behaviours() if matches(one.get("PathPattern", "*"), path))

    def policy(self, behaviour):
        policy = behaviour["CachePolicyId"]
        return MANAGED.get(policy) or self.stack.resource(policy)["CachePolicyConfig"]

    def get(self, url, headers=(), host="www.example.com", method="GET"):
        """What a viewer gets; None if it is the site's alone to answer."""
        path, _, query = url.partition("?")
        behaviour = self.behaviour(path)
        if behaviour["TargetOriginId"] == "site" and not behaviour.get("FunctionAssociations"):
            return None
        # DownloadDistValuesCacheBehavior.html: the default is GET and HEAD.
        if method not in behaviour.get("AllowedMethods", ["GET", "HEAD"]):
            return Answer(403, {}, b"", False)
        headers = [("host", host), *((name.lower(), value) for name, value in headers)]
        pairs = [tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair]
        function = self.functions[behaviour["FunctionAssociations"][0]["FunctionARN"]]
        request = function({"method": method, "uri": path, "querystring": fields(pairs), "headers": fields(headers), "cookies": {}})
        if behaviour["TargetOriginId"] == "site":
            return self.answered_early(request)
        if group := self.groups.get(behaviour["TargetOriginId"]):
            return self.failed_over(group, behaviour, request, query)
        policy = self.policy(behaviour)
        in_key = policy["ParametersInCacheKeyAndForwardedToOrigin"]
        # A policy that had more in the key would be another model.
        kinds = [in_key["HeadersConfig"]["HeaderBehavior"], in_key["CookiesConfig"]["CookieBehavior"],
                 in_key["QueryStringsConfig"]["QueryStringBehavior"]]
        assert kinds == ["none"] * 3 and "OriginRequestPolicyId" not in behaviour, behaviour
        accepted = ",".join(value for name, value in headers if name == "accept-encoding")
        coding = normalized(accepted, in_key["EnableAcceptEncodingGzip"], in_key["EnableAcceptEncodingBrotli"])
        key = request["uri"], coding
        answer, until = self.kept.get(key, (None, 0))
        hit = self.now < until
        if not hit:
            answer = self.fetch(request["uri"], coding)
            self.kept[key] = answer, self.now + self.lifetime(answer, policy)
        status, sent, body = answer
        return Answer(status, self.headers(sent, behaviour), body, hit)

    def answered_early(self, answer):
        """What a function answers in place of the site (writing-function-code.html): nothing of it is cached. None if it returns the
        request."""
        if "statusCode" not in answer:
            return None
        headers = {name: one["value"] for name, one in answer["headers"].items()}
        return Answer(answer["statusCode"], headers, answer.get("body", "").encode(), False)

    def failed_over(self, group, behaviour, request, query):
        """What a viewer gets of an origin group (high_availability_origin_failover.html): the second member is asked if the first
        answers with one of the statuses. Both get what the policies forward."""
        assert [one["OriginId"] for one in group["Members"]["Items"]] == ["site", "waymark"], group
        # using-managed-cache-policies.html and using-managed-origin-request-policies.html: CachingDisabled, AllViewerExceptHostHeader.
        # A behaviour with others would be another model.
        policies = behaviour["CachePolicyId"], behaviour["OriginRequestPolicyId"]
        assert policies == ("4135ea2d-6df8-44a3-9df3-4b5a84be39ad", "b689b0a8-53d0-40ab-baf2-68738e2966ac"), behaviour
        forwarded = [(name, one["value"]) for name, field in request["headers"].items() if name != "host"
                     for one in field.get("multiValue") or [field]]
        url = request["uri"] + (f"?{query}" if query else "")
        status, sent, body = self.site(url, forwarded)
        if status in group["FailoverCriteria"]["StatusCodes"]["Items"]:
            status, sent, body = self.fetch(url, "", forwarded, request["method"])
        return Answer(status, dict(sent), body, False)

    def fetch(self, path, coding, forwarded=(), method="GET"):
        """What the origin answers. Its Host is its own name, which the local stack would take for a site: here there is none."""
        self.asked.append((path, coding))
        connection = http.client.HTTPConnection(*self.origin, timeout=ORIGIN_SECONDS)
        connection.putrequest(method, urllib.parse.quote(path, safe="/%:@!$&'()*+,;=~?"), skip_host=True, skip_accept_encoding=True)
        connection.putheader("User-Agent", "Amazon CloudFront")
        if coding:
            connection.putheader("Accept-Encoding", coding)
        for name, value in forwarded:
            # The local stack does what a CDN does: it names the site by Host alone.
            name = "host" if name == "x-waymark-host" else name
            if name != "user-agent":
                connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, [(name.lower(), value) for name, value in answer.getheaders()], body

    def lifetime(self, answer, policy):
        """Seconds for which an answer is kept at most (Expiration.html, custom-error-pages-expiration.html). The documentation
        does not say whether MinTTL is for errors, too: here it is."""
        status, headers, _ = answer
        said = directives(headers)
        asked = said.get("s-maxage", said.get("max-age"))
        refuses = said.keys() & {"no-store", "no-cache", "private"}
        if status >= 400:
            if refuses and status in ERRORS_THAT_MAY_REFUSE:
                return policy["MinTTL"]
            least = self.errors.get(status, ERROR_SECONDS)
            return max(least, policy["MinTTL"], 0 if refuses else min(int(asked or 0), policy["MaxTTL"]))
        if refuses:
            return policy["MinTTL"]
        if asked is None:
            return max(policy["MinTTL"], policy["DefaultTTL"])
        return min(max(int(asked), policy["MinTTL"]), policy["MaxTTL"])

    def headers(self, sent, behaviour):
        """What the response headers policy leaves and adds (understanding-response-headers-policies.html)."""
        policy = self.stack.resource(behaviour["ResponseHeadersPolicyId"])["ResponseHeadersPolicyConfig"]
        removed = {item["Header"].lower() for item in policy["RemoveHeadersConfig"]["Items"]}
        left = dict(pair for pair in sent if pair[0] not in removed)
        added = [(item["Header"], item["Value"], item["Override"]) for item in policy["CustomHeadersConfig"]["Items"]]
        added.append(("x-content-type-options", "nosniff", policy["SecurityHeadersConfig"]["ContentTypeOptions"]["Override"]))
        return left | {name: value for name, value, override in added if override or name not in left}
