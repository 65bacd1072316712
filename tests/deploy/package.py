"""What is deployed: a release's bundle, or what `sam build` made, in a folder of its own, without what the emulator cannot do."""
import pathlib
import shutil
import subprocess

import reduced

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UNZIP_SECONDS = 60


def unpacked(package, folder):
    """The folder with the package's template.yaml and samconfig.toml. Of a bundle nothing but the zip file is used."""
    shutil.rmtree(folder, ignore_errors=True)
    if package.is_dir():
        shutil.copytree(package, folder)
        shutil.copy(ROOT / "samconfig.toml", folder)
        (folder / "infra").mkdir()
        shutil.copy(ROOT / "infra/us-east-1.yaml", folder / "infra")
    else:
        folder.mkdir()
        subprocess.run(["unzip", "-q", package, "-d", folder], check=True, timeout=UNZIP_SECONDS)
        [folder] = folder.iterdir()
    reduced.check()
    reduced.reduce_folder(folder)
    return folder
