"""`dataset build`: a small set of packages, from the command line to every file of the folder."""
import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow.parquet
import pytest

from . import dataset

CONVERSATIONS = Path(__file__).resolve().parents[2] / "examples/loop/conversations.json"
OPTIONS = ("--targets", "90", "--validation", "0", "--no-figures")


@pytest.fixture(scope="module")
def world(scratch):
    root = scratch / "dataset"
    dataset.package(root / "package")
    dataset.wheel(root / "wheely-1.2-py3-none-any.whl")
    dataset.write(root / "KernelBench", {"KernelBench/level1/7_Gate.py": dataset.BENCHMARK})
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def built(world, run):
    """The folder of a build of all packages, and its output."""
    out = world / "built"
    code, stdout, stderr = run("dataset", "build", world / "package", world / "wheely-1.2-py3-none-any.whl", "--out", out,
                               *OPTIONS)
    assert code == 0, stderr
    return out, stdout


def names(folder):
    return {row["name"] for row in dataset.lines(folder)}


def test_every_file_is_there(built):
    out, stdout = built
    for name in ("fim_sft.csv", "cu2triton_sft.csv", "fim.jsonl", "fim_sft.meta.jsonl",
                 "ANALYSIS.json", "ANALYSIS.md", "PROVENANCE.md", "README.md", "review.csv", "duplicates.jsonl",
                 "left_out.jsonl", "skipped.jsonl"):
        assert (out / name).is_file(), name
    assert "rows in" in stdout
    assert not (out / ".new").exists()


