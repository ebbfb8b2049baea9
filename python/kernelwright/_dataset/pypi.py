"""Fetches packages' archives from the package index, and runs none of their code.

python -I pypi.py NAME[==VERSION][#sha256=HEX]... --dest DIR [--form auto|wheel|sdist]

With a SHA-256, the archive must have it. FILE.jsonl in place of a name stands for the packages of a list, as `dataset
discover --json` prints it: each at its pin, with its SHA-256.

Pip's own configuration files and PIP_* variables give index, proxy, certificates and credentials. Pip's finder names the
archives and its session fetches them; the step in which pip asks a source distribution for its metadata, which runs that
distribution's code, is never reached. `auto` takes a wheel for any platform, else the source distribution, else the first
of the other wheels: nothing is installed, so every platform is acceptable.

Standard output is JSON lines, {"name", "version", "file", "sha256", "url", "form"} for every archive. An error is one
line, {"error": {"what", "remedy"}}, and exit 2. Progress goes to standard error.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

SPECIFICATION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\s*(?:===?|~=|!=|<=?|>=?)\s*[^\s;@]+)?")
SHA256 = re.compile(r"[0-9a-f]{64}")
CHUNK = 1 << 20


class FetchError(Exception):
    def __init__(self, what, remedy):
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def first_line(error):
    lines = str(error).strip().splitlines()
    return without_credentials(lines[0]) if lines else type(error).__name__


def without_credentials(text):
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1", text)


def public_url(url):
    """The address without user, query and fragment; for a local file, its name alone."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return Path(parts.path).name
    host = parts.hostname + (f":{parts.port}" if parts.port else "")
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def form_of(filename):
    return "wheel" if filename.endswith(".whl") else "sdist"


def is_pure(filename):
    return filename.endswith("-none-any.whl")


def preference(filename, form):
    """A sort key, smaller is better; None where the form is not wanted."""
    if form != "auto" and form_of(filename) != form:
        return None
    if is_pure(filename):
        return 0, filename
    if form_of(filename) == "sdist":
        return (1 if filename.endswith(".tar.gz") else 2), filename
    return (3 if "linux" in filename and "x86_64" in filename else 4), filename


def choose(candidates, requirement, form, sha256=None):
    """The best archive of the newest version that the requirement allows, of any form if it has the wanted SHA-256."""
    pinned = any(each.operator in ("==", "===") for each in requirement.specifier)
    usable = [each for each in candidates
              if requirement.specifier.contains(each.version, prereleases=True)
              and (pinned or not each.link.is_yanked) and preference(each.link.filename, form) is not None]
    final = [each for each in usable if not each.version.is_prerelease]
    usable = usable if pinned else final or usable
    if not usable:
        return None
    newest = max(each.version for each in usable)
    wanted = [each for each in candidates if sha256 and each.version == newest and stated_hash(each.link) == ("sha256", sha256)]
    usable = wanted or [each for each in usable if each.version == newest]
    return min(usable, key=lambda each: preference(each.link.filename, form))


class Index:
    """pip's finder and session."""

    def __init__(self):
        from pip._internal.commands.download import DownloadCommand
        from pip._internal.models.wheel import Wheel
        Wheel.supported = lambda wheel, tags: True  # nothing is installed, so every platform's wheel is accepted
        self.command = DownloadCommand("download", "fetches archives")
        self.context = self.command.main_context()
        self.context.__enter__()
        options, _ = self.command.parse_args(["--quiet"])
        self.session = self.command.get_default_session(options)
        self.finder = self.command._build_package_finder(options=options, session=self.session, ignore_requires_python=True)

    def candidates(self, name):
        return self.finder.find_all_candidates(name)

    def chunks(self, link):
        response = self.session.get(link.url.split("#", 1)[0], headers={"Accept-Encoding": "identity"}, stream=True)
        response.raise_for_status()
        return response.iter_content(CHUNK)


