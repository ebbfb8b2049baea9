"""Merges an adapter into its base model, so that the weights need no PEFT."""
import shutil
from pathlib import Path

from . import adapter, checkpoints, manifest
from .events import TrainError
from .model import choose_device, first_line, load_config, load_tokenizer


def merge(folder, base, output, device, events):
    """Writes the merged model into the new folder `output`, in the type in which the base is stored."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    device = choose_device(device)
    adapter.check(folder, load_config(base).to_dict())
    refuse_no_room(base, output)
    try:
        loaded = AutoModelForCausalLM.from_pretrained(base, dtype="auto", device_map={"": 0 if device == "cuda" else "cpu"})
    except Exception as error:
        raise TrainError(f"the model {base} cannot be loaded: {first_line(error)}",
                         "see that its safetensors are whole (download it again)") from error
    if getattr(loaded, "is_quantized", False):
        raise TrainError(f"{base} is quantised, and merging into it would lose what was learnt",
                         "give the model that it was quantised from")
    with torch.no_grad():
        merged = PeftModel.from_pretrained(loaded, folder).merge_and_unload(safe_merge=True)
    tokenizer = load_tokenizer(folder if (Path(folder) / "tokenizer_config.json").is_file() else base)

    paper = paper_of(Path(folder))

    def write(partial):
        merged.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        if paper:
            shutil.copyfile(paper, partial / manifest.NAME)
    Path(output).mkdir(parents=True, exist_ok=True)
    checkpoints.write_into(output, write)
    if not paper:
        events.send("notice", what=f"{folder} has no {manifest.NAME}: the merged model cannot say what it learnt from")
    events.send("saved", path=str(output))
    events.send("done", steps=0, loss=None, seconds=None, path=str(output))


def paper_of(folder):
    """The manifest of an adapter's training; for a checkpoint without one, its training's. None without any."""
    own = folder / manifest.NAME
    if not own.is_file() and checkpoints.NAME.fullmatch(folder.resolve().name):
        own = folder.resolve().parent / manifest.NAME
    return own if own.is_file() else None


def refuse_no_room(base, output):
    """Refuse where the disk lacks room for a local base model's size, which the merged model also has."""
    needed = sum(path.stat().st_size for path in Path(base).glob("*.safetensors")) if Path(base).is_dir() else 0
    parent = next(each for each in [Path(output), *Path(output).absolute().parents] if each.exists())
    free = shutil.disk_usage(parent).free
    if needed > free:
        raise TrainError(f"{needed:,} bytes are needed for the merged model, and {parent} has {free:,}", "make room")
