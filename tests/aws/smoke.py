#!/usr/bin/env python3
"""Looks whether a deployed stack does in AWS what nothing but AWS can show, and prints a table of facts.

    smoke.py --stack NAME [--site HOST] [--break]
    smoke.py --stack NAME --clean       removes the records that an interrupted run has left

Needs boto3 and Python 3.10, with credentials and region as the AWS CLI has them. It deploys nothing. It writes records of its own
into the content table, which make a site of its own, and deletes them at the end, also if it is interrupted. What stays of them is
what stays of any site that is taken off: the next run takes it up again.

The site's host is that of the stack's distribution, if that is no site of yours; --site names another, which has to be an alias of
the distribution, or reach your own CDN. --break also damages an object of that site for a moment, and puts it back.

The status is 0 if each fact is ok or cannot be shown, 1 if one is not as it should be, and 2 if nothing can be told. For its own
test, --emulator URL asks an emulator of AWS, and says of what that cannot show that it is not shown."""
import argparse
import datetime
import pathlib
import secrets
import signal
import sys
import time
import urllib.parse

import judge
import records
from door import Door
from facts import FACTS, ROLES
from table import NOT_SHOWN, SEEN, NotShown, Table, Verdict, ok, seen

try:
    from deployed import CLOUDFRONT_REGION, Deployed, Taken, Usage, boto3, failures, is_denied
except ImportError as error: # without boto3; `main` says so, and what decides is tested without it
    MISSING = error
else:
    MISSING = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Seconds. An answer without a body either comes at once or, where a streamed function URL hangs, not at all.
BRIEF = 10
# Cold starts, the streams' first records, and a scan of what is there.
LOAD = 300
# An edit takes seconds.
EDIT = 120
# Caches keep a document for a minute, and may show it for another while they ask.
EDGE = 60 + 60 + EDIT
# CloudWatch is a few minutes late.
METRICS = 300
# How often to look again.
PAUSE, METRICS_PAUSE = 0.5, 15
# Answers in a row, of which one should come out of the cache: there are several caches at a place.
CACHED = 5

FUNCTIONS = {"ingest": "IngestFunction", "regenerate": "RegenerateFunction", "http": "HttpFunction", "sweep": "SweepFunction"}
FILE = "/sitemap.xsl" # every site has it


