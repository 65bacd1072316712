"""Waits for processes, each with a limit."""
import contextlib
import os
import shlex
import signal
import subprocess
import threading

# Seconds in which a process ends that was told to: longer than it takes on a busy machine.
ENDS_WITHIN = 60


def end(process, by=signal.SIGTERM, within=ENDS_WITHIN, is_group=False):
    """Sends a signal to a process, or to its group, and waits for the end of the process. Returns its exit status.

    Raises `TimeoutError` if the process does not end in so many seconds. The process is killed then."""
    def send(number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number) if is_group else process.send_signal(number)

    if process.poll() is None:
        send(by)
    try:
        return process.wait(within)
    except subprocess.TimeoutExpired:
        send(signal.SIGKILL)
        process.wait(ENDS_WITHIN)
        raise TimeoutError(f"{command(process)} did not end within {within} s of {by.name}, and was killed") from None


@contextlib.contextmanager
def limit(process, within, what="ended"):
    """Kills a process if a block takes more than so many seconds, which ends waits for the process and reads of its pipes.

    Raises `TimeoutError` then, whatever the block raised."""
    late = threading.Event()

    def kill():
        late.set()
        process.kill()

    timer = threading.Timer(within, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if late.is_set():
            raise TimeoutError(f"{command(process)} has not {what} within {within} s, and was killed")


def command(process):
    arguments = [process.args] if isinstance(process.args, (str, os.PathLike)) else process.args
    return shlex.join(map(str, arguments))
