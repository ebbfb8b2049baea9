#!/usr/bin/env python3
"""Has the agent's kernel judged, and writes reward.json and verdict.json for Harbor. `kernelwright export` wrote this file.

The service at KERNELWRIGHT_EVALUATOR judges. Where tasks.jsonl is beside this file, a service that is started here judges.
Exit code 0: judged, also where the kernel is wrong. 1: not judged, and there is no reward.json.
"""
import json
import math
import os
import re
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOGS = Path(os.environ.get("KERNELWRIGHT_LOGS", "/logs/verifier"))
CANDIDATE = os.environ.get("KERNELWRIGHT_CANDIDATE", "/app/kernel.py")
MOST_CANDIDATE_BYTES = 1 << 20
MOST_ANSWER_BYTES = 64 << 20
MOST_ERROR_CHARACTERS = 2_000
POLL_S = 20
LONGEST_PAUSE_S = 15
TRUST_LEVELS = {None: 0, "interpreter": 1, "in-process": 2, "replay": 3}
# Facts about the kernel. What the candidate printed is left out, because it can print its inputs.
SHOWN = ("task_id", "task_version", "status", "stage", "fault", "error_class", "error", "correctness", "counts",
         "counts_reason", "speedup", "trust", "kernel_name", "candidate_sha256", "reward")


class NotJudged(Exception):
    """There is no verdict, through no fault of the kernel."""


class TryAgain(Exception):
    """The service cannot answer now."""

    def __init__(self, why, status=None, pause_s=None):
        super().__init__(why)
        self.status, self.pause_s = status, pause_s


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another host."""

    def redirect_request(self, *_):
        return None


class Clock:
    """The time that is left, and the pauses between tries."""

    def __init__(self, seconds, alive):
        self.end, self.alive = time.monotonic() + seconds, alive
        self.pauses, self.last = 0, "no try was made"

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def pause(self, why, seconds=None):
        self.last = str(why)
        print(f"not yet judged: {why}", file=sys.stderr, flush=True)
        if not self.alive():
            raise NotJudged(f"the service in this container has ended; {why}")
        seconds = min(LONGEST_PAUSE_S, 2 ** self.pauses if seconds is None else seconds)
        self.pauses = min(self.pauses + 1, 10)
        if self.left() <= seconds:
            raise NotJudged(f"the time is up; {why}")
        time.sleep(seconds)


class Service:
    def __init__(self, url, key, local=False):
        if not re.match(r"https?://[^\s/]", url):
            raise NotJudged("KERNELWRIGHT_EVALUATOR is not the URL of a service, like http://host:8471")
        self.url, self.key = url.rstrip("/"), key
        handlers = [NoRedirect()] + ([urllib.request.ProxyHandler({})] if local else [])
        self.opener = urllib.request.build_opener(*handlers)

    def call(self, method, path, body=None, limit_s=30.0):
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            with self.opener.open(request, timeout=max(1.0, limit_s)) as answer:
                text = answer.read(MOST_ANSWER_BYTES + 1)
        except urllib.error.HTTPError as refused:
            with refused:
                raise self.refusal(method, refused) from None
        except Exception as lost:  # of the connection, or of what came over it
            raise TryAgain(f"{type(lost).__name__}: {lost}") from None
        try:
            state = json.loads(text) if len(text) <= MOST_ANSWER_BYTES else None
        except ValueError:
            state = None
        if not isinstance(state, dict):
            raise TryAgain("the answer is not that of a service of kernelwright")
        return state

    @staticmethod
    def refusal(method, refused):
        try:
            error = json.loads(refused.read(1 << 16))["error"]
            why = f"{refused.code}, {error['class']}: {error['message']}"
        except Exception:
            why = f"the service answers {method} with {refused.code}"
        passing = refused.code in (408, 425, 429) or refused.code >= 500
        if passing or (refused.code == 404 and method == "GET"):
            pause = refused.headers.get("Retry-After", "")
            return TryAgain(why, refused.code, int(pause) if re.fullmatch(r"[0-9]{1,4}", pause) else None)
        return NotJudged(why)


def read_candidate():
    """The module's text, or nothing and the reason. The agent chose what lies there, so nearly every failure is its own."""
    try:
        if not stat.S_ISREG(os.lstat(CANDIDATE).st_mode):
            return None, f"{CANDIDATE} is not a file"
        file = os.open(CANDIDATE, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None, f"there is no {CANDIDATE}"
    except PermissionError:
        return None, f"{CANDIDATE} cannot be read by the verifier's user"
    except OSError as error:
        raise NotJudged(f"{CANDIDATE} cannot be read: {error}") from None
    with os.fdopen(file, "rb") as opened:
        data = opened.read(MOST_CANDIDATE_BYTES + 1)
    if len(data) > MOST_CANDIDATE_BYTES:
        return None, f"{CANDIDATE} has more than {MOST_CANDIDATE_BYTES} bytes"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None, f"{CANDIDATE} is not UTF-8"
    return (text, "") if text.strip() else (None, f"{CANDIDATE} is empty")


def end_of(service, ident, body, clock):
    """Submit one evaluation and wait for its end. The id makes every repetition the same evaluation."""
    submitted = False
    while True:
        try:
            if not submitted:
                state = service.call("POST", "/v1/evaluations", {"id": ident, **body}, min(30.0, clock.left()))
            else:
                wait_s = max(0, min(POLL_S, int(clock.left())))
                state = service.call("GET", f"/v1/evaluations/{ident}?wait_s={wait_s}", limit_s=wait_s + 10.0)
        except TryAgain as failure:
            submitted = submitted and failure.status != 404
            clock.pause(failure, failure.pause_s)
            continue
        submitted, clock.pauses = True, 0
        if state.get("state") == "cancelled" or isinstance(state.get("verdict"), dict):
            return state
        if clock.left() <= 0:
            raise NotJudged(f"the time is up; the evaluation {ident} is {state.get('state')}")


def judge(service, body, clock):
    """The verdict. A verdict that blames the infrastructure is no verdict: another evaluation follows."""
    while True:
        ident = f"harbor-{secrets.token_hex(16)}"
        state = end_of(service, ident, body, clock)
        verdict = state.get("verdict")
        if not isinstance(verdict, dict):
            clock.pause(f"the evaluation was cancelled: {state.get('cause')}")
        elif verdict.get("fault") == "infrastructure":
            clock.pause(f"the service could not judge: {verdict.get('error')}", LONGEST_PAUSE_S / 5)
        elif verdict.get("fault") == "task":
            raise NotJudged(f"the task's own reference fails: {verdict.get('error')}")
        else:
            return verdict


def rewards_of(verdict):
    """Finite numbers, the only values that Harbor reads."""
    def finite(value):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if number and math.isfinite(value) else None
    if finite(verdict.get("reward")) is None:
        raise NotJudged("the verdict has no reward")
    rewards = {"reward": verdict["reward"], "correct": int(verdict.get("correctness") is True),
               "counts": int(verdict.get("counts") is True), "trust_level": TRUST_LEVELS.get(verdict.get("trust"), 0)}
    if finite(verdict.get("speedup")) is not None:
        rewards["speedup"] = verdict["speedup"]
    return rewards


def clear():
    """Remove rewards that are not of this verifier: the agent's container may have had the same folder, and left anything."""
    LOGS.mkdir(parents=True, exist_ok=True)
    for path in (LOGS / name for name in ("reward.json", "reward.txt", "verdict.json")):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def write(name, value):
    """The file gets its name when it is complete. mkstemp follows no link that waits under a guessed name."""
    file, path = tempfile.mkstemp(prefix=f".{name}.", dir=LOGS)
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        os.fchmod(file, 0o644)
        opened.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
    os.replace(path, LOGS / name)


def no_candidate(task, why):
    return {**task, "status": "failed", "stage": "parse", "fault": "kernel", "error_class": "missing_entry", "error": why,
            "correctness": False, "counts": None, "speedup": None, "trust": None, "reward": 0}


def start_service(folder):
    """A service for this task alone, with a key that the candidate does not know."""
    key = secrets.token_hex(16)
    words = shlex.split(os.environ.get("KERNELWRIGHT_SERVE", "kernelwright serve"))
    words += ["--host", "127.0.0.1", "--port", "0", "--tasks", str(HERE / "tasks.jsonl"), "--quiet", "--parent-death",
              "--store", os.path.join(folder, "service.db")]
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   env={**os.environ, "KERNELWRIGHT_API_KEY": key})
    except OSError as error:
        raise NotJudged(f"{words[0]} cannot be started: {error}") from None
    return process, key


