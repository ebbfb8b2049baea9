"""Sums a GPU's work by kind: kernels from PyTorch's profiler, classified by name."""
import re

# The first match counts: names of attention and losses also contain those of matrix products.
KINDS = [
    ("dequantise", r"dequantize|kgemm_4bit|kgemv_4bit"),
    ("attention", r"flash|fmha|attention|mem_eff|sdpa|cudnn_generated"),
    ("cross entropy", r"cross_entropy|log_softmax|softmax|logprob|log_prob|nll_loss"),
    ("optimiser", r"multi_tensor_apply|adam|lpnorm"),
    ("gemm", r"gemm|cutlass|nvjet|xmma|cublas|splitk|s16816|wgmma"),
    ("norms, rotary, activation", r"rms_?norm|layer_?norm|rope|rotary|swiglu|silu"),
    ("dropout", r"dropout|philox|bernoulli"),
    ("copies and fills", r"memcpy|memset|copy|fill|cat_?array|arange|index|gather|scatter"),
    ("elementwise and sums", r"elementwise|reduce|vectorized|triton_"),
]
PATTERNS = [(kind, re.compile(words, re.IGNORECASE)) for kind, words in KINDS]


def kind_of(name):
    return next((kind for kind, pattern in PATTERNS if pattern.search(name)), "other")


def union(intervals):
    """The total length that the intervals [begin, end) cover."""
    covered = reached = 0
    for begin, end in sorted(intervals):
        covered += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def device_events(profile):
    """(name, begin, end) in nanoseconds of everything that ran on the device."""
    from torch.autograd import DeviceType
    return [(each.name(), each.start_ns(), each.start_ns() + each.duration_ns())
            for each in profile.profiler.kineto_results.events() if each.device_type() == DeviceType.CUDA]


def summary(events, wall_ns):
    """Time by kind, the busiest kernels, and the share of `wall_ns` in which the device was busy."""
    kinds, names = {}, {}
    for name, begin, end in events:
        kind = kind_of(name)
        spent, count = kinds.get(kind, (0, 0))
        kinds[kind] = (spent + end - begin, count + 1)
        names[name] = names.get(name, 0) + end - begin
    busy = union([(begin, end) for _, begin, end in events])
    total = sum(spent for spent, _ in kinds.values()) or 1
    return {
        "wall_ms": wall_ns / 1e6, "busy_ms": busy / 1e6, "busy_share_while_profiled": busy / max(wall_ns, 1),
        "kernels": len(events),
        "kinds": {kind: {"ms": spent / 1e6, "share": spent / total, "kernels": count}
                  for kind, (spent, count) in sorted(kinds.items(), key=lambda each: -each[1][0])},
        "busiest": [{"kernel": name[:160], "kind": kind_of(name), "ms": spent / 1e6}
                    for name, spent in sorted(names.items(), key=lambda each: -each[1])[:25]]}
