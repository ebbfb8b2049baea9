"""The evidence record of verdicts: which keep it, what it says, and where it is left out."""
import json

import jsonschema
import pytest

from . import loop, program, victims

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="the trials of the interpreter")

HONEST = victims.code_of("honest")
KERNELS = {
    "right": HONEST,
    "wrong": HONEST.replace("x + y,", "x - y,"),
    "library": "import torch\n\n\ndef triton_kernel_wrapper(x, y):\n    return torch.add(x, y)\n",
    "refused": HONEST.replace("x = tl.load(", "x = tl.lod("),
    "no_entry": "def nothing():\n    pass\n",
}
RECORD = "kernelwright.evidence/1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture(scope="module")
def judged(verify, folder):
    """{id: verdict} of all kernels, with the option --evidence or without it."""
    reference = victims.code_of("reference")
    rows = program.write_rows(folder / "batch.jsonl", [
        {"id": name, "reference_code": reference, "kernel_code": code} for name, code in KERNELS.items()])
    known = {}

    def call(*words):
        if words not in known:
            output = folder / f"{'-'.join(words) or 'default'}.jsonl"
            found = verify("--batch", rows, "--output", output, *words)
            assert found.code == 0, found.stderr
            known[words] = {each["id"]: each for each in found.verdicts}
        return known[words]
    return call


def test_by_default_what_is_not_right_and_counting_keeps_it(judged):
    kept = {name for name, verdict in judged().items() if verdict["evidence"] is not None}
    assert kept == {"wrong", "library", "refused"}


def test_all_and_none(judged):
    kept = {name for name, verdict in judged("--evidence", "all").items() if verdict["evidence"] is not None}
    assert kept == set(KERNELS) - {"no_entry"}
    assert all(verdict["evidence"] is None for verdict in judged("--evidence", "none").values())


def test_it_changes_neither_the_protocol_nor_the_work(judged):
    for name, verdict in judged().items():
        for other in (judged("--evidence", "all"), judged("--evidence", "none")):
            assert other[name]["work"] == verdict["work"]
            assert other[name]["environment"]["protocol"] == verdict["environment"]["protocol"]


def test_records_are_held_to_the_schema(judged):
    schema = json.loads((program.ROOT / "docs/verdict.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    verdicts = [*judged().values(), *judged("--evidence", "all").values()]
    assert [error.message for each in verdicts for error in validator.iter_errors(each)] == []


def test_a_wrong_value_has_its_neighbours(judged):
    verdict = judged()["wrong"]
    record = verdict["evidence"]
    assert record["schema"] == RECORD
    assert [trial["passed"] for trial in record["trials"]] == [False]
    trial = record["trials"][0]
    assert trial["path"] == "call" and trial["inputs"] == "given" and trial["error_class"] == verdict["error_class"]
    assert trial["max_abs_error"] == verdict["comparison"]["max_abs_error"] and trial["max_error_over_limit"] > 1
    first = record["first_mismatch"]
    assert (first["index"], first["expected"]) == (verdict["comparison"]["first_mismatch"]["index"],
                                                   verdict["comparison"]["first_mismatch"]["expected"])
    assert len(first["neighbours"]) > 1
    own = [each for each in first["neighbours"] if each["index"] == first["index"]]
    assert own == [{"index": first["index"], "expected": first["expected"], "actual": first["actual"], "wrong": True}]
    assert first["expected_values"]["min"] < first["expected_values"]["max"]


def test_a_right_one_has_all_its_trials(judged):
    verdict = judged("--evidence", "all")["right"]
    record = verdict["evidence"]
    assert len(record["trials"]) == verdict["comparison"]["trials"] and record["trials_left_out"] == 0
    assert all(trial["passed"] and trial["max_error_over_limit"] <= 1 for trial in record["trials"])
    assert record["first_mismatch"] is None
    assert [each["passes"] for each in record["certificate"]["answers"]] == [False] * 4
    assert {each["name"]: each["outcome"] for each in record["decoys"]} == {
        "without_launches": "wrong", "interpreted_without_launches": "wrong", "interpreted_with_spoilt_launches": "wrong"}
    shapes = [tensor["shape"] for tensor in record["inputs"][0]["tensors"]]
    assert len(shapes) == 2 and record["moved_bytes"] > 0
    launch, = record["launches"]
    assert launch["source"] == "claim" and launch["start_ms"] is None and launch["stream"] is None


def test_strict_states_the_references_own_loss(judged):
    record = judged("--evidence", "all", "--tolerance", "strict")["right"]["evidence"]
    assert all(output["reference_loss"] is not None for trial in record["trials"] for output in trial["outputs"])
    assert judged("--evidence", "all")["right"]["evidence"]["trials"][0]["outputs"][0]["reference_loss"] is None


def test_explain_reads_verdicts_with_and_without_it(run, judged, folder):
    judged("--evidence", "all"), judged()
    with_all, without = (run("explain", folder / name) for name in ("--evidence-all.jsonl", "default.jsonl"))
    assert with_all.code == without.code == 0
    assert RECORD not in with_all.stdout and "neighbours" not in with_all.stdout
    old = [{key: value for key, value in verdict.items() if key != "evidence"} for verdict in judged().values()]
    assert run("explain", program.write_rows(folder / "old.jsonl", old)).stdout == without.stdout


def test_a_word_that_is_none_of_its_values_is_refused(run):
    found = run("verify", "x.py", "--evidence", "some")
    assert found.code == 2 and "failed, all" in found.stderr


@pytest.fixture(scope="module")
def played(tmp_path_factory, run):
    """The output of a run that keeps all records."""
    output = tmp_path_factory.mktemp("evidence-run") / "traces.json"
    words = ("--multi-turn", "--max-turns", "4", "--require-speed", "always", "--evidence", "all")
    found = run(*loop.command(loop.FOUR_TURNS / "cpu.json", output, *words)[1:])
    assert found.code == 0, found.stderr
    return output


def test_traces_and_the_database_keep_it(played):
    [trace] = loop.read(played)
    kept = [(turn["result"]["evidence"] or {}).get("schema") for turn in trace["turns"]]
    assert kept == [RECORD] * 4
    found = loop.Store(played)._asked("select count(*) from turns where instr(verdict, 'kernelwright.evidence/1') > 0")
    assert found == [(4,)]


def test_feedback_and_training_rows_leave_it_out(run, played, tmp_path):
    [trace] = loop.read(played)
    assert not any("neighbours" in (turn["feedback_given"] or "") for turn in trace["turns"])
    for kind in ("messages", "prompt-completion", "preference"):
        rows = tmp_path / f"{kind}.jsonl"
        found = run("export", played, "--format", kind, "--output", rows)
        assert found.code == 0, found.stderr
        assert rows.stat().st_size and RECORD not in rows.read_text(encoding="utf-8")