def test_a_kind_without_rows_has_no_file(world, run):
    dataset.write(world / "lonely", {"LICENSE": dataset.MIT, "scale.py": dataset.SCALE})
    out = world / "lonely-out"
    code, _, stderr = run("dataset", "build", world / "lonely", "--out", out, "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0, stderr
    assert [path.name for path in out.glob("*_sft*.csv")] == ["fim_sft.csv"]


def test_nothing_of_validation_is_in_training(world, run):
    """Kernels beside each other in a file, and near copies in other files, next to kernels of their own."""
    def kernel(name, constant):
        statements = "".join(f"    x = x * {constant + i} + tl.{call}(x_{constant}_{i})\n    x_{constant}_{i} = x\n"
                             for i, call in enumerate(["exp", "abs", "log", "sin", "cos"]))
        return (f"@triton.jit\ndef {name}(p_{constant}, n_{constant}, BLOCK_{constant}: tl.constexpr):\n"
                f"    at = tl.program_id(0) * BLOCK_{constant} + tl.arange(0, BLOCK_{constant})\n"
                f"    x = tl.load(p_{constant} + at, mask=at < n_{constant})\n{statements}"
                f"    tl.store(p_{constant} + at, x, mask=at < n_{constant})\n\n\n")

    head = "import triton\nimport triton.language as tl\n\n\n"
    kernels, files = {}, {"LICENSE": dataset.MIT}
    for i in range(12):
        for name, constant in ((f"first_{i}", 1000 * i), (f"second_{i}", 1000 * i + 500)):
            kernels[name] = kernel(name, constant)
        copy = kernels[f"first_{i}"].replace(f"first_{i}", f"copy_{i}").replace("tl.cos", "tl.erf")
        files[f"pack/a{i}.py"] = head + kernels[f"first_{i}"] + kernels[f"second_{i}"]
        files[f"pack/b{i}.py"] = head + copy + kernel(f"third_{i}", 1000 * i + 700)
    dataset.write(world / "families", files)
    out = world / "families-out"
    code, stdout, stderr = run("dataset", "build", world / "families", "--out", out, "--no-compile", "--no-tokens",
                               "--no-figures", "--validation", "0.25", "--near-threshold", "0.99")
    assert code == 0, stderr
    rows = dataset.lines(out / "fim.jsonl")
    train = [row["prompt"] + row["completion"] for row in rows if row["split"] == "train"]
    held = {row["source"]["path"][-4:].strip("ab.py/") for row in rows if row["split"] == "validation"}
    assert 2 <= len(held) <= 4
    for i in held:
        for name in ("first", "second", "copy", "third"):
            assert not any(f"def {name}_{i}(" in text for text in train), (name, i)
    facts = json.loads((out / "ANALYSIS.json").read_text(encoding="utf-8"))["split"]
    assert facts["functions"] == 4 * len(held) and facts["functions_leaked"] == facts["train_left_out"] == 0
    assert "## Split" in (out / "ANALYSIS.md").read_text(encoding="utf-8") and "validation code in training" in stdout


def test_pairs_of_an_earlier_build_are_added(world, run):
    root = world / "paired"
    dataset.write(root / "mycode", {"scale.py": dataset.SCALE, "LICENSE": dataset.MIT})
    dataset.write(root / "twins", {"add.cu": "// SPDX-License-Identifier: MIT\n__global__ void add(float* x) {}\n",
                                   "add.py": "# SPDX-License-Identifier: MIT\n" + dataset.SOFTMAX})
    common = ("--out", root / "out", "--no-compile", "--no-tokens", *OPTIONS)
    assert run("dataset", "build", "--pairs", root / "twins", *common).code == 0
    assert run("dataset", "build", "--add", root / "mycode", *common).code == 0
    assert "## twins" in (root / "out/PROVENANCE.md").read_text(encoding="utf-8")
    assert len(dataset.lines(root / "out/cu2triton.jsonl")) == 1


def test_csv_metadata_json_and_parquet_hold_the_same_rows(built):
    out, _ = built
    rows = dataset.rows(out / "fim_sft.csv")
    whole = dataset.lines(out / "fim.jsonl")
    assert rows and list(rows[0]) == ["prompt", "completion"]
    assert [(row["prompt"], row["completion"]) for row in rows] == [(row["prompt"], row["completion"]) for row in whole]
    metadata = dataset.lines(out / "fim_sft.meta.jsonl")
    assert [row["id"] for row in metadata] == [row["id"] for row in whole]
    table = pyarrow.parquet.read_table(out / "data/fim/train-00000-of-00001.parquet").to_pylist()
    assert [row["completion"] for row in table] == [row["completion"] for row in rows]


def code_of(row):
    """A row's prompt and completion, put together."""
    prompt, completion = row["prompt"], row["completion"]
    if row["hole"]["rendering"] == "plain":
        return prompt + completion
    before, after = prompt.removeprefix("<|fim_prefix|>").removesuffix("<|fim_middle|>").split("<|fim_suffix|>")
    return before + completion + after


def test_a_hole_is_the_bytes_of_the_file_and_its_row_is_valid_code(built, world):
    out, _ = built
    seen = 0
    for row in dataset.lines(out / "fim.jsonl"):
        ast.parse(code_of(row))
        hole, source = row["hole"], row["source"]
        if source["name"] != "package" or source["block"] is not None:
            continue
        data = (world / "package" / source["path"]).read_bytes()
        begin, end = hole["middle"]
        assert data[begin:end].decode() == row["completion"]
        seen += hole["rendering"] == "psm"
    assert seen > 2


def test_code_for_other_hardware_is_left_out_unless_asked_for(world, run):
    root = world / "chips"
    dataset.write(root / "tree", {"LICENSE": dataset.MIT, "ops/scale.py": dataset.SCALE,
                                  "ops/_ascend/scale.py": dataset.SCALE.replace("scale", "npu_scale").replace("> 0", "> 3")})
    common = ("--no-compile", "--no-tokens", *OPTIONS)
    code, stdout, stderr = run("dataset", "build", root / "tree", "--out", root / "default", *common)
    assert code == 0, stderr
    assert "left out for their hardware: 1 ascend" in stdout
    assert {row["target"] for row in dataset.lines(root / "default/fim.jsonl")} == {"neutral"}
    assert [row["target"] for row in dataset.lines(root / "default/left_out.jsonl")] == ["ascend"]
    code, _, stderr = run("dataset", "build", root / "tree", "--out", root / "asked", *common, "--hardware", "ascend")
    assert code == 0, stderr
    assert {row["target"] for row in dataset.lines(root / "asked/fim.jsonl")} == {"ascend"}


def test_of_equal_renamed_and_nearly_equal_kernels_one_is_kept(built):
    out, _ = built
    dropped = {row["name"]: row["how"] for row in dataset.lines(out / "duplicates.jsonl")}
    kept = {row["source"]["path"] for row in dataset.lines(out / "fim.jsonl")}
    assert len(kept & {"pack/scale.py", "pack/copy_of_scale.py", "pack/renamed.py", "pack/nearly.py"}) == 1
    assert {"exact", "renamed"} <= set(dropped.values())
    near = [row for row in dataset.lines(out / "duplicates.jsonl") if row["how"] == "near"]
    assert near and all(0.8 <= row["jaccard"] < 1 for row in near)


TWIN = """import triton
import triton.language as tl

from .combine import larger, smaller


@triton.jit
def cumulative_larger_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    best = tl.associative_scan(x, 0, larger)
    scale = tl.load(x_ptr + row * n_cols + n_cols - 1)
    shifted = tl.where(mask, best - scale, 0.0)
    total = tl.sum(tl.exp(shifted * 0.5) * mask, axis=0)
    tl.store(out_ptr + row * n_cols + cols, larger(shifted, total) * total, mask=mask)
"""


def test_kernels_that_differ_in_max_and_min_are_kept_and_an_edited_copy_is_not(world, run):
    root = world / "twins"
    dataset.write(root / "tree", {"LICENSE": dataset.MIT, "pack/__init__.py": "", "pack/largest.py": TWIN,
                                  "pack/smallest.py": TWIN.replace("larger(", "smaller(").replace("0, larger)", "0, smaller)"),
                                  "pack/edited.py": TWIN.replace("best - scale", "best - scale - 1")})
    code, _, stderr = run("dataset", "build", root / "tree", "--out", root / "out", "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0, stderr
    dropped = [(row["how"], row["jaccard"] >= 0.8) for row in dataset.lines(root / "out/duplicates.jsonl")]
    kept = {row["source"]["path"] for row in dataset.lines(root / "out/fim.jsonl")}
    assert dropped == [("near", True)]
    assert "pack/smallest.py" in kept and len(kept) == 2


def test_a_licence_that_is_not_allowed_is_left_out_and_listed(built):
    out, _ = built
    assert all("gpl_scale" not in row["prompt"] + row["completion"] for row in dataset.lines(out / "fim.jsonl"))
    left = {row["name"]: row["licence"]["spdx"] for row in dataset.lines(out / "left_out.jsonl")}
    assert left["gpl_scale_kernel"] == "GPL-3.0-only"
    assert {row["licence"]["spdx"] for row in dataset.lines(out / "fim.jsonl")} == {"MIT"}


def test_the_cuda_kernel_finds_its_triton_twin(built):
    out, _ = built
    pairs = dataset.lines(out / "cu2triton.jsonl")
    assert len(pairs) == 1
    assert "__global__ void softmax_rows_kernel" in pairs[0]["prompt"]
    assert "def softmax_rows_kernel" in pairs[0]["completion"]
    assert pairs[0]["pair"]["confidence"] >= 0.6 and pairs[0]["pair"]["reasons"]


def test_kernels_are_compiled_for_the_target(built):
    out, _ = built
    labels = {row["source"]["path"]: row["labels"] for row in dataset.lines(out / "fim.jsonl")}
    scale = next(labels[path] for path in labels if path.startswith("pack/") and path != "pack/softmax.py")
    assert scale["compile"] == "compilable" and scale["compiled_for"] == ["sm_90"]
    assert scale["masked_loads"] and scale["self_contained"]
    assert all(row["labels"]["compile"] != "fails" for row in dataset.lines(out / "fim.jsonl"))


def test_code_of_a_document_becomes_rows_with_its_place(built, world):
    out, _ = built
    rows = [row for row in dataset.lines(out / "fim.jsonl") if row["source"]["path"] == "docs/notes.md"]
    assert rows
    begin, end = rows[0]["source"]["block"]["span"]
    assert "add_from_the_notes" in (world / "package/docs/notes.md").read_bytes()[begin:end].decode()


def test_tokens_are_counted_and_the_tokenizer_named(built):
    out, _ = built
    assert all(row["tokens"] > 0 for row in dataset.lines(out / "fim.jsonl"))
    assert json.loads((out / "ANALYSIS.json").read_text())["tokenizer"]


def test_the_same_bytes_for_any_number_of_threads_and_again(built, world, run):
    out, _ = built
    other = world / "single"
    code, _, stderr = run("dataset", "build", world / "package", world / "wheely-1.2-py3-none-any.whl", "--out", other,
                          "--threads", "1", *OPTIONS)
    assert code == 0, stderr
    assert dataset.digest(other) == dataset.digest(out)
    before = dataset.digest(out)
    code, stdout, stderr = run("dataset", "build", world / "package", world / "wheely-1.2-py3-none-any.whl", "--out",
                               out, *OPTIONS)
    assert code == 0, stderr
    assert dataset.digest(out) == before


def test_a_busy_machine_gives_the_same_bytes(built, world, run):
    out, _ = built
    busy = world / "busy"
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * os.cpu_count())]
    try:
        code, _, stderr = run("dataset", "build", world / "package", world / "wheely-1.2-py3-none-any.whl", "--out", busy,
                              *OPTIONS)
    finally:
        for each in others:
            each.kill()
            each.wait()
    assert code == 0, stderr
    assert dataset.digest(busy) == dataset.digest(out)