def digest_of(path, algorithm):
    digest = hashlib.new(algorithm)
    with open(path, "rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def stated_hash(link):
    """The algorithm and value that the index gives; None without a strong hash."""
    name, value = link.hash_name, link.hash
    return (name, value.lower()) if name in ("sha256", "sha384", "sha512") and value else None


def download(index, link, target):
    """Writes a temporary file beside the target and renames it once its hash is right."""
    stated = stated_hash(link)
    handle, part = tempfile.mkstemp(prefix=".part-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for block in index.chunks(link):
                file.write(block)
        if stated and digest_of(part, stated[0]) != stated[1]:
            raise FetchError(f"{link.filename}: what came is not what the index promised ({stated[0]} differs)",
                             "try again; if it happens again, do not trust that index")
        os.chmod(part, 0o644)
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def safe_name(filename):
    if not filename or filename in (".", "..") or "/" in filename or "\\" in filename or not filename.isprintable():
        raise FetchError(f"the index names a file {filename!a}", "use another index")
    return filename


def fetch(index, requirement, folder, form, sha256=None):
    best = choose(index.candidates(requirement.name), requirement, form, sha256)
    if best is None:
        kind = "archive" if form == "auto" else form
        raise FetchError(f"the package index has no {kind} of {requirement}",
                         "check name and version, and pip's index (pip config list); another --form may be there")
    target = folder / safe_name(best.link.filename)
    stated = stated_hash(best.link)
    if not (stated and target.is_file() and digest_of(target, stated[0]) == stated[1]):
        print(f"fetching {target.name}", file=sys.stderr)
        download(index, best.link, target)
    return line_for(requirement.name, str(best.version), target, public_url(best.link.url))


def line_for(name, version, path, url):
    return {"name": re.sub(r"[-_.]+", "-", name).lower(), "version": version, "file": str(path),
            "sha256": digest_of(path, "sha256"), "url": url, "form": form_of(path.name)}


def check_sha256(line, sha256):
    """Removes an archive that is not the wanted one."""
    if sha256 is None or line["sha256"] == sha256:
        return
    path = Path(line["file"])
    path.unlink()
    raise FetchError(f"{path.name}: SHA-256 {sha256} was expected, and {line['sha256']} was found",
                     "do not use that archive before you know why; give another version, or the right SHA-256")


def fetch_with_pip(specification, folder, form):
    """For a pip with other internals: its own command, and only wheels, because they need no metadata step."""
    if form == "sdist":
        raise FetchError("this pip's finder cannot be used, and its own command would run a source distribution's code",
                         "download the source distribution yourself and give its path")
    with tempfile.TemporaryDirectory(dir=folder) as part:
        done = subprocess.run([sys.executable, "-I", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest",
                               part, "--", specification], stdout=sys.stderr, stderr=subprocess.PIPE, text=True, check=False)
        files = sorted(Path(part).iterdir())
        if done.returncode != 0 or len(files) != 1:
            raise FetchError(f"pip does not fetch {specification}: {first_line(done.stderr)}",
                             "check name and version, and pip's index (pip config list)")
        target = folder / files[0].name
        os.replace(files[0], target)
    name, version = target.name.split("-")[:2]
    return line_for(name, version, target, target.name)


def parse_with_hash(specification):
    """The requirement and its SHA-256; None without one."""
    text, mark, digest = specification.partition("#sha256=")
    if mark and not SHA256.fullmatch(digest.lower()):
        raise FetchError(f"\"{specification}\" has no SHA-256 of 64 hexadecimal digits", "give NAME==VERSION#sha256=HEX")
    return parse(text), digest.lower() or None


def packages_of_list(path):
    """NAME==VERSION#sha256=HEX of each package of a list; its repositories have no archive."""
    specifications = []
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["kind"] == "pypi":
                specifications.append(f"{entry['name']}=={entry['pin']}#sha256={entry['sha256']}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FetchError(f"{path} is no list of sources: {type(error).__name__}: {first_line(error)}",
                         "give the output of `kernelwright dataset discover --json`") from None
    if not specifications:
        raise FetchError(f"{path} lists no package", "give repositories with --git")
    return specifications


def expanded(words):
    for word in words:
        yield from packages_of_list(word) if word.endswith(".jsonl") else [word]


def parse(specification):
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
    try:
        if SPECIFICATION.fullmatch(specification.strip()):
            return Requirement(specification)
    except InvalidRequirement:
        pass
    raise FetchError(f"\"{specification}\" names no package", "give NAME or NAME==VERSION")


def open_index():
    """None where this pip has other internals."""
    try:
        return Index()
    except (ImportError, AttributeError, TypeError) as error:
        print(f"pip's finder cannot be used ({first_line(error)}): its command is", file=sys.stderr)
        return None


def lines_for(options):
    try:
        import pip  # noqa: F401
    except ImportError:
        raise FetchError(f"pip is missing from {sys.executable}", f"{sys.executable} -m ensurepip, or give archives by path") \
            from None
    requirements = [parse_with_hash(each) for each in expanded(options.packages)]
    folder = Path(options.dest)
    folder.mkdir(parents=True, exist_ok=True)
    index = open_index()
    for requirement, sha256 in requirements:
        try:
            if index is None:
                line = fetch_with_pip(str(requirement), folder, options.form)
            else:
                line = fetch(index, requirement, folder, options.form, sha256)
            check_sha256(line, sha256)
            yield line
        except FetchError:
            raise
        except Exception as error:  # exceptions of pip, its HTTP client and the system have no common base
            raise FetchError(f"{requirement} could not be fetched: {first_line(error)}",
                             "check the network and pip's index (pip config list), or give archives by path") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", metavar="NAME[==VERSION][#sha256=HEX]|FILE.jsonl")
    parser.add_argument("--dest", required=True)
    parser.add_argument("--form", choices=("auto", "wheel", "sdist"), default="auto")
    options = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr  # only the answer goes to standard output
    try:
        for line in lines_for(options):
            print(json.dumps(line), file=out, flush=True)
    except FetchError as error:
        print(json.dumps({"error": {"what": error.what, "remedy": error.remedy}}), file=out)
        return 2
    except OSError as error:
        answer = {"what": first_line(error), "remedy": "give a folder that can be written as --dest"}
        print(json.dumps({"error": answer}), file=out)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
