"""The compile broker: lowers the Triton IR that a runner claims to have lowered, and returns the cubins' hashes.

A cubin whose hash the broker reproduces was made by Triton from Triton IR, whatever names and claims the
candidate's process gives. The texts come from such a process, so a child serves one candidate, in the sandbox; an
IR that crashes the compiler ends the child, and none of that candidate's kernels is attested.
"""
import hashlib
import itertools
import json
import os
import re
import tempfile

from . import wire
from .packets import TooLong, clip
from .wire import made

KERNELS, TEXT_BYTES = 64, 64 << 20
TRIES, ATTESTED = 10, 150  # tries for one kernel; kernels in one answer, which is one packet
NAME_LIMIT = 200
# The options of lowering that a launch may choose, with their types. All others (libraries to link, files in place
# of the IR, flags of the assembler) keep the broker's defaults; a kernel that used them then has another hash.
OPTIONS = {"num_warps": int, "num_ctas": int, "num_stages": int, "maxnreg": int, "enable_fp_fusion": bool,
           "enable_reflect_ftz": bool, "launch_cooperative_grid": bool, "launch_pdl": bool, "debug": bool,
           "sanitize_overflow": bool, "default_dot_input_precision": str}
_LARGEST, _WARP = 1 << 20, 32
_FIRST_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')
_STRANGE_SYMBOL = re.compile(r'@"[^"]*[/\\\0][^"]*"')  # Triton makes a file name of the function's


class Unfit(ValueError):
    """A text that cannot be lowered here. The kernel stays unattested, so the error needs no message."""


def line_of(kernel, sha256):
    """A runner's line of JSON about a compiled kernel; None where the kernel has no Triton IR."""
    text = kernel.asm.get("ttir")
    if text is None:
        return None
    facts = kernel.metadata._asdict()
    options = {name: facts[name] for name in OPTIONS if facts.get(name) is not None}
    # For specialised warps Triton stores the total number of warps, not the number asked for.
    asked = _FIRST_WARPS.search(kernel.asm.get("ttgir") or "")
    if asked:
        options["num_warps"] = int(asked[1])
    return json.dumps({"name": kernel.name, "sha256": sha256, "ttir": text, "options": options})


def warm():
    """Make the imports of every child, once; PyTorch is not among them."""
    from . import cuda_warm
    cuda_warm.compiler()


def serve(channel):
    """Answer messages until the other end closes."""
    while True:
        message, fds = channel.receive()
        try:
            reply = _answer(message, fds)
        finally:
            for fd in fds:
                os.close(fd)
        try:
            channel.send(reply)
        except TooLong as exc:
            channel.send(_failed(str(exc)))


def _answer(message, fds):
    try:
        if not isinstance(message, wire.AttestT) or len(fds) != 1:
            return _failed(f"a broker does not answer {type(message).__name__} with {len(fds)} descriptors")
        found = list(itertools.islice(lowered(_contents(fds[0]), int(message.capability)), ATTESTED))
        return made(wire.AttestedT, names=[name for name, _ in found], sha256=[digest for _, digest in found])
    except Exception as exc:
        return _failed(f"{type(exc).__name__}: {exc}")


def _failed(error):
    return made(wire.FailedT, stage="compile", error_class="infrastructure", error=clip(error, 4000))


def _contents(fd):
    size = os.fstat(fd).st_size
    if size > TEXT_BYTES:
        raise Unfit(f"{size} bytes, more than {TEXT_BYTES}")
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        return file.read(size)


def lowered(data, capability):
    """(name, SHA-256 of the cubin) of each of these JSON lines that could be lowered for that GPU."""
    for at, line in enumerate(data.splitlines()[:KERNELS]):
        try:
            yield from _lowered(line, capability, at)
        except Exception:  # an error of a parser or a compiler on untrusted text
            continue


def _lowered(line, capability, at):
    from triton import knobs
    facts = json.loads(line)
    text, options = facts["ttir"], _checked(facts["options"])
    if not isinstance(text, str) or "tt.func public @" not in text or _STRANGE_SYMBOL.search(text):
        raise Unfit("the IR has no entry, or a symbol in it is no name")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{_file_name(facts['name'], at)}.ttir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        found = {}
        with knobs.compilation.scope():
            knobs.compilation.always_compile = True
            # The compilation of specialised warps has several results, by chance; each is Triton's.
            for _ in range(TRIES if "tt.warp_specialize" in text else 1):
                digest, name = _compiled(path, capability, options)
                found[digest] = name
                if facts.get("sha256") in found:
                    break
    return [(name, digest) for digest, name in found.items()]


def _compiled(path, capability, options):
    """(SHA-256 of the cubin, name); the name is read from the compiled kernel, not from the claim."""
    from triton import compile as compile_ir
    from triton.backends.compiler import GPUTarget
    kernel = compile_ir(path, target=GPUTarget("cuda", capability, _WARP), options=options)
    return hashlib.sha256(kernel.asm["cubin"]).hexdigest(), clip(kernel.metadata.name, NAME_LIMIT)


def _file_name(name, at):
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w{0,99}", name, re.ASCII) else f"kernel{at}"


def _checked(options):
    found = {}
    for name, value in options.items():
        kind = OPTIONS.get(name)
        if kind is None or type(value) is not kind or (kind is int and not 0 < value < _LARGEST):
            raise Unfit(f"an option {name[:40]} of {value!r:.40}")
        found[name] = value
    return found
