#!/usr/bin/env python3
"""A real service under clients and crashes: verdicts lost, doubled or changed; memory, descriptors and disk over time.

soak.py [--seconds 600] [--clients 4] [--dialects 0] [--seed 1] [--output F] [--kernelwright PROGRAM]

`kernelwright serve --device cpu` judges cheap candidates for clients of the Python client that submit under ids of
their own: new ones, wrong ones, equal work under other ids, repeated ids, ids with another request, and slow ones that
they cancel. `--dialects N` adds N clients that ask as slime and OpenRLHF do. Meanwhile a runner, an oracle, a fork
server or the service itself is killed every few seconds. In the last two fifths of the time the service is not killed,
so that its memory can be measured. At the end every id is asked for once more, from a restarted service, and then a
service with a short retention forgets them all.
"""
import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import dialect_clients
import processes

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
KINDS = {"fresh": 50, "wrong": 10, "shared": 10, "again": 15, "conflict": 5, "cancelled": 10}
TARGETS = {"runner": 45, "oracle": 15, "fork server": 15, "service": 25}
CRASH_PAUSE_S = (2, 8)
SPARED_SHARE = 0.4
GLANCE_S = 3
DISTRUST = 0.3  # the share of clients that submit again at once, as clients without an answer do
CONFLICT, UNKNOWN = 409, 404
PURGE_LIMIT_S = 60


class Book:
    """All answers that clients received."""

    def __init__(self, seed):
        self.lock, self.random = threading.Lock(), random.Random(seed)
        self.requests, self.told = {}, {}
        self.counts, self.statuses, self.faults = Counter(), Counter(), []
        self.blamed = []  # verdicts on right candidates whose process was killed
        self.next_number = 0

    def number(self):
        with self.lock:
            self.next_number += 1
            return self.next_number

    def earlier(self, slow_too):
        """The request of an ended evaluation; None at the beginning."""
        with self.lock:
            names = [name for name in self.told if slow_too or not name.startswith("cancelled")]
            return self.requests[self.random.choice(names)] if names else None

    def tell(self, kind, request, evaluation):
        """Note an answer: the first of an id must stay."""
        with self.lock:
            self.counts[kind] += 1
            self.requests[request["id"]] = request
            known = self.told.setdefault(request["id"], evaluation)
            if known != evaluation:
                self.faults.append(f"changed: {request['id']}: {known} became {evaluation}")
            if known is evaluation and evaluation.verdict:
                verdict = evaluation.verdict
                self.statuses[f"{kind}: {verdict['status']}/{verdict['error_class']}"] += 1
                if kind == "fresh" and verdict["status"] == "failed":
                    self.blamed.append(verdict["error"])

    def fault(self, what):
        with self.lock:
            self.faults.append(what)


class Client(threading.Thread):
    """A client that asks, waits and repeats."""

    def __init__(self, number, book, evaluator, until):
        super().__init__(name=f"client {number}", daemon=True)
        self.book, self.evaluator, self.until, self.random = book, evaluator, until, random.Random(number)

    def run(self):
        while time.monotonic() < self.until:
            kind = self.random.choices(list(KINDS), list(KINDS.values()))[0]
            try:
                self.step(kind)
            except Exception as error:  # noqa: BLE001 (whatever a client meets is a finding)
                self.book.fault(f"{kind}: {type(error).__name__}: {error}")

    def step(self, kind):
        from end_to_end import killing, victims
        number, earlier = self.book.number(), self.book.earlier(slow_too=kind != "shared")
        request = {"id": f"{kind}-{number}", "reference_code": killing.REFERENCE.format(number=number),
                   "kernel_code": killing.KERNEL.format(added=number)}
        if kind == "wrong":
            request["kernel_code"] = killing.KERNEL.format(added=number + 0.5)
        if kind in ("shared", "again", "conflict"):
            if earlier is None:
                return
            if kind == "conflict":
                self.expect_conflict({**earlier, "kernel_code": earlier["kernel_code"] + "\n# another\n"})
                return
            request = earlier if kind == "again" else {**earlier, "id": request["id"]}
        if kind == "cancelled":
            request |= {"reference_code": victims.code_of("reference"),
                        "kernel_code": f"{victims.code_of('host_loop')}\n# {number}\n"}
        self.evaluator.submit(request)
        if kind == "cancelled" or request["id"].startswith("cancelled"):
            time.sleep(self.random.uniform(0, 1.5))
            self.evaluator.cancel(request["id"])
        elif kind == "fresh" and self.random.random() < DISTRUST:
            self.evaluator.submit(request)
        while not (found := self.evaluator.get(request["id"], 20)).over:
            if time.monotonic() > self.until + 60:
                raise TimeoutError(f"{request['id']} is still {found.state}")
        self.book.tell(kind, request, found)

    def expect_conflict(self, request):
        from kernelwright.client import Refused
        try:
            self.evaluator.submit(request)
        except Refused as refused:
            if refused.status != CONFLICT:
                raise
            self.book.counts["conflict"] += 1
            return
        self.book.fault(f"two requests under {request['id']}")


