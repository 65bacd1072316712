#!/usr/bin/env python3
"""Reads exported redirects back with the real nginx, Apache and Caddy: each exported address is asked, and the status and Location
are compared with what the export says.

    redirects_test.py [--waymark PATH] [--server NAME]...

Of a server that is not installed nothing is tested: the script says so, and ends with status 3 if nothing else is wrong. The
configurations are those of docs/guide/redirects.md. The servers listen on loopback and write into a temporary folder."""
import argparse
import csv
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
import processes  # noqa: E402

SITE = "www.example.com"
GUIDE = ROOT / "docs/guide/redirects.md"
# The exit status if a server is missing.
NOT_DONE = 3
# Seconds in which a server starts, answers, and a command ends.
STARTS_WITHIN, ANSWERS_WITHIN, ENDS_WITHIN = 30, 10, 120
# Redirects, so that the hash of nginx is larger than by default.
MANY = 3000

# From where, and to where: what a syntax may trip over.
NASTY = [
    ("/old", "/new"),
    ("/chain", "/old"),
    ("/About", "/about"),
    ("/CASE/a", "/case-1"),
    ("/case/A", "/case-2"),
    ("/!$&'()+,;=@:*~", "/n!$&'()*+,;=:@?q=$1&b#f$\"{x}\\`|"),
    ("/%22%20%5C%7Bx%7D%60%3C%3E%7C%5E%23", "/b%23c"),
    ("/{$HOME}", "/home"),
    ("/50%25", "/%20"),
    ("/%2541", "/double"),
    ("/caf%C3%A9/日", "https://other.example:8080/?a=b"),
    ("/line%0Abreak%09", "/x"),
    ("/latin%E9", "/latin"),
    ("/q?a=$1;b&c=d%20e", "/y?$uri"),
    ("/q?", "/empty"),
    ("/query/?p=1", "/p1"),
    ("/query/?p=2", None),
    ("/query/", "/p"),
    ("/gone", None),
    ("/to-gone", "/gone"),
    ("/fragment", "/new#part"),
    ("/semi;colon", "/$x;y"),
    ("/tab%09", "/%25s"),
    ("/" + "long" * 200, "/" + "target" * 200),
    ("/almost" * 50, "/" + "target" * 100),
    ("/" + "!" * 1000 + "%09", "/marks"),
    ("/" + "!" * 1100 + "%09", "/more-marks"),
    ("/a%2Fb", "/slash"),
    ("/a//b", "/slashes"),
    ("/a%3Fb", "/mark"),
]
# Addresses that must have the answer of another one, and those that must have none.
SPELLINGS = [("/old?utm_source=x", "/old"), ("/%6Fld", "/old"), ("/caf%c3%a9/%E6%97%A5", "/caf%C3%A9/%E6%97%A5")]
NOT_REDIRECTED = ["/", "/new", "/about", "/b", "/case/a", "/line", "/old/", "/fragment-2", "/A%2Fb"]


def records():
    moves = NASTY + [(f"/many/{n}", f"/new/{n}") for n in range(MANY)]
    for n, (path, to) in enumerate(moves):
        record = {"id": f"post/{n}", "type": "post", "url": f"https://{SITE}{path}"}
        yield record | ({"gone": True} if to is None else {"moved_to": to})
    yield {"id": "new", "type": "post", "url": f"https://{SITE}/new"}


def blocks(server):
    """Returns the configurations of a server in the guide, by their order: those after its heading."""
    text = GUIDE.read_text(encoding="utf-8")
    _, section = re.split(rf"^## {server}$", text, maxsplit=1, flags=re.M | re.I)
    section = re.split(r"^## ", section, maxsplit=1, flags=re.M)[0]
    found = re.findall(r"(?:^(?:    .*)?\n)+", section, flags=re.M)
    return [re.sub(r"^    ", "", block, flags=re.M).strip("\n") for block in found if block.strip()]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Nginx:
    name, program = "nginx", "nginx"

    def __init__(self, folder, redirects, port):
        maps, answers = blocks("nginx")
        sizes = re.match(r"# (map_hash.*)\n", redirects.read_text(encoding="utf-8"))[1]
        maps = maps.replace("/etc/nginx/redirects.nginx.map", str(redirects))
        maps = re.sub(r"map_hash_bucket_size.*\n", sizes + "\n", maps)
        paths = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.file = folder / "nginx.conf"
        self.file.write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;\nevents {{}}\n"
            f"http {{ access_log off; {paths}\n{maps}\n"
            f"server {{ listen 127.0.0.1:{port}; server_name {SITE}; root {folder}/empty; large_client_header_buffers 4 16k;\n"
            f"{answers}\n}} }}\n", encoding="utf-8")
        self.command = ["nginx", "-p", str(folder), "-c", str(self.file)]


class Apache:
    name, program = "apache", "apache2"
    MODULES = pathlib.Path("/usr/lib/apache2/modules")

    def __init__(self, folder, redirects, port):
        (rules,) = blocks("Apache")
        rules = rules.replace("/etc/apache2/redirects.apache.txt", str(redirects))
        modules = "".join(f"LoadModule {name}_module {self.MODULES}/mod_{name}.so\n"
                          for name in ("mpm_event", "authz_core", "rewrite"))
        self.file = folder / "apache.conf"
        self.file.write_text(
            f"{modules}ServerRoot {folder}\nPidFile {folder}/pid\nErrorLog /dev/stderr\nListen 127.0.0.1:{port}\n"
            f"ServerName {SITE}\nDefaultRuntimeDir {folder}\nDocumentRoot {folder}/empty\n"
            f"<VirtualHost 127.0.0.1:{port}>\nServerName {SITE}\n{rules}\n</VirtualHost>\n", encoding="utf-8")
        self.command = ["apache2", "-X", "-f", str(self.file)]


