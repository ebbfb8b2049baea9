"""Attention over packed samples of different lengths, without a mask and without padding."""
from .events import TrainError

VARLEN = "kernelwright_varlen"


def varlen_attention(module, query, key, value, attention_mask, scaling=None, cu_seq_lens_q=None, max_length_q=None, **_):
    """The attention function for transformers: query [1, heads, tokens, width]; key and value may have fewer heads.

    `cu_seq_lens_q` [samples + 1] has the samples' boundaries, `max_length_q` the longest sample's length. A token attends to
    its own sample up to itself. Returns [1, tokens, heads, width].
    """
    from torch.nn.attention.varlen import varlen_attn
    if cu_seq_lens_q is None:
        raise TrainError("variable-length attention was called without the bounds of the samples",
                         "--set training.attention=sdpa")
    heads = [each[0].transpose(0, 1) for each in (query, key, value)]
    repeats = heads[0].shape[1] // heads[1].shape[1]
    if repeats > 1 and not grouped_heads():
        heads[1:] = [each.repeat_interleave(repeats, dim=1) for each in heads[1:]]
    heads = [each.to(value.dtype) for each in heads]
    out = varlen_attn(*heads, cu_seq_lens_q, cu_seq_lens_q, max_length_q, max_length_q, scale=scaling, window_size=(-1, 0))
    return out[None], None


_grouped = []


def grouped_heads():
    """Whether this PyTorch's kernel accepts fewer key heads than query heads, in the backward pass too. Tried once."""
    if not _grouped:
        _grouped.append(_try_grouped_heads())
    return _grouped[0]


def _try_grouped_heads():
    import torch
    from torch.nn.attention.varlen import varlen_attn
    bounds = torch.tensor([0, 8, 16], dtype=torch.int32, device="cuda")
    made = [torch.randn(16, heads, 64, dtype=torch.bfloat16, device="cuda", requires_grad=True) for heads in (4, 2, 2)]
    alike = [made[0], *(each.repeat_interleave(2, dim=1) for each in made[1:])]
    try:
        with torch.enable_grad():
            wanted = torch.autograd.grad(_called(varlen_attn, alike, bounds), made)
            found = torch.autograd.grad(_called(varlen_attn, made, bounds), made)
    except RuntimeError:
        return False
    return all(torch.allclose(one, other, atol=0.05) for one, other in zip(wanted, found, strict=True))


def _called(attention, heads, bounds):
    return attention(*heads, bounds, bounds, 8, 8, window_size=(-1, 0)).float().square().sum()


def implementation(word, on_cuda):
    """The name under which transformers knows the recipe's attention; registers varlen_attention."""
    if word != "varlen":
        return word
    if not on_cuda:
        raise TrainError("variable-length attention needs a GPU", "--set training.attention=sdpa")
    import torch
    from transformers import AttentionInterface
    if torch.cuda.get_device_capability() < (8, 0):
        raise TrainError(f"variable-length attention needs a GPU of compute capability 8.0, and "
                         f"{torch.cuda.get_device_name()} has less", "--set training.attention=sdpa")
    grouped_heads()  # found out now: it could not be tried within a training step
    AttentionInterface.register(VARLEN, varlen_attention)
    return VARLEN


def refuse_unfused(config):
    """Refuse a type of model that Liger does not know, before any weights are read."""
    from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN
    kinds = [config.model_type, config.get_text_config().model_type]
    if not any(kind in MODEL_TYPE_TO_APPLY_LIGER_FN for kind in kinds):
        raise no_kernels(kinds[0])


def refuse_kernels_on_cpu(kernels, on_cuda):
    if kernels == "liger" and not on_cuda:
        raise TrainError("the fused kernels need a GPU", "--set training.kernels=none")


def no_kernels(kind):
    return TrainError(f"the fused kernels know no model of type {kind}", "--set training.kernels=none")


def fuse_kernels(model):
    """Put Liger's kernels into a loaded model; for nearly every type its loss then computes no logits.

    Call it before the adapter is added: layers are looked up by type. Which kernels a type has is the library's choice:
    some types lack the rotary embedding's or the loss's, and have GeGLU in place of SwiGLU.
    """
    from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN
    kind = model.config.model_type
    apply = MODEL_TYPE_TO_APPLY_LIGER_FN.get(kind)
    if apply is None:
        raise no_kernels(kind)
    try:
        apply(model=model)
    except (NotImplementedError, TypeError, ValueError):  # of a class that the library does not expect under this type
        raise no_kernels(kind) from None