def test_how_long_it_took_is_no_part_of_the_set(built):
    out, _ = built
    times = json.loads((out / ".state/times.json").read_text())
    assert {"collect and parse", "compile", "write"} <= {stage["name"] for stage in times["stages"]}
    assert "timing" not in json.loads((out / "ANALYSIS.json").read_text())


def test_adding_a_package_gives_what_both_together_give(built, world, run):
    out, _ = built
    grown = world / "grown"
    code, _, stderr = run("dataset", "build", world / "package", "--out", grown, *OPTIONS)
    assert code == 0, stderr
    code, _, stderr = run("dataset", "build", "--add", world / "wheely-1.2-py3-none-any.whl", "--out", grown, *OPTIONS)
    assert code == 0, stderr
    assert dataset.digest(grown) == dataset.digest(out)


def test_what_a_person_drops_stays_out(built, world, run):
    out, _ = built
    folder = world / "reviewed"
    victim = dataset.lines(out / "fim.jsonl")[0]["id"]
    dataset.write(folder, {"decisions.csv": f"id,decision,reviewer,note\n{victim},drop,anna,a poor example\n"})
    for _ in range(2):
        code, _, stderr = run("dataset", "build", world / "package", world / "wheely-1.2-py3-none-any.whl", "--out",
                              folder, "--review", folder / "decisions.csv", "--no-compile", "--no-tokens", *OPTIONS)
        assert code == 0, stderr
        assert victim not in {row["id"] for row in dataset.lines(folder / "fim.jsonl")}


