"""Makes models of known shapes with random weights: quantised layer by layer, so that the whole model in 16 bits never
exists.
"""
import torch
from torch import nn

SHAPES = {
    "qwen3-8b": dict(vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36,
                     num_attention_heads=32, num_key_value_heads=8, head_dim=128, max_position_embeddings=40960,
                     rms_norm_eps=1e-6, tie_word_embeddings=False),
    "tiny": dict(vocab_size=4096, hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, head_dim=16, max_position_embeddings=40960, rms_norm_eps=1e-6,
                 tie_word_embeddings=False),
}
SPREAD = 0.02  # standard deviation of the weights


def quantised(linear, recipe, device):
    """A Linear4bit that replaces a Linear without storage."""
    import bitsandbytes as bnb
    wanted = recipe["quantisation"]
    compute = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[wanted["compute"]]
    made = bnb.nn.Linear4bit(linear.in_features, linear.out_features, bias=False, compute_dtype=compute,
                             compress_statistics=wanted["double"], quant_type=wanted["type"], quant_storage=torch.uint8,
                             device="meta")
    values = torch.empty(linear.out_features, linear.in_features, dtype=compute, device=device).normal_(std=SPREAD)
    made.weight = bnb.nn.Params4bit(values, requires_grad=False, compress_statistics=wanted["double"],
                                    quant_type=wanted["type"], quant_storage=torch.uint8, module=made).to(device)
    return made


def fill(module, device, dtype):
    """Gives every parameter of `module` itself that has no storage random values; norms get ones."""
    for name, parameter in list(module.named_parameters(recurse=False)):
        if parameter.device.type == "meta":
            values = torch.empty(parameter.shape, dtype=dtype, device=device)
            values = values.normal_(std=SPREAD) if parameter.dim() > 1 else values.fill_(1)
            setattr(module, name, nn.Parameter(values, requires_grad=False))


def make(shape, recipe, device, tokens):
    """The base model of this shape, as `load_base` would have loaded it; with a vocabulary of at least `tokens`."""
    from accelerate import init_empty_weights
    from kernelwright._train.attention import implementation
    from kernelwright._train.model import dtype_of, quantisation_of
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(**SHAPES[shape])
    config.vocab_size = max(config.vocab_size, tokens)
    config._attn_implementation = implementation(recipe["training"]["attention"], device == "cuda")
    config.dtype = dtype_of(recipe["quantisation"]["compute"])
    with init_empty_weights(include_buffers=False):
        model = Qwen3ForCausalLM(config)
    if recipe["quantisation"]["type"] != "none":
        for name, module in list(model.named_modules()):
            if isinstance(module, nn.Linear) and name != "lm_head":
                parent, _, last = name.rpartition(".")
                setattr(model.get_submodule(parent), last, quantised(module, recipe, device))
        mark(model, quantisation_of(recipe))
    for module in model.modules():
        fill(module, device, config.dtype)
    return model.to(device)


def mark(model, config):
    """As the library marks a model that it quantised itself."""
    from transformers.quantizers.auto import AutoHfQuantizer
    model.is_quantized = model.is_loaded_in_4bit = True
    model.quantization_method = config.quant_method
    model.config.quantization_config = config
    model.hf_quantizer = AutoHfQuantizer.from_config(config, pre_quantized=False)
