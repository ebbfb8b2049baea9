"""The base model as the recipe wants it, and the adapter that is trained on top of it."""
from .attention import fuse_kernels, implementation
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
    """Holds PyTorch to `limit_bytes` of the GPU, as on a smaller one. Returns the bytes there are; none if unknown."""
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


def load_tokenizer(model):
    from transformers import AutoTokenizer
    try:
        return AutoTokenizer.from_pretrained(model)
    except Exception as error:  # the library's, tokenizers' and the hub's have no common base
        raise TrainError(f"the tokenizer of {model} cannot be read: {first_line(error)}",
                         "give --model a folder with a model in it, or a name that the hub knows") from None


def load_config(model):
    from transformers import AutoConfig
    try:
        return AutoConfig.from_pretrained(model)
    except Exception as error:
        raise TrainError(f"{model} is no model: {first_line(error)}",
                         "give --model a folder with a model in it, or a name that the hub knows") from None


def quantisation_of(recipe):
    """How transformers is told of it; none for none."""
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


def add_adapter(base, recipe):
    """The base with a new adapter, random as the seed has it."""
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed
    set_seed(recipe["training"]["seed"])
    wanted = recipe["lora"]
    if recipe["training"]["kernels"] == "liger":
        fuse_kernels(base)
    config = LoraConfig(r=wanted["rank"], lora_alpha=wanted["alpha"], lora_dropout=wanted["dropout"], bias=wanted["bias"],
                        target_modules=list(wanted["targets"]), task_type="CAUSAL_LM", init_lora_weights=True,
                        use_rslora=False, use_dora=False)
    try:
        return get_peft_model(base, config)
    except ValueError as error:
        raise TrainError(f"the model has no layers called {', '.join(wanted['targets'])}: {first_line(error)}",
                         "name layers of this model: --set lora.targets=...") from None


def settle_adapter_type(model, recipe):
    """What the adapter's weights are kept as: bfloat16 over a quantised base, as is usual there; else float32."""
    import torch
    quantised = recipe["quantisation"]["type"] != "none"
    for each in model.parameters():
        if each.requires_grad:
            each.data = each.data.to(torch.bfloat16 if quantised else torch.float32)
