"""The compile broker lowers the IR that a runner wrote and obtains the same cubins, bit for bit."""
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import time

import pytest
import torch
import triton
import triton.language as tl
from fork_client import Server, memory_file
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from kernelwright._engine import broker, wire
from kernelwright._engine.cuda_launches import Launches, _Counted
from kernelwright._engine.launches import LaunchLog
from kernelwright._engine.wire import made, text, texts

TARGET = GPUTarget("cuda", 90, 32)
POINTER = "*fp32"


@triton.jit
def positive(v, slope):
    return tl.where(v > 0, v * slope, tl.exp(v))


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, positive(tl.load(x + at, mask=inside), 2.0) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def dot_kernel(a, b, out, K, BLOCK: tl.constexpr):
    at, total = tl.arange(0, BLOCK), tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        total = tl.dot(tl.load(a + at[:, None] * K + k + at[None, :]),
                       tl.load(b + (k + at[:, None]) * BLOCK + at[None, :]), total)
    tl.store(out + at[:, None] * BLOCK + at[None, :], total)


@triton.jit(noinline=True)
def far(v, k):
    return v * k + 1


@triton.jit
def calling_kernel(x, out):
    tl.store(out, far(tl.load(x), 3.0))


@gluon.jit
def gluon_kernel(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [8], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + at, gl.load(x + at, mask=at < n) * 2.0, mask=at < n)


@triton.jit
def specialised_kernel(a, b, out, K, BLOCK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [BLOCK, K], [K, 1], [BLOCK, 64])
    right = tl.make_tensor_descriptor(b, [K, BLOCK], [BLOCK, 1], [64, BLOCK])
    at, total = tl.arange(0, BLOCK), tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in tl.range(0, K, 64, warp_specialize=True):
        total = tl.dot(left.load([0, k]), right.load([k, 0]), total)
    tl.store(out + at[:, None] * BLOCK + at[None, :], total)


DOT = {"a": "*fp16", "b": "*fp16", "out": POINTER, "K": "i32", "BLOCK": "constexpr"}
CASES = {
    "add": (add_kernel, {"x": POINTER, "y": POINTER, "out": POINTER, "n": "i32", "BLOCK": "constexpr"},
            {"BLOCK": 1024}, {"num_warps": 8}),
    "dot": (dot_kernel, DOT, {"BLOCK": 64}, {"num_warps": 8, "num_stages": 4}),
    "dot_as_is": (dot_kernel, DOT, {"BLOCK": 128}, {"enable_fp_fusion": False, "maxnreg": 128}),
    "calling": (calling_kernel, {"x": POINTER, "out": POINTER}, {}, {}),
    "specialised": (specialised_kernel, DOT, {"BLOCK": 128}, {"num_warps": 4}),
}


