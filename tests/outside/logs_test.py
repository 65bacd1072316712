#!/usr/bin/env python3
"""Reads the access logs of real servers: each is asked for what trips readers up, and what is read of each line is compared with
what was asked and answered.

    logs_test.py [--requests PATH] [--server NAME]... [--record FOLDER]

Of a server that is not installed nothing is tested: the script says so, and ends with status 3 if nothing else is wrong. The
servers listen on loopback and write into a temporary folder. `--record` writes the lines for the tests of shared/crawl."""
import argparse
import dataclasses
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/outside")]
import log_servers  # noqa: E402
import processes  # noqa: E402
from log_servers import ANSWERS_WITHIN, SERVERS, SLOW  # noqa: E402

# The exit status if a server is missing.
NOT_DONE = 3
# Seconds in which a line is written, and a command ends.
WRITES_WITHIN, ENDS_WITHIN = 15, 120
# Seconds after a request in which a server that must not write of it would.
SILENT_FOR = 0.3
HOST = b"localhost:1"
AGENT = b"GPTBot/1.2 (+https://openai.com/gptbot)"
NONE = object()


@dataclasses.dataclass
class Case:
    """What is sent, and so what has to be read of its line, but for `QUIRKS`."""
    name: str
    target: bytes = b"/index.html"
    method: bytes = b"GET"
    agents: tuple = (AGENT,)
    headers: bytes = b""
    protocol: bytes = b" HTTP/1.1"
    raw: bytes = None
    close: str = "after"

    def bytes(self):
        if self.raw is not None:
            return self.raw
        agents = b"".join(b"User-Agent: " + agent + b"\r\n" for agent in self.agents)
        return (self.method + b" " + self.target + self.protocol + b"\r\nHost: " + HOST + b"\r\n" + agents + self.headers
                + b"Connection: close\r\n\r\n")


CASES = [
    Case("plain"),
    Case("escapes", b"/caf%C3%A9?q=a%20b&x=%22y%22", agents=('My"Bot\\1.0 é\t|'.encode(),), headers=b"Referer: http://r/\tx\"\\\r\n"),
    Case("lower case", b"/%c3%a9/%69ndex.html"),
    Case("slashes", b"//index.html"),
    Case("dots", b"/dir/../index.html"),
    Case("fragment", b"/index.html#part"),
    Case("absolute", b"http://other.example/x?y"),
    Case("utf-8", "/é?é".encode()),
    Case("latin-1", b"/\xe9"),
    Case("quotes", b'/a"b\\"c\\x41\\'),
    Case("blank", b"/index.html?a b"),
    Case("no agent", agents=()),
    Case("empty agent", agents=(b"",)),
    Case("two agents", agents=(b"one", b"two")),
    Case("user", headers=b"Authorization: Basic YSBiOnB3\r\n"),  # `a b` with the password `pw`
    Case("user with a bracket", headers=b"Authorization: Basic YSBbYl06cHc=\r\n"),  # `a [b]`
    Case("head", method=b"HEAD"),
    Case("old", protocol=b" HTTP/1.0"),
    Case("unknown method", method=b"FOO"),
    Case("long target", b"/" + b"t" * 2999),
    Case("long agent", agents=(b"GPTBot " + b"u" * 2993,)),
    Case("gone", log_servers.SLOW_PATH, close="early"),
    Case("nothing", raw=b""),
    Case("tls", raw=b"\x16\x03\x01\x00\x05hello\r\n\r\n"),
]


