"""Decides what an answer means. Nothing here asks anybody."""
import collections
import dataclasses
import fnmatch
import gzip
import re
import zlib

from table import NotShown, Verdict, ok, seen

# Executions that must be free for crawlers: as many as a new account has in all, beside what else runs.
HTTP_EXECUTIONS = 10
# `sweep` is called by the clock, one at a time.
SWEEP_EXECUTIONS = 1
# AWS's code of the quota "Concurrent executions" of the service `lambda`.
QUOTA = "L-B99A9384"


# -- Answers -----------------------------------------------------------------------------------------------------------

def faults(answer, status):
    """What is wrong with any answer that should have this status."""
    if answer.problem:
        return [str(answer)]
    if answer.status != status:
        return [f"{answer}, and not {status}: {answer.body[:120].decode(errors='replace')}"]
    return []


def verdict(wrong, right):
    return seen("; ".join(wrong)) if wrong else ok(right)


def lengths(answer):
    """The bytes that came, and what the answer said of their number. Lambda renames the header where it streams."""
    for name in ("content-length", "x-amzn-remapped-content-length"):
        if answer.header(name) is not None:
            return f"{len(answer.body):,} bytes, {name}: {answer.header(name)}"
    return f"{len(answer.body):,} bytes, of no length announced"


def wrong_length(answer):
    for name in ("content-length", "x-amzn-remapped-content-length"):
        said = answer.header(name)
        if said is not None and said != str(len(answer.body)):
            return [f"{name} says {said}, and {len(answer.body)} bytes came"]
    return []


def wrong_etag(answer, is_encoded=False):
    """An encoding's ETag is weak, since somebody on the way may undo the encoding."""
    etag, mark, kind = answer.header("etag"), "W/" if is_encoded else "", "weak" if is_encoded else "strong"
    return [] if etag and re.fullmatch(mark + r'"[^"]+"', etag) else [f"its ETag is {etag}, not a {kind} one"]


def head(answer, etag=None):
    wrong = faults(answer, 200)
    if not wrong:
        wrong = wrong_etag(answer)
        if answer.body:
            wrong.append(f"it has a body of {len(answer.body)} bytes")
        if etag and answer.header("etag") != etag:
            wrong.append(f"its ETag is {answer.header('etag')}, and a GET's is {etag}")
    length = answer.header("content-length") or answer.header("x-amzn-remapped-content-length") or "not announced"
    return verdict(wrong, f"200 after {answer.seconds:.2f} s, length {length}")


def not_modified(answer, etag):
    wrong = faults(answer, 304)
    if not wrong and answer.header("etag") != etag:
        wrong.append(f"its ETag is {answer.header('etag')}, and the one that was sent is {etag}")
    return verdict(wrong, f"304 after {answer.seconds:.2f} s")


def refused(answer):
    return verdict(faults(answer, 403), f"403 after {answer.seconds:.2f} s")


def found(answer):
    return verdict(faults(answer, 200), f"200, {lengths(answer)}, {answer.seconds:.2f} s")


def not_found(answer):
    return verdict(faults(answer, 404), f"404, {answer.seconds:.2f} s")


def redirect(answer, host):
    wrong, to = faults(answer, 301), answer.header("location")
    if not wrong and to not in ("/sitemap_index.xml", f"https://{host}/sitemap_index.xml"):
        wrong.append(f"301 to {to}")
    return verdict(wrong, f"301 to {to}, {answer.seconds:.2f} s")


def identity(answer, same_as=None):
    """The document as it is. `same_as` is what came through another door."""
    wrong = faults(answer, 200)
    if not wrong:
        wrong = wrong_etag(answer) + wrong_length(answer)
        if answer.header("content-encoding"):
            wrong.append(f"nobody asked for Content-Encoding: {answer.header('content-encoding')}")
        if not answer.body.rstrip().endswith(b"</urlset>"):
            wrong.append(f"it does not end as a sitemap does: {answer.body[-60:]!r}")
        if same_as is not None and answer.body != same_as:
            wrong.append(f"its {len(answer.body)} bytes are not the {len(same_as)} that came from the URL")
    return verdict(wrong, lengths(answer))


def compressed(answer, document, is_file=False, same_as=None):
    """The document in gzip: as an encoding of it, or as a file of its own."""
    wrong = faults(answer, 200)
    if not wrong:
        wrong = wrong_etag(answer, is_encoded=not is_file) + wrong_length(answer)
        coding, expected = answer.header("content-encoding"), None if is_file else "gzip"
        if coding != expected:
            wrong.append(f"its Content-Encoding is {coding}, not {expected}")
        if answer.body == document:
            wrong.append(f"somebody has inflated it on the way: {lengths(answer)}")
        elif inflated(answer.body) != document:
            wrong.append(f"it is no gzip of the document: {lengths(answer)}, beginning with {answer.body[:8]!r}")
        if same_as is not None and answer.body != same_as:
            wrong.append(f"its {len(answer.body)} bytes are not the {len(same_as)} that came from the URL")
    return verdict(wrong, f"{lengths(answer)}, of a document of {len(document):,}")


