"""Checks that the packages of training are installed, in the pinned versions."""
from importlib import metadata
from pathlib import Path

from .events import TrainError

PINS = Path(__file__).resolve().parents[2] / "requirements-train.txt"
ALWAYS = ("transformers", "trl", "datasets", "accelerate", "peft", "safetensors", "tokenizers")
REMEDY = "kernelwright train --install-packages"


def needed(recipe):
    """The packages that this recipe needs: kernels and quantisation only where it asks for them."""
    quantised = recipe["quantisation"]["type"] != "none"
    fused = recipe["training"]["kernels"] == "liger"
    return ALWAYS + (("bitsandbytes",) if quantised else ()) + (("liger-kernel",) if fused else ())


def pins(path=PINS):
    """Package → its pinned version; empty where the file of pins is missing."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return dict(line.split("#")[0].strip().split("==") for line in lines if "==" in line)


def installed(name):
    try:
        return metadata.version(name).split("+")[0]
    except metadata.PackageNotFoundError:
        return None


def check(recipe):
    """The versions, PyTorch's among them; raises an error that names missing packages and other versions."""
    wanted, found, wrong = pins(), {}, []
    for name in needed(recipe):
        found[name] = installed(name)
        if found[name] is None:
            wrong.append(f"{name} is missing")
        elif found[name] != wanted.get(name, found[name]):
            wrong.append(f"{name} is {found[name]}, and {wanted[name]} is needed")
    if wrong:
        raise TrainError("; ".join(wrong), REMEDY)
    found["torch"] = installed("torch")
    if found["torch"] is None:
        raise TrainError("torch is missing", REMEDY)
    return found
