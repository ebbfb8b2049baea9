"""Deploys modal_app. `python -m kernelwright._fleet.deploy_modal JSON`; see events.

JSON: `settings` (modal_app.Settings), `program` (a portable tarball of `make dist`, or the folder to which it unpacks;
empty: searched for), `environment` (Modal's), `dry_run`.
"""
import json
import os
import re
import sys
import tarfile
import tempfile
import time
import zlib
from dataclasses import asdict
from pathlib import Path, PurePosixPath

from .events import DeployError, errors_told, package_missing, say, tell

MODAL = "modal==1.6.4"
PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
GLIBC = (2, 36)  # of Debian 12: modal_app's image
_PARTS = ("bin/kernelwright", "lib/libkwsandbox.so", "python/kernelwright/modal_app.py")


def main(words):
    request = json.loads(words[0])
    with errors_told(), tempfile.TemporaryDirectory(prefix="kernelwright-deploy-") as scratch:
        try:
            import modal
        except ImportError as error:
            raise package_missing("modal", MODAL) from error
        tree = find_tree(request["program"], Path(scratch))
        say(f"the program is {tree}")
        settings = {**request["settings"], "deployment": str(time.time_ns())}
        os.environ.update(KERNELWRIGHT_MODAL=json.dumps(settings), KERNELWRIGHT_MODAL_TREE=str(tree))
        tell(**deploy(modal, request["environment"], request["dry_run"]))


def deploy(modal, environment, dry_run):
    try:
        from .. import modal_app

        if dry_run:
            plan = {"app": modal_app.APP, "program": os.environ["KERNELWRIGHT_MODAL_TREE"],
                    "settings": asdict(modal_app.SETTINGS)}
            return {"plan": json.dumps(plan, indent=2)}
        with modal.enable_output():
            modal_app.app.deploy(environment_name=environment or None)
        return {"url": modal_app.service.get_web_url()}
    except modal.exception.AuthError as error:
        raise DeployError(f"Modal rejects the token: {error}", f"`{sys.executable} -m modal token new`, or "
                          "MODAL_TOKEN_ID and MODAL_TOKEN_SECRET in the environment") from error
    except (modal.exception.ConnectionError, ConnectionError) as error:
        raise DeployError(f"Modal is not reachable: {error}", "a network; a proxy that lets HTTP/2 through") from error
    except modal.exception.Error as error:
        raise DeployError(f"Modal refuses: {error}", "its own words stand above") from error


def find_tree(given, scratch):
    """The folder with the portable program: the given one, or this installation, or this checkout's `make dist`."""
    path = Path(given) if given else next((each for each in (PACKAGE / "program", ROOT) if is_portable(each)), None)
    if path is None:
        tarballs = sorted(ROOT.glob("dist/kernelwright-[0-9]*-linux-x86_64.tar.gz"), key=lambda each: each.stat().st_mtime)
        if not tarballs:
            raise DeployError("there is no portable program to send to Modal", "`make dist` makes it; or --program "
                              "TARBALL")
        path = tarballs[-1]
    if not path.exists():
        raise DeployError(f"{path} is not there", "`make dist` makes the tarball")
    if path.is_file():
        path = unpacked(path, scratch)
    if not is_portable(path):
        raise DeployError(f"{path} is no portable program: {', '.join(missing(path))} is not there",
                          "--program with the tarball that `make dist` makes")
    if (needed := glibc_needed(path / "bin" / "kernelwright")) > GLIBC:
        raise DeployError(f"{path} needs glibc {needed[0]}.{needed[1]}, and Modal's image has {GLIBC[0]}.{GLIBC[1]}",
                          "build it on Debian 12 or older, `make dist`, and --program with its tarball")
    return path


def glibc_needed(program):
    versions = re.findall(rb"GLIBC_([0-9]+)\.([0-9]+)", program.read_bytes())
    return max(((int(major), int(minor)) for major, minor in versions), default=(0, 0))


def unpacked(tarball, scratch):
    try:
        with tarfile.open(tarball) as archive:
            # The argument `filter` came with Python 3.11.4; Debian 12 has 3.11.2.
            archive.extractall(scratch, [_safe(each) for each in archive],
                               **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise DeployError(f"{tarball} cannot be unpacked: {error}", "`make dist` makes it anew") from error
    folders = [each for each in scratch.iterdir() if each.is_dir()]
    return folders[0] if len(folders) == 1 else scratch


def _safe(member):
    """The member as this user's own file or folder. A package of `make dist` has nothing but files and folders."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise tarfile.ExtractError(f"{member.name!r} lies outside the archive")
    if not (member.isfile() or member.isdir()):
        raise tarfile.ExtractError(f"{member.name!r} is neither a file nor a folder")
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    return member


def missing(path):
    return [part for part in _PARTS if not (path / part).exists()]


def is_portable(path):
    return not missing(path)


if __name__ == "__main__":
    main(sys.argv[1:])
