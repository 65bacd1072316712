"""Archives whose bytes depend on nothing but names, modes and contents."""
import gzip
import io
import tarfile
import zipfile

# Zip files have no earlier date, and tar complains of the epoch.
DATE = (1980, 1, 1, 0, 0, 0)
SECONDS = 315_532_800 # the same in UTC
REGULAR_FILE = 0o100000
UNIX = 3 # without it unzip ignores the modes
LEVEL = 9


def mode(is_program):
    return 0o755 if is_program else 0o644


def zipped(folder, files):
    """A zip of `{name: (bytes, is_program)}` below one folder."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name, (content, is_program) in sorted(files.items()):
            member = zipfile.ZipInfo(f"{folder}/{name}", DATE)
            member.create_system = UNIX
            member.external_attr = (REGULAR_FILE | mode(is_program)) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return made.getvalue()


def tarred(folder, files):
    """A gzipped tar of the same."""
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb", filename="", mtime=0, compresslevel=LEVEL) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, (content, is_program) in sorted(files.items()):
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size, member.mode, member.mtime = len(content), mode(is_program), SECONDS
                archive.addfile(member, io.BytesIO(content))
    return made.getvalue()
