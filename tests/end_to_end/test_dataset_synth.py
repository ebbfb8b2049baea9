"""`dataset synth`: verified pairs of drawn sources, an interruption, a killed run, and `dataset build` on the result."""
import json
import signal
import subprocess
import sys

import pytest

from . import dataset, program

FAMILIES = ("pointwise", "row_reduction")


def words(folder, count):
    return ("dataset", "synth", "--output", folder, "--count", count, "--families", *FAMILIES, "--device", "cpu",
            "--python", sys.executable)


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
        assert "@triton.jit" in pair["kernel_code"] and "torch._inductor" not in pair["kernel_code"]


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
