"""One synthetic pair in a confined child: draws the source, has it compiled, rewrites the result."""
import ast
import json
import os
import tempfile

import torch

from . import grammar
from .captured import Unsupported, read_program
from .inductor import compile_to_source
from .launcher_text import plain_file
from .sizes import generic_sizes

MOST_KERNELS = 4
LICENCE = "Apache-2.0"  # of kernels that no compiler wrote


def pair(seed, number, families=()):
    """The pair as the answer of a job: `kernel` is null where there is none, and `reason` says why."""
    source = grammar.draw(seed, number, families)
    answer = {"family": source.family, "name": source.name, "reference": source.text, "kernel": None, "stage": "compile",
              "reason": None}
    if source.kernel:
        ast.parse(source.kernel)
        return {**answer, "kernel": source.kernel, "licence": LICENCE}
    try:
        sizes = generic_sizes(source.inputs, source.factors)
        forms = [(each, one.dtype) for each, one in zip(sizes, source.inputs, strict=True)]
        written = compile_to_source(function_of(source), [(each, getattr(torch, dtype)) for each, dtype in forms])
        answer["stage"] = "rewrite"
        program = read_program(written)
        if not 0 < len(program.kernels) <= MOST_KERNELS:
            raise Unsupported(f"{len(program.kernels)} kernels")
        text = plain_file(program, [each.name for each in source.inputs], forms, source.name, source.tile)
        ast.parse(text)
        answer["kernel"] = text
    except Unsupported as error:
        answer["reason"] = str(error)
    except Exception as error:  # of the compiler, or a form of its output that nobody has met
        answer["reason"] = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    return answer


def function_of(source):
    """The drawn function as an object."""
    names = {"__name__": "reference"}
    exec(compile(source.text, "reference.py", "exec"), names)
    return names[source.name]


def prepare():
    """What every child needs, once before the forks: the imports, and one compilation that fills PyTorch's tables."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        compile_to_source(lambda x: torch.softmax(x @ x, dim=-1), [((32, 32), torch.float32)])


def serve(data, into, folder, options):
    """Answer one job and end."""
    del options
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.chdir(folder)
    job = json.loads(data)
    answer = json.dumps(pair(job["seed"], job["number"], job.get("families", ()))).encode()
    while answer:
        answer = answer[os.write(into, answer):]
    os._exit(0)
