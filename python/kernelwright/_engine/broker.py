"""The compile broker: lowers the Triton IR that a runner claims to have lowered, and returns the cubins' hashes. It also
builds the CUDA C++ that the runner claims to have compiled (native_builds.py), and returns the cubins.

A cubin whose hash the broker reproduces was made by Triton from Triton IR, whatever names and claims the
candidate's process gives. The texts come from such a process, so a child serves one candidate, in the sandbox; an
IR that crashes the compiler ends the child, and none of that candidate's kernels is attested.

The IR names the file that defines the kernel. Triton writes that name into the cubin's line table too, so an IR with
another name has another hash, and an IR without one is not lowered. By this file the broker tells a candidate's kernels
from those of installed packages and of torch.compile.

The assembler adds the file's size and time of change where the file exists. A file that the candidate's process wrote,
such as a module of its own or torch.compile's, exists in that process only. The runner therefore names size and time,
and the broker lays out a file of zeros in its place.
"""
import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import site
import sysconfig
import tempfile
import time
from typing import NamedTuple

from . import native_builds, wire
from .packets import TooLong, clip, memory_file
from .native_sources import SOURCE_BYTES, SOURCES
from .wire import made

KERNELS, TEXT_BYTES = 64, 64 << 20
DATA_BYTES = TEXT_BYTES + SOURCES * SOURCE_BYTES  # with the sources of CUDA C++
TRIES, ATTESTED = 10, 150  # tries for one kernel; kernels in one answer, which is one packet
BUDGET_S = 100  # no kernel is begun later; the supervisor waits longer than this
NAME_LIMIT = 200
FILES, FILE_BYTES = 64, 64 << 20  # that are laid out for one kernel, and the size of each
STAGES = ("ttir", "ttgir")
# The options of lowering that a launch may choose, with their types. All others (libraries to link, files in place
# of the IR, flags of the assembler) keep the broker's defaults; a kernel that used them then has another hash.
OPTIONS = {"num_warps": int, "num_ctas": int, "num_stages": int, "maxnreg": int, "enable_fp_fusion": bool,
           "enable_reflect_ftz": bool, "launch_cooperative_grid": bool, "launch_pdl": bool, "debug": bool,
           "sanitize_overflow": bool, "default_dot_input_precision": str}
_LARGEST, _WARP = 1 << 20, 32
_FIRST_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')
_STRANGE_SYMBOL = re.compile(r'@"[^"]*[/\\\0][^"]*"')  # Triton makes a file name of the function's
_KERNEL_END = re.compile(r"^  \} loc\((.*)\)$", re.MULTILINE)
_PLACE = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_FILE, _PLACE_NAME = re.compile(r'"((?:[^"\\]|\\.)*)":\d'), re.compile(r"#loc\d*")
# torch.compile's generated code: the file's name is a hash, its folder two characters of it, and the kernels have a
# prefix for their kind. A kernel under another name in such a file is the caller's own, copied there.
_GENERATED_FILE = re.compile(r"/([a-z2-7]{2})/c\1[a-z2-7]{49}\.py")
_GENERATED_NAME = re.compile(r"triton_(|(for|per|poi|red|spl|tem|unk)_\w*)")


class Unfit(ValueError):
    """A text that cannot be lowered here. The kernel stays unattested, so the error needs no message."""


def line_of(kernel, sha256):
    """A runner's line of JSON about a compiled kernel; None where the kernel has no Triton IR.

    Gluon begins with the IR that Triton makes of its own.
    """
    stage = _first_stage(kernel)
    if stage is None:
        return None
    facts = kernel.metadata._asdict()
    options = {name: facts[name] for name in OPTIONS if facts.get(name) is not None}
    # For specialised warps Triton stores the total number of warps, not the number asked for.
    asked = _FIRST_WARPS.search(kernel.asm.get("ttgir") or "")
    if asked:
        options["num_warps"] = int(asked[1])
    text = kernel.asm[stage]
    return json.dumps({"name": kernel.name, "sha256": sha256, stage: text, "options": options, "files": _own_files(text)})


def _own_files(text):
    """Name → [bytes, time of change in seconds] of the files in this IR that exist in this process only."""
    found = {}
    for name in itertools.islice(filter(_is_temporary, dict.fromkeys(_FILE.findall(text))), FILES):
        with contextlib.suppress(OSError, ValueError):
            facts = os.stat(name)
            found[name] = [facts.st_size, int(facts.st_mtime)]
    return found


def _is_temporary(name):
    """Whether a file lies in /tmp, of which each sandboxed process has its own."""
    return os.path.isabs(name) and os.path.realpath(name).startswith("/tmp/") and os.path.normpath(name) == name


@contextlib.contextmanager
def _laid_out(files):
    """The context in which these files exist, with zeros for their content."""
    with contextlib.ExitStack() as ends:
        for name, (size, changed) in itertools.islice(files.items(), FILES):
            if not _is_temporary(name) or not 0 <= size <= FILE_BYTES or os.path.lexists(name):
                continue
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "xb") as file:
                ends.callback(os.unlink, name)
                file.truncate(size)
            os.utime(name, (changed, changed))
        yield


def _first_stage(kernel):
    return next((each for each in STAGES if each in kernel.asm), None)


def is_brought_kernel(kernel):
    """Whether a compiled kernel is an installed package's or generated by torch.compile."""
    stage = _first_stage(kernel)
    return stage is not None and any(is_brought(file, kernel.name) for file in defining_files(kernel.asm[stage]))


def warm():
    """Make the imports of every child, once; PyTorch is not among them."""
    from . import cuda_warm
    cuda_warm.compiler()


