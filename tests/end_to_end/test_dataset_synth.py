"""`dataset synth`: verified pairs of drawn sources, an interruption, a killed run, and `dataset build` on the result."""
import hashlib
import json
import signal
import subprocess
import sys

import pytest

from . import dataset, program

FAMILIES = ("pointwise", "row_reduction")


CUDA_FAMILIES = ("rms_norm", "scan", "transpose")


def words(folder, count):
    return ("dataset", "synth", "--output", folder, "--count", count, "--families", *FAMILIES, "--device", "cpu",
            "--python", sys.executable)


def cuda_words(folder, count):
    return ("dataset", "synth", "--source", "cuda", "--output", folder, "--count", count, "--families", *CUDA_FAMILIES,
            "--device", "cpu", "--python", sys.executable)


def lines_of(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def synthetic(scratch, run):
    """The folder of a set of three sources, and the output of the run."""
    folder = scratch / "synthetic"
    code, stdout, stderr = run(*words(folder, 3))
    assert code == 0, stderr
    return folder, stdout


def test_each_pair_is_verified(synthetic):
    folder, stdout = synthetic
    pairs = lines_of(folder / "pairs.jsonl")
    assert len(pairs) == 3 and "judged now" in stdout
    for pair in pairs:
        assert pair["verdict"]["correctness"] and pair["verdict"]["counts"] and pair["family"] in FAMILIES
        assert pair["verdict"]["shapes"] == "any"
        assert "@triton.jit" in pair["kernel_code"] and "torch._inductor" not in pair["kernel_code"]


def test_a_product_is_written_by_hand(scratch, run):
    folder = scratch / "products"
    code, _, stderr = run("dataset", "synth", "--output", folder, "--count", 1, "--families", "low_rank", "--device", "cpu",
                          "--python", sys.executable)
    assert code == 0, stderr
    pair, = lines_of(folder / "pairs.jsonl")
    assert pair["verdict"]["counts"] and pair["family"] == "low_rank" and "tl.dot(" in pair["kernel_code"]
    assert pair["licence"] == pair["triton_licence"] == "Apache-2.0" and "origin" not in pair


def test_modules_of_the_current_folder_are_not_imported(tmp_path):
    for name in ("inspect", "torch", "triton"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    process = program.start([program.binary(), *map(str, words(tmp_path / "synthetic", 1))], tmp_path, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, _, stderr = program.finish(process)
    assert code == 0, stderr
    assert len(lines_of(tmp_path / "synthetic" / "pairs.jsonl")) == 1


def test_a_killed_run_goes_on_where_it_was(synthetic, run):
    folder, _ = synthetic
    file = folder / "pairs.jsonl"
    before, drafts = file.read_bytes(), (folder / "drafts.jsonl").read_bytes()
    kept = before[:before.rstrip(b"\n").rindex(b"\n") + 1]
    file.write_bytes(before[:len(kept) + 40])  # a kill may leave an incomplete line
    code, stdout, stderr = run(*words(folder, 3))
    assert code == 0, stderr
    assert "judged now        1 in" in stdout
    assert file.read_bytes().startswith(kept) and (folder / "drafts.jsonl").read_bytes() == drafts
    assert {pair["id"] for pair in lines_of(file)} == {json.loads(line)["id"] for line in before.splitlines()}


def test_an_interruption_ends_with_130(scratch):
    folder = scratch / "interrupted"
    process = program.start([program.binary(), *map(str, words(folder, 100000))], scratch, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    while b"compile" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"the same command goes on" in stderr


def test_build_reads_the_pairs(synthetic, scratch, run):
    folder, _ = synthetic
    out = scratch / "synthetic_built"
    code, _, stderr = run("dataset", "build", "--pairs", folder, "--out", out, "--targets", "90", "--validation", "0",
                          "--no-figures")
    assert code == 0, stderr
    rows = dataset.lines(out / "torch2triton.jsonl")
    kernels = {pair["kernel_code"] for pair in lines_of(folder / "pairs.jsonl")}
    assert len(rows) == 3 and {row["completion"] for row in rows} == kernels
    assert all(row["verdict"]["counts"] and row["licence"]["spdx"] == "Apache-2.0" for row in rows)
    assert "the verifier ran both sides of 3 rows" in (out / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cuda(scratch, run):
    """The folder of a set of three pairs of CUDA and Triton, and the output of the run."""
    folder = scratch / "cuda"
    code, stdout, stderr = run(*cuda_words(folder, 3))
    assert code == 0, stderr
    return folder, stdout


def test_without_a_gpu_the_triton_side_is_verified(cuda):
    folder, stdout = cuda
    pairs = lines_of(folder / "pairs.jsonl")
    assert len(pairs) == 3 and "CUDA side         0 of 3 pairs" in stdout
    for pair in pairs:
        assert pair["verdict"]["correctness"] and pair["verdict"]["counts"] and pair["family"] in CUDA_FAMILIES
        assert pair["cuda_verified"] is False and pair["cuda_verdict"]["status"] == "skipped"
        assert pair["origin"] == "synthetic" and pair["licence"] == pair["triton_licence"] == "Apache-2.0"
        assert "__global__" in pair["cuda_code"] and "@triton.jit" in pair["kernel_code"]


def test_the_same_command_adds_nothing(cuda, run):
    folder, _ = cuda
    before = (folder / "pairs.jsonl").read_bytes()
    code, stdout, stderr = run(*cuda_words(folder, 3))
    assert code == 0 and "judged now" not in stdout, stderr
    assert (folder / "pairs.jsonl").read_bytes() == before


def test_build_makes_cuda_rows(cuda, scratch, run):
    folder, _ = cuda
    out = scratch / "cuda_built"
    code, _, stderr = run("dataset", "build", "--pairs", folder, "--out", out, "--targets", "90", "--validation", "0",
                          "--no-figures")
    assert code == 0, stderr
    rows = {row["completion"]: row for row in dataset.lines(out / "cu2triton.jsonl")}
    for pair in lines_of(folder / "pairs.jsonl"):
        row = rows[pair["kernel_code"]]
        assert row["prompt"].startswith("Rewrite this CUDA kernel in Triton.\n\n```cuda\n" + pair["cuda_code"])
        assert "synthetic" in row["pair"]["reasons"] and row["licence"]["spdx"] == "Apache-2.0"
    assert "CUDA side of 3 rows was not run" in (out / "README.md").read_text(encoding="utf-8")


NAMED = """# SPDX-License-Identifier: MIT
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {body}


def {name}(x):
    o = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, o, x.numel(), BLOCK=256)
    return o
"""


# Of another text than the right kernel, so that it is no near copy of it.
WRONG = """value = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    half = value * 0.5 + 0.25 - tl.exp(value) * 0.125
    other = tl.where(value > 0, half, value - half)
    tl.store(o + i, tl.maximum(other, half) + tl.minimum(other, value), mask=i < n)"""


def test_a_kernel_is_judged_by_the_operation_of_its_name(scratch, run):
    source, folder = scratch / "named_source", scratch / "named"
    source.mkdir()
    right = "tl.store(o + i, -tl.load(x + i, mask=i < n), mask=i < n)"
    for name, body in (("neg", right), ("deg2rad", WRONG)):
        (source / f"{name}.py").write_text(NAMED.format(name=name, body=body), encoding="utf-8")
    call = ("dataset", "synth", "--source", "named", "--from", source, "--output", folder, "--device", "cpu", "--python",
            sys.executable)
    code, _, stderr = run(*call)
    assert code == 0, stderr
    (pair,), (repair,) = lines_of(folder / "pairs.jsonl"), lines_of(folder / "repair.jsonl")
    assert pair["name"] == "neg" and pair["triton_licence"] == "MIT" and pair["origin"] == "named_source: neg.py"
    assert (pair["triton_source"]["name"], pair["triton_source"]["path"]) == ("named_source", "neg.py")
    assert repair["name"] == "deg2rad" and repair["verdict"]["reason"] == "wrong_value"
    code, stdout, stderr = run(*call)
    assert code == 0 and "judged now" not in stdout, stderr


IN_PLACE = """# SPDX-License-Identifier: MIT
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {body}


def {name}(x):
    o = {out}
    kernel[(triton.cdiv(x.numel(), 256),)](x, o, x.numel(), BLOCK=256)
    return o
"""


def test_a_kernel_of_an_in_place_operation_has_to_change_its_input(scratch, run):
    source, folder = scratch / "in_place_source", scratch / "in_place"
    source.mkdir()
    right = "tl.store(o + i, -tl.load(x + i, mask=i < n), mask=i < n)"
    other = "value = tl.load(x + i, mask=i < n, other=0.0)\n    tl.store(o + i, tl.maximum(value, -value), mask=i < n)"
    for name, body, out in (("neg_", right, "x"), ("abs_", other, "torch.empty_like(x)")):
        (source / f"{name}.py").write_text(IN_PLACE.format(name=name, body=body, out=out), encoding="utf-8")
    code, _, stderr = run("dataset", "synth", "--source", "named", "--from", source, "--output", folder, "--near-threshold",
                          "1", "--device", "cpu", "--python", sys.executable)
    assert code == 0, stderr
    (pair,), (repair,) = lines_of(folder / "pairs.jsonl"), lines_of(folder / "repair.jsonl")
    assert pair["name"] == "neg_" and "return x.neg_()" in pair["reference_code"]
    assert repair["name"] == "abs_" and "changed in place" in repair["verdict"]["error"]


def test_a_count_below_the_kernels_is_stated(scratch, run):
    folder = scratch / "named_one"
    code, stdout, stderr = run("dataset", "synth", "--source", "named", "--from", scratch / "named_source", "--output", folder,
                               "--count", "1", "--device", "cpu", "--python", sys.executable)
    assert code == 0, stderr
    assert "left for later    1 of 2, over --count" in stdout and len(lines_of(folder / "drafts.jsonl")) == 1


def test_a_changed_folder_is_no_continuation(scratch, run):
    file, folder = scratch / "named_source" / "neg.py", scratch / "named"
    text = file.read_text(encoding="utf-8")
    file.write_text(text + "# changed\n", encoding="utf-8")
    code, _, stderr = run("dataset", "synth", "--source", "named", "--from", file.parent, "--output", folder, "--device", "cpu",
                          "--python", sys.executable)
    file.write_text(text, encoding="utf-8")
    assert code == 1 and "other settings: --from named_source has changed\n" in stderr


def test_sources_of_which_nothing_can_be_taken_are_an_error(scratch, run):
    empty = scratch / "no_kernels"
    empty.mkdir()
    (empty / "notes.py").write_text("import triton\n", encoding="utf-8")
    for source, why in (("named", "no kernel of no_kernels has the name of an operation"),
                        ("mined", "is not among --from (")):
        code, _, stderr = run("dataset", "synth", "--source", source, "--from", empty, "--output", scratch / "nothing",
                              "--device", "cpu", "--python", sys.executable)
        assert code == 1 and why in stderr and "no_kernels" in stderr
        assert not (scratch / "nothing").exists()


def test_named_kernels_and_their_sources_go_together(scratch, run):
    for more in (("--source", "named"), ("--from", scratch)):
        code, _, stderr = run("dataset", "synth", "--output", scratch / "alone", *more)
        assert code == 2 and "--source named" in stderr
    assert not (scratch / "alone").exists()


def test_a_family_of_another_source_is_refused(scratch, run):
    code, _, stderr = run("dataset", "synth", "--output", scratch / "refused", "--families", "rotary", "--device", "cpu",
                          "--python", sys.executable)
    assert code == 2 and "no family rotary" in stderr
    assert not (scratch / "refused").exists()


def test_the_pairs_by_hand_are_right(scratch, run):
    pairs = program.ROOT / "examples" / "cuda_pairs"
    rows = scratch / "by_hand.jsonl"
    names = sorted(file.stem for file in pairs.glob("*.cu"))
    lines = [{"id": name, "entry_point": name, "kernel_code": (pairs / f"{name}.py").read_text(encoding="utf-8"),
              "reference_code": (pairs / f"{name}_reference.py").read_text(encoding="utf-8")} for name in names]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    verdicts = scratch / "by_hand_verdicts.jsonl"
    code, _, stderr = run("verify", "--batch", rows, "--device", "cpu", "--python", sys.executable, "--output", verdicts)
    assert code == 0, stderr
    assert len(names) == 10 and all(verdict["counts"] for verdict in lines_of(verdicts))
    out = scratch / "by_hand_built"
    code, _, stderr = run("dataset", "build", "--pairs", pairs, "--out", out, "--targets", "90", "--no-figures")
    assert code == 0, stderr
    assert len(dataset.lines(out / "cu2triton.jsonl")) == len(names)


MINED_TOML = """family = "activation"
reference = '''
import torch


def doubled(x):
    return 2 * x


def get_inputs():
    return [torch.randn(300)]
'''

[cuda]
from = "cuda-code"
files = ["{cuda}  double.cu"]
names = ["double_kernel"]

[triton]
from = "pack"
files = ["{triton}  pack.py"]
names = ["double"]
entry = "def triton_kernel_wrapper(x):\\n    return double(x)"
"""
MINED_CUDA = "// SPDX-License-Identifier: MIT\n__global__ void double_kernel(float* x) { x[threadIdx.x] *= 2; }\n"
MINED_TRITON = '''# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
'''


def test_a_mined_pair_is_verified_and_has_both_sides(scratch, run):
    root = scratch / "mined"
    for folder, name, text in (("cuda-code", "double.cu", MINED_CUDA), ("pack", "pack.py", MINED_TRITON)):
        (root / folder).mkdir(parents=True)
        (root / folder / name).write_text(text, encoding="utf-8")
    (root / "manifest").mkdir()
    pins = {side: hashlib.sha256(text.encode()).hexdigest() for side, text in (("cuda", MINED_CUDA), ("triton", MINED_TRITON))}
    (root / "manifest" / "doubled.toml").write_text(MINED_TOML.format(**pins), encoding="utf-8")
    code, stdout, stderr = run("dataset", "synth", "--source", "mined", "--manifest", root / "manifest", "--from",
                               root / "cuda-code", root / "pack", "--output", root / "pairs", "--device", "cpu", "--python",
                               sys.executable)
    assert code == 0, stderr
    pair, = lines_of(root / "pairs" / "pairs.jsonl")
    assert pair["id"] == "mined-doubled" and pair["verdict"]["correctness"] and not pair["cuda_verified"]
    assert "double_kernel(float* x)" in pair["cuda_code"] and "triton_kernel_wrapper" in pair["kernel_code"]
    assert (pair["licence"], pair["triton_licence"]) == ("MIT", "Apache-2.0")
    code, _, stderr = run("dataset", "build", "--pairs", root / "pairs", "--out", root / "built", "--validation", "0",
                          "--no-figures", "--no-tokens")
    assert code == 0, stderr
    row, = dataset.lines(root / "built" / "cu2triton.jsonl")
    assert row["labels"]["masked_loads"] and row["labels"]["clear_argument_shapes"]
    assert (row["source"]["name"], row["pair"]["other"]["path"]) == ("cuda-code", "pack.py")
    assert "pair mined-doubled" in row["pair"]["reasons"]
    card, provenance = (root / "built" / name for name in ("README.md", "PROVENANCE.md"))
    assert "| Apache-2.0 AND MIT | 1 |" in card.read_text(encoding="utf-8").replace("MIT AND Apache-2.0", "Apache-2.0 AND MIT")
    assert "## cuda-code" in provenance.read_text(encoding="utf-8") and "## pack" in provenance.read_text(encoding="utf-8")