def end_service(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


def verdict_on(kernel, task, wait_s):
    # The file is a module. An agent may have kept the tags or the fence of an answer; the service removes them.
    answer = kernel.lstrip()[:8].lower().startswith(("<triton>", "```"))
    body = {**task, "completion" if answer else "kernel_code": kernel, "reward": {}}
    if not (HERE / "tasks.jsonl").is_file():
        service = Service(os.environ.get("KERNELWRIGHT_EVALUATOR", ""), os.environ.get("KERNELWRIGHT_EVALUATOR_KEY", ""))
        return judge(service, body, Clock(wait_s, lambda: True))
    with tempfile.TemporaryDirectory() as folder:
        process, key = start_service(folder)
        try:
            clock = Clock(wait_s, lambda: process.poll() is None)
            url = process.stdout.readline().decode(errors="replace").strip()
            if not url:
                raise NotJudged("the service in this container did not start")
            return judge(Service(url, key, local=True), body, clock)
        finally:
            end_service(process)


def out_of_time(*_):
    raise NotJudged("the time is up")


def main():
    clear()
    try:
        wait_s = float(os.environ.get("KERNELWRIGHT_WAIT_S", "1740"))
        signal.signal(signal.SIGALRM, out_of_time)
        signal.setitimer(signal.ITIMER_REAL, wait_s + 5)  # where an answer trickles in
        task = json.loads((HERE / "task.json").read_text(encoding="utf-8"))
        kernel, why = read_candidate()
        verdict = verdict_on(kernel, task, wait_s) if kernel else no_candidate(task, why)
        rewards = rewards_of(verdict)
    except NotJudged as reason:
        print(f"not judged: {reason}", file=sys.stderr)
        return 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    words = {name: verdict.get(name) for name in SHOWN}
    if isinstance(words["error"], str):
        words["error"] = words["error"][:MOST_ERROR_CHARACTERS]
    write("verdict.json", words)
    write("reward.json", rewards)
    print(json.dumps(rewards))
    return 0


if __name__ == "__main__":
    sys.exit(main())
