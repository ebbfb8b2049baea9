#!/usr/bin/env python3
"""KernelBench's own evaluation of one kernel: five correctness trials, a hundred timed calls, float32, Triton.

kernelbench_eval.py CHECKOUT PROBLEM.py KERNEL.py RESULT.json

Some packages are imported by KernelBench's package and never called by its evaluation (model servers' clients, a progress
bar). Where they are missing stand-ins replace them; the result names them.
"""
import contextlib
import importlib
import json
import sys
import time
import types
from pathlib import Path

STARTED = time.perf_counter()
MISSING = []


class Model:
    """The part of pydantic's BaseModel that KernelExecResult uses."""

    def __init__(self, **fields):
        for kind in reversed(type(self).__mro__):
            for name in vars(kind).get("__annotations__", {}):
                default = getattr(type(self), name)
                setattr(self, name, dict(default) if isinstance(default, dict) else default)
        vars(self).update(fields)


def stand_in(name, **members):
    try:
        importlib.import_module(name)
    except ImportError:
        MISSING.append(name)
        module = sys.modules[name] = types.ModuleType(name)
        vars(module).update(members)


def evaluate(problem, kernel):
    """The evaluation's result for the kernel, and its seconds."""
    import torch
    from kernelbench.eval import eval_kernel_against_ref
    began = time.perf_counter()
    result = eval_kernel_against_ref(
        original_model_src=problem, custom_model_src=kernel, num_correct_trials=5, num_perf_trials=100,
        measure_performance=True, timing_method="cuda_event", backend="triton", precision=torch.float32,
        device=torch.device("cuda:0"))
    found = {name: getattr(result, name, None)
             for name in ("compiled", "correctness", "runtime", "runtime_stats", "ref_runtime", "metadata")}
    return {"eval_s": round(time.perf_counter() - began, 3), **found}


def main(checkout, problem, kernel, result):
    stand_in("dotenv", load_dotenv=lambda *_, **__: None)
    stand_in("openai", OpenAI=None)
    stand_in("litellm", completion=None)
    stand_in("tqdm", tqdm=iter)
    stand_in("requests")
    stand_in("pydantic", BaseModel=Model)
    sys.path.insert(0, str(Path(checkout, "src")))
    texts = [Path(path).read_text(encoding="utf-8") for path in (problem, kernel)]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = evaluate(*texts)
    except BaseException as error:  # any exception is a result
        found = {"error": f"{type(error).__name__}: {error}"}
    found = {"problem": Path(problem).name, "process_s": round(time.perf_counter() - STARTED, 3), "missing": MISSING, **found}
    Path(result).write_text(json.dumps(found, default=str) + "\n", encoding="utf-8")
    print(json.dumps({key: found.get(key) for key in ("problem", "process_s", "eval_s", "correctness", "runtime",
                                                      "ref_runtime", "error")}))
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
