#!/usr/bin/env python3
"""Judges the kernels that a commit touches, for continuous integration: docs/ci.md.

    scripts/ci_judge.py --base HEAD^1 --output-folder verdicts [--paths GLOB] [--map FILE] [-- OPTIONS OF VERIFY]

Runs in the root of the checkout. Names of files come from a pull request and are hostile: they are arguments or JSON,
never part of a command line, and a link is never followed.
"""
import argparse
import contextlib
import fnmatch
import json
import os
import stat
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path, PurePosixPath
from typing import NamedTuple

KERNEL_ENDINGS = (".py", ".md", ".txt")
LARGEST_FILE = 16 << 20
DEFAULT_MAP = ".github/kernelwright.toml"


class Problem(Exception):
    """What keeps a kernel from being judged; the message names the file."""


class Pair(NamedTuple):
    reference: str
    kernel: str
    shapes: str = ""
    entry_point: str = ""
    kernel_entry: str = ""

    def files(self):
        return {self.reference, self.kernel, self.shapes} - {""}


def git(*words):
    """The names that a command of git prints with -z."""
    command = ["git", "-c", "core.fsmonitor=false", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def commit_of(revision):
    """The id of a commit, so that no revision is an option."""
    done = subprocess.run(["git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Problem(f"git knows no commit {shown(revision)}: fetch it, for instance with fetch-depth: 2")
    return done.stdout.strip()


def touched_files(base, head):
    return set(git("diff-tree", "-r", "-z", "--name-only", "--no-renames", commit_of(base), commit_of(head)))


def text_at(commit, path):
    """The text of a file in a commit."""
    done = subprocess.run(["git", "cat-file", "blob", f"{commit}:{path}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=False)
    try:
        if done.returncode == 0 and len(done.stdout) <= LARGEST_FILE:
            return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise Problem(f"{shown(path)} of the commit before the change is no text of at most {LARGEST_FILE >> 20} MiB")


def shown(text):
    """Foreign text on one line that a runner does not take for a command."""
    text = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in str(text)[:500])
    return text.replace("##[", "##\\[").replace("::", ":\\:")


def shapes_name(reference):
    return reference.removesuffix("reference.py") + "shapes.json"


def is_kernel_of(name, prefix):
    return name.startswith(prefix + "kernel") and name.endswith(KERNEL_ENDINGS)


def pairs_by_name(files):
    """PREFIXreference.py, PREFIXkernel*.py (or .md, .txt) and PREFIXshapes.json of one folder, as `verify FOLDER` reads."""
    folders = {}
    for path in files:
        folders.setdefault(PurePosixPath(path).parent, []).append(PurePosixPath(path).name)
    for folder, names in sorted(folders.items()):
        for reference in sorted(name for name in names if name.endswith("reference.py")):
            prefix, shapes = reference.removesuffix("reference.py"), shapes_name(reference)
            for kernel in sorted(name for name in names if is_kernel_of(name, prefix)):
                yield Pair(str(folder / reference), str(folder / kernel), str(folder / shapes) if shapes in names else "")


def map_of(options, files):
    """The path of the map of these files, or an empty text."""
    return options.map or (DEFAULT_MAP if DEFAULT_MAP in files else "")


def pairs_of_map(path, text, files):
    """The pairs that a map lists: [[kernels]] with reference, paths (globs), shapes, entry_point, kernel_entry."""
    try:
        entries = tomllib.loads(text).get("kernels", [])
    except (ValueError, RecursionError) as error:
        raise Problem(f"{shown(path)}: {shown(error)}") from None
    for entry in entries if isinstance(entries, list) else [entries]:
        words = entry if isinstance(entry, dict) else {}
        paths = words.get("paths")
        texts = [words.get(key, "") for key in ("reference", "shapes", "entry_point", "kernel_entry")]
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in [*paths, *texts]) or not texts[0]:
            raise Problem(f"{shown(path)}: each [[kernels]] needs reference = \"FILE\" and paths = [\"GLOB\"]")
        # As git writes paths: ./a//b is a/b.
        reference, shapes = (str(PurePosixPath(text)) if text else "" for text in texts[:2])
        entry_point, kernel_entry = texts[2:]
        for kernel in sorted(name for name in files if matches(name, paths) and name not in (reference, shapes)):
            yield Pair(reference, kernel, shapes, entry_point, kernel_entry)


def matches(path, globs):
    return any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def plain_file(path):
    """The path of a regular file below the working directory that no link is part of."""
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts or "\0" in path:
        raise Problem(f"{shown(path)} is no path below the checkout")
    for count in range(1, len(parts) + 1):
        try:
            mode = os.lstat(os.path.join(*parts[:count])).st_mode
        except OSError as error:
            raise Problem(f"{shown(path)}: {error.strerror}") from None
        if not (stat.S_ISREG(mode) if count == len(parts) else stat.S_ISDIR(mode)):
            raise Problem(f"{shown(path)} is no regular file: links are not followed")
    return os.path.abspath(os.path.join(*parts))


def read_file(path):
    plain = Path(plain_file(path))
    if plain.stat().st_size > LARGEST_FILE:
        raise Problem(f"{shown(path)} has more than {LARGEST_FILE >> 20} MiB")
    try:
        return plain.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Problem(f"{shown(path)} is not UTF-8") from None


def unused_id(pair, taken):
    """The kernel's path; where it is taken, with the reference, and where this is taken, too, with a number."""
    if pair.kernel not in taken:
        return pair.kernel
    numbers = ("", *(f", {number}" for number in range(2, len(taken) + 2)))
    return next(name for number in numbers if (name := f"{pair.kernel} ({pair.reference}{number})") not in taken)


def row_of(pair):
    """The pair as a row of a batch, without an id."""
    for path in pair.files():
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise Problem(f"the name {shown(path)} is not UTF-8") from None
    row = {"reference_path": plain_file(pair.reference), "kernel_path": plain_file(pair.kernel)}
    if pair.shapes:
        row["input_shapes"] = read_file(pair.shapes)
    named = {"entry_point": pair.entry_point, "kernel_entry": pair.kernel_entry}
    return row | {key: value for key, value in named.items() if value}


def references_of(pairs):
    """The references of each kernel."""
    found = {}
    for pair in pairs:
        found.setdefault(pair.kernel, set()).add(pair.reference)
    return found


def lost_pairs(options, present, pairs):
    """Kernels of the checkout that have fewer references than the commit before the change gives them: (path, problem).

    A change that moves a reference, or drops an entry of the map, would otherwise take its kernels out of judging.
    """
    base = commit_of(options.base)
    files = set(git("ls-tree", "-r", "-z", "--name-only", base))
    before, map_path = list(pairs_by_name(files | present)), map_of(options, files)
    if map_path in files:
        # A map that could not be read named no pair.
        with contextlib.suppress(Problem):
            before += list(pairs_of_map(map_path, text_at(base, map_path), present))
    now = references_of(pairs)
    old = references_of(pair for pair in before if pair.kernel in present and pair.reference in files)
    for kernel, references in sorted(old.items()):
        lost = sorted(references - now.get(kernel, set()))
        if len(now.get(kernel, ())) < len(references) and matches(kernel, options.paths or ["*"]):
            yield kernel, Problem(f"{shown(kernel)} is no longer judged against {shown(', '.join(lost))}: keep the reference "
                                  "and its entry in the map, or remove the kernel")


def find_pairs(options):
    """The rows of the pairs to judge, and the problems of the others, each with the path that it is about."""
    if git("rev-parse", "--show-cdup") != ["\n"]:
        raise Problem("this is no root of a checkout: call the script there")
    tracked = set(git("ls-files", "-z"))
    present = {path for path in tracked if os.path.lexists(path)}
    touched = tracked if options.all else touched_files(options.base, options.head)
    map_path = map_of(options, present)
    pairs, problems = list(pairs_by_name(present)), []
    # Shapes that were removed change the inputs of the pair, too.
    wanted = [pair for pair in pairs if (pair.files() | {shapes_name(pair.reference)}) & touched]
    try:
        mapped = list(pairs_of_map(map_path, read_file(map_path), present)) if map_path else []
        wanted += [pair for pair in mapped if (pair.files() | {map_path}) & touched]
        if not options.all:
            problems += lost_pairs(options, present, pairs + mapped)
    except Problem as problem:
        problems.append((map_path, problem))
    rows = {}
    for pair in dict.fromkeys(wanted):
        if not matches(pair.kernel, options.paths or ["*"]):
            continue
        try:
            name = unused_id(pair, rows)
            rows[name] = row_of(pair) | {"id": name}
        except Problem as problem:
            problems.append((pair.kernel, problem))
    return list(rows.values()), problems


def escaped(text, characters="%\r\n"):
    return "".join(f"%{ord(c):02X}" if c in characters else c for c in text)


def annotate(path, problem):
    """One line that GitHub shows at the file."""
    place = f"file={escaped(path, '%:,' + chr(13) + chr(10))}," if path.isprintable() else ""
    print(f"::error {place}title=not judged::{escaped(str(problem))}", flush=True)


def say(sentence):
    """A sentence of ours, also in the summary of the job."""
    print(sentence, flush=True)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.write(f"\n{sentence}\n")


def output(name, path):
    """An output of the action's step."""
    if outputs := os.environ.get("GITHUB_OUTPUT"):
        with open(outputs, "a", encoding="utf-8") as file:
            file.write(f"{name}={path}\n")


def write_sarif(options, batch, verdicts):
    """The SARIF log beside the verdicts."""
    path = options.output_folder / "kernelwright.sarif"
    with open(path, "wb") as log:
        command = [options.program, "explain", verdicts, "--input", batch, "--format", "sarif"]
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, check=False).returncode
    if status == 0:
        output("sarif", path)
    return status


def judge(options, rows):
    verdicts = options.output_folder / "verdicts.jsonl"
    with tempfile.TemporaryDirectory(prefix="kernelwright-ci-") as folder:
        batch = Path(folder, "batch.jsonl")
        batch.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        command = [options.program, "verify", "--batch", batch, "--output", verdicts, "--fresh", "--fail-on-incorrect",
                   "--format", "github", *options.verify]
        status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
        if verdicts.exists() and verdicts.stat().st_size > 0:
            return write_sarif(options, batch, verdicts) or status
        return status


def read_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default="HEAD^1", help="commit before the change [HEAD^1]")
    parser.add_argument("--head", default="HEAD", help="commit with the change [HEAD]")
    parser.add_argument("--all", action="store_true", help="judge every kernel, whatever the commit touches")
    parser.add_argument("--paths", action="append", metavar="GLOB", help="only kernels with such a path; * matches / too")
    parser.add_argument("--map", metavar="FILE", help=f"which reference belongs to which kernels [{DEFAULT_MAP}, if it exists]")
    parser.add_argument("--program", default="kernelwright", help="the program [kernelwright]")
    parser.add_argument("--output-folder", type=Path, required=True, help="folder for verdicts.jsonl and kernelwright.sarif")
    parser.add_argument("--from-environment", action="store_true", help="as the action calls it: KW_BASE and the others")
    parser.add_argument("verify", nargs="*", help="further options of `kernelwright verify`, behind --")
    options = parser.parse_args(arguments)
    if options.from_environment:
        read_environment(options)
    return options


def read_environment(options):
    """The inputs of action.yml. The program and its Python are those beside this Python."""
    def lines(name):
        return [line.strip() for line in os.environ.get(name, "").splitlines() if line.strip()]
    options.base = os.environ.get("KW_BASE") or options.base
    options.all = os.environ.get("KW_ALL") == "true"
    options.paths, options.map = lines("KW_PATHS"), os.environ.get("KW_MAP")
    options.program = os.path.join(os.path.dirname(sys.executable), "kernelwright")
    options.verify = ["--device", "cpu", "--python", sys.executable, *lines("KW_OPTIONS")]


def main(arguments):
    options = read_options(arguments)
    options.output_folder.mkdir(parents=True, exist_ok=True)
    verdicts = options.output_folder / "verdicts.jsonl"
    # An earlier use in the same job may have left both files.
    verdicts.write_bytes(b"")
    (options.output_folder / "kernelwright.sarif").unlink(missing_ok=True)
    output("verdicts", verdicts)
    # Git and this script print nothing of a pull request; the program escapes what it prints.
    try:
        rows, problems = find_pairs(options)
    except Problem as problem:
        annotate("", problem)
        return 1
    for path, problem in problems:
        annotate(path, problem)
    if not rows:
        say("No kernel could be judged." if problems else "No kernel is touched: there is nothing to judge.")
        return 1 if problems else 0
    return judge(options, rows) or (1 if problems else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
