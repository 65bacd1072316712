"""AWS's own emulator of Lambda's runtime interface, with a function's `bootstrap`, and a bucket that breaks off.

The emulator is in the wheel of the SAM CLI (`samcli/local/rapid`). It has one environment, which answers one event at a time. HAZARD:
it listens on all interfaces unless both addresses are given, and starts a server whatever else it is asked, even for help."""
import contextlib
import http.client
import http.server
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

LOOPBACK = "127.0.0.1"
PATH = "/2015-03-31/functions/function/invocations"
# Of an answer, and of a start.
ANSWERS_WITHIN, STARTS_WITHIN = 60, 30
# Bytes of an object that `http` does not read as a whole before it answers (front::MAX_WHOLE_BYTES).
LARGE = 9 * 1_048_576
# State of a socket that listens, in the kernel's table.
LISTENS = "0A"


def installed(tools):
    """The emulator of the SAM CLI in a venv's bin folder, for this machine's processor."""
    processor = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = list(pathlib.Path(tools).parent.glob(f"lib/python3*/site-packages/samcli/local/rapid/aws-lambda-rie-{processor}"))
    if len(found) != 1:
        raise SystemExit(f"no emulator of Lambda's runtime interface beside {tools}: {found}")
    return found[0]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]


class Emulator:
    """Runs while it is entered. `seconds` is the function's time limit."""

    def __init__(self, program, bootstrap, environment, folder, seconds=30):
        self.log = pathlib.Path(folder) / f"{pathlib.Path(bootstrap).parent.name}-{time.monotonic_ns()}.log"
        self.program = pathlib.Path(folder) / "aws-lambda-rie"  # in the wheel it may not be executed
        if not self.program.exists():
            shutil.copy(program, self.program)
            self.program.chmod(0o755)
        self.bootstrap, self.folder = str(bootstrap), folder
        self.environment = environment | {"AWS_LAMBDA_FUNCTION_TIMEOUT": str(seconds), "AWS_LAMBDA_FUNCTION_NAME": "emulated",
                                          "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512"}

    def __enter__(self):
        self.port, runtime = free_ports(2)
        self.output = open(self.log, "wb")
        self.process = subprocess.Popen(
            [self.program, "--runtime-interface-emulator-address", f"{LOOPBACK}:{self.port}",
             "--runtime-api-address", f"{LOOPBACK}:{runtime}", self.bootstrap],
            env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True)  # the function is its child
        try:
            until = time.monotonic() + STARTS_WITHIN
            while not self.listening() >= {self.port, runtime}:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"the emulator does not listen within {STARTS_WITHIN} s: {self.said()}")
                time.sleep(0.05)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(TimeoutError):
            processes.end(self.process, within=10, is_group=True)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.output.close()

    def listening(self):
        """The ports on which the emulator listens. Ends it if one is not on loopback."""
        sockets = set()
        with contextlib.suppress(OSError):
            for entry in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    sockets |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(entry)))
        ports = set()
        for table in ["/proc/net/tcp", "/proc/net/tcp6"]:
            for line in pathlib.Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                address, _, port = fields[1].partition(":")
                if fields[3] != LISTENS or fields[9] not in sockets:
                    continue
                if address != "0100007F":
                    raise SystemExit(f"the emulator listens on {fields[1]}, which is not loopback")
                ports.add(int(port, 16))
        return ports

    def invoke(self, event):
        """Status and answer."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=ANSWERS_WITHIN)
        with contextlib.closing(connection):
            connection.request("POST", PATH, event)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def said(self):
        return self.log.read_text(errors="replace")[-3_000:]


class Bucket(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """An S3 in front of another one. While `breaks`, each sitemap is said to
    be large and ends in its middle; while `hangs` is clear, nothing is answered."""
    daemon_threads = True

    def __init__(self, s3):
        super().__init__((LOOPBACK, 0), Reader)
        self.behind, self.breaks, self.answers = urllib.parse.urlsplit(s3).netloc, False, threading.Event()
        self.answers.set()
        self.address = f"http://{LOOPBACK}:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()
        return self

    def __exit__(self, *_):
        self.answers.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A function that is ended breaks its connections."""


class Reader(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.answers.wait(ANSWERS_WITHIN)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        connection = http.client.HTTPConnection(self.server.behind, timeout=ANSWERS_WITHIN)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
        breaks = self.server.breaks and "-sitemap." in self.path and body
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() != "transfer-encoding":
                self.send_header(name, LARGE if breaks and name.lower() == "content-length" else value)
        self.end_headers()
        if breaks:
            body, self.close_connection = body + bytes(LARGE // 2), True
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        """The function's own output is what counts."""