def test_hostile_members_are_skipped_with_reasons_and_nothing_escapes(world, run):
    root = world / "hostile"
    root.mkdir()
    archive = dataset.hostile_tar(root / "bad-1.0.tar.gz")
    out = root / "inside/out"
    code, _, stderr = run("dataset", "build", archive, "--out", out, "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0, stderr
    assert "kept_scale_kernel" in (out / "fim_sft.csv").read_text()
    skipped = {row["path"].split("/")[-1]: row["reason"] for row in dataset.lines(out / "skipped.jsonl")}
    assert {"outside.py", "absolute.py", "link.py", "latin.py", "bomb.py"} <= set(skipped)
    assert not list(world.parent.rglob("bait")) and not list(root.glob("*.py"))


def test_a_benchmark_problem_in_a_row_is_flagged_and_waits_if_asked(world, run):
    root = world / "leaky"
    kernel = dataset.SCALE.replace("scale", "leaky_scale")
    stolen = dataset.BENCHMARK.replace("Model", "Projection").replace("gate", "door").replace("width", "breadth")
    inside = textwrap.indent(stolen[stolen.index("class "):], "    ")
    leaky = "import torch.nn as nn\n" + kernel.replace("    out = torch.empty(", inside + "    out = torch.empty(")
    dataset.write(root / "tree", {"LICENSE": dataset.MIT, "leaky.py": leaky})
    common = ("--no-compile", "--no-tokens", "--against", world / "KernelBench", *OPTIONS)
    code, _, stderr = run("dataset", "build", root / "tree", "--out", root / "kept", *common)
    assert code == 0, stderr
    flagged = [row for row in dataset.lines(root / "kept/fim.jsonl") if row["leakage"]]
    assert {leak["row"] for row in flagged for leak in row["leakage"] if leak["against"] == "KernelBench"} == {
        "level1/7_Gate.py"}
    assert flagged[0]["id"] in (root / "kept/review.csv").read_text()
    code, _, stderr = run("dataset", "build", root / "tree", "--out", root / "held", "--hold-flagged", *common)
    assert code == 0, stderr
    held = {row["id"] for row in flagged if any(leak["relation"] == "benchmark" for leak in row["leakage"])}
    assert held and not held & {row["id"] for row in dataset.lines(root / "held/fim.jsonl")}
    assert code == 0, stderr
    code, unchecked, stderr = run("dataset", "build", root / "tree", "--out", root / "unchecked", "--no-compile",
                                  "--no-tokens", *OPTIONS)
    assert code == 0, stderr
    assert "benchmarks: not checked" in unchecked
    analyses = {name: json.loads((root / name / "ANALYSIS.json").read_text()) for name in ("kept", "held", "unchecked")}
    assert analyses["unchecked"]["parameters"]["benchmarks"] == "not checked"
    kept, = analyses["kept"]["benchmarks"]
    assert analyses["kept"]["parameters"]["benchmarks"] == {"KernelBench": kept["sha256"]}
    assert "--against KernelBench@" + kept["sha256"][:12] in analyses["kept"]["made_by"]
    assert kept["rows_found"] == kept["rows_written"] == len(held)
    assert analyses["held"]["benchmarks"] == [kept | {"rows_written": 0}]


@pytest.fixture(scope="module")
def verified(world, run):
    """A run of two recorded conversations, judged by the engine: its folder, and its exported file."""
    recorded = json.loads(CONVERSATIONS.read_text(encoding="utf-8"))[:2]
    (world / "recorded.json").write_text(json.dumps(recorded), encoding="utf-8")
    code, _, stderr = run("run", "--traces", world / "recorded.json", "--model-replay", world / "recorded.json",
                          "--multi-turn", "--output", world / "judged.json")
    assert code == 0, stderr
    return world / "judged.run", world / "judged.json"


def test_verified_answers_enter_with_their_verdicts_from_a_run_and_from_its_export(verified, world, run):
    completions = []
    for source in verified:
        out = world / f"from-{source.suffix[1:]}"
        code, _, stderr = run("dataset", "build", source, "--out", out, "--licence-of", f"{source.name}=MIT", "--no-compile",
                              "--no-tokens", *OPTIONS)
        assert code == 0, stderr
        rows = dataset.lines(out / "trace.jsonl")
        assert rows and all(row["verdict"]["correctness"] and row["verdict"]["counts"] for row in rows)
        assert {row["licence"]["spdx"] for row in rows} == {"MIT"}
        completions.append([row["completion"] for row in rows])
    assert completions[0] == completions[1]


def test_an_answer_that_the_review_drops_stays_out(verified, world, run):
    out, source = world / "from-run", verified[0]
    victim = dataset.lines(out / "trace.jsonl")[0]["id"]
    dataset.write(world, {"drop.csv": f"id,decision\n{victim},drop\n"})
    code, _, stderr = run("dataset", "build", source, "--out", out, "--review", world / "drop.csv", "--licence-of",
                          f"{source.name}=MIT", "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0, stderr
    assert victim not in {row["id"] for row in dataset.lines(out / "trace.jsonl")}


def test_a_run_without_an_answer_that_counts_says_why(world, run):
    code, _, stderr = run("dataset", "build", CONVERSATIONS, "--out", world / "none", "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0 and "no answer became a row" in stderr and "not known to count" in stderr


def test_a_stated_licence_is_in_rows_and_reports(world, run):
    root = world / "bare"
    dataset.write(root / "mycode", {"scale.py": dataset.SCALE})
    dataset.write(root / "twins", {"add.cu": "__global__ void add(float* x) { x[0] += 1; }\n", "add.py": dataset.SCALE})
    out = root / "out"
    code, _, stderr = run("dataset", "build", root / "mycode", "--pairs", root / "twins", "--out", out, "--licence-of",
                          "mycode=mit", "twins=mit", "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0, stderr
    rows = dataset.lines(out / "fim.jsonl")
    assert rows and all(row["licence"] == {"spdx": "MIT", "evidence": "--licence-of"} for row in rows)
    provenance = (out / "PROVENANCE.md").read_text(encoding="utf-8")
    assert "| MIT | 1 | 1 --licence-of |" in provenance
    assert "2 sources." in provenance and "## twins" in provenance and "- units: 1 pair" in provenance
    assert "figs/" not in (out / "README.md").read_text(encoding="utf-8")


def test_a_pair_needs_an_allowed_licence_of_both_sides(world, run):
    root = world / "copyleft"
    dataset.write(root / "twins", {"add.cu": "// SPDX-License-Identifier: MIT\n__global__ void add(float* x) {}\n",
                                   "add.py": "# SPDX-License-Identifier: GPL-3.0-only\n" + dataset.SOFTMAX})
    words = ("dataset", "build", "--pairs", root / "twins", "--no-compile", "--no-tokens", *OPTIONS)
    assert run(*words, "--out", root / "default").code == 0
    assert not (root / "default/cu2triton.jsonl").exists() or not dataset.lines(root / "default/cu2triton.jsonl")
    assert "1 GPL-3.0-only" in (root / "default/PROVENANCE.md").read_text(encoding="utf-8")
    code, _, stderr = run(*words, "--out", root / "all", "--licences", "MIT", "GPL-3.0-only")
    assert code == 0, stderr
    assert len(dataset.lines(root / "all/cu2triton.jsonl")) == 1


def test_a_licence_that_restricts_use_is_named(world, run):
    root = world / "restricted"
    title = "June 9 Researcher Reciprocity License\nVersion 1.0\ndated June 9, 2026\n\n"
    dataset.write(root / "mycode", {"scale.py": dataset.SCALE, "LICENSE": title + "A clause of this license.\n" * 60})
    words = ("dataset", "build", root / "mycode", "--no-compile", "--no-tokens", *OPTIONS)
    assert run(*words, "--out", root / "default").code == 0
    assert not (root / "default/fim.jsonl").exists() or not dataset.lines(root / "default/fim.jsonl")
    assert "1 LicenseRef-Researcher-Reciprocity" in (root / "default/PROVENANCE.md").read_text(encoding="utf-8")
    code, _, stderr = run(*words, "--out", root / "all", "--licences", "LicenseRef-Researcher-Reciprocity")
    assert code == 0, stderr
    assert "**Restriction on use**" in (root / "all/PROVENANCE.md").read_text(encoding="utf-8")
    limits = (root / "all/README.md").read_text(encoding="utf-8").partition("## Limitations")[2]
    assert "restricts training and improving AI models" in limits and "no row has a verdict" in limits


@pytest.mark.parametrize("stated, words", [("mycod=MIT", "the sources are: mycode"),
                                           ("mycode=MITT", "MITT is no known SPDX identifier")])
def test_a_stated_licence_needs_a_source_and_an_identifier(world, run, stated, words):
    dataset.write(world / "stated/mycode", {"scale.py": dataset.SCALE})
    out = world / "stated/out"
    code, _, stderr = run("dataset", "build", world / "stated/mycode", "--out", out, "--licence-of", stated, *OPTIONS)
    assert code == 2 and words in stderr and not (out / "README.md").exists()


def test_a_source_that_is_not_there_is_named(world, run):
    code, _, stderr = run("dataset", "build", world / "nowhere", "--out", world / "never")
    assert code == 1 and "nowhere" in stderr and "--pypi" in stderr


def test_no_source_is_a_usage_error(world, run):
    code, _, stderr = run("dataset", "build", "--out", world / "nothing")
    assert code == 2 and "no source was given" in stderr and not (world / "nothing").exists()


def test_one_source_file_is_told_its_folder(world, run):
    dataset.write(world / "single", {"scale.py": dataset.SCALE})
    code, _, stderr = run("dataset", "build", world / "single/scale.py", "--out", world / "single-out")
    assert code == 2 and "is one source file" in stderr and f"name its folder: {world / 'single'}" in stderr


def test_a_set_without_rows_names_the_flag_for_its_licence(world, run):
    dataset.write(world / "unstated/mycode", {"scale.py": dataset.SCALE})
    code, _, stderr = run("dataset", "build", world / "unstated/mycode", "--out", world / "unstated/out", "-q",
                          "--no-compile", "--no-tokens", *OPTIONS)
    assert code == 0 and "warning: the dataset has no rows" in stderr and "--licence-of FOLDER=ID" in stderr


def test_a_kernel_with_a_name_that_triton_lacks_gives_no_rows(world, run):
    source, out = world / "misspelt/code", world / "misspelt/out"
    dataset.write(source, {"scale.py": dataset.SCALE.replace("tl.arange(", "tl.arrange(")})
    code, _, stderr = run("dataset", "build", source, "--out", out, "--any-licence", "--no-tokens", "-q", *OPTIONS)
    assert code == 0 and "the dataset has no rows" in stderr
    assert "it uses a name that Triton's language does not have" in (out / "skipped.jsonl").read_text(encoding="utf-8")


def test_a_folder_of_others_is_left_alone(world, run):
    own = world / "own-folder"
    files = {"data/mine.txt": "1", "figs/mine.png": "2", "tokenizer.json": "{}", "README.md": "# mine\n"}
    dataset.write(own, files)
    code, _, stderr = run("dataset", "build", world / "package", "--out", own, *OPTIONS)
    assert code == 1 and "is not empty, and no folder of `dataset build`" in stderr and "-> choose another" in stderr
    assert {str(path.relative_to(own)): path.read_text() for path in own.rglob("*") if path.is_file()} == files
