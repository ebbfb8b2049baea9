"""Runs clang-tidy over every .cpp of src/ and app/, two or more at a time, with the flags of the compile database.

python3 scripts/tidy.py [--alone] [BUILD_DIR]

Most of its time goes into headers, so files that can be included in one text are checked together, with the include
folders of all of them. Where a group causes complaints, each half is checked. A build that compiles sources together
(KW_UNITY) misses a local variable that shadows another and an include that only a neighbour has: with --alone, the
compiler checks each file by itself first, which takes as long as the rest. A file that passed is not checked again until
its text, a header of the project that it includes or that its neighbours in the build include, its compiler flags or
.clang-tidy change.
"""
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALONE = "--alone" in sys.argv[1:]
BUILD = Path(next((word for word in sys.argv[1:] if word != "--alone"), "build")).resolve()
STAMPS = BUILD / "tidy"
TIDY = "clang-tidy-19"
LIMIT_S = 300
TOGETHER = 24  # files; more leave some cores without work at the end
# Complaints of clang-tidy that the compiler has as well, in a fraction of the time.
WARNINGS = ("-Wshadow", "-Wreserved-identifier", "-Wreserved-macro-identifier")
# Names that two files may both define: definitions at the left edge of a file's unnamed namespace. Names that are
# only imported by `using` may occur twice.
DEFINED = re.compile(r"^(?=[\w\[])(?!using |namespace |return)(?:[\w:<>,*&\[\]\(\) ]+[ *&>])?(\w+)\s*(?:\(|=|\{|;|\[)",
                     re.MULTILINE)
INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)
KINDS = re.compile(r"^(?:struct|class|enum(?: class)?|#define|using(?= \w+ =)) (\w+)", re.MULTILINE)


def own(path):
    """Whether a file is the project's, and neither the system's nor made by the build."""
    return path.is_relative_to(ROOT) and not path.is_relative_to(BUILD)


def headers_by_object():
    """The project's headers on which each object depends, from ninja."""
    found, current = {}, None
    listing = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if line.startswith("    "):
            path = (BUILD / line.strip()).resolve()
            if own(path):
                current.append(path)
        elif line:
            current = found.setdefault(line.split(":")[0], [])
    return found


def object_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def entries_of_sources(database):
    """An entry for each source; a unity text of several sources gives several entries, each with the text's command."""
    for entry in database:
        text = Path(entry["file"])
        together = text.parent.name == "Unity"
        for file in INCLUDED.findall(text.read_text(encoding="utf-8")) if together else [entry["file"]]:
            yield {**entry, "file": file, "command": entry["command"].replace(entry["file"], file)}


def key(entry, headers):
    known = hashlib.sha256("\0".join((*flags(entry), *(WARNINGS if ALONE else ()))).encode())
    known.update((ROOT / ".clang-tidy").read_bytes())
    for path in sorted({Path(entry["file"]), *headers}):
        known.update(str(path).encode() + b"\0" + path.read_bytes())
    return known.hexdigest()[:24]


def own_names(text):
    """Names in a .cpp that would clash with equal ones of another in one text; a superset is harmless."""
    hidden = "".join(re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.MULTILINE | re.DOTALL))
    names = set(DEFINED.findall(hidden)) | set(KINDS.findall(hidden)) | set(KINDS.findall(text))
    return names


def command(entry):
    """The arguments without precompiled headers: a source must compile by its own includes."""
    words = shlex.split(entry["command"])
    kept = []
    while words:
        if words[0] == "-Xclang" and words[1] in ("-include-pch", "-include"):
            del words[:4]
        elif words[0] in ("-Winvalid-pch", "-fpch-instantiate-templates"):
            del words[0]
        else:
            kept.append(words.pop(0))
    return kept


def flags(entry):
    return tuple(word for word in command(entry) if word not in (entry["file"], object_of(entry)))


def include_folders(entry):
    """["-IFOLDER", …, "-isystemFOLDER", …]"""
    words = command(entry)
    return [word for word in words if word.startswith("-I")] + [
        f"-isystem{folder}" for word, folder in zip(words, words[1:]) if word == "-isystem"]


