"""release_pages.py FOLDER: fits the pages of an unpacked release to what it holds.

A link to a file of the repository that the release lacks becomes its text, and commands name bin/kernelwright.
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
FENCED = re.compile(r"^( *)(```+|~~~+).*?^ *\2", re.M | re.S)
BUILT = re.compile(r"\bbuild/kernelwright(?![\w-])")


def fitted(text, page, root):
    """The text of a page of the release at `root`."""
    def link(found):
        target = found[2].split("#")[0]
        if not target or ELSEWHERE.match(target):
            return found[0]
        place = (page.parent / target).resolve()
        return found[0] if place.is_relative_to(root) and place.exists() else found[1]
    return FENCED.sub(lambda block: BUILT.sub("bin/kernelwright", block[0]), LINK.sub(link, text))


def main(folder):
    root = Path(folder).resolve()
    for page in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]):
        page.write_text(fitted(page.read_text(encoding="utf-8"), page, root), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
