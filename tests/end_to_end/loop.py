"""Runs `kernelwright run` with the scripted model, and reads its run folder."""
import contextlib
import http.server
import json
import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from . import program

FOUR_TURNS = program.ROOT / "examples" / "four_turns"
# These fields differ between any two runs.
TIMES = {"timestamp", "answered_at", "generation_ms", "stages_ms"}
# These fields of a verdict differ too where a candidate ran on random inputs; the time left decides which families ran.
ON_RANDOM_INPUTS = {"comparison", "evidence", "generality"}
# These fields of a turn differ there as well: they quote values.
DRAWN = ON_RANDOM_INPUTS | {"error", "feedback_given", "full_messages", "prompt_tokens"}


def command(traces, output, *words, replay=None):
    """`kernelwright run` on the tasks of recorded traces, which also give the answers, unless others are named."""
    words = [str(each) for each in words]
    if "--python" not in words:
        words += ["--python", sys.executable]
    if "--device" not in words:
        words += ["--device", program.DEVICE]
    if "--vllm-url" not in words:
        words += ["--model-replay", str(replay or traces)]
    return [program.binary(), "run", "--traces", str(traces), "--output", str(output), *words]


@contextlib.contextmanager
def refusing_server(status, message):
    """The URL of a server that lists one model and refuses every chat."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def reply(self, code, body):
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.reply(200, {"object": "list", "data": [{"id": "m", "owned_by": "vllm", "max_model_len": 65536}]})

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(status, {"error": {"message": message}})

        def log_message(self, *_):
            pass
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def folder_of(output):
    """The run folder of an output."""
    return Path(output).with_suffix(".run")


def read(output):
    """The traces of an exported file."""
    return json.loads(Path(output).read_text(encoding="utf-8"))


class Row(NamedTuple):
    """A turn in the store."""

    answer: tuple
    verdict: str | None
    feedback: str | None

    @property
    def judged(self):
        return self.verdict is not None


class Store:
    """The database of a run, read beside the program that writes it."""

    def __init__(self, output):
        self.path = folder_of(output) / "run.db"

    def _asked(self, query, path=None):
        path = path or self.path
        if not path.exists():
            return []
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            # The database is being created.
            if "no such table" in str(error) or "unable to open" in str(error):
                return []
            raise
        finally:
            connection.close()

    def turns(self, path=None):
        """(task, sample, round, turn) → Row."""
        found = self._asked("SELECT task_id, sample_number, round, turn, answered_at, generation_ms, completion, "
                            "reasoning, code, verdict, feedback FROM turns JOIN traces ON turns.trace = traces.id", path)
        return {tuple(each[:4]): Row(tuple(each[4:9]), each[9], each[10]) for each in found}

    def judged(self):
        """The number of turns with a verdict."""
        found = self._asked("SELECT count(*) FROM turns WHERE verdict IS NOT NULL")
        return found[0][0] if found else 0

    def ended(self, path=None):
        """The number of ended traces."""
        found = self._asked("SELECT count(*) FROM traces WHERE ended_at IS NOT NULL", path)
        return found[0][0] if found else 0

    def copied(self, folder):
        """The database after a crash, copied into a folder of its own, so that reading changes nothing."""
        folder.mkdir(parents=True, exist_ok=True)
        for ending in ("", "-wal"):
            target = folder / f"run.db{ending}"
            target.unlink(missing_ok=True)
            if (source := self.path.with_name(self.path.name + ending)).exists():
                shutil.copyfile(source, target)
        (folder / "run.db-shm").unlink(missing_ok=True)
        return folder / "run.db"


def check(database):
    """The errors that SQLite finds in a copied database: [] where it is sound, or does not exist yet."""
    if not database.exists():
        return []
    connection = sqlite3.connect(database)
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        found += [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
        return [each for each in found if each != "ok"]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    finally:
        connection.close()


def wait_for(condition, process=None, seconds=program.LIMIT_S, every=0.01):
    """The result of `condition` once it is true; its last result where the time is over or the process has ended."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            return condition()
        time.sleep(every)
    return found


def without(value, keys):
    """A copy of exported JSON without these fields, at any depth."""
    if isinstance(value, dict):
        return {key: without(each, keys) for key, each in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(each, keys) for each in value]
    return value


def difference(one, other, place=""):
    """The first difference between two pieces of JSON, as text; "" where they are equal."""
    if one == other:
        return ""
    if isinstance(one, dict) and isinstance(other, dict) and set(one) == set(other):
        return next(found for key in one if (found := difference(one[key], other[key], f"{place}.{key}")))
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next(found for at, each in enumerate(one) if (found := difference(each, other[at], f"{place}[{at}]")))
    return f"{place}: {str(one)[:200]!r} is not {str(other)[:200]!r}"


def conversation(name, reference, answers):
    """A recorded trace of a task; an answer is code, or (reasoning, code)."""
    turns = []
    for number, answer in enumerate(answers, start=1):
        reasoning, code = answer if isinstance(answer, tuple) else (None, answer)
        turns.append({"turn": number, "reasoning": reasoning, "triton_code": code,
                      "full_completion": f"Answer {number} to {name}.\n\n<triton>\n{code}</triton>\n",
                      "result": {"correctness": False, "speedup": None, "error": None}, "feedback_given": None})
    return {"sample_key": f"sample_{name}", "source": "sample", "level": None, "name": name, "problem_id": None,
            "pytorch_code": reference, "num_turns": len(turns), "turns": turns}


def write(path, traces):
    """A file of recorded traces."""
    path.write_text(json.dumps(traces), encoding="utf-8")
    return path
