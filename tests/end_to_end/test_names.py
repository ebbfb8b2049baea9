"""The entries of a pair are found, names of shapes are checked, "-" is standard input, and kernels match problems by name."""
import json
import shutil

import pytest

from . import program

PAIRS = program.ROOT / "tests" / "end_to_end" / "pairs"
EXAMPLES = program.ROOT / "examples" / "pair"
FOUND = {"tutorial": "softmax", "autograd": "layer_norm", "module": "TritonGatedLinear", "keywords": "scale_shift",
         "outputs": "fused_statistics"}


def files(style, folder=PAIRS):
    return folder / f"{style}_reference.py", folder / f"{style}_kernel.py", "--input-shapes", f"@{folder}/{style}_shapes.json"


@pytest.fixture(scope="module")
def refused(run):
    """Standard error of `verify` with words that are refused before anything starts."""
    def call(*words, limit=10, **options):
        code, stdout, stderr = run(*program.verify_command(*words)[1:], limit=limit, **options)
        assert (code, stdout) == (2, ""), stderr
        return stderr
    return call


def short(reference, kernel, folder):
    """Two files with these sources."""
    folder.mkdir(exist_ok=True)
    (folder / "reference.py").write_text(reference, encoding="utf-8")
    (folder / "kernel.py").write_text(kernel, encoding="utf-8")
    return folder / "reference.py", folder / "kernel.py"


@pytest.mark.parametrize("style", FOUND)
def test_a_pair_needs_no_flag_but_its_shapes(verify, style):
    code, verdicts, stderr = verify(*files(style))
    assert code == 0, stderr
    (verdict,) = verdicts
    assert (verdict["status"], verdict["counts"], verdict["call"]["entry"]) == ("correct", True, FOUND[style]), verdict


def test_a_found_entry_is_the_same_work_as_a_named_one(verify, tmp_path):
    output = tmp_path / "out.jsonl"
    found = verify(*files("tutorial"), "--output", output)
    named = verify(*files("tutorial"), "--entry-point", "naive_softmax", "--kernel-entry", "softmax", "--output", output)
    assert found.code == named.code == 0 and found.verdicts == named.verdicts, "the second was found in the output"


def test_an_unknown_name_of_a_shape(refused):
    shapes = json.loads((EXAMPLES / "scale_add_shapes.json").read_text(encoding="utf-8"))
    shapes["yy"] = shapes.pop("y")
    said = refused(EXAMPLES / "scale_add_reference.py", EXAMPLES / "scale_add_kernel.py", "--input-shapes", json.dumps(shapes))
    assert "--input-shapes: `yy` is not a parameter of `reference_impl(x, y, scale)`" in said and "did you mean `y`?" in said


def test_a_missing_shape(refused):
    said = refused(EXAMPLES / "scale_add_reference.py", EXAMPLES / "scale_add_kernel.py",
                   "--input-shapes", '{"x": {"shape": [4, 8]}, "y": {"shape": [4, 8]}}')
    assert "there is no shape for `scale` of `reference_impl(x, y, scale)`" in said


def test_entries_that_cannot_be_found_are_listed(refused, tmp_path):
    kernel = "import triton\n@triton.jit\ndef softmax_kernel(x): pass\ndef one(x): return x\ndef two(x): return x\n"
    pair = short("def softmax(x): return x\n", kernel, tmp_path)
    shapes = ("--input-shapes", '{"x": {"shape": [4]}}')
    said = refused(*pair, *shapes)
    assert "kernel.py defines `softmax_kernel` (a Triton kernel), `one`, `two`" in said and "--kernel-entry one" in said
    assert "is a Triton kernel" in refused(*pair, *shapes, "--kernel-entry", "softmax_kernel")
    assert "defines no `three`" in refused(*pair, *shapes, "--kernel-entry", "three")


def test_a_swapped_pair(refused):
    reference, kernel, *shapes = files("tutorial")
    said = refused(kernel, reference, *shapes)
    assert "contains the Triton kernel `softmax_kernel`" in said and "swap the two" in said


def test_a_pair_without_triton_is_judged(verify):
    reference, *_, shapes = files("tutorial")
    code, (verdict,), stderr = verify(reference, reference, "--input-shapes", shapes)
    assert code == 0 and (verdict["status"], verdict["counts"]) == ("correct", False), stderr


def test_a_flag_of_a_pair_needs_a_pair(refused, batch):
    rows = batch([{"id": "a", "reference_code": "r", "kernel_code": "k"}])
    assert "--input-shapes" in refused("--batch", rows, "--input-shapes", '{"x": {"shape": [4]}}')


def test_standard_input_is_a_kernel(verify):
    reference, kernel, *shapes = files("keywords")
    with kernel.open("rb") as stdin:
        code, (verdict,), stderr = verify(reference, "-", *shapes, stdin=stdin)
    assert code == 0 and (verdict["status"], verdict["id"]) == ("correct", "stdin"), stderr


def test_standard_input_is_json_lines(verify, batch):
    pair = {"reference_code": (EXAMPLES / "reference.py").read_text(encoding="utf-8"),
            "kernel_code": (EXAMPLES / "kernel.py").read_text(encoding="utf-8")}
    with batch([{"id": "one", **pair}]).open("rb") as stdin:
        code, (verdict,), stderr = verify("-", stdin=stdin)
    assert code == 0 and (verdict["status"], verdict["id"]) == ("correct", "one"), stderr


def test_standard_input_is_one_of_the_two(refused):
    assert 'both the reference and the kernel are "-"' in refused("-", "-")


def test_a_folder_of_kernels_with_the_names_of_problems(verify, tmp_path):
    reference = (EXAMPLES / "reference.py").read_text(encoding="utf-8")
    model = "\n\nclass Model(torch.nn.Module):\n    def forward(self, x, shift):\n        return reference_impl(x, shift)\n"
    for name in ("19_Square.py", "20_Shift.py"):
        (tmp_path / "tasks" / "level1").mkdir(parents=True, exist_ok=True)
        (tmp_path / "tasks" / "level1" / name).write_text(reference + model, encoding="utf-8")
    (tmp_path / "mine").mkdir()
    shutil.copy(EXAMPLES / "kernel.py", tmp_path / "mine" / "19_Square.py")
    shutil.copy(EXAMPLES / "kernel.py", tmp_path / "mine" / "21_Other.py")
    code, (verdict,), stderr = verify(tmp_path / "mine", "--kernelbench", tmp_path / "tasks")
    assert code == 1 and "no problem for the name 21_Other" in stderr
    assert (verdict["status"], verdict["task_id"], verdict["problem_id"]) == ("correct", "kernelbench/1/19", 19)