def serve(channel):
    """Answer messages until the other end closes."""
    while True:
        message, fds = channel.receive()
        beside = []
        try:
            reply, beside = _answer(message, fds)
            channel.send(reply, beside)
        except TooLong as exc:
            channel.send(_failed(str(exc))[0])
        finally:
            for fd in (*fds, *beside):
                os.close(fd)


def _answer(message, fds):
    """(the reply, its descriptors)"""
    try:
        if not isinstance(message, wire.AttestT) or len(fds) != 1:
            return _failed(f"a broker does not answer {type(message).__name__} with {len(fds)} descriptors")
        until = time.monotonic() + BUDGET_S
        capability, wanted = int(message.capability), set(wire.texts(message.wanted))
        lines = _contents(fds[0]).splitlines()
        native = [each for each in lines if native_builds.is_native(each)]
        triton = [each for each in lines if not native_builds.is_native(each)]
        found = list(itertools.islice(lowered(triton, capability, wanted, until), ATTESTED))
        reply = made(wire.AttestedT, names=[each.name for each in found],
                     sha256=[each.sha256 for each in found if not each.brought],
                     brought=[each.sha256 for each in found if each.brought], sources=len(native))
        # Where Triton made all that was launched, no source of CUDA C++ is in question.
        questions = not wanted or wanted - {each.sha256 for each in found}
        return reply, _built(reply, native if questions else [], capability, until)
    except Exception as exc:
        return _failed(f"{type(exc).__name__}: {exc}")


def _built(reply, lines, capability, until):
    """Build these sources and add what came of them to the reply; returns the descriptors of the cubins."""
    builds = list(native_builds.builds(lines, capability, until))
    reply.wrong = list(dict.fromkeys(each.wrong for each in builds if each.wrong))
    reply.notBuilt = list(dict.fromkeys(each.not_built for each in builds if each.not_built))
    cubins = [each.cubin for each in builds if each.cubin]
    reply.cubinBytes = [len(each) for each in cubins]
    return [memory_file("cubins", b"".join(cubins))] if cubins else []


def _failed(error):
    return made(wire.FailedT, stage="compile", error_class="infrastructure", error=clip(error, 4000)), []


def _contents(fd):
    size = os.fstat(fd).st_size
    if size > DATA_BYTES:
        raise Unfit(f"{size} bytes, more than {DATA_BYTES}")
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        return file.read(size)


class Lowered(NamedTuple):
    """A cubin that this process made."""

    name: str
    sha256: str
    brought: bool  # by an installed package or by torch.compile


def lowered(lines, capability, wanted, until):
    """A Lowered of each of these JSON lines that could be lowered for that GPU.

    Where hashes are wanted, lines that claim another one are left out: a tuned kernel has many configurations, and a
    call launches few of them.
    """
    for at, line in enumerate(lines[:KERNELS]):
        if time.monotonic() > until:
            return
        try:
            facts = json.loads(line)
            if not wanted or facts.get("sha256") in wanted:
                yield from _lowered(facts, capability, at)
        except Exception:  # an error of a parser or a compiler on untrusted text
            continue


def _lowered(facts, capability, at):
    from triton import knobs
    stage = STAGES[0] if STAGES[0] in facts else STAGES[1]
    text, options = facts[stage], _checked(facts["options"])
    if not isinstance(text, str) or "tt.func public @" not in text or _STRANGE_SYMBOL.search(text):
        raise Unfit("the IR has no entry, or a symbol in it is no name")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{_file_name(facts['name'], at)}.{stage}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        found = {}
        with _laid_out(facts.get("files", {})), knobs.compilation.scope():
            knobs.compilation.always_compile = True
            # The compilation of specialised warps has several results, by chance; each is Triton's.
            for _ in range(TRIES if "tt.warp_specialize" in text else 1):
                each = _compiled(path, capability, options)
                found[each.sha256] = each
                if facts.get("sha256") in found:
                    break
    return list(found.values())


def defining_files(text):
    """The names of the files in the location of this IR's entry: one, unless the location was made up."""
    end = _KERNEL_END.search(text, max(text.find("tt.func public @"), 0))
    places, pending, files = dict(_PLACE.findall(text)), [end[1]] if end else [], set()
    while pending:
        place = pending.pop()
        files.update(_FILE.findall(place))
        pending += [places.pop(name) for name in _PLACE_NAME.findall(place) if name in places]
    return files


def is_brought(file, name):
    """Whether a kernel of this file and name is an installed package's or generated by torch.compile."""
    if _GENERATED_FILE.search(file) and _GENERATED_NAME.fullmatch(name):
        return True
    return file.startswith(_package_folders())


@functools.cache
def _package_folders():
    paths = sysconfig.get_paths()
    found = [paths["stdlib"], paths["purelib"], paths["platlib"], site.getusersitepackages(), *site.getsitepackages()]
    return tuple(dict.fromkeys(os.path.join(each, "") for path in found for each in (path, os.path.realpath(path))))


def _compiled(path, capability, options):
    """All facts are read from the compiled kernel, not from the claims; its IR is printed in one form only."""
    from triton import compile as compile_ir
    from triton.backends.compiler import GPUTarget
    kernel = compile_ir(path, target=GPUTarget("cuda", capability, _WARP), options=options)
    if not defining_files(kernel.asm[_first_stage(kernel)]):
        raise Unfit("the IR names no file")
    digest = hashlib.sha256(kernel.asm["cubin"]).hexdigest()
    return Lowered(clip(kernel.name, NAME_LIMIT), digest, is_brought_kernel(kernel))


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
