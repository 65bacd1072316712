#!/usr/bin/env python3
"""Deploys the package as a user would, onto an emulator of AWS on loopback, and uses it.

    deploy.py --tools BIN --waymark BINARY --content FILE.jsonl --package BUNDLE.zip [--checker "COMMAND ..."]

`sam deploy` of a release's bundle, or of the folder that `sam build` made, content loaded by the AWS CLI, the published objects, the function's URL and the
distribution read; then the stack is updated while it is read, functions are killed while content changes, a failure is
redriven, a table of the user's own is joined, and all is taken down. BIN is the bin folder of a venv with the packages of
requirements.txt. --content is of one site, whose host becomes the distribution's. COMMAND is a checker of a running site, which
gets BASE, --map and --expected."""
import argparse
import contextlib
import gzip
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from emulator import COMMAND_SECONDS, Emulator, processes
from front import Front
from package import unpacked

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STACK = "waymark"
# Who hears of alarms; nothing is sent.
MAIL = "ops@example.com"
# Longer than publishing a few thousand pages takes on a busy machine.
PUBLISH_SECONDS = 300
BATCH = 25 # items, BatchWriteItem's bound


def step(text):
    print(f"\n-- {text}", flush=True)


def attribute(value):
    """A JSON value as DynamoDB's."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case list():
            return {"L": [attribute(one) for one in value]}
        case dict():
            return {"M": {name: attribute(one) for name, one in value.items()}}


def item(record):
    return attribute(record)["M"]


class Deployment:
    """The package on an emulator."""

    def __init__(self, emulator, package, waymark):
        self.emulator, self.package, self.waymark = emulator, package, waymark
        self.outputs, self.parameters = {}, {}

    def deploy(self, **parameters):
        """`sam deploy` with these parameters beside the earlier ones."""
        self.parameters |= parameters
        self.sam_deploy()
        stacks = self.emulator.aws("cloudformation", "describe-stacks", "--stack-name", STACK)["Stacks"]
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in stacks[0]["Outputs"]}

    def sam_deploy(self, check=True, extra=None):
        """What `sam` says; it may fail without `check`. `extra` is added to its environment."""
        overrides = self.emulator.folder / "parameters.yaml"
        overrides.write_text(json.dumps(self.parameters))
        return self.emulator.run("sam", "deploy", "--stack-name", STACK, "--config-env", "staging", "--no-progressbar",
                          "--parameter-overrides", f"file://{overrides}", cwd=self.package, check=check, extra=extra)

    def resource(self, logical):
        detail = self.emulator.aws("cloudformation", "describe-stack-resource", "--stack-name", STACK,
                                   "--logical-resource-id", logical)
        return detail["StackResourceDetail"]["PhysicalResourceId"]

    def write(self, records, table=None):
        """Puts records with the AWS CLI."""
        for request in self.requests(records, table):
            file = self.emulator.folder / "request.json"
            file.write_text(json.dumps(request))
            left = self.emulator.aws("dynamodb", "batch-write-item", "--request-items", f"file://{file}")
            assert not left["UnprocessedItems"], left

    def load(self, records):
        """Puts many records: a batch with the AWS CLI, and the others with its library in one process. To start it takes longer than
        to write a batch."""
        self.write(records[:BATCH])
        file = self.emulator.folder / "requests.jsonl"
        requests = self.requests(records[BATCH:], None)
        file.write_text("".join(json.dumps(request) + "\n" for request in requests))
        self.emulator.run(self.emulator.tools / "python", HERE / "batches.py", file)

    def requests(self, records, table):
        """Batches of puts, as `RequestItems`."""
        table = table or self.outputs["ContentTableName"]
        for first in range(0, len(records), BATCH):
            yield {table: [{"PutRequest": {"Item": item(record)}} for record in records[first:first + BATCH]]}

    def delete(self, key, table=None):
        self.emulator.aws("dynamodb", "delete-item", "--table-name", table or self.outputs["ContentTableName"],
                          "--key", json.dumps(item(key)))

    def operator(self, *arguments, status=0):
        """The operator's command, told of the stack as docs/OPERATIONS.md has it."""
        where = [] if "--stack" in arguments else ["--stack", STACK]
        done = subprocess.run([self.waymark, *arguments, *where], env=self.emulator.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_SECONDS)
        assert done.returncode == status, f"waymark {arguments}: status {done.returncode}\n{done.stdout}"
        return done.stdout

    def kill(self, logical):
        """Kills every process of a function, as the machine under it might."""
        name = self.resource(logical)
        killed = 0
        for process in self.emulator.processes("bootstrap"):
            with contextlib.suppress(OSError):
                environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
                if f"AWS_LAMBDA_FUNCTION_NAME={name}".encode() in environment:
                    os.kill(process, signal.SIGKILL)
                    killed += 1
        return killed


