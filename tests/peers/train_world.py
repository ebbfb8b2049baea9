"""Small trainings of the tiny model within this process: jobs, rows and events."""
import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from kernelwright._train import job, session  # noqa: E402
from kernelwright._train.signals import StopAsked  # noqa: E402

EXACT = {"quantisation.type": "none", "quantisation.compute": "fp32", "training.precision": "fp32"}


def recipe(**changes):
    """The default recipe, small: two sequences a micro-batch, two of these a step. Changes as section__key=value."""
    made = tomllib.loads((ROOT / "recipes" / "default.toml").read_text())
    small = {"lora.rank": 4, "lora.alpha": 8, "data.max_length": 64, "training.micro_batch": 2, "training.accumulation": 2,
             "training.learning_rate": 0.01, "training.save_every": 1000}
    for name, value in (small | EXACT | {key.replace("__", "."): value for key, value in changes.items()}).items():
        section, key = name.split(".")
        assert key in made[section]
        made[section][key] = value
    return made


def write_rows(path, count=24, more=()):
    """Rows whose completion follows from the prompt, of different lengths; each has an id and a licence."""
    rows = [{"prompt": f"count {number % 3}: ", "completion": " ".join(["one", "two", "three"][:number % 3 + 1]),
             "id": f"row-{number}", "licence": "MIT" if number % 2 else "Apache-2.0"} for number in range(count)]
    path.write_text("".join(json.dumps(each) + "\n" for each in [*rows, *more]), encoding="utf-8")
    return path


class Heard:
    """Replaces Events: keeps the events. `then` is called with each."""

    def __init__(self, then=None):
        self.said, self.lost, self.then = [], False, then

    def send(self, event, **fields):
        self.said.append({"event": event, **fields})
        if self.then:
            self.then(self.said[-1])

    def of(self, event):
        return [each for each in self.said if each["event"] == event]

    @property
    def losses(self):
        return [each["loss"] for each in self.of("step")]


def make_job(model, data, output, *, recipe, **more):
    return job.Job(model=str(model), data=(str(data),), output=Path(output), recipe=recipe, device=more.pop("device", "cpu"),
                   program="kernelwright 0.0", **more)


def train(model, data, output, *, then=None, stop=None, **more):
    heard = Heard(then)
    session.run(make_job(model, data, output, **more), heard, stop or StopAsked())
    return heard
