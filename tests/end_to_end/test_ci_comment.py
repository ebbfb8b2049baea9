"""scripts/ci_comment.py against a stand-in for GitHub's API: hostile artifacts, and which pull request gets a comment."""
import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from . import program

SCRIPT = program.ROOT / "scripts/ci_comment.py"
HEAD, BOT, MARK = "a" * 40, "github-actions[bot]", "<!-- kernelwright verdicts -->"
REPOSITORY = {"id": 1, "full_name": "owner/name"}
FORK = {"id": 2, "owner": {"login": "someone"}}
EVENT = {"id": 7, "event": "pull_request", "head_sha": HEAD, "head_branch": "topic", "head_repository": FORK,
         "repository": REPOSITORY}


def pull(number, **head):
    return {"number": number, "head": {"sha": HEAD, "repo": FORK, **head}, "base": {"repo": REPOSITORY}}


def verdict(name="relu", status="incorrect", **fields):
    return json.dumps({"schema": "kernelwright.verdict/1", "id": name, "status": status, "counts": None, "speedup": None,
                       **fields})


def archive(*lines, member="verdicts.jsonl", method=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as opened:
        opened.writestr(member, "\n".join(lines))
    return data.getvalue()


class World:
    """What the API knows, and what it was asked to write."""

    def __init__(self):
        self.pulls, self.comments, self.artifact = [pull(12)], [], archive(verdict())
        self.artifact_name, self.size, self.event = "kernelwright-verdicts", None, EVENT
        self.written, self.tokens_at_storage, self.storage_status = [], [], 200

    def get(self, url):
        path, query = url.path.removeprefix("/api"), parse_qs(url.query)
        if path == "/repos/owner/name/pulls":
            assert query["state"] == ["open"] and query["head"] == ["someone:topic"]
            return self.pulls
        if path == "/repos/owner/name/actions/runs/7/artifacts":
            size = self.size or len(self.artifact)
            return {"artifacts": [{"id": 3, "name": self.artifact_name, "expired": False, "size_in_bytes": size}]}
        if path == "/repos/owner/name/issues/12/comments":
            start = 100 * (int(query["page"][0]) - 1)
            return self.comments[start:start + 100]
        return None


@pytest.fixture(scope="module")
def comment_script():
    """The script as a module."""
    return program.load_script(SCRIPT)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def comment(world, tmp_path):
    """Run the script: (exit code, what it printed)."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            url = urlsplit(self.path)
            if url.path == "/api/storage":
                world.tokens_at_storage.append(self.headers.get("Authorization"))
                return self.answer(world.storage_status, world.artifact)
            assert self.headers["Authorization"] == "Bearer secret"
            if url.path.endswith("/actions/artifacts/3/zip"):
                return self.answer(302, b"", Location=f"{world.url}/api/storage")
            found = world.get(url)
            return self.answer(404 if found is None else 200, json.dumps(found).encode())

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            world.written.append((self.command, self.path.removeprefix("/api"), body["body"]))
            self.answer(201, b"{}")

        do_PATCH = do_POST

        def answer(self, status, body, **headers):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    world.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def run():
        event = tmp_path / "event.json"
        event.write_text(json.dumps({"workflow_run": world.event}), encoding="utf-8")
        environment = {"PATH": os.environ["PATH"], "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "owner/name",
                       "GITHUB_API_URL": world.url + "/api", "GITHUB_TOKEN": "secret"}
        done = subprocess.run([sys.executable, "-I", SCRIPT], env=environment, capture_output=True, text=True, check=False,
                              timeout=60)
        assert done.stderr == ""
        return done.returncode, done.stdout
    yield run
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_first_comment_is_written(world, comment):
    world.artifact = archive(verdict("a", "correct", counts=True, speedup=1.5), verdict("b", error_class="wrong_value"),
                             verdict("c", "correct", counts=False, counts_reason="decoy"))
    assert comment() == (0, "The comment on pull request 12 is written.\n")
    [(method, path, text)] = world.written
    assert (method, path) == ("POST", "/repos/owner/name/issues/12/comments")
    assert text == (f"{MARK}\n### Kernelwright: 1 of 3 touched kernels right\n\n| kernel | verdict | speed-up |\n"
                    "|---|---|---:|\n| `b` | `incorrect (wrong_value)` | - |\n"
                    "| `c` | `correct, does not count (decoy)` | - |\n| `a` | `correct` | 1.50x |\n"
                    "\nCommit aaaaaaaaaaaa; messages and places: https://github.com/owner/name/actions/runs/7\n")
    assert world.tokens_at_storage == [None]


def test_the_own_comment_is_updated_and_no_other(world, comment):
    other = {"id": 1, "user": {"login": "someone"}, "body": MARK}
    world.comments = [other] * 150 + [{"id": 9, "user": {"login": BOT}, "body": "x" + MARK},
                                      {"id": 5, "user": {"login": BOT}, "body": MARK + " old"}]
    assert comment() == (0, "The comment on pull request 12 is updated.\n")
    assert [(method, path) for method, path, _ in world.written] == [("PATCH", "/repos/owner/name/issues/comments/5")]


def test_without_touched_kernels_there_is_no_first_comment(world, comment):
    world.artifact = archive("")
    assert comment() == (0, "The comment on pull request 12 is not needed.\n") and world.written == []
    world.comments = [{"id": 5, "user": {"login": BOT}, "body": MARK}]
    comment()
    assert "0 of 0 touched kernels" in world.written[0][2]


@pytest.mark.parametrize("pulls", [[], [pull(12), pull(13)], [pull(12, sha="b" * 40)], [pull(12, repo={"id": 3})],
                                   [pull(12, repo=None)]])
def test_only_the_one_pull_request_of_the_commit_gets_a_comment(world, comment, pulls):
    world.pulls = pulls
    code, said = comment()
    assert code == 0 and "open pull requests have the commit of the run" in said and world.written == []


@pytest.mark.parametrize("change", [{"event": "push"}, {"head_sha": "../../x"}, {"repository": {"full_name": "else/where"}}])
def test_another_run_gets_no_comment(world, comment, change):
    world.event = EVENT | change
    code, said = comment()
    assert code == 0 and said.startswith("There is no comment: the run belongs to ") and world.written == []


def test_a_name_is_no_markup_and_no_mention(world, comment):
    world.artifact = archive(verdict("`|\n@team #1 <img src=x> https://evil.example [a](b) \u202e\u2028" + "x" * 1_000_000,
                                     error_class="<b>", counts_reason="x` @team", speedup=1e400))
    assert comment()[0] == 0
    row = next(line for line in world.written[0][2].splitlines() if line.startswith("| `"))
    assert row.startswith("| `????team??1??img?src=x??https?//evil.example??a??b????xxx")
    assert row.endswith("x` | `incorrect` | - |") and len(row) < 200


@pytest.mark.parametrize("lines, why", [
    (["{"], "line 1 is not JSON"), ([verdict(), "[]"], "line 2 is no verdict"), ([verdict(status="fine")], "is no verdict"),
    (["[" * 200_000], "line 1 is not JSON"), ([verdict(status=[])], "line 1 is no verdict"),
    ([verdict(status={})], "line 1 is no verdict"), ([verdict().replace("kernelwright.verdict/1", "x")], "is no verdict"),
    ([verdict()] * 25_001, "more than 25000 verdicts"), (["x" * (33 << 20)], "more than 32 MiB")])
def test_an_artifact_of_another_form_is_refused(world, comment, lines, why):
    world.artifact = archive(*lines)
    code, said = comment()
    assert code == 0 and why in said and world.written == []


@pytest.mark.parametrize("speedup", [10 ** 400, -(10 ** 400), 1e6, 0, True, "2", [2]],
                         ids=["huge", "negative", "large", "zero", "bool", "text", "list"])
def test_a_speedup_out_of_range_is_left_out(world, comment, speedup):
    world.artifact = archive(verdict(speedup=speedup))
    assert comment()[0] == 0
    assert "| `relu` | `incorrect` | - |" in world.written[0][2]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_of_another_compression_is_refused(world, comment, method):
    world.artifact = archive(verdict(), method=method)
    assert "verdicts.jsonl is neither stored nor deflated" in comment()[1] and world.written == []


def test_a_member_that_is_damaged_is_refused(comment_script):
    whole = archive(verdict())
    for place in range(len(whole)):
        damaged = bytes([*whole[:place], whole[place] ^ 0xFF, *whole[place + 1:]])
        with contextlib.suppress(comment_script.Refused):
            assert comment_script.verdicts_of(damaged) == comment_script.verdicts_of(whole)


def test_a_member_at_an_impossible_place_is_refused(comment_script):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as opened:
        opened.writestr("verdicts.jsonl", verdict())
        opened.getinfo("verdicts.jsonl").header_offset = 1 << 63
    with pytest.raises(comment_script.Refused, match="no readable verdicts.jsonl"):
        comment_script.verdicts_of(data.getvalue())


def test_names_of_members_lead_nowhere(world, comment, tmp_path):
    world.artifact = archive(verdict(), member="../../../../" + str(tmp_path / "injected"))
    assert "has no readable verdicts.jsonl" in comment()[1] and not (tmp_path / "injected").exists()
    world.artifact = b"PK\x03\x04 no archive"
    assert "has no readable verdicts.jsonl" in comment()[1]


def test_a_large_artifact_is_not_loaded(world, comment):
    world.size = 5 << 20
    assert "more than 4 MiB" in comment()[1] and world.tokens_at_storage == []
    world.size, world.artifact = 10, b"x" * (5 << 20)
    assert "more than 4 MiB" in comment()[1]


def test_an_artifact_of_another_name_is_not_read(world, comment):
    world.artifact_name = "other"
    assert "has no artifact kernelwright-verdicts" in comment()[1] and world.written == []


def without_artifact(world):
    world.artifact_name = "other"


def with_refused_artifact(world):
    world.artifact = archive("@team")


def with_large_artifact(world):
    world.size = 5 << 20


def with_storage_that_fails(world):
    world.storage_status = 503


@pytest.mark.parametrize("change", [without_artifact, with_refused_artifact, with_large_artifact, with_storage_that_fails])
def test_a_run_without_verdicts_replaces_those_of_an_older_commit(world, comment, change):
    change(world)
    assert "The comment on pull request 12 is not needed." in comment()[1] and world.written == []
    world.comments = [{"id": 5, "user": {"login": BOT}, "body": MARK + " 1 of 1 touched kernels right"}]
    code, said = comment()
    assert code == 0 and said.startswith("There are no verdicts: ")
    [(method, path, text)] = world.written
    assert (method, path) == ("PATCH", "/repos/owner/name/issues/comments/5")
    assert text.startswith(f"{MARK}\n### Kernelwright: no verdicts on aaaaaaaaaaaa\n") and "@" not in text
    assert text.endswith("Commit aaaaaaaaaaaa; messages and places: https://github.com/owner/name/actions/runs/7\n")


def test_many_verdicts_fit_one_comment(world, comment):
    world.artifact = archive(*[verdict(f"{i}-" + "y" * 200, "correct") for i in range(5_000)], verdict("last"))
    comment()
    [(_, _, text)] = world.written
    assert len(text) < 65_536 and text.index("`last`") < text.index("`0-y") and "4961 more are in the run" in text