def fetched(url, headers=None):
    """Status, headers and body; nothing is followed."""
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None
    request = urllib.request.Request(url, headers=headers or {})
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers, answer.read()


def listed(base):
    """Every loc of every sitemap that the index lists, in the text form; nothing before there is an index."""
    status, _, index = fetched(f"{base}/sitemap_index.xml")
    if status != 200:
        return set()
    locs = set()
    for part in index.decode().split("<loc>")[1:]:
        path = urllib.parse.urlsplit(part.split("</loc>")[0]).path
        status, _, text = fetched(base + path.removesuffix(".xml") + ".txt")
        if status != 200:
            return set()
        locs.update(text.decode().split())
    return locs


def expected(content, folder):
    """What an independent implementation says is to be listed, and the file that says it."""
    records, answer = folder / "content.jsonl", folder / "expected.json"
    records.write_text("".join(json.dumps(record) + "\n" for record in content.values()))
    text = subprocess.run([sys.executable, ROOT / "tests/outside/expected.py", records], check=True, text=True,
                          stdout=subprocess.PIPE, timeout=COMMAND_SECONDS).stdout
    answer.write_text(text)
    return {url["loc"] for url in json.loads(text)["urls"]}, answer


class Reader:
    """Reads a site all the time while it is entered. A request that fails twice is kept: the emulator ends a function's process
    under its requests when the function is updated, which Lambda does not, and a CDN asks again."""

    def __init__(self, base):
        self.base, self.failures, self.requests, self.over = base, [], 0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        return self

    def read(self):
        while not self.over.wait(0.2):
            answers = (fetched(f"{self.base}/sitemap_index.xml")[0] for _ in range(2))
            if 200 not in answers:
                self.failures.append(self.requests)
            self.requests += 1

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(PUBLISH_SECONDS)
        assert not self.thread.is_alive(), f"{self.base} did not answer within {PUBLISH_SECONDS} s"