class Caddy:
    name, program = "caddy", "caddy"

    def __init__(self, folder, redirects, port):
        (site,) = blocks("Caddy")
        site = site.replace("/etc/caddy/redirects.caddy", str(redirects)).replace(SITE + " {", f"http://127.0.0.1:{port}, http://{SITE}:{port} {{\nbind 127.0.0.1")
        self.file = folder / "Caddyfile"
        self.file.write_text(f"{{\nadmin off\nauto_https off\nstorage file_system {folder}\n}}\n{site}\n", encoding="utf-8")
        self.command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(self.file)]


SERVERS = [Nginx, Apache, Caddy]


def ask(port, target):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWERS_WITHIN)
    try:
        connection.putrequest("GET", target, skip_host=True)
        connection.putheader("Host", SITE)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Location")
    finally:
        connection.close()


def wait(process, port, log):
    by = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < by and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), ANSWERS_WITHIN).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{processes.command(process)} has ended, or does not listen within {STARTS_WITHIN} s:\n{log.read_text()}")


def expected(row):
    """What is answered, with the fragment encoded as RFC 3986 has it."""
    if row["status"] == "410":
        return 410, None
    address, mark, fragment = row["to"].partition("#")
    fragment = re.sub(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]", lambda m: f"%{ord(m[0]):02X}", fragment)
    return 301, address + mark + fragment


def target(url):
    return url.split("://", 1)[1].removeprefix(SITE)


def check(server, folder, redirects, table, left_out):
    """Asks a server for each address. Returns what is wrong, and how many were asked."""
    port = free_port()
    (folder / "empty").mkdir(parents=True)
    log = folder / "log"
    started = server(folder, redirects, port)
    with log.open("w") as out:
        process = subprocess.Popen(started.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)})
    wrong, asked = [], 0

    def compare(path, what):
        nonlocal asked
        asked += 1
        found = ask(port, path)
        if found != what:
            wrong.append(f"{server.name}: {path} answers {found}, and not {what}")

    try:
        wait(process, port, log)
        answers = {target(row["from"]): expected(row) for row in table if row["from"] not in left_out}
        for path, answer in answers.items():
            compare(path, answer)
        for path, as_path in SPELLINGS:
            compare(path, answers[as_path])
        for path in NOT_REDIRECTED:
            asked += 1
            status, _ = ask(port, path)
            if status in (301, 410):
                wrong.append(f"{server.name}: {path} answers {status}, and no page departed from it")
        # What was left out answers nothing of another address.
        for url in left_out:
            asked += 1
            status, location = ask(port, target(url))
            if status in (301, 410):
                wrong.append(f"{server.name}: {target(url)} was left out, and answers {status} {location}")
    finally:
        processes.end(process, is_group=True)
    if wrong:
        wrong.append(log.read_text()[-2000:])
    return wrong, asked


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--waymark", type=pathlib.Path, default=ROOT / "target/debug/waymark")
    options.add_argument("--server", action="append", choices=[server.name for server in SERVERS])
    options = options.parse_args()
    wrong, missing = [], []
    with tempfile.TemporaryDirectory(prefix="waymark-redirects-") as folder:
        folder = pathlib.Path(folder)
        # Apache's and nginx's workers have a user of their own.
        folder.chmod(0o755)
        content, public = folder / "content.jsonl", folder / "public"
        content.write_text("".join(json.dumps(record) + "\n" for record in records()), encoding="utf-8")
        build = [options.waymark, "--json", "build", content, "--out", public, "--redirects", "csv"]
        for server in SERVERS:
            build += ["--redirects", server.name]
        built = subprocess.run(build, check=True, capture_output=True, text=True, timeout=ENDS_WITHIN)
        made = {one["target"]: one for one in json.loads(built.stdout)["sites"][0]["redirects"]}
        with (public / "redirects.csv").open(encoding="utf-8", newline="") as table:
            table = list(csv.DictReader(table))
        files = {"nginx": "redirects.nginx.map", "apache": "redirects.apache.txt", "caddy": "redirects.caddy"}
        for server in SERVERS:
            if options.server and server.name not in options.server:
                continue
            if not shutil.which(server.program, path="/usr/sbin:/usr/bin:/sbin:/bin"):
                missing.append(server.name)
                continue
            reasons = made[server.name]["left_out"]
            left_out = {url for reason in reasons.values() for url in reason["examples"].values()}
            if made[server.name]["redirects"] + len(left_out) != len(table):
                wrong.append(f"{server.name}: not each of {len(table)} redirects is exported or left out")
            problems, asked = check(server, folder / server.name, public / files[server.name], table, left_out)
            print(f"{server.name}: {asked} addresses asked, {len(problems)} problems; left out: "
                  + ", ".join(f"{reason}: {left['count']}" for reason, left in reasons.items()))
            wrong += problems
    for problem in wrong:
        print(problem)
    for name in missing:
        print(f"NOT DONE: {name} is not installed, and read nothing")
    sys.exit(1 if wrong else NOT_DONE if missing else 0)


if __name__ == "__main__":
    main()
