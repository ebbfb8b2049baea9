"""Includes follow the arrows: a folder of src/ includes headers only of folders that its CMakeLists.txt links."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/', re.M)


def folders(source):
    return sorted(path.parent for path in source.glob("*/CMakeLists.txt"))


def targets(folder):
    """What the folder's CMakeLists.txt makes: its own target, and interfaces such as kw_verifier."""
    text = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    return {folder.name, *re.findall(r"\b(?:kw_library\(|add_library\(kw_)(\w+)", text)}


def links(folder):
    """Folders of which this one links a target, kw_NAME in its CMakeLists.txt."""
    text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text(encoding="utf-8"))
    named = set(re.findall(r"\bkw_(\w+)", text)) - targets(folder)
    makers = {name: other.name for other in folders(folder.parent) for name in targets(other)}
    return {makers.get(name, name) for name in named} | {folder.name}


def included(folder):
    """(file, folder included) of every include that names a folder."""
    files = [path for path in folder.rglob("*") if path.suffix in (".h", ".cpp")]
    return [(path, name) for path in sorted(files) for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def reachable(folder, graph):
    """The folder and all that it links, directly or through others."""
    found, queue = set(), [folder]
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue.extend(graph.get(name, ()))
    return found


def wrong_arrows(source):
    names = {folder.name for folder in folders(source)}
    graph = {folder.name: links(folder) & names for folder in folders(source)}
    return [f"{path.relative_to(source)} includes {name}/, which {folder.name}/CMakeLists.txt does not link"
            for folder in folders(source)
            for path, name in included(folder)
            if name in names and name not in reachable(folder.name, graph)]


def circles(source):
    graph = {folder.name: links(folder) - {folder.name, "library"} for folder in folders(source)}
    return [name for name in graph if any(name in reachable(other, graph) for other in graph[name])]


def test_includes_follow_the_links():
    assert wrong_arrows(ROOT / "src") == []


def test_there_are_no_circles():
    assert circles(ROOT / "src") == []


def test_a_wrong_arrow_is_seen(tmp_path):
    for name, links_to, include in (("low", "", "high/h.h"), ("high", "kw_low", "low/l.h")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "CMakeLists.txt").write_text(f"kw_library({name} SOURCES a.cpp DEPENDS {links_to})")
        (tmp_path / name / "a.cpp").write_text(f'#include "{include}"\n')
    assert wrong_arrows(tmp_path) == ["low/a.cpp includes high/, which low/CMakeLists.txt does not link"]


if __name__ == "__main__":
    sys.exit("\n".join(wrong_arrows(ROOT / "src") + circles(ROOT / "src")) or 0)