def run(arguments, emulator, package):
    deployment = Deployment(emulator, package, arguments.waymark)
    wait = emulator.wait_for

    step("sam deploy, into a region without function URLs")
    region = "eu-central-2"
    deployment.parameters = {"Architecture": "x86_64", "HttpAuth": "NONE"}
    said = deployment.sam_deploy(check=False, extra={"AWS_DEFAULT_REGION": region, "AWS_REGION": region})
    assert "Lambda has no function URLs in this region" in said, said
    stacks = emulator.aws("cloudformation", "list-stacks", "--region", region)["StackSummaries"]
    assert not [stack for stack in stacks if stack["StackName"].startswith(STACK)], stacks
    deployment.parameters = {"Architecture": "x86_64", "HttpAuth": "NONE", "AlarmEmail": MAIL, "Monitoring": "none"}
    said = deployment.sam_deploy(check=False)
    assert "With Monitoring=none there is no alarm to mail" in said, said
    deployment.parameters = {}
    print(f"{region} is refused, and so is an address without alarms")

    step("sam deploy, into an empty account")
    deployment.deploy(Architecture="x86_64", HttpAuth="NONE", Sites="", IngestBatchSize="100", ParallelizationFactor="2", AlarmEmail=MAIL)
    mailed = emulator.aws("sns", "list-subscriptions")["Subscriptions"]
    assert [(one["Protocol"], one["Endpoint"]) for one in mailed] == [("email", MAIL)], mailed
    told = {tuple(alarm["AlarmActions"] or alarm["InsufficientDataActions"]) for alarm in emulator.aws("cloudwatch", "describe-alarms")["MetricAlarms"]}
    assert told == {(mailed[0]["TopicArn"],)}, told
    read = [(one["BatchSize"], one["ParallelizationFactor"])
            for one in emulator.aws("lambda", "list-event-source-mappings")["EventSourceMappings"]]
    assert sorted(read) == [(100, 2), (1000, 1)], read
    host = deployment.outputs["DistributionDomain"]
    lines = [json.loads(line) for line in arguments.content.read_text().splitlines() if line.strip()]
    [old] = {record["site"] for record in lines if "site" in record} or {""}
    lines = [json.loads(json.dumps(record).replace(old, host)) for record in lines]
    content = {record["id"]: record for record in lines}
    content.setdefault(f"site/{host}", {"id": f"site/{host}", "type": "site", "site": host})
    function_host = urllib.parse.urlsplit(deployment.outputs["HttpFunctionUrl"]).netloc
    # A viewer's TLS ends at the emulator's door.
    cdn = Front(emulator.endpoint, {"Host": host, "X-Forwarded-Proto": "https"})
    url = Front(emulator.endpoint, {"Host": function_host, "X-Waymark-Host": host})
    with cdn, url:
        step("tests/aws/smoke.py, which is what to run first in an account")
        smoke(deployment)

        def published(base=url.base):
            wanted, _ = expected(content, emulator.folder)
            begun = time.monotonic()
            wait(f"{len(wanted)} addresses are listed", lambda: listed(base) == wanted, PUBLISH_SECONDS)
            print(f"{len(wanted)} addresses listed after {time.monotonic() - begun:.1f} s")

        step(f"{len(content)} records by the AWS CLI and its library, read at the function's URL and through the distribution")
        deployment.load(list(content.values()))
        published()
        published(cdn.base)
        status, headers, _ = fetched(f"{cdn.base}/sitemap.xml")
        assert (status, headers["Location"]) == (301, "/sitemap_index.xml") or headers["Location"].endswith(f"{host}/sitemap_index.xml"), headers
        navigation = {"Sec-Fetch-Dest": "document", "User-Agent": "Mozilla/5.0"}
        _, headers, page = fetched(f"{cdn.base}/sitemap_index.xml", navigation)
        assert headers["Content-Type"].startswith("text/html") and b"<script" in page, "a person sees the view"
        _, headers, _ = fetched(f"{cdn.base}/sitemap_index.xml?view=xml", navigation)
        assert "xml" in headers["Content-Type"], "who asks for XML sees XML"
        _, headers, _ = fetched(f"{cdn.base}/sitemap_index.xml", navigation | {"User-Agent": "Googlebot/2.1"})
        assert "xml" in headers["Content-Type"], "a crawler reads XML"
        status, _, _ = fetched(f"{cdn.base}/sitemap_index.xml", {"X-Waymark-Host": "other.example"})
        assert status == 200, "a viewer does not choose the site"
        status, _, _ = fetched(f"{cdn.base}/waymark-edge/{host}/document/sitemap_index.xml")
        assert status == 404, "a viewer does not ask as the distribution does"

        step("the published objects, by the AWS CLI")
        bucket = deployment.outputs["SitemapBucketName"]
        copy = emulator.folder / "published"
        emulator.run("aws", "s3", "sync", f"s3://{bucket}/published", copy)
        shards = 0
        for path in sorted(copy.rglob("*.xml")):
            status, _, body = fetched(f"{url.base}/{path.name}")
            if status == 200:
                assert gzip.decompress(path.read_bytes()) == body, path
                shards += 1
        assert shards > 1, f"{shards} documents in {sorted(copy.rglob('*'))}"
        print(f"{shards} objects hold what is served")

        if arguments.checker:
            step("the conformance checker, through the distribution")
            _, answer = expected(content, emulator.folder)
            command = [*shlex.split(arguments.checker), cdn.base, "--map", f"https://{host}={cdn.base}", "--expected", answer]
            subprocess.run(command, check=True, timeout=COMMAND_SECONDS)

        step("the operator's commands")
        print(deployment.operator("audit"), end="")
        print(deployment.operator("status"), end="")
        some = min(expected(content, emulator.folder)[0])
        print(deployment.operator("explain", some), end="")
        by_stack(deployment)

        step("an edit, a page taken back, a new one")
        post = {"type": "post", "site": host, "status": "published", "modified_at": "2026-01-02T03:04:05Z"}
        new = {"id": "post/new", "url": f"https://{host}/new/", **post}
        edited = next(record for record in content.values() if record.get("url") == some)
        content |= {new["id"]: new, edited["id"]: edited | {"modified_at": "2026-03-04T05:06:07Z"}}
        gone = max((record for record in content.values() if record["type"] == "post"), key=lambda record: record["url"])
        del content[gone["id"]]
        deployment.write([content[new["id"]], content[edited["id"]]])
        deployment.delete({"id": gone["id"]})
        published()

        step("the stack is updated while it is read and written")
        with Reader(url.base) as reader:
            key = emulator.aws("kms", "create-key")["KeyMetadata"]["Arn"]
            boundary = "arn:aws:iam::aws:policy/PowerUserAccess"
            deployment.deploy(LogRetentionDays="7", HttpConcurrency="5", HttpMemory="768", Tracing="Active",
                              SystemLogLevel="INFO", KmsKeyArn=key, PermissionsBoundaryArn=boundary)
            late = {"id": "post/late", "url": f"https://{host}/late/", **post}
            content[late["id"]] = late
            deployment.write([late])
            published()
            published(cdn.base)
        assert reader.requests and not reader.failures, (reader.requests, reader.failures)
        print(f"{reader.requests} requests in the meantime, each answered with 200")
        groups = emulator.aws("logs", "describe-log-groups")["logGroups"]
        group = next(group for group in groups if group["logGroupName"] == deployment.resource("IngestLogGroup"))
        assert group["retentionInDays"] == 7, group
        function = emulator.aws("lambda", "get-function-configuration", "--function-name", deployment.resource("HttpFunction"))
        assert int(function["MemorySize"]) == 768 and function["TracingConfig"]["Mode"] == "Active", function

        step("functions are killed while content changes")
        killed = 0
        for round in range(10):
            more = [{"id": f"post/{round}/{n}", "url": f"https://{host}/more/{round}/{n}/", **post} for n in range(40)]
            content |= {record["id"]: record for record in more}
            deployment.write(more)
            killed += deployment.kill(("IngestFunction", "RegenerateFunction")[round % 2])
        assert killed, "no process was there to be killed"
        published()
        print(f"{killed} processes killed; {deployment.operator('audit')}", end="")

        step("the sitemap table is replaced")
        before = deployment.outputs["SitemapTableName"]
        with Reader(url.base) as reader:
            deployment.deploy(SitemapTableGeneration="2")
            wait("a new first load", lambda: ": live\n" in deployment.operator("status"), PUBLISH_SECONDS)
        assert not reader.failures, "what was published stays up"
        assert before != deployment.outputs["SitemapTableName"]
        published()
        print(deployment.operator("audit"), end="")

        step("logs are JSON, and metrics are in them")
        metrics = set()
        for logical in ("IngestLogGroup", "RegenerateLogGroup", "SweepLogGroup"):
            events = emulator.aws("logs", "filter-log-events", "--log-group-name", deployment.resource(logical))["events"]
            for event in events:
                with contextlib.suppress(ValueError):
                    line = json.loads(event["message"])
                    for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
                        assert (directive["Namespace"], line["Stack"]) == ("Waymark", STACK), line
                        metrics.update(metric["Name"] for metric in directive["Metrics"])
        for name in ("EntriesWritten", "ShardsPublished", "IndexesPublished", "ListingChanges", "FailuresWaiting"):
            assert name in metrics, (name, metrics)
        print(f"{len(metrics)} metrics: {', '.join(sorted(metrics))}")

        step("a change whose event was given up is redriven")
        lost = {"id": "post/lost", "url": f"https://{host}/lost/", **post}
        mapping = next(one for one in emulator.aws("lambda", "list-event-source-mappings")["EventSourceMappings"]
                       if "ContentTable" in one["EventSourceArn"])
        give_up(deployment, mapping, lost)
        content[lost["id"]] = lost
        assert f"https://{host}/lost/" not in listed(url.base), "its event was lost"
        print(deployment.operator("redrive"), end="")
        published()
        assert deployment.operator("redrive") is not None
        left = emulator.aws("s3api", "list-objects-v2", "--bucket", deployment.outputs["FailureBucketName"])
        assert not (left or {}).get("Contents"), left

        step("a table of the user's own is joined")
        source(deployment, content, host)
        published()
        print(deployment.operator("audit"), end="")

    step("the certificate, the DNS records and the alarms in us-east-1")
    us_east_1(emulator, package, deployment.outputs["DistributionDomain"])

    # As `sam delete`, which at first looks for the nested templates in a bucket at AWS's own address.
    step("the stack is deleted")
    retained = [deployment.outputs[name] for name in ("ContentTableName", "SitemapBucketName", "FailureBucketName")]
    emulator.aws("cloudformation", "delete-stack", "--stack-name", STACK)
    emulator.run("aws", "cloudformation", "wait", "stack-delete-complete", "--stack-name", STACK)
    tables = emulator.aws("dynamodb", "list-tables")["TableNames"]
    buckets = [one["Name"] for one in emulator.aws("s3api", "list-buckets")["Buckets"]]
    assert retained[0] in tables and set(retained[1:]) <= set(buckets), (tables, buckets)
    assert deployment.outputs["SitemapTableName"] not in tables
    print("content, published sitemaps and failures stay; all else is gone")


