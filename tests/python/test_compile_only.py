"""Every launch is compiled for sm_90 and none is run."""

ADD = """
@triton.jit
def add_kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
"""


def test_a_launch_is_recorded_and_not_run(compile_only):
    facts = compile_only(ADD + """
def go():
    o = torch.full((100,), 7.0, device="cuda")
    add_kernel[(4, 2)](torch.rand(100, device="cuda"), o, 100, BLOCK=128, num_warps=8)
    return o.tolist()
""")
    assert facts["value"] == [7.0] * 100
    record, = facts["records"]
    assert (record["name"], record["grid"], record["programs"]) == ("add_kernel", [4, 2, 1], 8)
    assert record["num_warps"] == 8 and record["shared"] == 0
    assert len(record["cubin"]) == 64 and record["registers"] > 4 and record["local_bytes"] == 0


def test_first_compilation_is_quick(compile_only):
    facts = compile_only(ADD + """
def go():
    add_kernel[(1,)](torch.rand(100), torch.empty(100), 100, BLOCK=128)
""")
    assert facts["ok"] and facts["seconds"] < 0.6


def test_compile_error_has_the_line_in_the_file(compile_only):
    facts = compile_only("""
# a comment

@triton.jit
def k(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, tl.tanh(v))

def go():
    k[(1,)](torch.rand(16), torch.empty(16), BLOCK=16)
""")
    assert facts["error_class"] == "compile_error"
    assert facts["line"] == 8
    assert "tanh" in facts["error"] and "tl.tanh(v)" in facts["compiler_text"]


def test_compile_error_in_a_helper(compile_only):
    facts = compile_only("""
@triton.jit
def helper(v):
    return tl.nothing(v)

@triton.jit
def k(x, o):
    tl.store(o, helper(tl.load(x)))

def go():
    k[(1,)](torch.rand(16), torch.empty(16))
""")
    assert facts["error_class"] == "compile_error" and facts["line"] == 4


def test_static_assertion(compile_only):
    facts = compile_only("""
@triton.jit
def k(o, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 32, "too small")

def go():
    k[(1,)](torch.empty(16), BLOCK=16)
""")
    assert facts["error_class"] == "compile_error" and facts["line"] == 4 and "too small" in facts["error"]


def test_flip_needs_a_dimension(compile_only):
    assert compile_only("""
@triton.jit
def k(o):
    tl.store(o + tl.arange(0, 16), tl.flip(tl.arange(0, 16)))

def go():
    k[(1,)](torch.empty(16, dtype=torch.int32))
""")["error_class"] == "compile_error"


DOT = """
@triton.jit
def k(a, b, o, size, K: tl.constexpr):
    i, j = tl.arange(0, 64), tl.arange(0, K)
    v = tl.dot(tl.load(a + i[:, None] * K + j[None, :]), tl.load(b + j[:, None] * 64 + i[None, :]))
    tl.store(o + i[:, None] * 64 + i[None, :], v)
"""


def test_too_much_shared_memory(compile_only):
    facts = compile_only(DOT + """
def go():
    a = torch.rand(64, 512)
    k[(1,)](a, a, torch.empty(64, 64), 64, K=512, num_warps=8)
""")
    assert facts["error_class"] == "out_of_resources" and "shared memory" in facts["error"]
    assert facts["line"] == 10


def test_registers_and_handles(compile_only):
    assert compile_only(ADD + """
def go():
    x = torch.rand(100)
    kernel = add_kernel.warmup(x, x, 100, BLOCK=128, grid=(1,))
    kernel._init_handles()
    return kernel.n_regs
""")["value"] > 4


def test_spilled_registers_show(compile_only):
    facts = compile_only("""
@triton.jit
def k(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, v * tl.sum(v))

def go():
    x = torch.rand(16384)
    k[(1,)](x, x, BLOCK=16384, num_warps=1)
""")
    assert facts["records"][0]["local_bytes"] > 0


TUNED = DOT.replace("@triton.jit", """@triton.autotune([triton.Config({"K": n}, num_warps=8) for n in SIZES], key=["size"])
@triton.jit""") + """
def go():
    a = torch.rand(64, 512)
    for _ in range(2):
        k[(1,)](a, a, torch.empty(64, 64), 64)
    return k.best_config.kwargs["K"], len(k.fn.device_caches[0][0])
"""


def test_autotune_compiles_the_first_configuration(compile_only):
    facts = compile_only("SIZES = [32, 16]\n" + TUNED)
    assert facts["value"] == [32, 1]
    assert facts["launches"] == 2 and facts["records"][0]["configs"] == 2


def test_autotune_passes_over_what_does_not_fit(compile_only):
    assert compile_only("SIZES = [512, 16, 32]\n" + TUNED)["value"] == [16, 2]


def test_autotune_where_nothing_fits(compile_only):
    assert compile_only("SIZES = [512]\n" + TUNED)["error_class"] == "out_of_resources"


def test_grid_beyond_the_device(compile_only):
    facts = compile_only(ADD + """
def go():
    x = torch.rand(100)
    add_kernel[(1, 70000)](x, x, 100, BLOCK=128)
""")
    assert facts["error_class"] == "runtime_error" and "invalid argument" in facts["error"]


def test_unknown_launch_option(compile_only):
    facts = compile_only(ADD + """
def go():
    x = torch.rand(100)
    add_kernel[(1,)](x, x, 100, BLOCK=128, blocks=3)
""")
    assert facts["error_class"] == "runtime_error" and "blocks" in facts["error"]
    assert facts["line"] == 9


def test_torch_compile_is_off(compile_only):
    facts = compile_only("""
import sys
def go():
    assert torch.compile(lambda a: a + 1)(torch.ones(2)).tolist() == [2, 2]
    return "torch._dynamo" in sys.modules
""")
    assert facts["value"] is False


def test_libdevice_compiles(compile_only):
    assert compile_only("""
from triton.language.extra import libdevice
@triton.jit
def k(x, o):
    tl.store(o, libdevice.tanh(tl.load(x)))

def go():
    k[(1,)](torch.rand(1), torch.empty(1))
""")["ok"]


def test_assembler_error_has_no_paths(compile_only):
    facts = compile_only(DOT + """
def go():
    a = torch.rand(64, 64)
    k[(1,)](a, a, torch.empty(64, 64), 64, K=64, maxnreg=32)
""")
    assert facts["error_class"] == "compile_error" and "registers" in facts["error"]
    assert ".ptx" not in facts["error"] + facts["compiler_text"] + facts["traceback"]


def test_assembler_error_in_its_own_words(compile_only):
    facts = compile_only("""
@triton.jit
def k(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.load(x + i, eviction_policy="evict_last", volatile=True))

def go():
    k[(1,)](torch.rand(64))
""")
    assert facts["error_class"] == "compile_error" and facts["line"] == 8
    assert "evict_last" in facts["error"] and "kernel.ptx, line" in facts["error"]
