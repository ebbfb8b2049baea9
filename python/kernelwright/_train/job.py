"""Reads the job: the training that the program asks for, in a file."""
import json
from dataclasses import dataclass
from pathlib import Path

from .events import TrainError

SCHEMA = "kernelwright.train-job/1"
SECTIONS = {
    "quantisation": ("type", "double", "compute"),
    "lora": ("rank", "alpha", "dropout", "bias", "targets", "adapter_dtype"),
    "data": ("max_length", "packing", "too_long", "loss", "template", "shuffle"),
    "training": ("epochs", "micro_batch", "accumulation", "learning_rate", "schedule", "warmup", "optimiser", "beta1",
                 "beta2", "epsilon", "weight_decay", "clip", "seed", "gradient_checkpointing", "precision", "attention",
                 "kernels", "save_every", "keep", "log_every", "validate_every", "patience"),
}


@dataclass(frozen=True)
class Job:
    model: str
    data: tuple
    output: Path
    recipe: dict
    validation: tuple = ()
    device: str = "auto"
    memory_bytes: int | None = None
    max_steps: int | None = None
    resume: bool = False
    dry_run: bool = False
    force: bool = False
    push_to_hub: str | None = None
    program: str = "kernelwright"


def lacking(recipe):
    """Names of required keys that the recipe lacks."""
    return [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys
            if key not in (recipe.get(section) or {})]


def read(path):
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainError(f"the job file {path} cannot be read: {error}", "start training with `kernelwright train`") from None
    if value.get("schema") != SCHEMA:
        raise TrainError(f"{path} is no {SCHEMA}, but {value.get('schema')}", "use a program and a package of one version")
    if value.get("engine", "trl") != "trl":
        raise TrainError(f"there is no engine called {value['engine']} here", "--engine trl")
    missing = lacking(value.get("recipe") or {})
    if missing:
        raise TrainError(f"the recipe lacks {', '.join(missing)}", "use a program and a package of one version")
    known = {name: value[name] for name in ("model", "recipe", "device", "memory_bytes", "max_steps", "resume", "dry_run",
                                            "force", "push_to_hub", "program") if value.get(name) is not None}
    return Job(data=tuple(value["data"]), validation=tuple(value.get("validation") or ()), output=Path(value["output"]),
               **known)