def by_stack(deployment):
    """What cannot be looked at is one line, and status 2. Stacks of nothing but outputs are of another version, or not ours."""
    emulator = deployment.emulator
    status = json.loads(deployment.operator("status", "--json"))
    assert (status["stack"]["name"], status["stack"]["version"]) == (STACK, status["version"]), status
    nothing = {"Type": "AWS::CloudFormation::WaitConditionHandle"}

    def stack(name, outputs, resource=nothing):
        template = emulator.folder / f"{name}.json"
        template.write_text(json.dumps({"Resources": {"Nothing": resource},
                                        "Outputs": {key: {"Value": value} for key, value in outputs.items()}}))
        emulator.aws("cloudformation", "create-stack", "--stack-name", name, "--template-body", f"file://{template}")
        ended = ("CREATE_COMPLETE", "CREATE_FAILED", "ROLLBACK_COMPLETE")
        return emulator.wait_for(f"{name} is created, or is not", lambda: next(
            (one["StackStatus"] for one in emulator.aws("cloudformation", "describe-stacks", "--stack-name", name)["Stacks"]
             if one["StackStatus"] in ended), None), 60)

    names = {key: value for key, value in deployment.outputs.items() if key.endswith("Name")}
    stack("another-version", names | {"Version": "99.0.0"})
    stack("not-ours", {"Version": "0.1.0"})
    nobody = "arn:aws:lambda:us-east-1:000000000000:function:nobody"
    assert stack("failed", {}, {"Type": "Custom::Nobody", "Properties": {"ServiceToken": nobody}}) == "ROLLBACK_COMPLETE"
    told = {}
    for command in (["status"], ["explain", "x"], ["audit", "--repair"], ["redrive"]):
        for name, expected in [("nowhere", "no stack nowhere in us-east-1"), ("not-ours", "is not a Waymark stack"),
                               ("failed", "is in ROLLBACK_COMPLETE")]:
            told[name] = deployment.operator(*command, "--stack", name, status=2)
            assert expected in told[name] and told[name].count("\n") == 1, (command, told[name])
        line = deployment.operator(*command, "--stack", STACK, "--region", "eu-west-1", status=2)
        assert f"no stack {STACK} in eu-west-1" in line and line.count("\n") == 1, (command, line)
    for command in (["audit", "--repair"], ["redrive"]):
        line = deployment.operator(*command, "--stack", "another-version", status=2)
        assert "and stack another-version has 99.0.0" in line and line.count("\n") == 1, (command, line)
    assert "has 99.0.0" in deployment.operator("status", "--stack", "another-version")
    for name in ("another-version", "not-ours", "failed"):
        emulator.aws("cloudformation", "delete-stack", "--stack-name", name)
    print("".join([*told.values(), line]), end="")