def inflated(data):
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def empty_text(answer):
    wrong = faults(answer, 200)
    if not wrong and answer.body != b"\n":
        wrong.append(f"it is not one line break: {answer.body[:60]!r}")
    return verdict(wrong, f"200, {lengths(answer)}, {answer.seconds:.2f} s")


def same_document(answer, document):
    wrong = faults(answer, 200)
    if not wrong and answer.body != document:
        wrong.append(f"it is another document: {lengths(answer)}, {answer.header('content-type')}")
    return verdict(wrong, f"the same {len(document):,} bytes")


def view(answer):
    wrong = faults(answer, 200)
    if not wrong:
        kind, kept = answer.header("content-type") or "", answer.header("cache-control") or ""
        if not kind.startswith("text/html"):
            wrong.append(f"its Content-Type is {kind}, not text/html")
        if "no-store" not in kept:
            wrong.append(f"its Cache-Control is {kept}, without no-store")
    return verdict(wrong, f"{answer.header('content-type')}, {answer.header('cache-control')}")


def crawlers_view(answer):
    wrong = faults(answer, 200)
    if not wrong and "xml" not in (answer.header("content-type") or ""):
        wrong.append(f"its Content-Type is {answer.header('content-type')}, not XML")
    return verdict(wrong, f"{answer.header('content-type')}")


def cached(answers):
    """Of several answers in a row, one must be out of the cache."""
    for answer in answers:
        if answer.problem or answer.status != 200:
            return seen(str(answer))
    said = [answer.header("x-cache") or "no X-Cache" for answer in answers]
    hit = any("hit" in one.lower() for one in said)
    return verdict([] if hit else [f"no hit among {len(answers)}: {', '.join(said)}"], ", ".join(said))


def unavailable(answer):
    wrong = faults(answer, 503)
    if not wrong:
        if "no-store" not in (answer.header("cache-control") or ""):
            wrong.append(f"its Cache-Control is {answer.header('cache-control')}, without no-store")
        if not answer.header("retry-after"):
            wrong.append("it has no Retry-After")
    return verdict(wrong, f"503, Retry-After: {answer.header('retry-after')}, {answer.header('cache-control')}")


def locs(answer):
    """How many addresses a sitemap has, if it is one."""
    return answer.body.count(b"<loc>") if answer.status == 200 and not answer.problem else None


# -- The account -------------------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Stream:
    """An event source: how many stream shards it has, and how many executions each may take."""
    table: str
    shards: int
    factor: int
    state: str = "Enabled"


def executions(limit, unreserved, reserved_for_http, streams):
    """Whether crawlers find a free execution while everything else runs."""
    idle = [f"the event source of {stream.table} is {stream.state}" for stream in streams if stream.state != "Enabled"]
    taken = sum(stream.shards * stream.factor for stream in streams) + SWEEP_EXECUTIONS
    parts = " + ".join(f"{stream.shards} shards of {stream.table} x {stream.factor}" for stream in streams)
    said = f"the account has {limit}, of which {unreserved} are unreserved; {parts} + sweep may take {taken}"
    free = unreserved - taken
    if reserved_for_http:
        return verdict(idle, f"{said}; http has {reserved_for_http} of its own")
    if free < HTTP_EXECUTIONS:
        ask = (f"aws service-quotas request-service-quota-increase --service-code lambda --quota-code {QUOTA} "
               "--desired-value 1000")
        return seen("; ".join([*idle, f"{said}, which leaves {max(free, 0)} for http. Ask for more: `{ask}`"]))
    return verdict(idle, f"{said}, which leaves {free} for http")


def ceilings(tables):
    """Of each table what the parameter says, where 0 is none, and the most read and write units that it has, where -1 is none."""
    wrong = [f"{table} should have {wanted or 'no'} units a second at most, and has {read} read units and {write} write units"
             for table, (wanted, read, write) in tables.items() if {read, write} != {wanted or -1}]
    return seen("; ".join(wrong)) if wrong else ok("; ".join(f"{table}: {wanted or 'none'}" for table, (wanted, _, _) in tables.items()))


def throttled_keys(tables):
    """Of each table the status and the mode of Contributor Insights."""
    wrong = [f"{table} is {status}, {mode}" for table, (status, mode) in tables.items()
             if status not in ("ENABLED", "ENABLING") or mode != "THROTTLED_KEYS"]
    return seen("; ".join(wrong)) if wrong else ok(f"of {len(tables)} tables")


