"""Checks the list of sources that `kernelwright dataset discover` prints (src/dataset/fetch/catalogue.json).

    python scripts/check_catalogue.py                                 the form of the list, without the network
    python scripts/check_catalogue.py --download [NAME ...]           also fetches each source and compares pin, licence, counts
    python scripts/check_catalogue.py --download NAME --from FOLDER   the same from a local copy of its repository
    python scripts/check_catalogue.py --download --update             writes what differs into the list

A download is a `kernelwright dataset build` of the source at its pin, without compiling. The licence of a source is that of
most of its files with units. Prints one line for each fault; exits 1 if there is one.
"""
import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "src/dataset/fetch/catalogue.json"
PERMISSIVE = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT"}
KINDS = {"triton": "triton", "cuda": "cuda_kernel", "pytorch": "torch"}  # of the list: the unit's kind
FIELDS = {"pypi": ["name", "kind", "pin", "archive", "sha256", "licence", "kernels", "left_out", "what"],
          "git": ["name", "kind", "pin", "url", "licence", "kernels", "left_out", "what"]}
NAME = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?")


def is_count(value, least=0):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_repository(url):
    """Whether it is an https address of a host and a path, without user, port, query and fragment."""
    parts = urlsplit(url)
    return (parts.scheme == "https" and re.fullmatch(r"[a-z0-9.-]+\.[a-z]+", parts.netloc) is not None
            and re.fullmatch(r"(/[A-Za-z0-9][A-Za-z0-9._-]*){2,}", parts.path) is not None and url == f"https://{parts.netloc}{parts.path}"
            and not url.endswith(".git"))


def package_faults(entry):
    if not VERSION.fullmatch(entry["pin"]):
        yield f"the pin {entry['pin']!r} is no exact version"
    stem = rf"{re.escape(entry['name']).replace(re.escape('-'), '[-_.]')}-{re.escape(entry['pin'])}"
    form = rf"{stem}(-[A-Za-z0-9_.]+-[A-Za-z0-9_]+-[A-Za-z0-9_.]+\.whl|\.tar\.gz)"
    if not re.fullmatch(form, entry["archive"], re.IGNORECASE):
        yield f"the archive {entry['archive']!r} is no wheel or source distribution of the pin"
    if not re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]):
        yield "sha256 is no SHA-256"


def repository_faults(entry):
    if not re.fullmatch(r"[0-9a-f]{40}", entry["pin"]):
        yield f"the pin {entry['pin']!r} is no full commit"
    if not is_repository(entry["url"]):
        yield f"the URL {entry['url']!r} is no https address of a repository"


def entry_faults(entry):
    kind = entry.get("kind")
    if kind not in FIELDS:
        yield f"the kind {kind!r} is not one of {', '.join(FIELDS)}"
        return
    if list(entry) != FIELDS[kind]:
        yield f"the fields are {', '.join(entry)}; expected are {', '.join(FIELDS[kind])}"
        return
    texts = [name for name in FIELDS[kind] if name not in ("kernels", "left_out")]
    if bad := [name for name in texts if not isinstance(entry[name], str)]:
        yield f"{', '.join(bad)}: a text is expected"
        return
    if not NAME.fullmatch(entry["name"]):
        yield "the name is not in lower case with single dashes"
    yield from package_faults(entry) if kind == "pypi" else repository_faults(entry)
    if entry["licence"] not in PERMISSIVE:
        yield f"the licence {entry['licence']!r} is not one of {', '.join(sorted(PERMISSIVE))}"
    kernels = entry["kernels"]
    if not isinstance(kernels, dict) or list(kernels) != [name for name in KINDS if name in kernels] or \
            not all(is_count(count, 1) for count in kernels.values()) or not kernels.keys() & {"triton", "cuda"}:
        yield "kernels has counts of 1 or more under triton, cuda, pytorch, in this order, and one of the first two"
    if not is_count(entry["left_out"]):
        yield "left_out is no count"
    if not re.fullmatch(r"[A-Z][ -~]{20,138}\.", entry["what"]) or ". " in entry["what"]:
        yield "what is not one sentence of at most 140 characters"