def us_east_1(emulator, package, domain):
    """Deploys infra/us-east-1.yaml as docs/CDN.md has it: for the certificate, and again with the distribution."""
    zone = emulator.aws("route53", "create-hosted-zone", "--name", "example.com", "--caller-reference", "1")["HostedZone"]["Id"]
    zone = zone.split("/")[-1]
    name = f"{STACK}-us-east-1"

    def edge(*parameters):
        emulator.run("aws", "cloudformation", "deploy", "--region", "us-east-1", "--stack-name", name, "--template-file",
                     package / "infra/us-east-1.yaml", "--parameter-overrides", f"HostedZoneId={zone}", "Host=www.example.com",
                     "OtherHost=example.com", *parameters)
        [stack] = emulator.aws("cloudformation", "describe-stacks", "--stack-name", name)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    certificate = edge()["CertificateArn"]
    listed = emulator.aws("cloudfront", "list-distributions", "--query", f"DistributionList.Items[?DomainName=='{domain}'].Id")
    assert len(listed) == 1, listed
    assert edge(f"DistributionDomain={domain}", f"DistributionId={listed[0]}")["CertificateArn"] == certificate, "it is kept"
    records = emulator.aws("route53", "list-resource-record-sets", "--hosted-zone-id", zone)["ResourceRecordSets"]
    aliases = {(one["Name"], one["Type"]) for one in records if one.get("AliasTarget", {}).get("DNSName", "").startswith(domain)}
    assert aliases == {(host, kind) for host in ("www.example.com.", "example.com.") for kind in ("A", "AAAA")}, records
    alarms = emulator.aws("cloudwatch", "describe-alarms", "--alarm-name-prefix", name)["MetricAlarms"]
    assert not alarms, "both are metric math, which `reduced.py` has taken out; tests/deploy/alarms_test.py tries their expressions"
    emulator.aws("cloudformation", "delete-stack", "--stack-name", name)
    emulator.run("aws", "cloudformation", "wait", "stack-delete-complete", "--stack-name", name)
    print(f"{len(aliases)} records")