class Stop(Exception):
    """Nothing of what comes next can be told."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def waited(what, look, holds, seconds, pause=PAUSE):
    """Looks until something holds; the last look, and after how long that was. Says what was seen if that is too long."""
    begun = time.monotonic()
    while True:
        found = look()
        took = time.monotonic() - begun
        if holds(found):
            return found, took
        if took > seconds:
            raise Late(f"not within {seconds} s: {what}; the last answer: {found}")
        time.sleep(pause)


class Late(Exception):
    """Something was waited for in vain."""


class Run:
    """One run: its facts, and what they need to know of each other."""

    def __init__(self, deployed, table, site, edge, why_no_edge, url, anonymous, is_breaking):
        self.deployed, self.table, self.site = deployed, table, site
        self.edge, self.why_no_edge, self.url, self.anonymous = edge, why_no_edge, url, anonymous
        self.is_breaking = is_breaking
        self.began = datetime.datetime.now(datetime.timezone.utc).replace(second=0, microsecond=0)
        self.records = records.of_site(site, secrets.token_hex(8), self.began - datetime.timedelta(days=2))
        self.document = None

    def fact(self, name, look):
        """A line of the table. What fails is what was seen; what is not allowed is not shown."""
        try:
            self.table.put(name, look())
        except NotShown as why:
            self.table.put(name, Verdict(NOT_SHOWN, str(why)))
        except Late as late:
            self.table.put(name, seen(str(late)))
        except (failures.ClientError, failures.BotoCoreError) as error:
            if not is_denied(error):
                self.table.put(name, seen(str(error)))
            else:
                self.table.put(name, Verdict(NOT_SHOWN, f"you may not ask: {error}"))

    def at_edge(self, name, look):
        def looked():
            if not self.edge:
                raise NotShown(self.why_no_edge)
            return look()
        self.fact(f"edge: {name}", looked)

    # -- Before there is a record ------------------------------------------------------------------------------------

    def answers(self):
        """What may hang comes first."""
        head = self.url.ask(FILE, method="HEAD", limit=BRIEF)
        self.fact("URL: HEAD of a file", lambda: judge.head(head))
        file = self.url.ask(FILE)
        etag = file.header("etag") or '"none"'
        self.fact("URL: 304 of a file", lambda: judge.not_modified(
            self.url.ask(FILE, {"If-None-Match": etag}, limit=BRIEF), etag))
        self.fact("URL: a signed request is answered", lambda: judge.found(file))
        self.fact("URL: an unsigned request is refused", lambda: judge.refused(self.anonymous.ask(FILE, limit=BRIEF)))
        if file.status == 403:
            raise Stop("the function's URL refuses your signed requests: you need lambda:InvokeFunctionUrl and "
                       "lambda:InvokeFunction on the stack's HttpFunction")
        if file.status != 200 or file.problem:
            raise Stop("the function's URL does not answer as it should")
        self.fact("URL: redirect", lambda: judge.redirect(self.url.ask("/sitemap.xml"), self.site))
        self.fact("URL: 404", lambda: judge.not_found(self.url.ask("/no-such-sitemap.xml")))

    def account(self):
        self.fact("concurrent executions", lambda: judge.executions(
            *self.deployed.limits(), int(self.deployed.parameters.get("HttpConcurrency", 0)), self.deployed.streams()))
        tables = {logical: f"{logical.removesuffix('Table')}MaxUnits" for logical in ("ContentTable", "SitemapTable")}
        self.fact("the tables' ceilings", lambda: judge.ceilings(
            {logical: (int(self.deployed.parameters.get(name, 0)), *self.deployed.ceiling(logical)) for logical, name in tables.items()}))

        def recorded():
            if self.deployed.parameters.get("Monitoring") != "full":
                raise NotShown("only with Monitoring=full")
            return judge.throttled_keys({logical: self.deployed.insights(logical) for logical in tables})
        self.fact("throttled keys are recorded", recorded)
        asked = judge.questions(judge.grants((ROOT / "docs/SECURITY.md").read_text()))
        for role, function in ROLES.items():
            def decided():
                say(f"asking IAM what {role} may do")
                arns, role_arn, answers = {}, self.deployed.role_arn(function), []
                for question in (one for one in asked if one.role == role):
                    resource = question.resource
                    arns[resource] = arns.get(resource) or self.deployed.arn_of(resource)
                    answers.append((question, self.deployed.decided(role_arn, arns[resource], question)))
                return judge.role(answers)
            self.fact(f"{role}: what it may do", decided)

    # -- With records ------------------------------------------------------------------------------------------------

    def load(self):
        say(f"writing {len(self.records)} records of the site {self.site}, and waiting until they are published")
        self.deployed.put(self.records)

        def published():
            _, took = waited("the index lists both sitemaps", lambda: self.url.ask("/sitemap_index.xml"),
                             lambda answer: judge.locs(answer) == 2, LOAD)
            answer, more = waited(f"{records.PAGES} pages in {records.SITEMAP}", lambda: self.url.ask(records.SITEMAP),
                                  lambda answer: judge.locs(answer) == records.PAGES, LOAD)
            self.document = answer.body
            return ok(f"{len(self.records)} records were written, and published after {took + more:.1f} s: the content table's "
                      "stream, a transaction of IngestRole, the sitemap table's stream, the bucket")
        self.fact("a load: to the origin", published)
        if self.document is None:
            raise Stop("the first records were not published")

    def documents(self):
        path, gzip = records.SITEMAP, {"Accept-Encoding": "gzip"}
        plain = self.url.ask(path)
        etag = plain.header("etag") or '"none"'
        self.fact("URL: HEAD of a sitemap", lambda: judge.head(self.url.ask(path, method="HEAD", limit=BRIEF), etag))
        self.fact("URL: 304 of a sitemap", lambda: judge.not_modified(
            self.url.ask(path, {"If-None-Match": etag}, limit=BRIEF), etag))
        self.fact("URL: identity", lambda: judge.identity(plain))
        packed, file = self.url.ask(path, gzip), self.url.ask(f"{path}.gz")
        self.fact("URL: gzip", lambda: judge.compressed(packed, self.document))
        self.fact("URL: gzip file", lambda: judge.compressed(file, self.document, is_file=True))

        def arrived():
            say(f"waiting until the edge shows them at https://{self.site}")
            answer, took = waited("the edge shows the sitemap that the URL shows", lambda: self.edge.ask(path),
                                  lambda answer: answer.body == self.document and not answer.problem, EDGE)
            return ok(f"after {took:.1f} s, {answer.header('via') or 'no Via'}")
        self.at_edge("a load", arrived)
        self.at_edge("HEAD of a sitemap", lambda: judge.head(self.edge.ask(path, method="HEAD", limit=BRIEF), etag))
        self.at_edge("304 of a sitemap", lambda: judge.not_modified(
            self.edge.ask(path, {"If-None-Match": etag}, limit=BRIEF), etag))
        self.at_edge("identity", lambda: judge.identity(self.edge.ask(path), plain.body))
        self.at_edge("gzip", lambda: judge.compressed(self.edge.ask(path, gzip), self.document, same_as=packed.body))
        self.at_edge("gzip file", lambda: judge.compressed(
            self.edge.ask(f"{path}.gz"), self.document, is_file=True, same_as=file.body))
        self.at_edge("redirect", lambda: judge.redirect(self.edge.ask("/sitemap.xml"), self.site))
        self.at_edge("404", lambda: judge.not_found(self.edge.ask("/no-such-sitemap.xml")))
        self.at_edge("a viewer cannot choose the site", lambda: judge.same_document(
            self.edge.ask(path, {"x-waymark-host": "other.invalid"}), self.document))
        navigation = {"Sec-Fetch-Dest": "document", "User-Agent": "Mozilla/5.0"}
        self.at_edge("a person sees the view", lambda: judge.view(self.edge.ask(path, navigation)))
        self.at_edge("a crawler's navigation gets XML", lambda: judge.crawlers_view(
            self.edge.ask(path, navigation | {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"})))
        self.at_edge("the cache keeps a sitemap", lambda: judge.cached([self.edge.ask(path) for _ in range(CACHED)]))

    def edit(self):
        say("editing a page")
        stamp = records.when(datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1))
        self.records[0] = self.records[0] | {"modified_at": stamp}
        begun = time.monotonic()
        self.deployed.change(self.records[0])

        def shown(door, seconds):
            waited(f"{stamp[:-1]} in {records.SITEMAP}", lambda: door.ask(records.SITEMAP),
                   lambda answer: stamp[:-1].encode() in answer.body, seconds)
            return ok(f"after {time.monotonic() - begun:.1f} s")

        def at_edge():
            if not self.edge:
                raise NotShown(self.why_no_edge)
            return shown(self.edge, EDGE)
        self.fact("an edit: to the origin", lambda: shown(self.url, EDIT))
        self.fact("an edit: to the edge", at_edge)

    def empty(self):
        say("deleting the only page of a sitemap")
        gone = next(record for record in self.records if record["type"] == "smoke-gone")
        self.deployed.delete([gone])
        text = records.EMPTIED.replace(".xml", ".txt")

        def emptied():
            waited("the sitemap is empty", lambda: self.url.ask(records.EMPTIED), lambda answer: judge.locs(answer) == 0, EDIT)
            return judge.empty_text(self.url.ask(text, limit=BRIEF))
        self.fact("URL: text of an emptied sitemap", emptied)
        self.at_edge("text of an emptied sitemap", lambda: judge.empty_text(self.edge.ask(text, limit=BRIEF)))

    def damage(self):
        """Inverts a byte in the middle of an object of this run's site, and puts it back."""
        if not self.is_breaking:
            why = Verdict(NOT_SHOWN, "only with --break: it damages an object of the run's own site for a moment")
            self.table.put("URL: a damaged object", why)
            self.table.put("URL: the object is whole again", why)
            return
        say("damaging an object of the run's own site")
        key = f"published/{self.site}{records.SITEMAP}"

        def damaged():
            body, like = self.deployed.object(key)
            middle = len(body) // 2
            broken = body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1:]
            etag = self.deployed.replace_object(key, broken, like, like["ETag"])
            try:
                return judge.unavailable(self.url.ask(records.SITEMAP))
            finally:
                # If somebody has published it meanwhile, it is whole, and this fails.
                self.deployed.replace_object(key, body, like, etag)
        self.fact("URL: a damaged object", damaged)
        self.fact("URL: the object is whole again", lambda: judge.identity(self.url.ask(records.SITEMAP)))

    # -- Without them ------------------------------------------------------------------------------------------------

    def clean(self):
        say("deleting the records")
        self.deployed.delete(self.records)

    def taken_off(self):
        def empty():
            _, took = waited("the sitemap is empty", lambda: self.url.ask(records.SITEMAP),
                             lambda answer: judge.locs(answer) == 0 or answer.status == 404, EDIT)
            return ok(f"its records are deleted; its sitemap is empty after {took:.1f} s")
        self.fact("the site is taken off", empty)

    def watched(self):
        def states():
            if self.deployed.parameters.get("Monitoring") == "none":
                raise NotShown("the stack has none: Monitoring=none")
            return judge.alarms(*self.deployed.alarms())
        self.fact("alarms", states)

        def reach():
            if not self.deployed.parameters.get("AlarmEmail"):
                raise NotShown("the stack has no AlarmEmail")
            return judge.subscriptions(self.deployed.subscriptions())
        self.fact("alarms reach somebody", reach)

    def bill(self):
        functions = {name: {"FunctionName": self.deployed.resource(logical)} for name, logical in FUNCTIONS.items()}
        tables = {"content table": self.deployed.outputs["ContentTableName"],
                  "sitemap table": self.deployed.outputs["SitemapTableName"]}
        billed = {f"{name} {metric}": ("AWS/Lambda", metric, dimensions)
                  for name, dimensions in functions.items() for metric in ("Invocations", "Duration")}
        billed |= {f"{name} {metric}": ("AWS/DynamoDB", metric, {"TableName": table})
                   for name, table in tables.items() for metric in ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")}
        trouble = {f"{name} {metric}": ("AWS/Lambda", metric, dimensions)
                   for name, dimensions in functions.items() for metric in ("Errors", "Throttles")}
        # One that a function has at each call, and one of a table.
        awaited = ("ingest Invocations", "http Invocations", "sitemap table ConsumedWriteCapacityUnits")
        end = self.began + datetime.timedelta(hours=1)
        sums = {}

        def counted():
            say(f"waiting for CloudWatch, {METRICS} s at most")
            try:
                waited("counters", lambda: sums.update(self.deployed.sums(billed, self.began, end)) or sums,
                       lambda sums: all(sums[name] is not None for name in awaited), 0 if self.table.emulator else METRICS,
                       METRICS_PAUSE)
            except Late:
                pass # the line shows what has not arrived
            if self.edge and "Cdn" in self.deployed.resources:
                of = {"DistributionId": self.deployed.nested("Cdn")["Distribution"][1], "Region": "Global"}
                cloudfront = {f"CloudFront {metric}": ("AWS/CloudFront", metric, of) for metric in ("Requests", "BytesDownloaded")}
                sums.update(self.deployed.sums(cloudfront, self.began, end, CLOUDFRONT_REGION))
            shown = judge.counters(sums, METRICS)
            return Verdict(shown.state, f"of the whole stack since {self.began:%H:%M} UTC, Duration in ms: {shown.detail}")
        self.fact("the bill's counters", counted)
        self.fact("functions' errors and throttles", lambda: judge.trouble(self.deployed.sums(trouble, self.began, end)))

    def facts(self):
        """All of them. The records are gone afterwards, whatever happens."""
        why = "the run was interrupted"
        try:
            try:
                self.answers()
                self.account()
                self.with_records()
                self.taken_off()
            except Stop as stop:
                why = str(stop)
            self.watched()
            self.bill()
        except Usage as usage:
            why = str(usage)
            raise
        finally:
            self.table.close(why)

    def with_records(self):
        is_ours = True
        try:
            self.load()
            self.documents()
            self.edit()
            self.empty()
            self.damage()
        except Taken:
            is_ours = False # nothing was written
            raise
        finally:
            if is_ours:
                self.clean()


def chosen(deployed, given):
    """The host of the run's site, and why the edge cannot be asked for it, if it cannot."""
    domain = deployed.outputs.get("DistributionDomain")
    if given:
        if why := deployed.occupied(given):
            raise Usage(f"{why}. Name a host that is nobody's, --site")
        if domain and not judge.is_alias(given, domain, deployed.list_of("Aliases")):
            return given, f"{given} is no name of the stack's distribution"
        return given, None
    if not domain:
        return records.NOWHERE, "the stack has no distribution; name a host that reaches your CDN and is no site, --site"
    if why := deployed.occupied(domain):
        say(f"{why}: the edge is left out")
        return records.NOWHERE, f"{why}; name an alias of the distribution that is no site, --site"
    return domain, None


def removed(deployed, given):
    """Deletes the records that interrupted runs have left; how many."""
    left = deployed.get(records.ids())
    hosts = {record.get("site") for record in left} | {given, deployed.outputs.get("DistributionDomain"), records.NOWHERE}
    left += deployed.get(sorted(f"site/{host}" for host in hosts if host))
    left = [record for record in left if records.MARK in record]
    if left:
        deployed.delete(left)
    return len(left)


def started(arguments, deployed):
    """A run with its doors."""
    site, why_no_edge = chosen(deployed, arguments.site)
    function = urllib.parse.urlsplit(deployed.outputs["HttpFunctionUrl"]).netloc
    named, address, plain = {"x-waymark-host": site}, None, False
    if arguments.emulator:
        emulator = urllib.parse.urlsplit(arguments.emulator)
        address, plain = (emulator.hostname, emulator.port or 80), True
    url = Door(function, address, sign=deployed.signer(function, site), is_plain=plain)
    anonymous = Door(function, address, headers=named, is_plain=plain)
    edge = None
    if not why_no_edge:
        domain = deployed.outputs.get("DistributionDomain")
        # The name's DNS record need not lead there yet. What an emulator is asked over has no TLS.
        edge = Door(site, address or (domain or site, 443), is_plain=plain, headers={"X-Forwarded-Proto": "https"} if plain else None)
    table = Table(FACTS, emulator=bool(arguments.emulator), write=lambda line: print(line, flush=True))
    return Run(deployed, table, site, edge, why_no_edge, url, anonymous, arguments.is_breaking)


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", required=True, metavar="NAME", help="the stack's name in CloudFormation")
    parser.add_argument("--site", metavar="HOST", help="host of the run's own site")
    parser.add_argument("--break", dest="is_breaking", action="store_true", help="damage an object of that site for a moment")
    parser.add_argument("--clean", action="store_true", help="delete what an interrupted run has left")
    parser.add_argument("--emulator", metavar="URL", help="ask an emulator of AWS there")
    arguments = parser.parse_args()
    if MISSING:
        say(f"smoke.py needs boto3 ({MISSING}): python3 -m venv smoke-venv && smoke-venv/bin/pip install boto3, "
            "then run it with smoke-venv/bin/python3")
        return 2
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), interrupted)
    try:
        deployed = Deployed(arguments.stack, arguments.emulator)
        if arguments.clean:
            print(f"{removed(deployed, arguments.site)} records deleted")
            return 0
        run = started(arguments, deployed)
        print(f"Waymark {deployed.outputs.get('Version', 'of unknown version')}, stack {deployed.stack}, {deployed.region}, "
              f"{run.began:%Y-%m-%d %H:%M} UTC, boto3 {boto3.__version__}\n")
        run.table.head()
        run.facts()
        print(f"\n{run.table.summary()}")
        return 1 if run.table.count(SEEN) else 0
    except Usage as usage:
        say(f"smoke.py: {usage}")
        return 2
    except KeyboardInterrupt:
        say(f"smoke.py: interrupted; if its records were not deleted: smoke.py --stack {arguments.stack} --clean")
        return 130


if __name__ == "__main__":
    sys.exit(main())