def form_faults(entries):
    """One line for each fault of the list."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        return ["the list is not a JSON array of objects"]
    names = [str(entry.get("name")) for entry in entries]
    faults = [f"{name}: {fault}" for name, entry in zip(names, entries, strict=True) for fault in entry_faults(entry)]
    faults += [f"{name}: listed {count} times" for name, count in Counter(names).items() if count > 1]
    if names != sorted(names):
        faults.append("the list is not sorted by name")
    return faults


def text_of(entries):
    return json.dumps(entries, indent=2) + "\n"


def source_of(entry, local):
    if entry["kind"] == "pypi":
        return ["--pypi", f"{entry['name']}=={entry['pin']}"]
    return ["--git", f"{local or entry['url']}@{entry['pin']}"]


def measured(entry, program, local):
    """The entry as its source has it; a RuntimeError where it cannot be built."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "set"
        command = [program, "dataset", "build", *source_of(entry, local), "--output", out, "--hardware", "all", "--no-compile",
                   "--no-tokens", "--no-figures", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
        analysis = json.loads((out / "ANALYSIS.json").read_text(encoding="utf-8"))
        source = analysis["sources"][0]
        found = {**entry, "pin": source["commit"] if entry["kind"] == "git" else source["version"]}
        if entry["kind"] == "pypi":
            archive = next((out / ".state/archives").iterdir())
            found |= {"archive": archive.name, "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}
    units = analysis["units"]
    return found | {"licence": max(source["licences"].items(), key=lambda each: each[1])[0],
                    "kernels": {name: units[kind] for name, kind in KINDS.items() if units.get(kind)},
                    "left_out": sum(source["licence_refused"].values())}


def compare(entries, options):
    """Compares the named entries with their sources; updates them in place with --update."""
    faults = []
    wanted = [entry for entry in entries if not options.names or entry["name"] in options.names]
    faults += [f"{name}: not in the list" for name in options.names if name not in {entry["name"] for entry in wanted}]
    for entry in wanted:
        try:
            found = measured(entry, options.program, options.local)
        except (KeyError, RuntimeError, StopIteration, ValueError) as error:
            faults.append(f"{entry['name']}: {error or 'the build has no licence or no archive'}")
            continue
        differing = [f"{entry['name']}: {field} is {found.get(field)}, the list has {entry.get(field)}"
                     for field in FIELDS[entry["kind"]] if found.get(field) != entry.get(field)]
        print("\n".join(differing) or f"{entry['name']}: as listed", flush=True)
        if options.update:
            entry.clear()
            entry.update({field: found[field] for field in FIELDS[found["kind"]]})
        else:
            faults += differing
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="with --download: these alone")
    parser.add_argument("--download", action="store_true", help="fetch the sources and compare")
    parser.add_argument("--update", action="store_true", help="with --download: write what differs into the list")
    parser.add_argument("--from", dest="local", metavar="FOLDER",
                        help="with --download and one name: a local copy of its repository")
    parser.add_argument("--program", default=str(ROOT / "build/kernelwright"))
    parser.add_argument("--list", type=Path, default=LIST)
    options = parser.parse_args()
    if not options.download and (options.names or options.update or options.local):
        parser.error("NAME, --update and --from need --download")
    if options.local and len(options.names) != 1:
        parser.error("--from needs one NAME")
    text = options.list.read_text(encoding="utf-8")
    entries = json.loads(text)
    faults = []
    if options.download:
        faults = compare(entries, options)
        if options.update:
            text = text_of(entries)
            options.list.write_text(text, encoding="utf-8")
    faults = form_faults(entries) + faults
    if text != text_of(entries):
        faults.append("the list is not formatted as --update writes it")
    print("\n".join(faults) or f"{len(entries)} sources: no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