# The facts of smoke.py that this emulator can show. Of all others it must say that they were not shown.
SHOWN = {
    "URL: redirect", "URL: 404", "a load: to the origin", "URL: identity", "edge: a load", "edge: identity", "edge: redirect",
    "edge: 404", "edge: a viewer cannot choose the site", "edge: a person sees the view", "edge: a crawler's navigation gets XML",
    "an edit: to the origin", "URL: a damaged object", "URL: the object is whole again", "the site is taken off",
}


def smoke(deployment):
    """Runs smoke.py to its end, interrupts it, and kills it. It leaves no record, or says how to delete what is left."""
    emulator, table = deployment.emulator, deployment.outputs["ContentTableName"]
    command = ["python3", ROOT / "tests/aws/smoke.py", "--stack", STACK, "--emulator", emulator.endpoint]

    def left():
        return emulator.aws("dynamodb", "scan", "--table-name", table, "--select", "COUNT")["Count"]

    def stopped(by):
        """Its status, if it is stopped while its records are there: it says what it does."""
        process = subprocess.Popen([str(part) for part in command], env=emulator.environment, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with processes.limit(process, COMMAND_SECONDS), process:
            for line in process.stderr:
                if line.startswith("editing"):
                    process.send_signal(by)
            return process.wait(PUBLISH_SECONDS)

    text = emulator.run(*command, "--break")
    print(text, end="")
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in text.splitlines() if line.startswith("| ")][1:]
    assert rows and dict(rows) == {name: "ok" if name in SHOWN else "not shown" for name, _ in rows}
    assert SHOWN <= dict(rows).keys(), SHOWN - dict(rows).keys()
    assert left() == 0, "its records are deleted"
    assert (stopped(signal.SIGTERM), left()) == (130, 0), "also if it is interrupted"
    assert stopped(signal.SIGKILL) == -signal.SIGKILL and left(), "it had no time for that"
    refused = subprocess.run([str(part) for part in command], env=emulator.environment, text=True, capture_output=True,
                             timeout=COMMAND_SECONDS)
    assert refused.returncode == 2 and "--clean" in refused.stderr, refused
    print(emulator.run(*command, "--clean"), end="")
    assert left() == 0


