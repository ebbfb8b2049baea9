"""Checkpoints: writes folders atomically, and finds those from which training may continue."""
import errno
import json
import math
import os
import re
import shutil
import zipfile
from pathlib import Path

from . import held_out
from .events import TrainError

NAME = re.compile(r"checkpoint-(\d+)")
PARTIAL = ".checkpoint.partial"
MADE_FOR = "kernelwright.json"


def listed(output):
    """Complete checkpoints, the oldest first: (step, path)."""
    found = [(int(match.group(1)), path) for path in Path(output).glob("checkpoint-*")
             if (match := NAME.fullmatch(path.name)) and (path / MADE_FOR).is_file()]
    return sorted(found)


def write_whole(output, step, made_for, write):
    """Calls `write(folder)` for a folder that then becomes checkpoint-STEP. Returns its path."""
    output = Path(output)
    partial, path = output / PARTIAL, output / f"checkpoint-{step}"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        write(partial)
        (partial / MADE_FOR).write_text(json.dumps(made_for, indent=1), encoding="utf-8")
        settle(partial)
        shutil.rmtree(path, ignore_errors=True)
        partial.rename(path)
    except Exception as error:  # exceptions of the system, safetensors and PyTorch have no common base
        raise explained(error, output, f"checkpoint {step}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return path


def write_into(output, write):
    """Calls `write(folder)` for a folder whose files are then moved into `output`, each of them complete."""
    output = Path(output)
    partial = output / PARTIAL
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        write(partial)
        settle(partial)
        for path in sorted(partial.iterdir()):
            path.replace(output / path.name)
    except Exception as error:
        raise explained(error, output, "the adapter") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def settle(folder):
    """Flush to the disk, so that a name never refers to unwritten data."""
    for path in [*Path(folder).rglob("*"), Path(folder)]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def explained(error, output, what):
    kept = listed(output)
    earlier = f"{kept[-1][1]} is whole" if kept else "there is no checkpoint"
    number, free = getattr(error, "errno", None), shutil.disk_usage(output).free
    if number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error) or free < 1 << 20:
        return TrainError(f"the disk is full: {what} could not be written to {output} ({free:,} bytes are free); {earlier}",
                          "make room, and go on with --resume")
    return TrainError(f"{what} could not be written to {output}: {error}; {earlier}",
                      "mend what it names, and go on with --resume")


def keep_newest(output, count):
    for _, path in listed(output)[:-count or None]:
        doomed = path.with_name(f".{path.name}.gone")
        path.rename(doomed)  # so that a checkpoint never exists in part
        shutil.rmtree(doomed, ignore_errors=True)


def sweep(output):
    """Remove checkpoints that a killed training left partly removed."""
    for path in Path(output).glob(".checkpoint-*.gone"):
        shutil.rmtree(path, ignore_errors=True)


def refuse_damaged(path, before, validated=False):
    """Check that the state to continue from exists and is complete, as far as its formats show."""
    from safetensors import safe_open
    try:
        with safe_open(path / "adapter_model.safetensors", "np"):
            pass
        json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
        for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
            with zipfile.ZipFile(path / name) as file:
                if broken := file.testzip():
                    raise ValueError(f"{name}: {broken} is not what was written")
        if validated and any(step > 0 for step, loss in held_out.losses_in(path).items() if math.isfinite(loss)):
            with safe_open(path / held_out.BEST, "np"):
                pass
    except Exception as error:  # exceptions of safetensors and zipfile have no common base
        raise damaged(path, error, before) from None


def damaged(path, why, before):
    return TrainError(f"the checkpoint {path} is damaged: {why}",
                      f"remove {path}, and --resume goes on from the one before" + (f", {before}" if before else
                      "; as there is none, it begins at step 1"))


def to_resume(output, made_for):
    """The newest checkpoint, which must come from the same recipe and data; None where there is none."""
    found = listed(output)
    if not found:
        return None
    path, before = found[-1][1], found[-2][1] if len(found) > 1 else None
    try:
        other = json.loads((path / MADE_FOR).read_text(encoding="utf-8"))
        if not isinstance(other, dict):
            raise ValueError(f"{MADE_FOR} is no object")
    except (OSError, ValueError) as error:
        raise damaged(path, error, before) from None
    differing = [name for name in made_for if other.get(name) != made_for[name]]
    if differing:
        raise TrainError(f"{path} was trained with another {', another '.join(differing)}",
                         "resume with what it was started with, or train anew into another --output")
    refuse_damaged(path, before, bool(made_for.get("validation")))
    return path


def refuse_leftovers(output):
    """Refuse to start anew in a folder with an earlier run's output."""
    found = listed(output)
    if found:
        raise TrainError(f"{output} holds checkpoints of an earlier training, the newest at step {found[-1][0]}",
                         "go on with --resume, or give another --output")