BADREQ = {"unread": "NotHttp"}
NO_AGENT = {"agent": None}
# What differs from what was sent, by server and case: fields, a reason not to read the line, or `NONE` for no line.
QUIRKS = {
    "nginx": {
        "blank": NO_AGENT, "gone": {"status": 499}, "tls": BADREQ,
    },
    "apache": {
        "fragment": NO_AGENT, "blank": NO_AGENT, "two agents": {"agent": b"one, two"}, "gone": {"status": 200}, "tls": BADREQ,
    },
    "caddy": {
        "absolute": {"host": b"other.example"}, "latin-1": {"target": b"/\xef\xbf\xbd"}, "blank": NONE, "tls": NONE,
    },
    "varnish": {
        "two agents": {"agent": b"two"}, "gone": {"status": 200}, "long target": {"is_cut": True}, "tls": {"unread": "NoRequest"},
        "blank": {"unread": "NoRequest"}, "unknown method": {"unread": "Status"},
    },
    "lighttpd": {
        "absolute": NO_AGENT | {"target": b"/x?y", "host": None}, "empty agent": NO_AGENT, "two agents": {"agent": b"one, two"},
        "gone": {"status": 200}, "unknown method": BADREQ, "tls": BADREQ,
    },
    "haproxy-combined": {
        "no agent": {"agent": b""}, "two agents": {"agent": b"two"}, "gone": {"status": 200}, "nothing": BADREQ,
        # It writes a quote in a request as `#22`, and in a captured header as it is.
        "quotes": {"target": b"/a#22b\\#22cA\\"}, "escapes": {"unread": "Shape"},
        "long target": {"target": b"/" + b"t" * 1018, "is_cut": True},
    } | {name: BADREQ for name in ("fragment", "absolute", "utf-8", "latin-1", "blank", "tls")},
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ask(server, case, v6):
    """Sends a case. Returns the status of the answer, or 0."""
    with socket.create_connection(("::1" if v6 else "127.0.0.1", server.port), ANSWERS_WITHIN) as connection:
        connection.settimeout(ANSWERS_WITHIN)
        connection.sendall(case.bytes())
        if case.close == "early":
            time.sleep(SLOW / 5)
            return 0
        if not case.bytes():
            return 0
        answer = b""
        try:
            while read := connection.recv(65536):
                answer += read
        except ConnectionError:
            pass
        words = answer.split(b" ", 2)
        return int(words[1]) if answer.startswith(b"HTTP/") else 0


def lines(path):
    """Returns the whole lines of a log, so far."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def expected(server, case, status, v6, begin):
    """Returns what has to be read of a case's line, or `NONE` if it has no line."""
    what = QUIRKS.get(server.name, {}).get(case.name, {})
    if what is NONE or case.raw == b"" and not what:
        return NONE
    if "unread" in what:
        return what
    agent = case.agents[0].strip() if case.agents else None
    target = case.target
    if server.name == "varnish":
        # It writes the whole address, and of what is longer the begin.
        target = target if target.startswith(b"http:") else b"http://" + HOST + target[:254]
        agent = agent and agent[:242]
    return {"client": "::1" if v6 else "127.0.0.1", "method": case.method, "host": HOST if server.has_host else None,
            "target": target, "is_cut": False, "status": status, "agent": agent, "time": begin} | what


def warm_up(server):
    """Asks until the log has a line, and waits until the lines are all there. Returns how many."""
    by = time.monotonic() + WRITES_WITHIN
    while not lines(server.log):
        if time.monotonic() > by:
            raise SystemExit(f"{server.name} wrote no line within {WRITES_WITHIN} s")
        ask(server, CASES[0], False)
        time.sleep(0.2)
    time.sleep(1)
    return len(lines(server.log))


def run(server, v6):
    """Asks a server for each case. Returns the cases with what has to be read, and the lines of each."""
    done = []
    written = 0 if server.is_buffered else warm_up(server)
    for n, case in enumerate(CASES):
        over_v6 = v6 and n % 2 == 1
        begin = int(time.time())
        what = expected(server, case, ask(server, case, over_v6), over_v6, begin)
        if case.close == "early":
            # Its backend ends, too, and nginx writes what it has packed.
            time.sleep(SLOW)
        new = []
        if not server.is_buffered:
            by = time.monotonic() + (SILENT_FOR if what is NONE else WRITES_WITHIN)
            while len(found := lines(server.log)) == written and time.monotonic() < by:
                time.sleep(0.02)
            new, written = found[written:], len(found)
        if what is not NONE and "time" in what:
            what["time"] = (begin, int(time.time()))
        done.append((case, what, new))
    return done


def as_json(value):
    """Bytes as the example prints them: a character for each byte."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def read(requests, log, form=None):
    command = [str(requests), str(log)] + ([form] if form else [])
    ran = subprocess.run(command, capture_output=True, text=True, timeout=ENDS_WITHIN)
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.stderr.strip()


def differences(what, found):
    if "unread" in found and "unread" not in what:
        yield f"it is not read: {found['unread']}"
        return
    for field, value in what.items():
        value = as_json(value)
        has = found.get(field, found.get("unread"))
        if field == "time" and isinstance(has, int):
            # Both clocks are this machine's; a second's fraction is cut off, and Apache's is not read before the line.
            if not value[0] - 1 <= has <= value[1] + 1:
                yield f"time is {has}, and not within {value}"
        elif has != value:
            yield f"{field} is {has!r}, and not {value!r}"


def check(server, requests, v6):
    """Asks a server, and has its log read. Returns what is wrong, and the lines with what they are of."""
    try:
        server.start()
        done = run(server, v6)
    finally:
        for process in reversed(server.processes):
            processes.end(process, is_group=True)
        server.out.close()
    wrong, record = [], []
    if server.is_buffered:
        # Lines are in the order of the answers, and each request waited for its own.
        left = lines(server.log)
        done = [(case, what, [] if what is NONE else [left.pop(0)] if left else []) for case, what, _ in done]
        wrong += [f"{server.name}: writes more: {left}"] if left else []
    if server.form is None:
        _, said = read(requests, server.log)
        return ([] if "HaProxy" in said else [f"{server.name}: its form is not named, but: {said}"]), []
    for case, what, new in done:
        where = f"{server.name}, {case.name}"
        if (what is NONE) != (new == []) or len(new) > 1:
            wrong.append(f"{where}: writes {new}, and expected was {what if what is not NONE else 'no line'}")
            continue
        if what is NONE:
            continue
        log = server.folder / "line"
        log.write_bytes(new[0] + b"\n")
        (found,), _ = read(requests, log, server.form) if new[0] else ([{}], "")
        wrong += [f"{where}: {difference}\n    {new[0][:400]}" for difference in differences(what, found)]
        record.append({"case": case.name, "line": as_json(new[0])} | {field: as_json(value) for field, value in what.items()})
    form = read(requests, server.log)[0]
    if {one["form"] for one in form} != {server.form}:
        wrong.append(f"{server.name}: its log is not detected as {server.form}")
    return wrong + list(server_specific(server, requests)), record


def server_specific(server, requests):
    """Compares further logs of a server with its first."""
    plain, _ = read(requests, server.log)
    if server.name == "nginx":
        packed = server.gzip.read_bytes()
        members = 0
        while packed:
            inflate = zlib.decompressobj(wbits=31)
            inflate.decompress(packed)
            packed, members = inflate.unused_data, members + 1
        if members < 2:
            yield "nginx: its packed log has one member, which tests nothing"
        if read(requests, server.gzip) != (plain, ""):
            yield "nginx: its packed log is not read like the plain one"
    if server.name == "apache":
        with_host, _ = read(requests, server.with_host)
        for one in plain:
            if "unread" not in one:
                one["host"] = "www.example.com:80"
        if with_host != plain:
            yield "apache: a log with hosts in front is not read like the other"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=pathlib.Path, default=ROOT / "target/debug/examples/requests")
    options.add_argument("--server", action="append", choices=[server.name for server in SERVERS])
    options.add_argument("--record", type=pathlib.Path)
    options = options.parse_args()
    wrong, missing = [], []
    v6 = log_servers.has_v6()
    backend = log_servers.Backend()
    with tempfile.TemporaryDirectory(prefix="waymark-logs-") as folder:
        folder = pathlib.Path(folder)
        # Workers have a user of their own.
        folder.chmod(0o755)
        for server in SERVERS:
            if options.server and server.name not in options.server:
                continue
            if not all(shutil.which(program, path=log_servers.PATHS) for program in server.programs):
                missing.append(server.name)
                continue
            problems, record = check(server(folder / server.name, free_port(), backend.port, v6), options.requests, v6)
            print(f"{server.name}: {len(record)} lines read, {len(problems)} problems")
            wrong += problems
            if options.record and record and not problems:
                text = "".join(json.dumps(one) + "\n" for one in record)
                (options.record / f"{server.name}.jsonl").write_text(text, encoding="utf-8")
    backend.close()
    for problem in wrong:
        print(problem)
    if not v6:
        print("NOT DONE: there is no IPv6 here, so no server was asked over it")
    for name in missing:
        print(f"NOT DONE: {name} is not installed, and no log of it was read")
    sys.exit(1 if wrong else NOT_DONE if missing or not v6 else 0)


if __name__ == "__main__":
    main()
