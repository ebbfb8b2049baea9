"""Reads and checks an adapter folder before any model is loaded."""
import json
from pathlib import Path

from .events import TrainError

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
HEADER_BYTES = 64 << 20
AGAIN = "train it again, or copy it again from where it is whole"
OTHER_BASE = "give the base model that it was trained on"
# The shape of a layer's weight: (outputs, inputs), by the sizes of the model's config.
LAYERS = {"q_proj": ("query", "hidden"), "k_proj": ("key", "hidden"), "v_proj": ("key", "hidden"),
          "o_proj": ("hidden", "query"), "gate_proj": ("inner", "hidden"),
          "up_proj": ("inner", "hidden"), "down_proj": ("hidden", "inner")}


def read_config(folder):
    path = Path(folder) / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrainError(f"{folder} is no adapter: there is no {CONFIG} in it",
                         "name an output folder of `kernelwright train`, or a checkpoint in it") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TrainError(f"{path} cannot be read: {error}", AGAIN) from None
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise TrainError(f"{path} is no LoRA adapter's", "only LoRA adapters are known here")
    rank, targets = config.get("r"), config.get("target_modules")
    if not isinstance(rank, int) or rank < 1 or not isinstance(targets, list) or not targets:
        raise TrainError(f"{path} names no rank or no layers", AGAIN)
    return config


def shapes_of(path):
    """Name → shape of every tensor in a safetensors file whose header and length agree."""
    path = Path(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(HEADER_BYTES, size - 8):
                raise ValueError("its header is cut short, or none")
            header = json.loads(file.read(length))
        return tensors_of(header, size - 8 - length)
    except FileNotFoundError:
        raise TrainError(f"there is no {path}", AGAIN) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TrainError(f"{path} is damaged: {error}", AGAIN) from None


def tensors_of(header, available):
    shapes, end = {}, 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, stop = entry["data_offsets"]
        if not 0 <= begin <= stop:
            raise ValueError(f"{name} lies nowhere")
        shapes[name], end = tuple(entry["shape"]), max(end, stop)
    if end != available:
        raise ValueError(f"{end:,} bytes of weights should be there, and {available:,} are")
    return shapes


def sizes_of(base):
    """The sizes of a decoder from its config, an object as in config.json."""
    base = base.get("text_config") or base
    heads = base["num_attention_heads"]
    head = base.get("head_dim") or base["hidden_size"] // heads
    return {"hidden": base["hidden_size"], "inner": base["intermediate_size"], "layers": base["num_hidden_layers"],
            "query": heads * head, "key": (base.get("num_key_value_heads") or heads) * head}


def check_layers(folder, config, shapes, base):
    """Check that every layer of every target has both of its matrices, and that they fit the base's."""
    try:
        sizes = sizes_of(base)
    except (KeyError, TypeError, ZeroDivisionError):
        return  # an unknown kind of model: loading it reports the mismatch
    targets = sorted(name for name in config["target_modules"] if name in LAYERS)
    for layer in range(sizes["layers"]):
        for target in targets:
            outputs, inputs = (sizes[each] for each in LAYERS[target])
            for matrix, wanted in (("A", (config["r"], inputs)), ("B", (outputs, config["r"]))):
                found = [shape for name, shape in shapes.items()
                         if f".layers.{layer}." in name and name.endswith(f".{target}.lora_{matrix}.weight")]
                if not found:
                    raise TrainError(f"{folder} lacks lora_{matrix} of layer {layer}'s {target}",
                                     f"{AGAIN}, or {OTHER_BASE}")
                if found[0] != wanted:
                    raise TrainError(f"lora_{matrix} of layer {layer}'s {target} measures {found[0]}, and this base needs "
                                     f"{wanted}", OTHER_BASE)
    beyond = [name for name in shapes if f".layers.{sizes['layers']}." in name]
    if beyond:
        raise TrainError(f"the adapter has {beyond[0]}, and this base has only {sizes['layers']} layers", OTHER_BASE)


def check(folder, base):
    """Check that the adapter is complete and fits `base` (config.json's object). Returns its config or raises the reason."""
    config = read_config(folder)
    shapes = shapes_of(Path(folder) / WEIGHTS)
    if not shapes:
        raise TrainError(f"{Path(folder) / WEIGHTS} is empty", AGAIN)
    check_layers(folder, config, shapes, base)
    return config
