"""One kernel, in its confined child: its module is executed and Triton compiles it; the answer goes into a pipe."""
import ast
import json
import os
import re
import subprocess
import tempfile

LONGEST_REASON = 240
MAX_SHARED = {80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448}
OUT_OF_TIME = "time limit"
MOST_LAUNCHES = 3
SHARE_OF_TIME = 0.8  # of the limit of processor time, after which no other attempt begins


class Late(Exception):
    """The time for this kernel is up."""


def prepare():
    """Once, before forking: what every child would otherwise import and compute."""
    from ..cpu import compile_only
    from ..launches import LaunchLog
    compile_only.install(LaunchLog())
    compile_only.warm()
    from . import attempts, caller, device_function, kernel_module, signature, usage  # noqa: F401


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


def spent():
    """Seconds of processor time: how far a search gets must not depend on what else the machine does."""
    return sum(os.times()[:4])


def outcome(label, reason="", compiled_for=(), signature=""):
    """An answer as the program reads it."""
    return {"compile": label, "reason": reason, "compiled_for": list(compiled_for), "signature": signature[:1000]}


def line(text):
    """A reason on one line."""
    text = " ".join(str(text).encode("utf-8", "replace").decode().split())
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON - 1] + "…"


def needed(names):
    """A reason that names what is not there."""
    return "needs " + ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def triton_kernel(job, folder, options, deadline):
    """Load the module, infer signatures, compile until one does."""
    from ..cpu.compile_only import candidate_scope
    from . import device_function, kernel_module
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
    """A kernel that is launched: what its launches say, then what can be guessed."""
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


class Search:
    """Tries attempts until one compiles; it is compiled for every target then."""

    def __init__(self, targets, deadline, lines_above=0):
        self._targets, self._deadline, self._above = targets, deadline, lines_above
        self.first_error, self.definite, self._good, self._bad, self._text = None, True, [], {}, ""

    def take(self, compile_for, text):
        """Whether this attempt compiles for at least one target."""
        good, bad = [], {}
        for target in sorted(self._targets, reverse=True):
            if spent() > self._deadline:
                if good or self.first_error is None:
                    raise Late
                self.definite = False
                return False
            try:
                compile_for(target)
                good.append(target)
            except Exception as error:
                bad[target] = reason_of(error, self._above)
                if self.first_error is None:
                    self.first_error = bad[target]
                self.definite &= is_definite(error)
                if not good and not is_about_target(bad[target]):
                    break
        if good:
            self._good, self._bad, self._text = good, bad, text
        return bool(good)

    def found(self):
        """The label of what compiles."""
        bad = "; ".join(f"sm_{target}: {why}" for target, why in sorted(self._bad.items()))
        return outcome("compilable", bad, [f"sm_{each}" for each in sorted(self._good)], self._text)

    def none(self, label):
        """The label of what does not."""
        return outcome(label, self.first_error or "no attempt")


class TooMuchShared(Exception):
    """It compiles and cannot be launched."""


def compiled(function, attempt, target):
    """Compile one attempt for one compute capability; raises what the compiler does."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    kind = ASTSource
    if function.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource as kind
    signature, constants = {}, {}
    for name in function.arg_names:
        choice = attempt.choices[name]
        signature[name] = "constexpr" if choice.is_value else choice.what
        if choice.is_value:
            constants[name] = choice.what
    source = kind(function, signature, constants)
    kernel = triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(attempt.options))
    if kernel.metadata.shared > MAX_SHARED.get(target, 232448):
        raise TooMuchShared(f"needs {kernel.metadata.shared} bytes of shared memory of {MAX_SHARED.get(target, 232448)}")


def describe(attempt):
    """The signature in words."""
    parts = [f"{name}{'=' if each.is_value else ': '}{each.what}{'' if each.certain else '?'}"
             for name, each in attempt.choices.items()]
    return ", ".join(parts + [f"{name}={value}" for name, value in sorted(attempt.options.items())])


def is_definite(error):
    """Whether an error is the compiler's word on the kernel, and not about time, memory or this machine."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import PTXASError
    if isinstance(error, (MemoryError, RecursionError, OSError)):
        return False
    cause = error
    while cause is not None:
        if isinstance(cause, (MemoryError, RecursionError, OSError)):
            return False
        cause = cause.__cause__
    if isinstance(error, PTXASError):
        return "error   :" in str(error)
    return isinstance(error, (CompilationError, TooMuchShared)) or "PassManager" in str(error)


def is_about_target(why):
    """Whether another target may do better."""
    return bool(re.search(r"shared memory|capability|sm_?\d\d|fp8|PassManager|ptxas|arch", why, re.IGNORECASE))


def reason_of(error, lines_above=0):
    """The last line of what the compiler says, with the line where; it counts from `def`, we from the text's start."""
    # ptxas says how to repeat it, with this machine's paths.
    text = [each.strip() for each in str(error).splitlines() if each.strip() and "Repro command" not in each]
    where = re.match(r"at (\d+):\d+", text[0]) if text else None
    last = next((each for each in reversed(text) if set(each) - set("^~ ")), type(error).__name__)
    cause = error.__cause__
    while cause is not None:
        last = next(iter(str(cause).splitlines()), "") or type(cause).__name__
        inner = re.match(r"at (\d+):\d+", last)
        if inner:
            rest = [each.strip() for each in str(cause).splitlines() if each.strip()]
            last = rest[-1]
        cause = cause.__cause__
    return line((f"line {int(where.group(1)) + lines_above}: " if where else "") + f"{last}")


def cuda(job, folder, options, deadline):
    """Device code alone, as nvcc sees it: no include path but its own."""
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
    # Without the includes of its tree, whatever nvcc says may be about what is not here.
    return outcome("not_tried" if "#include" in job["context"] else "signature_unknown", why)
