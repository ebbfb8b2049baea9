"""Finds the files of a data set in the Hugging Face hub's cache, and downloads missing ones.

python hub.py kernelbook|kernelbench [--revision R] [--levels 1,2]

Standard output is JSON lines: {"repo", "revision"} first, then {"file"} for every file, {"file", "level"} for
KernelBench's. An error is one line, {"error": {"what", "remedy"}}, and exit 2. Progress goes to standard error.
The hub library's own settings control cache, offline mode, mirror and token: HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE,
HF_ENDPOINT, HF_TOKEN.
"""
import argparse
import json
import os
import re
import sys
from pathlib import Path

REPOS = {"kernelbook": "GPUMODE/KernelBook", "kernelbench": "ScalingIntelligence/KernelBench"}
PREFERRED = "dataset_permissive.parquet"  # KernelBook's rows under permissive licences; its other files repeat them
COMMIT = re.compile(r"[0-9a-f]{40}")
LEVEL = re.compile(r"level_(\d+)(?:\D|$)")


class HubError(Exception):
    def __init__(self, what, remedy):
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def patterns(name, levels):
    if name == "kernelbench" and levels:
        return [f"*level_{level}{end}" for level in levels for end in ("-*.parquet", ".parquet", "/*.parquet")]
    return ["*.parquet"]


def level_of(path):
    found = LEVEL.search(path)
    return int(found.group(1)) if found else None


def choose(name, folder, levels):
    """The data set's files in a snapshot, by name. A link whose blob was never copied is ignored."""
    files = sorted(path for path in Path(folder).rglob("*.parquet") if path.is_file())
    if name == "kernelbook":
        return [path for path in files if path.name == PREFERRED] or files
    found = [(level_of(path.relative_to(folder).as_posix()), path) for path in files]
    return [path for level, path in found if not levels or level in levels]


def download_command(name, revision):
    at = f" --revision {revision}" if revision else ""
    return f'hf download {REPOS[name]} --repo-type dataset --include "*.parquet"{at}'


def cache_folder(name, cache):
    return Path(cache) / f"datasets--{REPOS[name].replace('/', '--')}"


def copy_remedy(name, cache, revision):
    folder = cache_folder(name, cache)
    return (f"on a machine with a network run: {download_command(name, revision)}; then copy the folder {folder.name} from "
            f"its ~/.cache/huggingface/hub to {folder}, links included (cp -a, rsync -a). Or give a copy of your own with "
            f"--{name} {copy_word(name)}")


def copy_word(name):
    return "FILE" if name == "kernelbook" else "DIR"


def no_library(name, error):
    return HubError(f"huggingface_hub, which reaches the hub, is missing from {sys.executable} ({error})",
                    f"{sys.executable} -m pip install huggingface_hub, or give a copy of {REPOS[name]} with --{name} "
                    f"{copy_word(name)}")


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def explain(name, revision, cache, error):
    """The error and remedy for an exception of the library."""
    from huggingface_hub import constants, errors
    repo, why = REPOS[name], first_line(error)
    if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError):
        return HubError(f"the hub does not give {repo}: {why}",
                        f"check the token (HF_TOKEN, hf auth login), or give a copy with --{name}")
    if isinstance(error, errors.RevisionNotFoundError):
        return HubError(f"{repo} has no revision \"{revision}\"", f"give a branch, tag or commit: --{name} hub@REVISION")
    if isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled):
        if constants.HF_HUB_OFFLINE:
            why = "offline mode is on (HF_HUB_OFFLINE)"
        return HubError(f"{repo} is not in the hub's cache {cache}, and the hub cannot be reached: {why}",
                        copy_remedy(name, cache, revision))
    return HubError(f"{repo} could not be downloaded: {why}", copy_remedy(name, cache, revision))


def resolve(name, revision, levels):
    """The snapshot's commit and the requested files."""
    try:
        from huggingface_hub import constants, snapshot_download
    except ImportError as error:
        raise no_library(name, error) from None
    cache = constants.HF_HUB_CACHE
    try:
        folder = snapshot_download(REPOS[name], repo_type="dataset", revision=revision or None,
                                   allow_patterns=patterns(name, levels))
    except Exception as error:  # exceptions of the library, its HTTP client and the system have no common base
        # A commit's folder has the commit's name, but the library looks up only branches and tags.
        folder = cache_folder(name, cache) / "snapshots" / revision
        if not COMMIT.fullmatch(revision) or not folder.is_dir():
            raise explain(name, revision, cache, error) from None
    files = choose(name, folder, levels)
    lacking = sorted(set(levels) - {level_of(path.relative_to(folder).as_posix()) for path in files})
    if not files or lacking:
        of_levels = f" of level {', '.join(map(str, lacking))}" if lacking else ""
        raise HubError(f"{REPOS[name]} at {folder} has no Parquet files{of_levels}: the copy is not whole",
                       copy_remedy(name, cache, revision))
    return Path(folder).name, Path(folder), files


def without_token(text):
    """The text without the token, whichever library wrote it."""
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        token = os.environ.get(variable, "").strip()
        if token:
            text = text.replace(token, "***")
    return re.sub(r"\bhf_[A-Za-z0-9]{8,}", "***", text)


def lines_for(options):
    levels = [int(level) for level in options.levels.split(",")] if options.levels else []
    revision, folder, files = resolve(options.name, options.revision, levels)
    yield {"repo": REPOS[options.name], "revision": revision}
    for path in files:
        level = level_of(path.relative_to(folder).as_posix())
        yield {"file": str(path)} | ({"level": level} if options.name == "kernelbench" and level else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(REPOS))
    parser.add_argument("--revision", default="")
    parser.add_argument("--levels", default="")
    options = parser.parse_args()
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # bars would fill a log file
    out, sys.stdout = sys.stdout, sys.stderr  # only the answer goes to standard output
    try:
        for line in lines_for(options):
            print(json.dumps(line), file=out)
    except HubError as error:
        answer = {"what": without_token(error.what), "remedy": without_token(error.remedy)}
        print(json.dumps({"error": answer}), file=out)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