class Crashes(threading.Thread):
    """Kills one of the service's processes from time to time."""

    def __init__(self, service, seed, spare_from, until):
        super().__init__(name="crashes", daemon=True)
        self.service, self.random, self.spare_from, self.until = service, random.Random(seed), spare_from, until
        self.counts, self.restarts_s, self.orphans, self.trouble = Counter(), [], 0, ""

    def run(self):
        try:
            while time.monotonic() + CRASH_PAUSE_S[1] < self.until:
                time.sleep(self.random.uniform(*CRASH_PAUSE_S))
                self.strike(self.random.choices(list(TARGETS), list(TARGETS.values()))[0])
        except Exception as error:  # noqa: BLE001
            self.trouble = f"{type(error).__name__}: {error}"

    def strike(self, target):
        if target == "service":
            if time.monotonic() < self.spare_from:
                self.strike_service()
            return
        if found := self.soon(target):
            try:
                os.kill(self.random.choice(found), signal.SIGKILL)
                self.counts[target] += 1
            except ProcessLookupError:
                pass

    def soon(self, target):
        """The processes that are found within a moment: a runner lives no longer than its candidate."""
        give_up = time.monotonic() + GLANCE_S
        while not (found := self.find(target)) and time.monotonic() < give_up:
            time.sleep(0.02)
        return found

    def find(self, target):
        """Pids below the service: fork servers are its children or the zygote's, oracles and runners are below those."""
        from end_to_end import program
        fork_servers, queue = {}, children_of(self.service.pid)
        while queue:
            pid = queue.pop()
            words = command_of(pid)
            if "zygote" in words:
                queue += children_of(pid)
            elif "--mode" in words:
                fork_servers[pid] = words[words.index("--mode") + 1]
        if target == "fork server":
            return list(fork_servers)
        return [below for pid, mode in fork_servers.items() if (mode == "oracle") == (target == "oracle")
                for below in program.descendants(pid)]

    def strike_service(self):
        from end_to_end import program
        below = {pid: command_of(pid) for pid in program.descendants(self.service.pid)}
        began = time.monotonic()
        self.service.kill()
        self.service.start()
        self.service.ready()
        self.restarts_s.append(round(time.monotonic() - began, 2))
        self.orphans += len(program.settled(
            lambda: [pid for pid, words in below.items() if words and command_of(pid) == words]))
        self.counts["service"] += 1


def children_of(pid):
    try:
        return [int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()]
    except OSError:
        return []


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


