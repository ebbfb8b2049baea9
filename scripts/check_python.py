"""Compares the packages of the Python that runs this with a requirements file.

    python check_python.py REQUIREMENTS

Prints one line for every package that is missing or has another version than the pin. Exits 1 when one is
missing, 2 when versions differ or only optional ones are missing, 3 when the Python itself is too old, else 0.
"""
import platform
import re
import sys
from importlib import metadata
from pathlib import Path


OPTIONAL = {"huggingface_hub", "matplotlib", "tokenizers"}  # local files, and data sets without figures or token counts


# What the environment markers of the requirements files compare, in the form `name == "value" and name == "value"`.
HERE = {"python_version": f"{sys.version_info.major}.{sys.version_info.minor}", "platform_machine": platform.machine()}


def is_for_this_python(marker):
    return all(HERE[name] == value for name, value in re.findall(r'(\w+) == "([^"]*)"', marker))


def pins(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("-r "):
            yield from pins(path.parent / line[3:].strip())
        elif line:
            pin, _, marker = line.partition(";")
            if is_for_this_python(marker):
                name, _, version = pin.strip().partition("==")
                yield name, version


def main():
    if sys.version_info < (3, 11):
        print(f"Python {sys.version.split()[0]}: 3.11 or newer is needed")
        return 3
    missing = differing = False
    for name, wanted in pins(Path(sys.argv[1])):
        try:
            found = metadata.version(name).split("+")[0]
        except metadata.PackageNotFoundError:
            print(f"{name} is missing (wanted: {wanted})")
            missing, differing = missing or name not in OPTIONAL, True
            continue
        if found != wanted:
            print(f"{name} is {found} (wanted: {wanted})")
            differing = True
    return 1 if missing else 2 if differing else 0


sys.exit(main())
