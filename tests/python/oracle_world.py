"""Common parts of the oracle's tests: small references, and a session that answers as a runner does."""
import json
import os
from pathlib import Path

import pytest
import torch

from kernelwright._engine import wire
from kernelwright._engine.oracle.session import Session
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.values import from_wire
from kernelwright._engine.wire import made

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = sorted((ROOT / "examples/sample/tasks").glob("*.py"))
torch.set_num_threads(1)  # as in an oracle
SEEDS = [0x1234567890ABCDEF, 12, 13, 2**64 - 1, 15]

LINEAR = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.fc = nn.Linear(rows, columns)
    def forward(self, x):
        return torch.relu(self.fc(x))

batch = 64
rows = 128
columns = 32

def get_inputs():
    return [torch.randn(batch, rows)]

def get_init_inputs():
    return [rows, columns]
"""


@pytest.fixture
def session():
    found = Session(-1)
    yield found
    found.forget()


def module(forward, inputs="[torch.randn(4, 8)]", init="pass", parameters="self, x"):
    """The source of a one-method module."""
    return (f"import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        {init}\n    def forward({parameters}):\n        {forward}\ndef get_inputs():\n    return {inputs}\n")


def shapes_of(path):
    """The text of the input shapes beside a sample task, or ""."""
    beside = path.with_suffix("").with_suffix(".shapes.json")
    return beside.read_text() if beside.exists() else ""


def request(shapes="", **fields):
    """A PrepareT with the values of most tests."""
    given = dict(taskKey="t", inputShapes=shapes, precision="fp32", moveWeights=True, initSeed=5,
                 certificateSeeds=SEEDS, maxBytes=8 << 20, tolerance=made(wire.ToleranceT, name="kernelbench"))
    return made(wire.PrepareT, **{**given, **fields})


def draw(session, trial=1, seed=77, slot=0, poison_seed=0):
    """The arena of one trial."""
    return session.draw(made(wire.DrawT, trial=trial, seed=seed, slot=slot, poisonSeed=poison_seed))


def judge(session, outputs, trial=1, seed=77, **fields):
    """The JudgedT of these outputs."""
    return session.judge(made(wire.JudgeT, trial=trial, seed=seed, outputs=outputs, **fields))


def tried(session, candidate, trial=1, seed=77):
    """The result for a candidate: `candidate(inputs, weights)` is called on the arena's tensors."""
    spec = wire.from_bytes("CallSpec", session._task.spec)
    arena = draw(session, trial, seed)
    inputs = [from_wire(each, arena.tensor) for each in spec.inputs.items or ()]
    weights = {wire.text(each.name): arena.tensor(each.tensor) for each in spec.weights or ()}
    return judge(session, place_outputs(candidate(inputs, weights), arena, spec.outputsOffset), trial, seed)


def recorded():
    """{sample key: reference} of the recorded tasks, or a skip with its reason."""
    folder = Path(os.environ.get("KERNELWRIGHT_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip("the recorded tasks are not beside this checkout")
    return {row["sample_key"]: row["pytorch_code"] for file in sorted(folder.glob("recorded_*.json"))
            for row in json.loads(file.read_text())}
