#!/usr/bin/env python3
"""Holds an emulator that nobody here wrote to what the two ports promise: `conformance.py TOOLS TEST...`.

TOOLS is the bin folder of a venv with ministack. TEST is a command that runs the test `another_emulator_conforms`; it finds
the emulator's endpoint in WAYMARK_EMULATOR."""
import os
import pathlib
import subprocess
import sys

from emulator import Emulator

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME_LIMIT = 300

if __name__ == "__main__":
    tools, *command = sys.argv[1:]
    with Emulator(pathlib.Path(tools).resolve(), ROOT / "target/conformance") as emulator:
        environment = os.environ | {"WAYMARK_EMULATOR": emulator.endpoint}
        sys.exit(subprocess.run(command, env=environment, timeout=TIME_LIMIT).returncode)
