"""The pages of the documentation name source files and folders that exist."""
import fnmatch
import os
import re
import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".c", ".cmake", ".cpp", ".cu", ".def", ".fbs", ".h", ".in", ".py", ".sh"}
SPAN = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1", re.M | re.S)
PATH = re.compile(r"(?![/.][\w*]*$)[\w.*-][\w.*/-]*")  # relative, and no mere suffix such as `.py`
# Files of a user and of KernelBench, and patterns of names.
NOT_HERE = {
    "NAME.cu", "NAME.py", "NAME_cuda.cu", "NAME_triton.py", "NAME_reference.py", "NAME_kernel*.py", "PREFIXreference.py",
    "PREFIXkernel*.py",
    "tests/docker-compose.yaml",
    "level1/19_ReLU.py", "level_L_problem_P_sample_S_kernel.py", "victims/NAME.py", "exploits/cheats/NAME.py",
}


def project_files(root):
    """The files of a checkout that git does not ignore, without those that were deleted."""
    command = ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        names = all_files(root)
    return {name for name in names if (root / name).is_file()}


def all_files(root):
    """The files of an unpacked archive, without those that a build makes."""
    made = re.compile(r"(\.venv|build|dist$|third_party$|\.git$|__pycache__$)")
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if Path(folder) != root or not made.match(name)]
        found += [(Path(folder) / name).relative_to(root).as_posix() for name in files]
    return found


def mentions(text):
    """The spans in backticks that look like a path, without those of fenced blocks."""
    return dict.fromkeys(span for span in SPAN.findall(FENCED.sub("", text)) if PATH.fullmatch(span))


def is_in(names, wanted):
    return bool(fnmatch.filter(names, wanted)) if "*" in wanted else wanted in names


def wrong_paths(root, files, exempt=frozenset()):
    """"page: path" of each path in backticks that the project does not have.

    A path with a folder starts at the root, at src/, at the page's folder or, with a leading underscore, at
    python/kernelwright/; it may leave out the suffix of a source. A bare name is a path where its suffix is a source's:
    other bare names are mostly files of a user or of a run.
    """
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    known = files | folders | {os.path.splitext(name)[0] for name in files if PurePosixPath(name).suffix in SOURCES}
    bare = {PurePosixPath(name).name for name in files}
    wrong = []
    for page in sorted(name for name in files if name.endswith(".md")):
        bases = ["", "src", PurePosixPath(page).parent.as_posix()]
        for span in mentions((root / page).read_text(encoding="utf-8")):
            starts = [*bases, "python/kernelwright"] if span.startswith("_") else bases
            is_source = PurePosixPath(span).suffix in SOURCES
            if "/" not in span:
                is_wrong = is_source and not is_in(bare, span)
            else:
                is_ours = is_source or any(os.path.normpath(os.path.join(start, span.split("/")[0])) in folders
                                           for start in starts)
                is_wrong = is_ours and not any(is_in(known, os.path.normpath(os.path.join(start, span)))
                                               for start in starts)
            if is_wrong and span not in exempt:
                wrong.append(f"{page}: {span}")
    return wrong


def test_paths_in_pages_exist():
    assert wrong_paths(ROOT, project_files(ROOT), NOT_HERE) == []


def test_exempt_names_are_in_pages():
    pages = [ROOT / name for name in project_files(ROOT) if name.endswith(".md")]
    assert NOT_HERE - {span for page in pages for span in mentions(page.read_text(encoding="utf-8"))} == set()


# ---- each check finds its planted errors

def planted(root, page):
    """The errors of docs/a.md with this text, in a project of a few files."""
    for name in ("src/loop/tasks/formats.cpp", "src/loop/tasks/formats.h", "python/kernelwright/_fleet/front.py",
                 "docs/schema.json", "docs/figures/times.json", "Makefile"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "docs" / "a.md").write_text(page)
    return wrong_paths(root, set(all_files(root)), {"NAME.py"})


def test_a_path_of_a_file_that_moved_is_seen(tmp_path):
    assert planted(tmp_path, "`src/loop/formats.cpp` `loop/tasks/readers` `llm/chat.h` `_fleet/desk.py` "
                             "`docs/openapi.json` `figures/loads.json` `src/loop/refine/`\n") == [
        f"docs/a.md: {path}" for path in ("src/loop/formats.cpp", "loop/tasks/readers", "llm/chat.h", "_fleet/desk.py",
                                          "docs/openapi.json", "figures/loads.json", "src/loop/refine/")]


def test_a_bare_name_without_a_file_is_seen(tmp_path):
    assert planted(tmp_path, "`formats.cpp`, `readers.h`, and `chat*.h`\n") == ["docs/a.md: readers.h", "docs/a.md: chat*.h"]


def test_a_glob_without_a_file_is_seen(tmp_path):
    assert planted(tmp_path, "`src/loop/tasks/*.h` and `src/loop/*.py`\n") == ["docs/a.md: src/loop/*.py"]


def test_paths_that_exist_pass(tmp_path):
    assert planted(tmp_path, "`src/loop/tasks/` `loop/tasks/formats` `../docs/schema.json` `figures/times.json` `formats.*` "
                             "`_fleet/front` `Makefile`\n") == []


def test_other_spans_pass(tmp_path):
    assert planted(tmp_path, "`NAME.py` `traces.json` `/etc/hosts.h` `.py` `a / b.h` `kernelbench/2/9`\n"
                             "```sh\ncat `src/a.h`\n```\n") == []