@pytest.fixture(scope="module", autouse=True)
def private_cache(tmp_path_factory):
    kept = os.environ.get("TRITON_CACHE_DIR")
    os.environ["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    yield
    os.environ.pop("TRITON_CACHE_DIR") if kept is None else os.environ.update(TRITON_CACHE_DIR=kept)


@pytest.fixture(scope="module")
def server():
    found = Server("broker")
    yield found
    assert found.close() == 0


def compiled(case):
    function, signature, constants, options = CASES[case]
    pointers = {(at,): [["tt.divisibility", 16]] for at, kind in enumerate(signature.values()) if kind[0] == "*"}
    source = ASTSource(function, signature, constexprs=constants, attrs=pointers)
    return triton.compile(source, target=TARGET, options=options)


def compiled_gluon():
    signature = {"x": POINTER, "out": POINTER, "n": "i32", "BLOCK": "constexpr"}
    return triton.compile(GluonASTSource(gluon_kernel, signature, {"BLOCK": 1024}), target=TARGET, options={"num_warps": 8})


def digest(kernel):
    return hashlib.sha256(kernel.asm["cubin"]).hexdigest()


def attested(runner, data, capability=90, wanted=()):
    fd = memory_file(data)
    try:
        return runner.ask(made(wire.AttestT, capability=capability, wanted=list(wanted)), [fd])
    finally:
        os.close(fd)


def changed(line, **facts):
    return json.dumps({**json.loads(line), **facts})


def test_equal_cubins_come_out_of_the_same_ir(server):
    launches, kernels = Launches(None), [compiled_gluon(), *(compiled(each) for each in CASES)]
    for kernel in kernels:
        launches.launched(digest(kernel), kernel)
    found = attested(server.spawn(), launches.lowered())
    assert isinstance(found, wire.AttestedT), vars(found)
    pairs = set(zip(texts(found.names), texts(found.sha256)))
    assert {(kernel.name, digest(kernel)) for kernel in kernels} <= pairs
    assert len(pairs) <= len(kernels) + 2  # specialised warps have several results
    assert all(f"{os.path.basename(__file__)}" in kernel.asm["ttir"] for kernel in kernels[1:])


def test_only_wanted_kernels_are_compiled(server):
    kernels = [compiled("add"), compiled("calling")]
    data = "\n".join(broker.line_of(each, digest(each)) for each in kernels).encode()
    found = attested(server.spawn(), data, wanted=[digest(kernels[1]), "f" * 64])
    assert (texts(found.names), texts(found.sha256)) == (["calling_kernel"], [digest(kernels[1])])


def test_no_kernel_is_begun_when_all_time_is_spent():
    assert list(broker.lowered([broker.line_of(compiled("add"), "")], 90, set(), until=time.monotonic() - 1)) == []


def generated_file():
    """A file as torch.compile names it."""
    from torch._inductor import codecache
    return codecache.get_path(codecache.code_hash("import triton"), "py")[2]


def of(file, name="add_kernel"):
    """The line of a kernel that another file defines, and that file's place in the IR."""
    line = broker.line_of(compiled("add"), "")
    text = json.loads(line)["ttir"].replace("add_kernel", name)
    assert f'"{__file__}"' in text
    return changed(line, ttir=text.replace(f'"{__file__}"', f'"{file}"'))


@pytest.mark.parametrize("file, name, brought", [
    ("kernel.py", "add_kernel", False), ("kernel.py", "triton_poi_fused_add_relu_0", False),
    ("<generated relu>", "add_relu", False), ("/tmp/kernelwright-abc/mine.py", "add_kernel", False),
    ("GENERATED", "triton_poi_fused_add_relu_0", True), ("GENERATED", "triton_", True),
    ("GENERATED", "triton_red_fused_sum_1", True), ("GENERATED", "triton_tem_fused_mm_0", True),
    ("GENERATED", "add_kernel", False), ("GENERATED", "triton_softmax_kernel", False),
    (torch.__file__, "_sampled_addmm_kernel", True), (triton.__file__, "add_kernel", True),
    (os.path.join(os.path.dirname(os.__file__), "x.py"), "add_kernel", True),
])
def test_packages_and_torch_compile_bring_their_kernels(server, file, name, brought):
    file = generated_file() if file == "GENERATED" else file
    found = attested(server.spawn(), of(file, name).encode())
    assert texts(found.names) == [name]
    assert (len(texts(found.sha256)), len(texts(found.brought))) == ((0, 1) if brought else (1, 0))


@pytest.mark.parametrize("file, counted", [("kernel.py", 1), ("GENERATED", 0), (torch.__file__, 0)])
def test_only_launches_of_the_candidates_kernels_are_counted_and_skipped(file, counted):
    kernel, made_with = compiled("add"), []
    file = generated_file() if file == "GENERATED" else file
    kernel.asm["ttir"] = kernel.asm["ttir"].replace(f'"{__file__}"', f'"{file}"')
    kernel.name, kernel.n_regs, kernel.n_spills = "triton_poi_fused_add_0", 16, 0
    launches = Launches(LaunchLog())
    launch = _Counted(launches, kernel, lambda *arguments: made_with.append(arguments))
    launch(1, 1, 1, "stream")
    launches.skip = True
    launch(2, 1, 1, "stream")
    assert made_with == [(1, 1, 1, "stream"), (2, 1, 1, "stream")][:2 - counted]
    assert launches.log.launches == 2 * counted
    assert len(launches.lowered().splitlines()) == 1


def test_the_place_of_a_kernel_is_in_its_machine_code(server):
    line = broker.line_of(compiled("add"), "")
    text = json.loads(line)["ttir"]
    begin = text.index("tt.func public @")
    end = text.index("\n  } loc(", begin)
    elsewhere = text[:end] + '\n  } loc("kernel.py":1:0)' + text[text.index("\n", end + 1):]
    found = attested(server.spawn(), b"\n".join([line.encode(), changed(line, ttir=elsewhere).encode()]))
    assert len(set(texts(found.sha256))) == 2


WRITTEN = """
import triton
import triton.language as tl


@triton.jit
def written_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2.0)
"""


@pytest.fixture
def written(tmp_path):
    """A compiled kernel of a module that was written to disk, and the module's path."""
    path = tmp_path / "modules" / "written.py"
    path.parent.mkdir()
    path.write_text(WRITTEN)
    spec = importlib.util.spec_from_file_location("written", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = ASTSource(module.written_kernel, {"x": POINTER, "out": POINTER, "BLOCK": "constexpr"}, {"BLOCK": 64})
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        return triton.compile(source, target=TARGET), path


def test_a_file_that_only_the_candidate_had_is_laid_out(server, written):
    kernel, path = written
    line = broker.line_of(kernel, digest(kernel))
    shutil.rmtree(path.parent)
    assert texts(attested(server.spawn(), line.encode()).sha256) == [digest(kernel)]
    assert not path.exists(), "only while it compiles"
    assert texts(attested(server.spawn(), changed(line, files={}).encode()).sha256) != [digest(kernel)], "it matters"


@pytest.mark.parametrize("name", ["/tmp/../laid", "/usr/laid", "laid"])
def test_no_file_is_laid_out_elsewhere(server, name):
    line = broker.line_of(compiled("add"), digest(compiled("add")))
    assert texts(attested(server.spawn(), changed(line, files={name: [5, 5]}).encode()).sha256)
    assert not os.path.exists(name)


def test_a_file_that_exists_is_left_alone(server, tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("kept")
    line = broker.line_of(compiled("add"), digest(compiled("add")))
    assert texts(attested(server.spawn(), changed(line, files={str(kept): [0, 0]}).encode()).sha256)
    assert kept.read_text() == "kept"


def test_code_without_a_place_is_left_out(server):
    line = broker.line_of(compiled("add"), "")
    text = re.sub(r"^(#loc\d*) = .*", r"\1 = loc(unknown)", json.loads(line)["ttir"], flags=re.MULTILINE)
    text = re.sub(r"loc\([^#()]*\(.*?\)\)", "loc(unknown)", text)
    assert __file__ not in text
    found = attested(server.spawn(), changed(line, ttir=text).encode())
    assert (texts(found.names), texts(found.sha256), texts(found.brought)) == ([], [], [])


@pytest.mark.parametrize("place", ['"{}":1:0', '"name"("{}":1:0)', 'fused["{}":1:0, "kernel.py":1:0]',
                                   'callsite("kernel.py":1:0 at "{}":1:0)'])
def test_a_place_is_found_in_every_form(server, place):
    line = broker.line_of(compiled("add"), "")
    text = json.loads(line)["ttir"]
    end = text.index("\n  } loc(", text.index("tt.func public @"))
    elsewhere = text[:end] + f"\n  }} loc({place.format(torch.__file__)})" + text[text.index("\n", end + 1):]
    found = attested(server.spawn(), changed(line, ttir=elsewhere).encode())
    assert texts(found.sha256) == [] and len(texts(found.brought)) == 1


def test_a_broker_does_without_pytorch(server):
    assert text(server.ready.triton) == triton.__version__ and text(server.ready.torch) == ""


def test_a_changed_text_has_another_hash(server):
    kernel = compiled("add")
    line = broker.line_of(kernel, digest(kernel))
    ir = json.loads(line)["ttir"]
    assert "2.000000e+00" in ir
    found = attested(server.spawn(), changed(line, ttir=ir.replace("2.000000e+00", "3.000000e+00")).encode())
    assert texts(found.names) == ["add_kernel"] and texts(found.sha256) != [digest(kernel)]


def test_names_are_found_in_what_came_out(server):
    kernel = compiled("calling")
    found = attested(server.spawn(), changed(broker.line_of(kernel, ""), name="../../another", sha256="f" * 64).encode())
    assert (texts(found.names), texts(found.sha256)) == (["calling_kernel"], [digest(kernel)])


@pytest.mark.parametrize("facts", [
    {"options": {"num_warps": 3}}, {"options": {"num_warps": "8"}}, {"options": {"num_warps": True}},
    {"options": {"ptx_options": "--version"}}, {"options": {"ir_override": "x.ttir"}},
    {"options": {"extern_libs": [["libdevice", "x.bc"]]}}, {"options": {"num_stages": 1 << 40}}, {"options": []},
    {"ttir": "module {"}, {"ttir": ""}, {"ttir": 7}, {"name": None, "ttir": None},
    {"ttir": 'module { tt.func public @"../../escape"() { tt.return } }'},
])
def test_what_cannot_be_lowered_is_left_out(server, facts):
    line = broker.line_of(compiled("calling"), "")
    runner = server.spawn()
    found = attested(runner, b"\n".join([changed(line, **facts).encode(), line.encode()]))
    assert isinstance(found, wire.AttestedT) and texts(found.names) == ["calling_kernel"]
    assert runner.exited() == 0


@pytest.mark.parametrize("data", [b"", b"\n\n", b"null\n[]\n7\n", b"\xff\xfe{", b'{"name": "x"}\n'])
def test_what_is_no_kernel_is_left_out(server, data):
    found = attested(server.spawn(), data)
    assert isinstance(found, wire.AttestedT) and texts(found.names) == []


def test_other_messages_are_refused(server):
    runner = server.spawn()
    for message, fds in ((made(wire.AttestT, capability=90), []), (wire.ForgetT(), [runner.page])):
        found = runner.ask(message, fds)
        assert (text(found.stage), text(found.errorClass)) == ("compile", "infrastructure")
    big = os.memfd_create("big")
    os.ftruncate(big, broker.DATA_BYTES + 1)
    assert isinstance(runner.ask(made(wire.AttestT, capability=90), [big]), wire.FailedT)
    os.close(big)


def test_a_confined_broker_does_the_same(server):
    pytest.importorskip("kernelwright._engine.sandbox", exc_type=ImportError)
    kernel = compiled("add")
    readable = [*sys.path, sys.prefix, "/usr", "/lib", "/lib64", "/etc"]
    runner = server.spawn(unconfined=False, readable=[each for each in readable if each], uid=65534)
    assert runner.spawn_error == 0
    assert texts(attested(runner, broker.line_of(kernel, "").encode()).sha256) == [digest(kernel)]


def test_the_latest_kernels_are_kept():
    class Kernel:
        def __init__(self, at):
            self.name, self.asm = f"kernel{at}", {"ttir": "module {}"}
            self.metadata = type("Facts", (), {"_asdict": lambda _: {"num_warps": 4, "maxnreg": None, "ir_override": "x"}})()

    launches = Launches(None)
    for at in (*range(broker.KERNELS + 3), 3):
        launches.launched(str(at), Kernel(at))
    lines = [json.loads(each) for each in launches.lowered().splitlines()]
    assert len(lines) == broker.KERNELS and lines[0]["name"] == "kernel3" and lines[-1]["name"] == "kernel4"
    assert lines[0]["options"] == {"num_warps": 4}


def test_kernels_without_triton_ir_are_none_of_ours():
    class Assembled:
        asm = {"ptx": ".version 8.0", "cubin": b""}
    assert broker.line_of(Assembled, "") is None
    assert torch.cuda.is_initialized() is False
