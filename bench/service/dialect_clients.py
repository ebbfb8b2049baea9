"""Clients of the soak test that ask as trainers do: POST /slime and /openrlhf, and again until there is an answer.

A trainer knows no id of an evaluation. Its retry, also after a crash of the service, must attach to the evaluation of the
same content: one answer for each content, and no more than one evaluation that gave a reward.
"""
import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

PROMPT = "<|im_start|>user\nWrite a kernel.<|im_end|>\n<|im_start|>assistant\n"
SHARE_AGAIN, SHARE_WRONG = 0.3, 0.15
PATIENCE_S, PAUSE_S = 180, 1
ID_CHARACTERS = 32  # of a content's hash, after the name of the dialect


class DialectBook:
    """The answer to each content: [reward, status]."""

    def __init__(self):
        self.lock, self.told, self.counts, self.faults, self.retries = threading.Lock(), {}, Counter(), [], 0
        self.next_number = 10_000_000  # other numbers than those of the other clients

    def number(self):
        with self.lock:
            self.next_number += 1
            return self.next_number

    def tell(self, content, answer):
        with self.lock:
            self.counts[content[0]] += 1
            known = self.told.setdefault(content, answer)
            if known != answer:
                self.faults.append(f"changed: {content[0]}: {known} became {answer}")

    def fault(self, what):
        with self.lock:
            self.faults.append(what)


class DialectClient(threading.Thread):
    """A trainer's worker that asks for a reward, and now and then for one that it had."""

    def __init__(self, number, book, service, until):
        super().__init__(name=f"trainer {number}", daemon=True)
        self.book, self.service, self.until, self.random = book, service, until, random.Random(1000 + number)

    def run(self):
        while time.monotonic() < self.until:
            try:
                content = self.choose()
                self.book.tell(content, ask_patiently(self.book, self.service, content))
            except Exception as error:  # noqa: BLE001 (whatever a client meets is a finding)
                self.book.fault(f"{type(error).__name__}: {error}")

    def choose(self):
        from end_to_end import killing
        with self.book.lock:
            known = list(self.book.told)
        if known and self.random.random() < SHARE_AGAIN:
            return self.random.choice(known)
        number = self.book.number()
        added = number + 0.5 if self.random.random() < SHARE_WRONG else number
        label = {"reference_code": killing.REFERENCE.format(number=number)}
        answer = f"<triton>\n{killing.KERNEL.format(added=added)}\n</triton>"
        if self.random.random() < 0.5:
            return "/slime", json.dumps({"prompt": PROMPT, "response": answer, "label": label})
        return "/openrlhf", json.dumps({"query": [PROMPT + answer], "prompts": [PROMPT], "labels": [json.dumps(label)]})


def ask_patiently(book, service, content):
    """[reward, status]; asks again while the service is away or could not judge."""
    from end_to_end import served
    path, body = content
    give_up = time.monotonic() + PATIENCE_S
    request = urllib.request.Request(service.url + path, body.encode(),
                                     {"Content-Type": "application/json", "X-API-Key": served.KEY})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=200) as came:
                answer = json.load(came)
                facts = answer.get("extra_logs", answer)
                return [answer.get("reward", answer.get("rewards")), facts.get("status", facts.get("correct"))]
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > give_up:
                raise
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.monotonic() > give_up:
                raise
        with book.lock:
            book.retries += 1
        time.sleep(PAUSE_S)


def ask_all_again(book, service):
    """Of a restarted service: each content must have the answer that it had."""
    for content in list(book.told):
        book.tell(content, ask_patiently(book, service, content))


def count_evaluations(book, service):
    """How many evaluations gave a reward for each content: more than one is a content that was judged twice."""
    rewarded, after = Counter(), ""
    while True:
        part = json.loads(service.text(f"/v1/evaluations?limit=200{after}"))
        for each in part["evaluations"]:
            dialect, _, rest = each["id"].partition("-")
            if dialect in ("slime", "openrlhf") and (each.get("verdict") or {}).get("reward") is not None:
                rewarded[dialect + rest[:ID_CHARACTERS]] += 1
        if not part["evaluations"]:
            break
        after = f"&after={part['next']}"
    book.faults += [f"doubled: {content}: {count} evaluations" for content, count in rewarded.items() if count > 1]
    if len(rewarded) != len(book.told):
        book.fault(f"{len(book.told)} contents, but {len(rewarded)} have an evaluation with a reward")
    return len(rewarded)