class Samples(threading.Thread):
    """Memory and descriptors of the service, twice a second."""

    def __init__(self, service, book, until):
        super().__init__(name="samples", daemon=True)
        self.service, self.book, self.until, self.rows = service, book, until, []

    def run(self):
        while time.monotonic() < self.until:
            pid = self.service.pid
            try:
                self.rows.append((time.monotonic(), len(self.book.told), processes.rss_mb(pid),
                                  len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))))
            except OSError:
                pass  # between two processes of the service
            time.sleep(0.5)

    def quarters(self, since):
        """Medians over the first and the last quarter of the samples since then."""
        rows = [row for row in self.rows if row[0] >= since and row[2] > 0]
        size = max(1, len(rows) // 4)

        def middle(part, column):
            return round(sorted(row[column] for row in part)[len(part) // 2], 2)
        return {what: {"rss_mb": middle(part, 2), "descriptors": middle(part, 3), "threads": middle(part, 4),
                       "verdicts": middle(part, 1)}
                for what, part in (("first", rows[:size]), ("last", rows[-size:]))} if rows else {}


def read_all_again(book, evaluator):
    """Ask a restarted service for every id: the lost ones, and the changed ones."""
    from kernelwright.client import Refused
    for name, told in book.told.items():
        try:
            found = evaluator.get(name, 30)
        except Refused as refused:
            if refused.status != UNKNOWN:
                raise
            book.fault(f"lost: {name}")
            continue
        if found != told:
            book.fault(f"changed: {name}: {told} became {found}")


def disk(path):
    """The size of the store, once its service has ended."""
    with closing(sqlite3.connect(path)) as store:
        rows, done = store.execute("SELECT count(*), sum(state = 1) FROM evaluations").fetchone()
        verdicts = store.execute("SELECT sum(length(verdict)) FROM verdicts").fetchone()[0]
        sound = store.execute("PRAGMA integrity_check").fetchone()[0]
    size = sum(each.stat().st_size for each in path.parent.glob(path.name + "*"))
    return {"rows": rows, "done": done, "bytes": size, "bytes_a_verdict": round(size / max(1, done)),
            "of_them_the_verdict": round((verdicts or 0) / max(1, done)), "integrity": sound}


def forgotten(served, folder, python):
    """Seconds until a service that keeps verdicts for one second has forgotten the last one."""
    with served(folder, "--retention", "1s", python=python) as service:
        service.ready()
        began = time.monotonic()
        while time.monotonic() < began + PURGE_LIMIT_S:
            with closing(sqlite3.connect(f"file:{folder / 'service.db'}?mode=ro", uri=True)) as store:
                left = store.execute("SELECT count(*) FROM evaluations WHERE state <> 0").fetchone()[0]
            if left == 0:
                return {"left": 0, "seconds": round(time.monotonic() - began, 2)}
            time.sleep(0.2)
    return {"left": left}


def soak(flags, folder):
    from kernelwright.client import Evaluator

    from end_to_end import served, victims
    words = ["--correctness-trials", 1, "--timing-trials", 1, "--jobs", 2, "--timeout", victims.TIMEOUT_S]
    book = Book(flags.seed)
    with served.Served(folder, *words, python=flags.python) as service:
        service.ready()
        began = time.monotonic()
        until, spared = began + flags.seconds, began + flags.seconds * (1 - SPARED_SHARE)
        evaluator = Evaluator(service.url, served.KEY, patience_s=180)
        clients = [Client(number, book, evaluator, until) for number in range(flags.clients)]
        dialects = dialect_clients.DialectBook()
        clients += [dialect_clients.DialectClient(number, dialects, service, until) for number in range(flags.dialects)]
        crashes, samples = Crashes(service, flags.seed, spared, until), Samples(service, book, until)
        for each in (*clients, crashes, samples):
            each.start()
        for each in (*clients, crashes, samples):
            each.join(flags.seconds + 200)
        book.faults += [f"still busy: {each.name}" for each in clients if each.is_alive()]
        if crashes.trouble:
            book.fault(f"the service: {crashes.trouble}")
        wall_s = time.monotonic() - began
        service.kill()
        service.start()
        service.ready()
        read_all_again(book, evaluator)
        dialect_clients.ask_all_again(dialects, service)
        rewarded = dialect_clients.count_evaluations(dialects, service)
        service.end()
    book.faults += dialects.faults
    return {"wall_s": round(wall_s, 1), "verdicts": sum(1 for each in book.told.values() if each.verdict),
            "evaluations": len(book.told), "steps": dict(book.counts), "crashes": dict(crashes.counts),
            "lost_changed_or_doubled": len(book.faults), "examples": book.faults[:10], "statuses": dict(book.statuses),
            "blamed": book.blamed[:10],
            "dialects": {"answers": dict(dialects.counts), "contents": len(dialects.told), "rewarded": rewarded,
                         "retries": dialects.retries},
            "kill_to_ready_s": crashes.restarts_s, "orphans": crashes.orphans,
            "spared_service": samples.quarters(spared + flags.seconds * 0.05), "disk": disk(folder / "service.db"),
            "retention": forgotten(served.Served, folder, flags.python)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--dialects", type=int, default=0, help="clients that ask as trainers do")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernelwright", default=str(BUILD / "kernelwright"))
    parser.add_argument("--python", default=sys.executable, help="with PyTorch and Triton, for the engine")
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    os.environ["KERNELWRIGHT"] = str(Path(flags.kernelwright).resolve())
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python"), str(BUILD / "wire" / "python")]
    with tempfile.TemporaryDirectory(prefix="bench-soak-") as folder:
        Path(folder).chmod(0o755)
        record = {"machine": processes.machine(), "seed": flags.seed, "clients": flags.clients, **soak(flags, Path(folder))}
    text = json.dumps(record, indent=1)
    print(text)
    if flags.output:
        flags.output.write_text(text + "\n", encoding="utf-8")
    return 1 if record["lost_changed_or_doubled"] else 0


if __name__ == "__main__":
    sys.exit(main())
