"""The nightly CSV: its script, with rows that are added, changed and removed, and when it must not go on."""

import fcntl
import os
import time

from stack import ROOT

NIGHTLY = ROOT / "examples/nightly"
HOURS = 3600


def check(stack):
    work = stack.folder / "nightly"
    work.mkdir()
    csv = work / "listings.csv"
    first = (NIGHTLY / "listings.csv").read_text()

    def run(text, *options, status=0, age=0):
        csv.write_text(text)
        os.utime(csv, (time.time() - age,) * 2)
        (stack.folder / "waymark").unlink(missing_ok=True)
        (stack.folder / "waymark").symlink_to(stack.waymark)
        return stack.run(NIGHTLY / "nightly.sh", csv, *stack.ports, *options, extra={"WORK": str(work)}, status=status)

    def shows(*names):
        stack.shows(*(f"/listings/{name}/" for name in names), under="/listings/")

    run(first)
    shows("ferry-cottage", "mill-house")
    assert stack.record("listing/1043")["status"] == "draft", "a listing that is reserved is no page"

    head, mill, ferry, forge = first.splitlines(keepends=True)
    added = "1044,tide-barn,Tide barn,active,2026-11-24T08:00:00Z\n"
    changed = forge.replace("reserved", "active").replace("2026-11-22", "2026-11-24")

    # A third of the listings is gone: more than 5 %, so nothing is deleted, and what is new is written.
    refused = run(head + mill + changed + added, status=1)
    shows("ferry-cottage", "mill-house", "old-forge", "tide-barn")
    assert "deleted nothing: the files lack 1 of 4" in refused, refused
    run(head + mill + changed + added, "--max-deletes", "1")
    shows("mill-house", "old-forge", "tide-barn")
    assert "loaded 0 records" in run(head + mill + changed + added), "nothing had changed"

    # An old export, one that is not there, those without a row, and a second run beside the first.
    assert "older than 12 hours" in run(head, status=1, age=13 * HOURS)
    stack.run(NIGHTLY / "nightly.sh", work / "none.csv", *stack.ports, extra={"WORK": str(work)}, status=1)
    for without_rows in "", head, "<p>The export failed.</p>\n":
        run(without_rows, "--max-deletes", "100%", status=2)
    with open(work / "nightly.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "has not ended" in run(head, "--max-deletes", "100%", status=75)
    shows("mill-house", "old-forge", "tide-barn")
    stack.shows("/", "/listings/mill-house/", "/listings/old-forge/", "/listings/tide-barn/")  # nothing outside of the scope went

    run(head + mill, "--max-deletes", "100%")
    shows("mill-house")
