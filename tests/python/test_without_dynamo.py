"""A warm oracle computes shapes without PyTorch's compiler, and a reference that asks for the compiler still gets it."""
import subprocess
import sys

from fork_client import ROOT

WARM = """
import gc, os, sys
os.environ["TORCHDYNAMO_DISABLE"] = "1"
import torch
gc.freeze()
from kernelwright._engine import oracle
oracle.warm()
assert "torch._dynamo" not in sys.modules
"""


def run(code):
    subprocess.run([sys.executable, "-W", "ignore", "-c", WARM + code], check=True, timeout=120, cwd=ROOT,
                   env={"PYTHONPATH": ":".join(path for path in sys.path if path)})


def test_shapes_are_computed_without_it():
    run("""
with torch.device("meta"):
    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.LayerNorm(4), torch.nn.Softmax(-1))
    assert module(torch.randn(2, 8)).shape == (2, 4)
assert "torch._dynamo" not in sys.modules
""")


def test_compiled_functions_still_run():
    run("""
twice = torch.compile(lambda x: x + x)
assert twice(torch.ones(2)).tolist() == [2, 2]
assert torch.utils.checkpoint.checkpoint(torch.relu, torch.ones(2), use_reentrant=False).tolist() == [1, 1]
""")
