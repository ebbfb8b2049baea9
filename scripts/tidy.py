"""Runs clang-tidy over the compile database: every .cpp of src/ and app/, two or more at a time.

    python3 scripts/tidy.py [BUILD_DIR]

A file that passed is not looked at again until its text, a header of the project that it includes, its compile
command or .clang-tidy changes.
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
STAMPS = BUILD / "tidy"
TIDY = "clang-tidy-19"
LIMIT_S = 300


def own(path):
    """Whether a file is the project's: neither the system's nor made by the build."""
    return path.is_relative_to(ROOT) and not path.is_relative_to(BUILD)


def headers_by_object():
    """What ninja knows each object to depend on, of the project's files."""
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


def key(entry, headers):
    known = hashlib.sha256(entry["command"].encode())
    known.update((ROOT / ".clang-tidy").read_bytes())
    for path in sorted({Path(entry["file"]), *headers}):
        known.update(str(path).encode() + b"\0" + path.read_bytes())
    return known.hexdigest()[:24]


def check(entry):
    """The complaints about one file, or nothing."""
    started = time.monotonic()
    try:
        done = subprocess.run([TIDY, "--quiet", "-p", BUILD, entry["file"]], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT_S)
        complaints = "" if done.returncode == 0 else done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        complaints = f"{entry['file']}: clang-tidy took longer than {LIMIT_S} s\n"
    return complaints, time.monotonic() - started


def main():
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    entries = [entry for entry in entries if entry["file"].endswith(".cpp")
               and any(Path(entry["file"]).is_relative_to(ROOT / folder) for folder in ("src", "app"))
               and "kw_fuzzed_" not in object_of(entry)]
    headers = headers_by_object()
    STAMPS.mkdir(exist_ok=True)
    stamps = {entry["file"]: STAMPS / key(entry, headers.get(object_of(entry), [])) for entry in entries}
    todo = [entry for entry in entries if not stamps[entry["file"]].exists()]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, (complaints, seconds) in zip(todo, pool.map(check, todo)):
            name = Path(entry["file"]).relative_to(ROOT)
            print(f"{name}: {'complaints' if complaints else 'good'} ({seconds:.0f} s)", flush=True)
            if complaints:
                failed += 1
                print(complaints, flush=True)
            else:
                stamps[entry["file"]].touch()
    print(f"clang-tidy: {len(entries)} files, {len(todo)} looked at, {failed} with complaints")
    return 1 if failed else 0


sys.exit(main())
