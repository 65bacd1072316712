#!/usr/bin/env python3
"""Every wait of a test has a limit: each call in Python that waits names one, and processes.py keeps it.

A call in a block `with processes.limit(...)` needs no other. One with the comment `# no limit: REASON` may wait for ever."""
import ast
import pathlib
import signal
import subprocess
import sys
import unittest

import processes

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["examples", "infra", "tests"]
REASON = "# no limit: "
# After how many positional arguments a call's limit comes; None where it has to be named.
WAITS = {
    "run": None, "call": None, "check_call": None, "check_output": None, "communicate": None, "wait": 0, "join": 0, "get": 0,
    "wait4": None, "waitpid": None, "urlopen": 2, "HTTPConnection": 2, "HTTPSConnection": None, "create_connection": 1,
}
# Names that mean something else as a method of anything but this module.
OF_SUBPROCESS = {"run", "call", "check_call", "check_output"}


def unlimited(text):
    """The calls in a Python text that wait without a limit, with their lines."""
    lines, tree = text.splitlines(), ast.parse(text)
    limits = [block for block in ast.walk(tree) if isinstance(block, ast.With) and "processes.limit(" in ast.unparse(block.items)]
    within = {id(node) for block in limits for part in block.body for node in ast.walk(part)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or id(call) in within:
            continue
        called = ast.unparse(call.func)
        name = called.rpartition(".")[2]
        if name not in WAITS or name in OF_SUBPROCESS and not called.startswith("subprocess."):
            continue
        # `os.wait4` and `os.waitpid` wait for nothing with this flag.
        is_limited = any(word.arg == "timeout" for word in call.keywords) or "WNOHANG" in ast.unparse(call)
        if WAITS[name] is not None:
            is_limited |= len(call.args) > WAITS[name]
        if not is_limited and not any(REASON in line for line in lines[call.lineno - 1:call.end_lineno]):
            yield call.lineno, called


class Calls(unittest.TestCase):
    def test_every_wait_of_the_repository_has_a_limit(self):
        files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts]
        self.assertGreater(len(files), 50)
        found = [f"{path.relative_to(ROOT)}:{line}: {called} waits without a limit"
                 for path in files for line, called in unlimited(path.read_text())]
        self.assertFalse(found, "\n".join(found))

    def test_a_wait_without_a_limit_is_found(self):
        for call in ["subprocess.run(['a'], check=True)", "subprocess.check_output('a')", "subprocess.run(\n    ['a'],\n    text=True)",
                     "process.wait()", "process.communicate(b'')", "self.over.wait()", "thread.join()", "queue.get()", "os.wait4(1, 0)",
                     "os.waitpid(1, 0)", "urllib.request.urlopen(url)", "urlopen(url, b'')", "http.client.HTTPConnection('a', 80)",
                     "HTTPSConnection('a')", "with process:\n    process.wait()", "socket.create_connection(address)"]:
            self.assertEqual(len(list(unlimited(call))), 1, call)

    def test_a_wait_with_a_limit_or_a_reason_is_not_found(self):
        for call in ["subprocess.run(['a'], timeout=1)", "process.wait(1)", "process.communicate(timeout=1)", "thread.join(timeout=1)",
                     "os.wait4(1, os.WNOHANG)", "urlopen(url, None, 1)", "HTTPConnection('a', 80, timeout=1)", "', '.join(words)",
                     "fields.get('a')", "parser.run()", "process.wait()  # no limit: it is somebody else's",
                     "socket.create_connection(address, 1)", "with processes.limit(process, 1):\n    process.wait()"]:
            self.assertEqual(list(unlimited(call)), [], call)


class Processes(unittest.TestCase):
    def start(self, code):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stdout.close)
        return process

    def test_a_process_ends_at_the_signal(self):
        process = self.start("import time; time.sleep(60)")
        self.assertEqual(processes.end(process), -signal.SIGTERM)
        self.assertEqual(processes.end(process), -signal.SIGTERM, "once more")
        self.assertEqual(processes.end(self.start("import time; time.sleep(60)"), is_group=True), -signal.SIGTERM)

    def test_a_process_that_ignores_the_signal_is_killed_and_named(self):
        for is_group in [False, True]:
            process = self.start("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); time.sleep(60)")
            process.stdout.readline()
            with self.assertRaisesRegex(TimeoutError, r"time\.sleep.* did not end within 0.1 s of SIGTERM, and was killed"):
                processes.end(process, within=0.1, is_group=is_group)
            self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_a_process_that_is_silent_too_long_is_killed_and_named(self):
        process = self.start("import time; time.sleep(60)")
        with self.assertRaisesRegex(TimeoutError, r"time\.sleep.* has not said a line within 0.1 s, and was killed"):
            with processes.limit(process, 0.1, "said a line"):
                self.assertEqual(process.stdout.readline(), "")
        self.assertEqual(processes.end(process), -signal.SIGKILL)
        process = self.start("print(1)")
        with processes.limit(process, 60):
            self.assertEqual((process.stdout.read(), process.wait(60)), ("1\n", 0))


if __name__ == "__main__":
    unittest.main()
