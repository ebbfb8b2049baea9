"""Labels one kernel in its confined child: executes its module, compiles it by Triton, writes the answer into a pipe."""
import ast
import json
import os
import re
import subprocess
import tempfile

from .attempt_search import Late, Search, compiled, line, outcome, spent

OUT_OF_TIME = "time limit"
MOST_LAUNCHES = 3
SHARE_OF_TIME = 0.8  # of the limit of processor time, after which no further attempt begins


def prepare():
    """Make the imports and computations of every child once, before forking."""
    from .._engine.cpu import compile_only
    from .._engine.launches import LaunchLog
    compile_only.install(LaunchLog())
    compile_only.warm()
    from . import attempts, caller, device_function, kernel_module, language_names, signature, usage  # noqa: F401


def serve(data, into, folder, options):
    """Answer one job and end."""
    for name in ("HOME", "TRITON_CACHE_DIR"):
        os.environ[name] = os.path.join(folder, name.lower())
        os.mkdir(os.environ[name])
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.chdir(folder)
    deadline = options.seconds * SHARE_OF_TIME
    try:
        job = json.loads(data)
        answer = (cuda if job["kind"] == "cuda" else triton_kernel)(job, folder, options, deadline)
    except Late:
        answer = outcome("not_tried", OUT_OF_TIME)
    except BaseException as error:
        answer = outcome("not_tried", f"cannot be judged: {type(error).__name__}: {error}")
    answer["reason"] = line(answer["reason"].replace(folder + "/", ""))
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(into, data):]
    os._exit(0)


def needed(names):
    """A reason that names the missing objects."""
    return "needs " + ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def triton_kernel(job, folder, options, deadline):
    """Load the module, infer signatures, compile until one does."""
    from .._engine.cpu.compile_only import candidate_scope
    from . import device_function, kernel_module, language_names
    from .usage import Usage
    text = kernel_module.dedented(job["text"])
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return outcome("fails", f"line {getattr(error, 'lineno', None) or 1}: {type(error).__name__}: "
                                f"{getattr(error, 'msg', error)}")
    try:
        ast.parse(job["context"])
    except (SyntaxError, ValueError) as error:
        return outcome("not_tried", f"its context cannot be parsed: {error}")
    with candidate_scope():
        module, node, decorators = kernel_module.load(os.path.join(folder, "module.py"), job["context"], text, job["name"])
        function = unwrapped(module.namespace.get(job["name"]))
        if function is None:
            why = module.failures.get(job["name"])
            return outcome("not_tried", f"its definition cannot be executed: {why}" if why else "no jitted function")
        if why := language_names.lacking(function):
            return outcome("fails", why)
        if missing := kernel_module.needs(function):
            return outcome("not_tried", needed(missing))
        usage = Usage(function)
        if usage.descriptors:
            return outcome("signature_unknown", needed(sorted(usage.descriptors)) + " as tensor descriptors")
        if usage.returns_value():
            return device_function.judge(function, usage, module, options.targets, deadline)
        above = node.lineno - job["context"].count("\n") - 3 if node is not None else 0
        return launched(function, usage, job, decorators, module, Search(options.targets, deadline, above))


def unwrapped(value):
    """The jitted function inside tuners."""
    from triton.runtime.jit import JITFunction
    for _ in range(8):
        if isinstance(value, JITFunction):
            return value
        value = getattr(value, "fn", None)
    return None


def launched(function, usage, job, decorators, module, search):
    """Labels a launched kernel: facts of its launches first, then guesses."""
    from . import attempts, signature
    launches = job.get("launches") or []
    plans = [signature.plan(function, usage, each, decorators, module) for each in launches[:MOST_LAUNCHES]] or [
        signature.plan(function, usage, None, decorators, module)]
    whole = not job.get("missing") and len(launches) <= MOST_LAUNCHES and module.is_whole()
    for plan in plans:
        for attempt in attempts.bounded(plan):
            whole &= not attempt.guessed
            if search.take(lambda target, attempt=attempt: compiled(function, attempt, target), describe(attempt)):
                return search.found()
    return search.none("fails" if whole and search.definite else "signature_unknown")


def describe(attempt):
    """The signature as text."""
    parts = [f"{name}{'=' if each.is_value else ': '}{each.what}{'' if each.certain else '?'}"
             for name, each in attempt.choices.items()]
    return ", ".join(parts + [f"{name}={value}" for name, value in sorted(attempt.options.items())])


def cuda(job, folder, options, deadline):
    """Compiles device code alone by nvcc, with no include path but nvcc's own."""
    if not options.nvcc:
        return outcome("not_tried", "no nvcc")
    if re.search(r"\btemplate\s*<", job["text"]):
        return outcome("signature_unknown", "a template without a known instantiation")
    path = os.path.join(folder, "kernel.cu")
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(job["context"] + "\n" + job["text"] + "\n")
    good, why = [], ""
    for target in options.targets:
        argv = [options.nvcc, f"-arch=sm_{target}", "-cubin", "-std=c++17", "-o", f"{folder}/{target}.cubin", path]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder, check=False)
        if spent() > deadline:
            raise Late
        if done.returncode == 0:
            good.append(f"sm_{target}")
        else:
            said = done.stderr.decode(errors="replace").splitlines()
            why = next((each for each in said if "error" in each), said[0] if said else "nvcc failed")
    if good:
        return outcome("compilable", why, good)
    # Without the includes of its tree, an error of nvcc may be about a missing file.
    return outcome("not_tried" if "#include" in job["context"] else "signature_unknown", why)
