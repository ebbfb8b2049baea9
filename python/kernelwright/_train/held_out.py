"""The held-out loss: the loss on rows that are not trained on, its best step, and the early stop.

Losses and the best step's weights stand in every checkpoint, so a resumed training decides as an uninterrupted one.
"""
import json
import math
import time
from dataclasses import dataclass, field
from pathlib import Path

STATE = "held_out.json"
BEST = "best_adapter.safetensors"
SPLIT = "split"


@dataclass
class Course:
    """The held-out losses so far, by step. Step 0 is the base model: shown, but never the best."""

    every: int
    patience: int  # measurements without a better loss until training ends; 0: never
    losses: dict = field(default_factory=dict)

    def due(self, step, last):
        return step % self.every == 0 or step == last

    @property
    def best_step(self):
        """The first step of the lowest loss; None before there is one."""
        found = [step for step, loss in self.losses.items() if step > 0 and math.isfinite(loss)]
        return min(found, key=lambda step: (self.losses[step], step), default=None)

    @property
    def best_loss(self):
        return self.losses.get(self.best_step)

    @property
    def without_better(self):
        """The number of measurements since the best one."""
        return sum(step > (self.best_step or 0) for step in self.losses)

    @property
    def ended(self):
        return 0 < self.patience <= self.without_better


class HeldOut:
    """Measures the held-out loss in a training. `sequences` and `rows` are a prepare.Prepared's of the validation rows."""

    def __init__(self, prepared, recipe, events, stop):
        training = recipe["training"]
        self.sequences, self.count = prepared.shards, len(prepared.shards)
        self.batch, self.events, self.stop = training["micro_batch"], events, stop
        self.course, self.best = Course(training["validate_every"], training["patience"]), None

    def measure(self, trainer, step, last):
        """Measures where it is due, unless a signal ends it: a resumed training then measures this step first."""
        course, began = self.course, time.monotonic()
        if course.ended or not course.due(step, last) or step in course.losses:
            return
        loss = trainer.held_out_loss(self.batches())
        if loss is None:
            return
        course.losses[step] = loss
        if course.best_step == step:
            self.best = trainer.adapter_weights()
        self.events.send("validation", step=step, loss=loss, best_step=course.best_step, best_loss=course.best_loss,
                         without_better=course.without_better, patience=course.patience,
                         seconds=time.monotonic() - began)

    def batches(self):
        """Numbers of the sequences of each batch; ends early after a signal."""
        for first in range(0, self.count, self.batch):
            if self.stop.asked:
                return
            yield [*range(first, min(first + self.batch, self.count))]

    def save(self, folder):
        from safetensors.torch import save_file
        losses = [[step, loss if math.isfinite(loss) else None] for step, loss in self.course.losses.items()]
        (Path(folder) / STATE).write_text(json.dumps({"losses": losses}), encoding="utf-8")
        if self.best is not None:
            save_file(self.best, Path(folder) / BEST, metadata={"format": "pt"})

    def load(self, folder):
        from safetensors.torch import load_file
        self.course.losses = losses_in(folder)
        if self.course.best_step is not None:
            self.best = load_file(Path(folder) / BEST)


def losses_in(folder):
    """The losses in a checkpoint, by step."""
    listed = json.loads((Path(folder) / STATE).read_text(encoding="utf-8"))["losses"]
    return {step: math.nan if loss is None else loss for step, loss in listed}


def verdict(course, steps):
    """The events that tell the user of the result, as (event, fields): a warning where no step improved the base model."""
    told = []
    if course.best_step is not None and course.best_step < steps:
        told.append(("notice", {"what": f"the held-out loss was lowest at step {course.best_step} ({course.best_loss:.4f}): "
                                        "the adapter is of that step"}))
    base = course.losses.get(0, math.nan)
    if course.best_step is None:
        told.append(("warning", {"what": "no held-out loss was a number: the adapter is of the last step",
                                 "remedy": "a lower training.learning_rate, or precision bf16"}))
    elif course.best_loss >= base:
        told.append(("warning", {"what": f"no step had a lower held-out loss than the base model ({base:.4f})",
                                 "remedy": "a lower training.learning_rate, measurements at more steps "
                                           "(training.validate_every), or rows that resemble the validation rows more"}))
    return told
