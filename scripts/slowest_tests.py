"""Prints the slowest tests of the last runs: slowest_tests.py [-n COUNT] build/tests-LABEL[.xml]...

The files are the JUnit files that test.sh writes, one for each label.
"""
import argparse
import xml.etree.ElementTree as ElementTree


def times(path):
    """(seconds, name) of each test in a JUnit file."""
    path = path if path.endswith(".xml") else path + ".xml"
    return [(float(case.get("time", 0)), case.get("name")) for case in ElementTree.parse(path).iter("testcase")]


def main():
    """Print one line for each of the slowest tests, the slowest first."""
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("-n", type=int, default=10, metavar="COUNT", help="print COUNT tests")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    found = sorted((entry for path in options.files for entry in times(path)), reverse=True)
    print(f"The slowest of {len(found)} tests, in seconds:")
    for seconds, name in found[:options.n]:
        print(f"{seconds:8.1f}  {name}")


if __name__ == "__main__":
    main()
