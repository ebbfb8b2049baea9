"""Includes follow the architecture: between the groups of src/, between its folders, and within app/.

ARCHITECTURE.md states which groups a group may include. A folder's CMakeLists.txt states its links.
"""
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)/[^"/]+"', re.M)
GROUP = re.compile(r"^  (\w+)/ +→ ([\w ]+?)(?:  |$)", re.M)  # "  loop/  → verify code types base   folders"


def allowed_groups(architecture):
    """{group: groups that it may include}, from the text of ARCHITECTURE.md."""
    return {group: set(others.split()) - {"none"} for group, others in GROUP.findall(architecture)}


def folders(source):
    """The folders with a target: {"base/core": path, "serve": path, ...}."""
    return {path.parent.relative_to(source).as_posix(): path.parent
            for path in sorted(source.rglob("CMakeLists.txt")) if path.parent != source}


def targets(folder):
    """The targets of the folder's CMakeLists.txt, without kw_."""
    text = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    return set(re.findall(r"\b(?:kw_library\(|add_library\(kw_)(\w+)", text))


def links(source):
    """{folder: folders of which it links a target}."""
    makers = {name: folder for folder, path in folders(source).items() for name in targets(path)}
    found = {}
    for folder, path in folders(source).items():
        text = re.sub(r"#.*", "", (path / "CMakeLists.txt").read_text(encoding="utf-8"))
        found[folder] = {makers[name] for name in re.findall(r"\bkw_(\w+)", text) if name in makers} - {folder}
    return found


def includes(source, known):
    """(file, its folder, included folder) of every include of a known folder."""
    found = []
    for folder, path in folders(source).items():
        for file in sorted(path.iterdir()):
            if file.suffix in (".h", ".cpp", ".in"):
                for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
                    if name in known and name != folder:
                        found.append((file.relative_to(source).as_posix(), folder, name))
    return found


def reachable(start, graph):
    """All folders that can be reached from a folder; the folder itself only where there is a circle."""
    found, queue = set(), list(graph.get(start, ()))
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue.extend(graph.get(name, ()))
    return found


def group_of(folder):
    """The first part of a folder of src/."""
    return folder.partition("/")[0]


def wrong_groups(source, allowed):
    """Includes of a group that ARCHITECTURE.md does not allow."""
    return [f"{file} includes {name}/, which {group_of(folder)}/ may not"
            for file, folder, name in includes(source, folders(source))
            if group_of(name) != group_of(folder) and group_of(name) not in allowed.get(group_of(folder), set())]


def wrong_links(source):
    """Includes of a folder that the including folder does not link."""
    graph = links(source)
    return [f"{file} includes {name}/, which {folder}/CMakeLists.txt does not link"
            for file, folder, name in includes(source, graph) if name not in reachable(folder, graph)]


def circles(graph):
    """Names that can be reached from themselves."""
    return sorted(name for name in graph if name in reachable(name, graph))


def wrong_in_app(app):
    """A folder of app/ serves the verbs: it includes no verb, and no folder that is not below it."""
    below = {"options": set(), "model_servers": set(), "selftest": set(), "output": set()}
    wrong = []
    for folder, others in below.items():
        for file in sorted((app / folder).glob("*.[hc]*")):
            for line in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(encoding="utf-8"), re.M):
                name = line.rpartition("/")[0]
                is_verb = not name and (app / line).exists() and not (app / folder / line).exists()
                if is_verb or (name in below and name != folder and name not in others):
                    wrong.append(f"{folder}/{file.name} includes {line}")
    return wrong


@pytest.fixture(name="allowed")
def _allowed():
    return allowed_groups((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def test_every_group_stands_in_the_architecture(allowed):
    assert set(allowed) == {group_of(folder) for folder in folders(ROOT / "src")}


def test_groups_include_what_the_architecture_allows(allowed):
    assert wrong_groups(ROOT / "src", allowed) == []


def test_groups_have_no_circles(allowed):
    assert circles(allowed) == []


def test_includes_follow_the_links():
    assert wrong_links(ROOT / "src") == []


def test_folders_have_no_circles():
    assert circles(links(ROOT / "src")) == []


def test_folders_of_the_program_include_no_verb():
    assert wrong_in_app(ROOT / "app") == []


def test_tests_lie_where_their_sources_do():
    assert [folder for folder in folders(ROOT / "tests") if group_of(folder) in folders_of_groups() and
            not (ROOT / "src" / folder).is_dir()] == []


def folders_of_groups():
    """The first parts of the folders of src/."""
    return {group_of(folder) for folder in folders(ROOT / "src")}


# ---- each check finds its planted errors

def _folder(source, name, links_to="", include=""):
    path = source / name
    path.mkdir(parents=True)
    (path / "CMakeLists.txt").write_text(f"kw_library({name.replace('/', '_')} SOURCES a.cpp DEPENDS {links_to})")
    (path / "a.cpp").write_text(f'#include "{include}"\n' if include else "")


def test_a_wrong_link_is_seen(tmp_path):
    _folder(tmp_path, "low/one", include="low/two/h.h")
    _folder(tmp_path, "low/two")
    assert wrong_links(tmp_path) == ["low/one/a.cpp includes low/two/, which low/one/CMakeLists.txt does not link"]


def test_a_wrong_group_is_seen(tmp_path):
    _folder(tmp_path, "low/one", links_to="kw_high_two", include="high/two/h.h")
    _folder(tmp_path, "high/two")
    allowed = allowed_groups("  low/   → none      one\n  high/  → low       two\n")
    assert wrong_groups(tmp_path, allowed) == ["low/one/a.cpp includes high/two/, which low/ may not"]


def test_a_circle_is_seen(tmp_path):
    _folder(tmp_path, "low/one", links_to="kw_high_two")
    _folder(tmp_path, "high/two", links_to="kw_low_one")
    assert circles(links(tmp_path)) == ["high/two", "low/one"]
    assert circles(allowed_groups("  low/  → high\n  high/  → low\n")) == ["high", "low"]


def test_a_folder_that_includes_a_verb_is_seen(tmp_path):
    (tmp_path / "output").mkdir()
    (tmp_path / "verify.h").write_text("")
    (tmp_path / "output" / "table.cpp").write_text('#include "verify.h"\n')
    assert wrong_in_app(tmp_path) == ["output/table.cpp includes verify.h"]


if __name__ == "__main__":
    sys.exit("\n".join(wrong_links(ROOT / "src") + circles(links(ROOT / "src"))) or 0)
