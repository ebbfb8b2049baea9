"""The compile broker lowers the IR that a runner wrote and obtains the same cubins, bit for bit."""
import hashlib
import json
import os
import sys

import pytest
import torch
import triton
import triton.language as tl
from fork_client import Server, memory_file
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernelwright._engine import broker, wire
from kernelwright._engine.cuda_launches import Launches
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


def digest(kernel):
    return hashlib.sha256(kernel.asm["cubin"]).hexdigest()


def attested(runner, data, capability=90):
    fd = memory_file(data)
    try:
        return runner.ask(made(wire.AttestT, capability=capability), [fd])
    finally:
        os.close(fd)


def changed(line, **facts):
    return json.dumps({**json.loads(line), **facts})


def test_equal_cubins_come_out_of_the_same_ir(server):
    launches, kernels = Launches(None), [compiled(each) for each in CASES]
    for kernel in kernels:
        launches.launched(digest(kernel), kernel)
    found = attested(server.spawn(), launches.lowered())
    assert isinstance(found, wire.AttestedT), vars(found)
    pairs = set(zip(texts(found.names), texts(found.sha256)))
    assert {(kernel.name, digest(kernel)) for kernel in kernels} <= pairs
    assert len(pairs) <= len(kernels) + 2  # specialised warps have several results
    assert all(f"{os.path.basename(__file__)}" in kernel.asm["ttir"] for kernel in kernels)


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
    os.ftruncate(big, broker.TEXT_BYTES + 1)
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
    class Gluon:
        asm = {"ttgir": "module {}"}
    assert broker.line_of(Gluon, "") is None
    assert torch.cuda.is_initialized() is False