def give_up(deployment, mapping, record):
    """Writes a record whose event nobody gets, and the object that Lambda leaves of a batch that it has given up."""
    emulator = deployment.emulator
    uuid, function = mapping["UUID"], mapping["FunctionArn"].split(":")[-1]

    def is_enabled(state):
        return emulator.aws("lambda", "get-event-source-mapping", "--uuid", uuid)["State"] == state

    emulator.aws("lambda", "update-event-source-mapping", "--uuid", uuid, "--no-enabled")
    emulator.wait_for("the mapping is disabled", lambda: is_enabled("Disabled"), 60)
    deployment.write([record])
    # The mapping that takes over begins behind the record, as Lambda's goes on behind what it gave up.
    emulator.aws("lambda", "delete-event-source-mapping", "--uuid", uuid)
    emulator.aws("lambda", "create-event-source-mapping", "--function-name", function, "--event-source-arn",
                 mapping["EventSourceArn"], "--starting-position", "LATEST", "--batch-size", "200")
    event = {"Records": [{
        "eventID": "1", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
        "eventSourceARN": mapping["EventSourceArn"],
        "dynamodb": {"ApproximateCreationDateTime": int(time.time()), "Keys": {"id": {"S": record["id"]}},
                     "SequenceNumber": "111", "SizeBytes": 20, "StreamViewType": "KEYS_ONLY"}}]}
    failure = {
        "requestContext": {"requestId": "00000000-0000-0000-0000-000000000000", "functionArn": mapping["FunctionArn"],
                           "condition": "MaximumRecordAgeExceeded", "approximateInvokeCount": 900},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0", "timestamp": "2026-01-02T03:04:05.678Z",
        "DDBStreamBatchInfo": {"shardId": "shardId-0", "startSequenceNumber": "111", "endSequenceNumber": "111",
                               "approximateArrivalOfFirstRecord": "2026-01-01T03:04:05Z",
                               "approximateArrivalOfLastRecord": "2026-01-01T03:04:05Z", "batchSize": 1,
                               "streamArn": mapping["EventSourceArn"]},
        "payload": json.dumps(event),
    }
    path = emulator.folder / "failure.json"
    path.write_text(json.dumps(failure))
    key = f"aws/lambda/{uuid}/{function}/2026/01/02/2026-01-02T03.04.05-00000000-0000-0000-0000-000000000000"
    emulator.run("aws", "s3", "cp", path, f"s3://{deployment.outputs['FailureBucketName']}/{key}")