def subscriptions(found):
    """Pairs of address and ARN. An address that has not confirmed gets nothing."""
    waiting = sum(not arn.startswith("arn:") for _, arn in found)
    if not found:
        return seen("the topic has no subscription")
    return seen(f"{waiting} of {len(found)} addresses have not confirmed AWS's first mail") if waiting else ok(f"{len(found)} confirmed")


def alarms(expected, found):
    """`found` are pairs of a name and a state."""
    states = collections.Counter(state for _, state in found)
    missing = sorted(set(expected) - {name for name, _ in found})
    wrong = [f"{name} is in ALARM" for name, state in sorted(found) if state == "ALARM"]
    wrong += [f"{name} does not exist" for name in missing]
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return verdict(wrong, f"{len(found)} alarms: {counts}")


def counters(sums, waited):
    """What CloudWatch has counted so far. `sums` has None where nothing has arrived."""
    if not any(sums.values()):
        raise NotShown(f"no counter arrived within {waited} s; CloudWatch is late at times, so look there in some minutes")
    return ok("; ".join(f"{name} {'not yet there' if value is None else format(value, ',.10g')}"
                        for name, value in sums.items()))


def trouble(sums):
    """Errors and throttles of the functions, which should have none."""
    if all(value is None for value in sums.values()):
        raise NotShown("no counter arrived yet")
    return verdict([f"{name}: {value:,.10g}" for name, value in sums.items() if value],
                   f"none ({', '.join(sums)})")


# -- Roles -------------------------------------------------------------------------------------------------------------

# Writes, which DynamoDB authorises by the leading key; TransactWriteItems is authorised as these.
WRITES = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem")
OBJECTS = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject")
# A prefix that no row has.
OTHER = "OTHER#*"


@dataclasses.dataclass(frozen=True)
class Grant:
    role: str
    resource: str
    keys: tuple
    actions: tuple


@dataclasses.dataclass(frozen=True)
class Question:
    """What a role may do to a resource, at rows with these leading keys if there are any."""
    role: str
    resource: str
    keys: tuple
    expected: tuple # pairs of an action and whether it is allowed

    @property
    def actions(self):
        return [action for action, _ in self.expected]


def grants(text):
    """The list of what each role may do, in docs/SECURITY.md."""
    block, found, role, where = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1], [], None, None
    for line in block.splitlines():
        depth, words = len(line) - len(line.lstrip()), line.split()
        if depth == 0:
            role = words[0]
        elif depth == 2:
            where = words
        else:
            found.append(Grant(role, where[0], tuple(where[1:]), tuple(words)))
    return found


def questions(listed):
    """For each role: each kind of row by itself, the rows of one statement together, as a transaction may have them, and what is
    neither a row nor the role's."""
    rows = [grant for grant in listed if grant.resource == "SitemapTable" and grant.keys]
    prefixes = sorted({key for grant in rows for key in grant.keys}) + [OTHER]
    asked = []
    for role in dict.fromkeys(grant.role for grant in listed):
        own = [grant for grant in rows if grant.role == role]

        def may(action, key):
            return any(action in grant.actions and key in grant.keys for grant in own)

        for key in prefixes:
            asked.append(Question(role, "SitemapTable", (key,), tuple((action, may(action, key)) for action in WRITES)))
        for grant in own:
            asked.append(Question(role, "SitemapTable", grant.keys, tuple((action, True) for action in grant.actions)))
        asked.append(Question(role, "ContentTable", (), tuple((action, False) for action in WRITES)))
        objects = {action for grant in listed if (grant.role, grant.resource) == (role, "SitemapBucket/published/*")
                   for action in grant.actions}
        asked.append(Question(role, "SitemapBucket/published/*", (), tuple((action, action in objects) for action in OBJECTS)))
    return asked


def role(answers):
    """`answers` are pairs of a question and what IAM decided of each of its actions."""
    wrong, decisions = [], 0
    for question, decided in answers:
        for action, is_allowed in question.expected:
            decisions += 1
            decision = decided.get(action, "no decision")
            if decision not in (("allowed",) if is_allowed else ("implicitDeny", "explicitDeny")):
                where = " ".join((question.resource, *question.keys))
                wrong.append(f"{action} on {where}: {decision}, but in docs/SECURITY.md it is {'' if is_allowed else 'not '}allowed")
    return verdict(wrong, f"{decisions} decisions of IAM's simulator are as docs/SECURITY.md says")


# -- Hosts -------------------------------------------------------------------------------------------------------------

def is_alias(host, domain, aliases):
    """Whether a distribution answers to a host."""
    return host == domain or any(fnmatch.fnmatchcase(host, alias) and host.count(".") == alias.count(".") for alias in aliases)
