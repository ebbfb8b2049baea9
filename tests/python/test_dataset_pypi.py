"""Archives from a test package index on loopback; no other index is asked."""
import base64
import functools
import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest
from kernelwright._dataset import pypi


def wheel(name="tiny", version="1.0", tags="py3-none-any"):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr(f"{name}/__init__.py", "")
        file.writestr(f"{name}-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return f"{name}-{version}-{tags}.whl", data.getvalue()


def sdist(bait, name="tiny", version="1.0"):
    """Its setup.py creates the bait if it is run."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as file:
        for path, text in (("setup.py", f"open({str(bait)!r}, 'w')\n"), ("PKG-INFO", f"Name: {name}\nVersion: {version}\n")):
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text)
            file.addfile(member, io.BytesIO(text.encode()))
    return f"{name}-{version}.tar.gz", data.getvalue()


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        super().do_GET()

    def log_message(self, *words):
        pass


@pytest.fixture
def index(tmp_path):
    """A function that publishes archives, the index's address, and the requests that it received."""
    root = tmp_path / "index"
    (root / "tiny").mkdir(parents=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=root))
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def publish(*archives, wrong_hash=False):
        links = []
        for name, data in archives:
            (root / "tiny" / name).write_bytes(data)
            digest = hashlib.sha256(b"other" if wrong_hash else data).hexdigest()
            links.append(f'<a href="{name}#sha256={digest}">{name}</a>')
        (root / "tiny" / "index.html").write_text("<!DOCTYPE html><html><body>" + "".join(links) + "</body></html>")

    publish.port = server.server_address[1]
    publish.seen = server.seen
    yield publish
    server.shutdown()
    server.server_close()