def together(entries):
    """Groups of entries in which no two files define the same name. Neighbours share most headers."""
    groups = []
    for entry in entries:
        names = own_names(Path(entry["file"]).read_text(encoding="utf-8"))
        for group in groups:
            if len(group["entries"]) < TOGETHER and not names & group["names"]:
                break
        else:
            group = {"entries": [], "names": set()}
            groups.append(group)
        group["entries"].append(entry)
        group["names"] |= names
    return [group["entries"] for group in groups]


def tidy(words, cwd):
    """The complaints of clang-tidy; empty if there are none."""
    try:
        done = subprocess.run([TIDY, "--quiet", *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"{words[-1]}: clang-tidy took longer than {LIMIT_S} s\n"
    return "" if done.returncode == 0 else done.stdout + done.stderr


def compile_alone(entry):
    """The compiler's errors for this source alone, without the includes of other sources; empty if there are none."""
    words = shlex.split(entry["command"])
    words = [*words[words[0].endswith("ccache"):], "-fsyntax-only", *WARNINGS]
    done = subprocess.run(words, cwd=entry["directory"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def complaints_of(group):
    """[(entry, complaints)]: of all at once, and if there are any, of each half."""
    if len(group) > 1:
        text = "".join(f'#include "{entry["file"]}"\n' for entry in group)
        file = STAMPS / f"together_{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
        file.write_text(text, encoding="utf-8")
        entry = group[0]
        words = [word if word != entry["file"] else str(file) for word in command(entry)]
        words += sorted({each for other in group for each in include_folders(other)})
        # An included .cpp counts as a header and is suspicious to clang-tidy; one file's local variable may have the name of
        # another file's constant.
        words = ["--header-filter=(src|app|native)/.*", "--checks=-bugprone-suspicious-include", "--config-file",
                 str(ROOT / ".clang-tidy"), str(file), "--", *words[1:], "-Wno-shadow"]
        if not tidy(words, entry["directory"]):
            return [(entry, "") for entry in group]
        half = len(group) // 2
        return complaints_of(group[:half]) + complaints_of(group[half:])
    return [(entry, tidy([entry["file"], "--", *command(entry)[1:]], entry["directory"])) for entry in group]


def check(group):
    """(complaints_of(), seconds of the compiler, of clang-tidy)"""
    started = time.monotonic()
    alone = [(entry, compile_alone(entry) if ALONE else "") for entry in group]
    compiled = time.monotonic()
    good = [entry for entry, complaints in alone if not complaints]
    found = [(entry, complaints) for entry, complaints in alone if complaints]
    return found + (complaints_of(good) if good else []), compiled - started, time.monotonic() - compiled


def main():
    database = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    entries = [entry for entry in entries_of_sources(database) if entry["file"].endswith(".cpp")
               and any(Path(entry["file"]).is_relative_to(ROOT / folder) for folder in ("src", "app"))
               and "kw_fuzzed_" not in object_of(entry)]
    entries = list({entry["file"]: entry for entry in reversed(entries)}.values())[::-1]  # some are in tests, too
    sources = {Path(entry["file"]) for entry in entries}
    headers = {name: [path for path in paths if path not in sources] for name, paths in headers_by_object().items()}
    STAMPS.mkdir(exist_ok=True)
    stamps = {entry["file"]: STAMPS / key(entry, headers.get(object_of(entry), [])) for entry in entries}
    todo = [entry for entry in entries if not stamps[entry["file"]].exists()]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found, compiler_s, tidy_s in pool.map(check, together(todo)):
            for entry, complaints in found:
                name = Path(entry["file"]).relative_to(ROOT)
                print(f"{name}: {'complaints' if complaints else 'good'}", flush=True)
                if complaints:
                    failed += 1
                    print(complaints, flush=True)
                else:
                    stamps[entry["file"]].touch()
            print(f"  {len(found)} files: compiler {compiler_s:.0f} s, clang-tidy {tidy_s:.0f} s", flush=True)
    print(f"clang-tidy: {len(entries)} files, {len(todo)} looked at, {failed} with complaints")
    return 1 if failed else 0


sys.exit(main())
