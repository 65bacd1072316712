"""A local stack with one site, and what is listed there."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as xml

import boto3

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

HOST = "www.lantern.example"
STARTS_WITHIN = 120
# A change shows within a second or two; CI's machine is busy.
SHOWS_WITHIN = 60
TABLE = "waymark-content"
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


class Stack:
    """Runs while it is entered, in a folder of its own, with a home page and nothing else."""

    def __init__(self, waymark, folder):
        self.waymark, self.folder = pathlib.Path(waymark).resolve(), pathlib.Path(folder)

    def __enter__(self):
        home = self.folder / "home.jsonl"
        home.write_text(f'{{"id": "home", "type": "page", "url": "https://{HOST}/", "modified_at": "2026-11-01"}}\n')
        log = self.folder / "stack.log"
        ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]
        with open(log, "w") as out:
            self.process = subprocess.Popen([self.waymark, "serve", *ports, "--content", home], stdout=out, stderr=subprocess.STDOUT)
        try:
            self.wait_for(f"{self.waymark} serve is ready: see {log}", lambda: "\nready " in log.read_text(), STARTS_WITHIN)
            found = dict(re.findall(r"^(dynamodb|s3|site) (http://127\.0\.0\.1:\d+)$", log.read_text(), re.M))
            self.dynamodb, self.s3, self.site = found["dynamodb"], found["s3"], found["site"]
            # What a user's code runs with. No credentials, profile or endpoint of the caller's.
            self.environment = {
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "LANG": "C.UTF-8",
                "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb,
                "AWS_ACCESS_KEY_ID": "local",
                "AWS_SECRET_ACCESS_KEY": "local",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            # `waymark` with this stack's ports.
            ports = " ".join(f"--{name}-port {url.rsplit(':', 1)[1]}" for name, url in (("dynamodb", self.dynamodb), ("s3", self.s3)))
            self.ports = ports.split()
            self.table = boto3.resource(
                "dynamodb",
                endpoint_url=self.dynamodb,
                region_name="us-east-1",
                aws_access_key_id="local",
                aws_secret_access_key="local",
            ).Table(TABLE)
            self.shows("/")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        processes.end(self.process, signal.SIGINT)

    def record(self, id):
        """The content table's item of this id, or None."""
        return self.table.get_item(Key={"id": id}, ConsistentRead=True).get("Item")

    def read(self, path):
        request = urllib.request.Request(self.site + path, headers={"Host": HOST})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return xml.fromstring(answer.read())

    def listed(self):
        """The paths of all pages that the site's sitemaps list."""
        origin = f"https://{HOST}"
        sitemaps = [loc.text.removeprefix(origin) for loc in self.read("/sitemap_index.xml").iter(LOC)]
        return sorted(loc.text.removeprefix(origin) for sitemap in sitemaps for loc in self.read(sitemap).iter(LOC))

    def shows(self, *paths, under="/"):
        """Waits until exactly these paths are listed, of those that begin with `under`."""
        found = []

        def holds():
            try:
                found[:] = [path for path in self.listed() if path.startswith(under)]
            except (urllib.error.URLError, xml.ParseError) as error:
                found[:] = [str(error)]
            return found == sorted(paths)

        self.wait_for(lambda: f"the sitemaps list {sorted(paths)}; they list {found}", holds, SHOWS_WITHIN)

    @staticmethod
    def wait_for(what, holds, seconds):
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, f"not within {seconds} s: {what() if callable(what) else what}"
            time.sleep(0.2)

    def run(self, *command, cwd=None, extra=None, status=0):
        """What a command prints; it must end with this status."""
        done = subprocess.run(
            [str(part) for part in command],
            env=self.environment | (extra or {}),
            cwd=cwd,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        assert done.returncode == status, f"{command}\nended with {done.returncode}, not {status}\n{done.stdout}"
        return done.stdout

    def load(self, *arguments, status=0):
        return self.run(self.waymark, "load", *arguments, *self.ports, status=status)