def ask(index, tmp_path, *words, login=""):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_") and "proxy" not in name.lower()}
    environment = clean | {"PIP_INDEX_URL": f"http://{login}127.0.0.1:{index.port}/", "PIP_CONFIG_FILE": os.devnull,
                           "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "0"}
    done = subprocess.run([sys.executable, "-I", pypi.__file__, "--dest", str(tmp_path / "dest"), *words],
                          capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def names(lines):
    return [Path(line["file"]).name for line in lines]


def test_nothing_of_a_source_distribution_is_run(index, tmp_path):
    bait = tmp_path / "bait"
    name, data = sdist(bait)
    index((name, data))
    status, lines = ask(index, tmp_path, "tiny")
    assert status == 0
    assert lines == [{"name": "tiny", "version": "1.0", "file": str(tmp_path / "dest" / name),
                      "sha256": hashlib.sha256(data).hexdigest(), "url": f"http://127.0.0.1:{index.port}/tiny/{name}",
                      "form": "sdist"}]
    assert (tmp_path / "dest" / name).read_bytes() == data
    assert not bait.exists()


def test_a_pure_wheel_comes_first_then_the_source_then_any_wheel(index, tmp_path):
    tags = "cp36-cp36m-win32"
    index(wheel(), sdist(tmp_path / "bait"), wheel(version="2.0", tags=tags), sdist(tmp_path / "bait", version="2.0"),
          wheel(version="3.0", tags=tags))
    assert names(ask(index, tmp_path, "tiny==1.0")[1]) == ["tiny-1.0-py3-none-any.whl"]
    assert names(ask(index, tmp_path, "tiny==2.0")[1]) == ["tiny-2.0.tar.gz"]
    assert names(ask(index, tmp_path, "tiny")[1]) == ["tiny-3.0-cp36-cp36m-win32.whl"]
    assert names(ask(index, tmp_path, "--form", "sdist", "tiny")[1]) == ["tiny-2.0.tar.gz"]


def test_a_pre_release_is_taken_when_it_is_named(index, tmp_path):
    index(wheel(), wheel(version="2.0rc1"))
    assert names(ask(index, tmp_path, "tiny")[1]) == ["tiny-1.0-py3-none-any.whl"]
    assert names(ask(index, tmp_path, "tiny==2.0rc1")[1]) == ["tiny-2.0rc1-py3-none-any.whl"]


def test_what_is_there_is_not_fetched_again(index, tmp_path):
    index(wheel())
    ask(index, tmp_path, "tiny")
    index.seen.clear()
    status, lines = ask(index, tmp_path, "tiny")
    assert status == 0 and len(lines) == 1
    assert [path for path, _ in index.seen] == ["/tiny/"]


def test_a_wrong_hash_leaves_nothing(index, tmp_path):
    index(wheel(), wrong_hash=True)
    status, lines = ask(index, tmp_path, "tiny")
    assert status == 2 and "promised" in lines[0]["error"]["what"]
    assert list((tmp_path / "dest").iterdir()) == []


def test_credentials_are_used_and_not_told(index, tmp_path):
    index(wheel())
    status, lines = ask(index, tmp_path, "tiny", login="me:secret@")
    assert status == 0
    assert "secret" not in json.dumps(lines)
    expected = "Basic " + base64.b64encode(b"me:secret").decode()
    assert expected in {login for _, login in index.seen}


def test_what_is_not_there_is_an_error(index, tmp_path):
    index(wheel())
    for words in (["tiny==9"], ["absent"], ["--form", "sdist", "tiny"]):
        status, lines = ask(index, tmp_path, *words)
        assert status == 2 and set(lines[0]["error"]) == {"what", "remedy"}


@pytest.mark.parametrize("word", ["http://127.0.0.1/x.tar.gz", "x @ file:///x", "../x", "git+https://127.0.0.1/x", "./x"])
def test_only_names_are_taken(index, tmp_path, word):
    status, lines = ask(index, tmp_path, "--", word)
    assert status == 2 and "names no package" in lines[0]["error"]["what"]
    assert index.seen == []


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_an_archive_with_another_hash_than_was_asked_for_is_refused(index, tmp_path):
    name, data = wheel()
    index((name, data))
    status, lines = ask(index, tmp_path, f"tiny==1.0#sha256={sha256(b'other')}")
    assert status == 2
    assert all(word in lines[0]["error"]["what"] for word in (name, sha256(b"other"), sha256(data)))
    assert list((tmp_path / "dest").iterdir()) == []


def test_of_several_archives_the_one_with_the_hash_is_taken(index, tmp_path):
    name, data = sdist(tmp_path / "bait")
    index(wheel(), (name, data))
    status, lines = ask(index, tmp_path, f"tiny==1.0#sha256={sha256(data)}")
    assert status == 0 and names(lines) == [name]


def test_a_list_of_sources_gives_pins_and_hashes(index, tmp_path):
    name, data = wheel()
    index((name, data), wheel(version="2.0"))
    sources = tmp_path / "sources.jsonl"
    repository = json.dumps({"kind": "git", "name": "other", "pin": "0" * 40}) + "\n"
    entry = {"kind": "pypi", "name": "tiny", "pin": "1.0", "archive": name, "sha256": sha256(data)}
    sources.write_text(repository + json.dumps(entry) + "\n", encoding="utf-8")
    status, lines = ask(index, tmp_path, str(sources))
    assert status == 0 and names(lines) == [name]
    sources.write_text(json.dumps(entry | {"sha256": sha256(b"other")}) + "\n", encoding="utf-8")
    status, lines = ask(index, tmp_path, str(sources))
    assert status == 2 and sha256(b"other") in lines[0]["error"]["what"]


@pytest.mark.parametrize("text", ["", "{}\n", "no json\n", '{"kind": "git", "name": "x", "pin": "y"}\n'])
def test_a_file_that_lists_no_package_is_refused(index, tmp_path, text):
    (tmp_path / "sources.jsonl").write_text(text, encoding="utf-8")
    status, lines = ask(index, tmp_path, str(tmp_path / "sources.jsonl"))
    assert status == 2 and "sources.jsonl" in lines[0]["error"]["what"]
    assert index.seen == []


def test_a_hash_of_another_length_is_refused(index, tmp_path):
    status, lines = ask(index, tmp_path, "tiny==1.0#sha256=abc")
    assert status == 2 and "64 hexadecimal digits" in lines[0]["error"]["what"]
