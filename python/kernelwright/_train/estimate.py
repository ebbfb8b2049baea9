"""Estimates the GPU memory of a training from the model's config.json alone, without loading weights.

All in bytes. With h: hidden, q and k: width of all query and of all key heads, i: intermediate, e: bytes of a compute
value, t: tokens of a micro-batch:

weights       linear layers as they are quantised, embeddings, head and norms in the compute type
adapter       rank * (inputs + outputs) of each target, in four bytes, or two with adapter_dtype bf16
gradients     as the adapter; optimiser: twice that (AdamW keeps two values of the weight's type)
activations   with checkpointing, t*h*e a layer and the saved values of one layer's backward pass; without, of all layers
workspace     of a backward step: three gradients as wide as the widest layer, and a dequantised weight
logits        a tile of the head's output: neither loss of the trl engine holds all of it at once
context       the memory that CUDA takes before any allocation, roughly
"""
import math

from .events import TrainError

CONTEXT_BYTES = 600 << 20
COMPUTE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
BLOCK = 64  # values that share a scale
NESTED_BLOCK = 256  # scales that share one, with double quantisation
TILE_TOKENS, TILE_WORDS = 4096, 32768  # of the head's output, with kernels = "none"
KEYS = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")


def plain_config(config):
    """A config of transformers, or config.json's object, as a dict; its language part where it has several."""
    config = config if isinstance(config, dict) else config.to_dict()
    config = config.get("text_config") or config
    wrong = [key for key in KEYS if type(config.get(key)) is not int or config[key] <= 0]
    if wrong:
        raise TrainError(f"the model's config.json says nothing usable of {', '.join(wrong)}",
                         "give --model a decoder such as Qwen3 or Llama")
    return config