# A table as single-table designs have it: several kinds of items, a composite key, words and times of its own.
TABLE = "their-posts"
KEY = [{"pk": "S"}, {"sk": "N"}]


def mapping(host, key):
    return json.dumps({
        "key": key,
        "only": {"entity": "POST"},
        "fields": {
            "type": {"constant": "post"},
            "url": {"template": f"https://{host}/theirs/{{slug}}/"},
            "status": {"path": "state", "values": {"live": "published", "*": "draft"}},
            "modified_at": {"path": "meta.updated", "time": "seconds"},
        },
    }, separators=(",", ":"))


def source(deployment, content, host):
    """A table of the user's own is joined: first with a mapping that is not its key's, then rightly."""
    emulator = deployment.emulator
    emulator.aws("dynamodb", "create-table", "--table-name", TABLE, "--billing-mode", "PAY_PER_REQUEST",
                 "--attribute-definitions", "AttributeName=pk,AttributeType=S", "AttributeName=sk,AttributeType=N",
                 "--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE")

    def theirs(n, **fields):
        return {"pk": f"POST#{n}", "sk": n, "entity": "POST", "slug": f"the {n}th", "state": "live", "meta": {"updated": 1767323045},
                **fields}

    def ours(n):
        return {"id": f"theirs/{n}", "site": host, "type": "post", "url": f"https://{host}/theirs/the {n}th/",
                "status": "published", "modified_at": "2026-01-02T03:04:05Z"}

    # These are older than the stream: only the scan finds them.
    items = [theirs(n) for n in range(60)] + [theirs(60, state="in review"), theirs(61, entity="COMMENT")]
    deployment.write(items, TABLE)
    content |= {f"theirs/{n}": ours(n) for n in range(60)}
    stream = emulator.aws("dynamodb", "update-table", "--table-name", TABLE, "--stream-specification",
                          "StreamEnabled=true,StreamViewType=NEW_IMAGE")["TableDescription"]["LatestStreamArn"]
    joined = {"SourceTable": TABLE, "SourceStreamArn": stream}
    before = deployment.parameters
    deployment.parameters = before | joined | {"SourceMapping": mapping(host, KEY[:1])}
    deployment.sam_deploy(check=False)
    deployment.parameters = before
    [stack] = emulator.aws("cloudformation", "describe-stacks", "--stack-name", STACK)["Stacks"]
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE", "a mapping without the table's sort key is not deployed"
    events = emulator.aws("cloudformation", "describe-stack-events", "--stack-name", STACK)["StackEvents"]
    [reason, *_] = [event["ResourceStatusReason"] for event in events
                    if event["LogicalResourceId"] == "SourceCheck" and event["ResourceStatus"].endswith("_FAILED")]
    assert "sk" in reason, reason
    print(f"refused: {reason}")
    deployment.deploy(**joined, SourceMapping=mapping(host, KEY))
    deployment.operator("status")
    # And these come by the stream.
    deployment.write([theirs(62), theirs(0, state="gone")], TABLE)
    content["theirs/62"] = ours(62)
    del content["theirs/0"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--waymark", type=pathlib.Path, required=True)
    parser.add_argument("--content", type=pathlib.Path, required=True)
    parser.add_argument("--package", type=pathlib.Path, required=True, help="a bundle, or what `sam build` made")
    parser.add_argument("--checker")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/deploy")
    arguments = parser.parse_args()
    arguments.waymark = arguments.waymark.resolve()
    with Emulator(arguments.tools.resolve(), arguments.folder.resolve()) as emulator:
        run(arguments, emulator, unpacked(arguments.package.resolve(), emulator.folder / "package"))
    print("\ndeployed, used and taken down")


if __name__ == "__main__":
    main()
