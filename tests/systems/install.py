"""Installs a system's pinned packages by the default configuration of pip, npm or cargo, and runs programs there."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Seconds for a system's packages, and for its program.
INSTALLED_WITHIN, RUNS_WITHIN = 900, 600
SHARED = ["content.json", "content.py", "content.mjs", "reading.py", "reading.mjs"]
# The files that pin a system's packages: with pip, npm or cargo.
PINS = ["requirements.txt", "package.json", "Cargo.toml"]
RUST = "write.rs"
FIXTURES = {"items.json", "values.json", "reads.json", "seen.json", "site"}
# Some generators take a page's time from its file: 2026-03-01 10:20:30 UTC.
WRITTEN_AT = 1772360430
# How much of a failed command's output is shown.
SHOWN = 2000


class NotInstalled(Exception):
    pass


class Program:
    """A folder with a system's files and packages."""

    def __init__(self, folder):
        self.folder = folder
        # No credentials, proxies or settings of the caller's. Nothing that a generator counts at home is sent. Some mappers write a set
        # as a list, in the order of Python's hashes.
        self.environment = {
            "PATH": f"{folder}/venv/bin:{folder}/node_modules/.bin:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC",
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "ASTRO_TELEMETRY_DISABLED": "1",
            "NEXT_TELEMETRY_DISABLED": "1", "NUXT_TELEMETRY_DISABLED": "1", "CI": "1",
            "SOURCE_DATE_EPOCH": str(WRITTEN_AT), "GIT_AUTHOR_DATE": f"@{WRITTEN_AT} +0000", "GIT_COMMITTER_DATE": f"@{WRITTEN_AT} +0000",
        }

    def run(self, *command, extra=None):
        """What a command prints on standard output. Raises an error with all that it printed if it fails."""
        done = subprocess.run([str(part) for part in command], cwd=self.folder, env=self.environment | (extra or {}), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=RUNS_WITHIN)
        if done.returncode:
            raise ValueError(f"{' '.join(map(str, command))} ended with {done.returncode}\n{(done.stdout + done.stderr)[-SHOWN:]}")
        return done.stdout


def install(system, folder):
    """Copies a system's files into a folder, and installs its packages there if they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in system.iterdir():
        if path.name in FIXTURES:
            continue
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / path.name, **({"dirs_exist_ok": True} if path.is_dir() else {}))
        for copied in [folder / path.name, *(folder / path.name).rglob("*")]:
            os.utime(copied, (WRITTEN_AT, WRITTEN_AT))
    for name in SHARED:
        shutil.copy(HERE / name, folder)
    if (system / "php-modules.txt").exists():
        has_php(system / "php-modules.txt")
    pins = b"".join((system / name).read_bytes() for name in [*PINS, RUST] if (system / name).exists())
    stamp = folder / ".installed"
    if stamp.exists() and stamp.read_bytes() == pins:
        return Program(folder)
    if (system / "requirements.txt").exists():
        command(folder, sys.executable, "-m", "venv", "venv")
        command(folder, "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
    if (system / "package.json").exists():
        if not shutil.which("npm"):
            raise NotInstalled("there is no npm on this machine")
        command(folder, "npm", "install", "--silent", "--no-audit", "--no-fund")
    if (system / "Cargo.toml").exists():
        if not shutil.which("cargo"):
            raise NotInstalled("there is no cargo on this machine")
        (folder / RUST).touch()  # cargo looks at the time of a file, which is an old one
        command(folder, "cargo", "build", "--quiet")
    stamp.write_bytes(pins)
    return Program(folder)


def has_php(modules):
    """Raises `NotInstalled` without PHP, or without a module that a file names."""
    if not shutil.which("php"):
        raise NotInstalled("there is no php on this machine")
    has = subprocess.run(["php", "-m"], text=True, capture_output=True, timeout=RUNS_WITHIN).stdout.split()
    if missing := set(modules.read_text().split()) - set(has):
        raise NotInstalled(f"php has no {', '.join(sorted(missing))} here: Debian's php-sqlite3, php-xml and php-mbstring have them")


def command(folder, *words):
    try:
        done = subprocess.run(words, cwd=folder, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALLED_WITHIN)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{' '.join(words)} did not end within {INSTALLED_WITHIN} s") from None
    if done.returncode:
        raise NotInstalled(f"{' '.join(words)} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-SHOWN:]}")