class Shapes:
    """The sizes of a decoder's layers: `linear` has (inputs, outputs) by name."""

    def __init__(self, config):
        config = plain_config(config)
        heads = config["num_attention_heads"]
        head = config.get("head_dim") or config["hidden_size"] // heads
        self.hidden, self.layers, self.vocabulary = config["hidden_size"], config["num_hidden_layers"], config["vocab_size"]
        self.heads, self.query = heads, heads * head
        self.key = (config.get("num_key_value_heads") or heads) * head
        self.experts = config.get("num_experts") or config.get("num_local_experts") or 1
        self.inner = config.get("moe_intermediate_size") if self.experts > 1 else None
        self.inner = self.inner or config["intermediate_size"]
        self.tied = bool(config.get("tie_word_embeddings"))
        h, q, k, i = self.hidden, self.query, self.key, self.inner
        self.linear = {"q_proj": (h, q), "k_proj": (h, k), "v_proj": (h, k), "o_proj": (q, h),
                       "gate_proj": (h, i), "up_proj": (h, i), "down_proj": (i, h)}

    def copies(self, name):
        return self.experts if name in ("gate_proj", "up_proj", "down_proj") else 1

    @property
    def linear_values(self):
        """The values of all linear layers."""
        return self.layers * sum(a * b * self.copies(name) for name, (a, b) in self.linear.items())

    @property
    def other_values(self):
        """Embeddings, head and norms, which are not quantised."""
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return embeddings + self.layers * (2 * self.hidden + 2 * self.query // self.heads) + self.hidden

    def adapter_values(self, targets, rank):
        known = self.linear | {"lm_head": (self.hidden, self.vocabulary), "embed_tokens": (self.vocabulary, self.hidden)}
        total = 0
        for name in targets:
            if name in known:
                total += rank * sum(known[name]) * (self.layers * self.copies(name) if name in self.linear else 1)
        return total


def quantised_bytes(values, quantisation):
    """Four bits a value, and a scale for each block: four bytes, or one and a share of four more."""
    blocks = math.ceil(values / BLOCK)
    scales = blocks + 4 * math.ceil(blocks / NESTED_BLOCK) if quantisation["double"] else 4 * blocks
    return math.ceil(values / 2) + scales


def kept_by_layer(shapes, recipe, size):
    """Bytes a token that one layer saves for its backward pass.

    Norms save their input in float32 and their output; rotation and grouping copy queries and keys; the feed-forward part
    saves three values of its width. Fused kernels save inputs alone. Dropout before an adapter's matrix saves its output and
    a byte of mask, for each matrix.
    """
    h, q, k, i = shapes.hidden, shapes.query, shapes.key, shapes.inner
    fused = recipe["training"]["kernels"] == "liger"
    norms = 2 * (2 * size if fused else 4 + size) * h
    rotated = (4 * size if fused else 4 + 3 * size) * (q + k)
    attended = size * (k + 3 * q)  # values, keys and values for all heads, the result
    inner = (2 if fused else 3) * size * i
    dropout = size + 1 if recipe["lora"]["dropout"] > 0 else 0
    inputs = sum(shapes.linear[name][0] for name in recipe["lora"]["targets"] if name in shapes.linear)
    return norms + rotated + attended + inner + dropout * inputs


def attention_bytes(shapes, recipe, longest, size):
    """Further bytes of attention: with "eager" all scores twice; with a mask its bytes, which all layers share."""
    batch, word = recipe["training"]["micro_batch"], recipe["training"]["attention"]
    if word == "eager":
        return batch * shapes.heads * longest * longest * (4 + size)
    return 0 if word == "varlen" else batch * longest * longest


def workspace_bytes(shapes, recipe, tokens, size):
    """The workspace of one step of the backward pass."""
    widest = max(a * b for a, b in shapes.linear.values())
    return 3 * size * tokens * max(shapes.inner, shapes.hidden) + \
        (widest * size if recipe["quantisation"]["type"] != "none" else 0)


def logits_bytes(shapes, recipe, tokens, size):
    """The tile of logits and its gradient, and the gradient of the last hidden state in float32."""
    if recipe["training"]["kernels"] == "liger":
        rows = 1 << max(0, math.ceil(tokens / math.ceil(shapes.vocabulary / shapes.hidden)) - 1).bit_length()
        tile = min(rows, tokens) * shapes.vocabulary
    else:
        tile = min(tokens, TILE_TOKENS) * min(shapes.vocabulary, TILE_WORDS)
    return tile * (4 + size) + tokens * shapes.hidden * 4


def memory(config, recipe, longest):
    """{part_bytes..., total_bytes} of a training. `longest`: tokens of the longest sequence.

    `config` is the model's config.json, as an object or as transformers has it. Raises events.TrainError where it is not a
    decoder's.
    """
    shapes, training, quantisation = Shapes(config), recipe["training"], recipe["quantisation"]
    size = COMPUTE_BYTES[quantisation["compute"]]
    quantised = quantisation["type"] != "none"
    tokens = training["micro_batch"] * longest
    linear = quantised_bytes(shapes.linear_values, quantisation) if quantised else shapes.linear_values * size
    values = shapes.adapter_values(recipe["lora"]["targets"], recipe["lora"]["rank"])
    adapter = values * COMPUTE_BYTES[recipe["lora"]["adapter_dtype"]]
    layer = tokens * kept_by_layer(shapes, recipe, size) + attention_bytes(shapes, recipe, longest, size)
    checkpointed = training["gradient_checkpointing"]
    kept = layer + shapes.layers * tokens * shapes.hidden * size if checkpointed else shapes.layers * layer
    parts = {"weights_bytes": linear + shapes.other_values * size, "adapter_bytes": adapter, "gradients_bytes": adapter,
             "optimiser_bytes": 2 * adapter, "activations_bytes": kept,
             "workspace_bytes": workspace_bytes(shapes, recipe, tokens, size),
             "logits_bytes": logits_bytes(shapes, recipe, tokens, size), "context_bytes": CONTEXT_BYTES}
    # Logits are freed before the backward pass reaches a layer.
    never_at_once = parts["workspace_bytes"] + (layer if checkpointed else 0), parts["logits_bytes"]
    return parts | {"total_bytes": sum(parts.values()) - min(never_at_once)}
