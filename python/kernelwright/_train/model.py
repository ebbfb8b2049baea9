"""Loads the base model as the recipe asks, and adds the adapter that is trained."""
import contextlib
import copy
from pathlib import Path

from .attention import fuse_kernels, implementation, refuse_kernels_on_cpu
from .events import TrainError

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def dtype_of(word):
    import torch
    return getattr(torch, DTYPES[word])


def choose_device(word):
    """"cuda" or "cpu"."""
    import torch
    if word == "cuda" and not torch.cuda.is_available():
        why = "this PyTorch was built without CUDA" if torch.version.cuda is None else "PyTorch finds none"
        raise TrainError(f"there is no GPU: {why}", "--device cpu for a small model, or a machine with a GPU and its driver")
    return "cuda" if word != "cpu" and torch.cuda.is_available() else "cpu"


def name_of(device):
    import torch
    return torch.cuda.get_device_name() if device == "cuda" else "a CPU"


def limit_memory(device, limit_bytes):
    """Limits PyTorch to `limit_bytes` of the GPU, as on a smaller one. Returns the available bytes; None if unknown."""
    import torch
    if device != "cuda":
        return limit_bytes
    free, total = torch.cuda.mem_get_info()
    if limit_bytes is None:
        return free
    if limit_bytes < total:
        torch.cuda.set_per_process_memory_fraction(limit_bytes / total)
    return min(limit_bytes, free)


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges.txt", "*.model", "*.tiktoken", "*.spm")


def load_tokenizer(model):
    from transformers import AutoTokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        # Without tokenizer files the library makes an empty tokenizer.
        if has_tokenizer_files(model) and tokenizer("kernel", add_special_tokens=False)["input_ids"]:
            return tokenizer
    except Exception as error:  # exceptions of the library, tokenizers and the hub have no common base
        raise TrainError(f"the tokenizer of {model} cannot be read: {first_line(error)}",
                         "give --model a folder with a model in it, or a name that the hub knows") from None
    raise TrainError(f"there is no tokenizer in {model}", "copy tokenizer.json and tokenizer_config.json of the model there")


def has_tokenizer_files(model):
    folder = Path(model)
    return not folder.is_dir() or any(any(folder.glob(pattern)) for pattern in TOKENIZER_FILES)


def load_config(model):
    from transformers import AutoConfig
    try:
        return AutoConfig.from_pretrained(model)
    except Exception as error:
        raise TrainError(f"{model} is no model: {first_line(error)}",
                         "give --model a folder with a model in it, or a name that the hub knows") from None


def quantisation_of(recipe):
    """The quantisation settings for transformers; None without quantisation."""
    import torch
    from transformers import BitsAndBytesConfig
    wanted = recipe["quantisation"]
    if wanted["type"] == "none":
        return None
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=wanted["type"],
                              bnb_4bit_use_double_quant=wanted["double"],
                              bnb_4bit_compute_dtype=dtype_of(wanted["compute"]), bnb_4bit_quant_storage=torch.uint8)


def load_base(model, recipe, device):
    from transformers import AutoModelForCausalLM
    attention = implementation(recipe["training"]["attention"], device == "cuda")
    refuse_kernels_on_cpu(recipe["training"]["kernels"], device == "cuda")
    try:
        return AutoModelForCausalLM.from_pretrained(
            model, dtype=dtype_of(recipe["quantisation"]["compute"]), attn_implementation=attention,
            quantization_config=quantisation_of(recipe), device_map={"": 0 if device == "cuda" else "cpu"})
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise TrainError(f"the model {model} cannot be loaded: {first_line(error)}",
                         "see that its safetensors are whole (download it again), and that config.json belongs to them"
                         ) from error


def is_out_of_memory(error):
    import torch
    return isinstance(error, (torch.OutOfMemoryError, MemoryError))


def layer_names(built):
    """Names of the layers to which an adapter can be added."""
    from torch import nn
    from transformers.pytorch_utils import Conv1D
    return [name for name, layer in built.named_modules() if isinstance(layer, (nn.Linear, nn.Embedding, Conv1D))]


def refuse_missing(targets, names):
    """Refuse missing targets: PEFT ignores one as long as another one exists."""
    missing = [each for each in targets if not any(name == each or name.endswith(f".{each}") for name in names)]
    if missing:
        known = ", ".join(sorted({name.rpartition(".")[2] for name in names}))
        raise TrainError(f"the model has no layers called {', '.join(missing)}",
                         f"name layers of this model: --set lora.targets=..., of {known}")


def refuse_unknown_targets(config, recipe):
    """Refuse unknown targets before any weights are read: the model is built without memory for them."""
    import torch
    from transformers import AutoModelForCausalLM
    names = None
    with contextlib.suppress(Exception), torch.device("meta"):  # if the model cannot be built so, add_adapter reports it
        names = layer_names(AutoModelForCausalLM.from_config(copy.deepcopy(config)))
    if names:
        refuse_missing(recipe["lora"]["targets"], names)


def add_adapter(base, recipe):
    """The base with a new adapter, whose random values depend on the seed."""
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed
    set_seed(recipe["training"]["seed"])
    wanted = recipe["lora"]
    refuse_missing(wanted["targets"], layer_names(base))
    if recipe["training"]["kernels"] == "liger":
        fuse_kernels(base)
    config = LoraConfig(r=wanted["rank"], lora_alpha=wanted["alpha"], lora_dropout=wanted["dropout"], bias=wanted["bias"],
                        target_modules=list(wanted["targets"]), task_type="CAUSAL_LM", init_lora_weights=True,
                        use_rslora=False, use_dora=False)
    try:
        return get_peft_model(base, config)
    except ValueError as error:
        raise TrainError(f"these layers cannot get an adapter: {first_line(error)}",
                         "name layers of this model: --set lora.targets=...") from None


def settle_adapter_type(model, recipe):
    """Set the type of the trained weights, which the optimiser's states share.

    bfloat16 has 8 bits of mantissa: an update below 1/256 of a weight rounds to nothing, and most updates of a low
    learning rate are smaller than that.
    """
    wanted = dtype_of(recipe["lora"]["adapter_dtype"])
    for each in model.parameters():
        if each.requires_grad:
            each.data = each.data.to(wanted)


def evaluate(model):
    """Put a model that is trained on afterwards into evaluation mode.

    The 4-bit layers of bitsandbytes stay in training mode, which changes nothing else of them. In evaluation mode, on a CPU
    with AVX-512 BF16, they pack their weights for inference and keep them so; a product with packed weights has no
    gradient.
    """
    from bitsandbytes.nn import Linear4bit
    model.eval()
    for layer in model.modules():
        if isinstance(layer, Linear4bit):
            layer.training = True
