#!/usr/bin/env python3
"""Comments the verdicts of a pull request's run, once, in a workflow on workflow_run: docs/ci.md.

    GITHUB_TOKEN=... scripts/ci_comment.py --artifact kernelwright-verdicts

The artifact was written by the code of the pull request, so it is hostile: it is never unpacked, its size and its form
are checked, and only words of a closed set and a name of a few harmless characters go from it into the comment. The
number of the pull request comes from GitHub, for the commit of the event.
"""
import argparse
import http.client
import io
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
import zipfile

LARGEST_ARCHIVE = 4 << 20
LARGEST_VERDICTS = 32 << 20
LARGEST_ANSWER = 16 << 20
MOST_VERDICTS = 25_000
MOST_ROWS = 40
MOST_PAGES = 20
MEMBER = "verdicts.jsonl"
MARK = "<!-- kernelwright verdicts -->"
AUTHOR = "github-actions[bot]"
SCHEMA = "kernelwright.verdict/1"
ORDER = {"incorrect": 0, "failed": 0, "error": 2, "skipped": 3, "correct": 4}
WORD = re.compile(r"[a-z][a-z_]{0,39}")
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
NAME = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)


class Refused(Exception):
    """Why there are no verdicts, or no comment. The message has no text of the artifact."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Api:
    """GitHub's REST API. The token goes to the API alone, never to the storage that it redirects to."""

    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token
        self.opener = urllib.request.build_opener(NoRedirect)

    def call(self, path, body=None, method=None):
        status, _, answer = self._open(path, body, method)
        if status not in (200, 201):
            raise Refused(f"GitHub answers {status} to {method or 'GET'} {path}")
        return json.loads(answer)

    def location(self, path):
        """The place that the API redirects to."""
        status, headers, _ = self._open(path)
        if status != 302 or not headers.get("Location", "").startswith(("https://", self.url)):
            raise Refused(f"GitHub answers {status} to GET {path}")
        return headers["Location"]

    def pages(self, path, key=None):
        for page in range(1, MOST_PAGES + 1):
            answer = self.call(f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
            items = answer[key] if key else answer
            yield from items
            if len(items) < 100:
                return

    def _open(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={
            "Authorization": f"Bearer {self.token}", "Accept": "application/vnd.github+json",
            "Content-Type": "application/json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "kernelwright"})
        try:
            with self.opener.open(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read(LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, b""


def pull_request_of(api, repository, run):
    """The number of the one open pull request whose head is the run's commit; never one that the artifact names."""
    head, source = run.get("head_sha") or "", run.get("head_repository") or {}
    if run.get("event") != "pull_request" or not COMMIT.fullmatch(head):
        raise Refused("the run belongs to no pull request")
    owner, branch = source.get("owner", {}).get("login", ""), run.get("head_branch") or ""
    query = urllib.parse.urlencode({"state": "open", "head": f"{owner}:{branch}"})
    found = [each["number"] for each in api.pages(f"/repos/{repository}/pulls?{query}")
             if each["head"]["sha"] == head and (each["head"].get("repo") or {}).get("id") == source.get("id")
             and each["base"]["repo"]["full_name"].lower() == repository.lower()]
    if len(found) != 1 or not isinstance(found[0], int):
        raise Refused(f"{len(found)} open pull requests have the commit of the run")
    return found[0]


def archive_of(api, repository, run_id, name):
    """The bytes of the run's artifact."""
    path = f"/repos/{repository}/actions/runs/{run_id}/artifacts?{urllib.parse.urlencode({'name': name})}"
    found = [each for each in api.pages(path, "artifacts") if each["name"] == name and not each["expired"]]
    if not found:
        raise Refused(f"the run has no artifact {name}")
    artifact = max(found, key=lambda each: each["id"])
    if artifact["size_in_bytes"] > LARGEST_ARCHIVE:
        raise Refused(f"the artifact has more than {LARGEST_ARCHIVE >> 20} MiB")
    place = api.location(f"/repos/{repository}/actions/artifacts/{int(artifact['id'])}/zip")
    try:
        with urllib.request.urlopen(place, timeout=60) as answer:
            data = answer.read(LARGEST_ARCHIVE + 1)
    except (OSError, http.client.HTTPException) as error:
        raise Refused(f"the storage of the artifact does not answer: {type(error).__name__}") from None
    if len(data) > LARGEST_ARCHIVE:
        raise Refused(f"the artifact has more than {LARGEST_ARCHIVE >> 20} MiB")
    return data


def member_of(archive):
    """The verdicts in the archive, read into memory: nothing is unpacked, so names of members mean nothing."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        if opened.getinfo(MEMBER).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(f"{MEMBER} is neither stored nor deflated")
        with opened.open(MEMBER) as file:
            data = file.read(LARGEST_VERDICTS + 1)
    if len(data) > LARGEST_VERDICTS:
        raise Refused(f"{MEMBER} has more than {LARGEST_VERDICTS >> 20} MiB")
    return data


def word(value):
    return value if isinstance(value, str) and WORD.fullmatch(value) else ""


def safe_name(value):
    """A name in which no character means anything to Markdown, HTML or GitHub."""
    return re.sub(r"[^A-Za-z0-9_./+=-]", "?", value[:120]) if isinstance(value, str) else "?"


def row_of(line, number):
    """The five facts of a verdict that go into the comment."""
    try:
        verdict = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused(f"{MEMBER}, line {number} is not JSON") from None
    status = verdict.get("status") if isinstance(verdict, dict) and verdict.get("schema") == SCHEMA else None
    if not isinstance(status, str) or status not in ORDER:
        raise Refused(f"{MEMBER}, line {number} is no verdict")
    speedup, counts = verdict.get("speedup"), verdict.get("counts")
    is_number = isinstance(speedup, (int, float)) and not isinstance(speedup, bool)
    return {"name": safe_name(verdict.get("id")), "status": status,
            "counts": counts if isinstance(counts, bool) else None,
            "why": word(verdict.get("error_class")) or word(verdict.get("counts_reason")),
            "speedup": float(speedup) if is_number and 0 < speedup < 1e6 else None}


def read_verdicts(data):
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) > MOST_VERDICTS:
        raise Refused(f"{MEMBER} has more than {MOST_VERDICTS} verdicts")
    return [row_of(line, number) for number, line in enumerate(lines, 1)]


def verdicts_of(archive):
    """The verdicts of a hostile archive: whatever fails in one is a refusal."""
    try:
        return read_verdicts(member_of(archive))
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"the artifact has no readable {MEMBER}: {type(error).__name__}") from None


def is_right(row):
    return row["status"] == "correct" and row["counts"] is not False


def rank(row):
    return 1 if row["status"] == "correct" and not is_right(row) else ORDER[row["status"]]


def end_of(run, server):
    url = f"{server}/{run['repository']['full_name']}/actions/runs/{int(run['id'])}"
    return f"\nCommit {run['head_sha'][:12]}; messages and places: {url}\n"


def refusal_of(reason, run, server):
    """The comment for a run without readable verdicts, so that none of an older commit stays."""
    return f"{MARK}\n### Kernelwright: no verdicts on {run['head_sha'][:12]}\n\n{reason}.\n" + end_of(run, server)


def comment_of(rows, run, server):
    """The comment in Markdown."""
    right = sum(is_right(row) for row in rows)
    text = f"{MARK}\n### Kernelwright: {right} of {len(rows)} touched kernels right\n\n"
    if rows:
        text += "| kernel | verdict | speed-up |\n|---|---|---:|\n"
    for row in sorted(rows, key=rank)[:MOST_ROWS]:
        words = row["status"] + (", does not count" if row["counts"] is False else "")
        words += f" ({row['why']})" if row["why"] else ""
        speedup = f"{row['speedup']:.2f}x" if row["speedup"] else "-"
        text += f"| `{row['name']}` | `{words}` | {speedup} |\n"
    if len(rows) > MOST_ROWS:
        text += f"\n{len(rows) - MOST_ROWS} more are in the run.\n"
    return text + end_of(run, server)


def publish(api, repository, number, text, has_rows):
    """Updates the own comment, or writes the first one if there is something to say."""
    for comment in api.pages(f"/repos/{repository}/issues/{number}/comments"):
        if comment["user"]["login"] == AUTHOR and comment["body"].startswith(MARK):
            api.call(f"/repos/{repository}/issues/comments/{int(comment['id'])}", {"body": text}, "PATCH")
            return "updated"
    if not has_rows:
        return "not needed"
    api.call(f"/repos/{repository}/issues/{number}/comments", {"body": text}, "POST")
    return "written"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--artifact", default="kernelwright-verdicts", help="name of the artifact [kernelwright-verdicts]")
    options = parser.parse_args(arguments)
    with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        run = json.load(file)["workflow_run"]
    repository = os.environ["GITHUB_REPOSITORY"]
    api = Api(os.environ.get("GITHUB_API_URL", "https://api.github.com"), os.environ["GITHUB_TOKEN"])
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    try:
        if not NAME.fullmatch(repository) or run["repository"]["full_name"].lower() != repository.lower():
            raise Refused("the run belongs to another repository")
        number = pull_request_of(api, repository, run)
        try:
            rows = verdicts_of(archive_of(api, repository, int(run["id"]), options.artifact))
            text = comment_of(rows, run, server)
        except Refused as reason:
            print(f"There are no verdicts: {reason}.")
            rows, text = [], refusal_of(reason, run, server)
        done = publish(api, repository, number, text, bool(rows))
    except Refused as reason:
        print(f"There is no comment: {reason}.")
        return 0
    print(f"The comment on pull request {number} is {done}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
