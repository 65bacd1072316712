"""An emulator of AWS on loopback (ministack, from PyPI), and clients that can reach nothing else."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

START_SECONDS = 120
# Of one command: a deployment on a busy machine takes some minutes.
COMMAND_SECONDS = 1_200


class Emulator:
    """Runs while it is entered. `tools` is the bin folder of a venv with ministack, sam and the AWS CLI."""

    def __init__(self, tools, folder):
        self.tools, self.folder = pathlib.Path(tools), pathlib.Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        # Nothing of the caller's environment: no profile, no credentials, no proxy, no other endpoint.
        self.environment = {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "LANG": "C.UTF-8",
            "AWS_ENDPOINT_URL": self.endpoint, # functions inherit it too: without it they would call AWS
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_PAGER": "",
            "SAM_CLI_TELEMETRY": "0",
        }

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.log = open(self.folder / "emulator.log", "wb")
        environment = self.environment | {
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            # These two listen on all interfaces, whatever BIND_HOST says.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }
        # A session of its own: the functions' processes are its children, and end with it.
        self.process = subprocess.Popen(["ministack"], env=environment, cwd=self.folder, stdout=self.log,
                                        stderr=subprocess.STDOUT, start_new_session=True, executable=self.tools / "ministack")
        try:
            self.wait_for("the emulator starts", self.is_up, START_SECONDS)
            self.assert_loopback()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # It may be killed in the middle of its work: nothing is kept.
        with contextlib.suppress(TimeoutError):
            processes.end(self.process, within=20, is_group=True)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.log.close()

    def is_up(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the emulator ended: see {self.log.name}")
        try:
            with urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def assert_loopback(self):
        """Nothing of the emulator's listens on another interface. Read from the kernel, as sockets of its session's processes."""
        listening = {}
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in pathlib.Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A":
                    listening[fields[9]] = fields[1].split(":")[0]
        loopback = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
        for process in self.processes():
            for descriptor in pathlib.Path(f"/proc/{process}/fd").glob("*"):
                try:
                    inode = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor))
                except OSError:
                    continue
                address = listening.get(inode[1]) if inode else None
                assert address is None or address in loopback, f"process {process} listens on {address}"

    def processes(self, command=""):
        """Process ids of the emulator's session whose command line has a text in it."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(folder.name)) == self.process.pid and command in (folder / "cmdline").read_text():
                    found.append(int(folder.name))
            except (OSError, ProcessLookupError):
                continue
        return found

    def run(self, *command, cwd=None, check=True, extra=None):
        """A command's standard output; what it said otherwise is shown if it fails, and without `check` is returned too."""
        done = subprocess.run([str(part) for part in command], env=self.environment | (extra or {}), cwd=cwd, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=COMMAND_SECONDS)
        if check and done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            raise SystemExit(f"{command[0]} {command[1]}: status {done.returncode}")
        return done.stdout if check else done.stdout + done.stderr

    def aws(self, *arguments):
        """What the AWS CLI answers, as JSON."""
        text = self.run("aws", *arguments, "--output", "json")
        return json.loads(text) if text.strip() else None

    @staticmethod
    def wait_for(what, holds, seconds):
        """Waits until something holds; what it holds of is returned."""
        until = time.monotonic() + seconds
        while not (found := holds()):
            if time.monotonic() > until:
                raise SystemExit(f"not within {seconds} s: {what}")
            time.sleep(0.5)
        return found
