"""`kernelwright score`: the scores of right, wrong, disguised and cheating answers, and the refused inputs."""
import csv
import json
import os
import signal
import subprocess

import jsonschema
import pytest

from . import killing, loop, program

SAMPLE = program.ROOT / "examples/sample/single_turn.json"
# A row of the sample → its score.
SCORED = {
    "sample_rowsum": ("right", None),
    "sample_rowsum~4": ("wrong", "wrong_shape"),
    "sample_half_scale": ("right", None),
    "sample_half_scale~2": ("wrong", "wrong_value"),
    "sample_hash_mix~2": ("wrong", "forbidden"),
    "sample_linear_relu~3": ("wrong", "library_only"),
    "sample_linear_relu~4": ("wrong", "decoy"),
}


def sample(*ids):
    """Traces of the sample by their row ids."""
    seen, found = {}, {}
    for trace in json.loads(SAMPLE.read_text(encoding="utf-8")):
        key = trace["sample_key"]
        seen[key] = seen.get(key, 0) + 1
        found[key if seen[key] == 1 else f"{key}~{seen[key]}"] = trace
    return [found[each] for each in ids]


def judged(trace, correct, speedup=None):
    """The trace with another evaluator's verdict."""
    return {**trace, "result": {"correctness": correct, "speedup": speedup, "error": None}}


def manifest(path, task_ids=(), row_ids=()):
    rows = [{"id": None, "task_id": each, "licence": None, "sha256": "0" * 64} for each in task_ids]
    rows += [{"id": each, "task_id": None, "licence": None, "sha256": "1" * 64} for each in row_ids]
    path.write_text(json.dumps({"schema": "kernelwright.training/1", "program": "kernelwright", "base_model": "tiny",
                                "created": "", "recipe": {}, "files": [], "rows": rows, "counts": {}}))
    return path


@pytest.fixture(scope="session")
def score(run):
    """Score: the result as JSON, with `code`, `stdout`, `stderr` and the report as `text`."""
    def call(*words, output, **options):
        words = [str(each) for each in words] + ["--output", str(output), "--python", os.sys.executable]
        code, stdout, stderr = run("score", *words, "--device", program.DEVICE, **options)
        result = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
        report = output.with_suffix(".md")
        return {**result, "code": code, "stdout": stdout, "stderr": stderr,
                "text": report.read_text(encoding="utf-8") if report.exists() else ""}
    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("score")


@pytest.fixture(scope="module")
def scored(score, folder):
    answers = loop.write(folder / "answers.json", sample(*SCORED))
    before = loop.write(folder / "before.json", sample("sample_rowsum~4", "sample_half_scale~2", "sample_hash_mix~2"))
    return score(answers, "--baseline", before, "--compile", "3", output=folder / "score.json")


def by_code(result):
    """Row of SCORED → its output, in the order of the file."""
    return dict(zip(SCORED, result["outputs"], strict=True))


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((program.ROOT / "docs/score.schema.json").read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def complaints(validator, result):
    extra = {"code", "stdout", "stderr", "text"}
    kept = {key: value for key, value in result.items() if key not in extra}
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(kept)]


@pytest.mark.parametrize("row", SCORED)
def test_what_an_answer_scores(scored, row):
    assert scored["code"] == 0, scored["stderr"]
    verdict = by_code(scored)[row]["verdict"]
    wanted, why = SCORED[row]
    assert (verdict["standing"], verdict["error_class"] or verdict["counts_reason"]) == (wanted, why), verdict
    assert verdict["by"] == "here"


def test_the_syntax_tree_sees_through_disguises(scored):
    idioms = {row: output["static"] for row, output in by_code(scored).items()}
    assert idioms["sample_rowsum"]["is_good"] and idioms["sample_half_scale"]["is_good"]
    assert not idioms["sample_linear_relu~3"]["is_good"] and idioms["sample_linear_relu~3"]["disguise"]
    assert not idioms["sample_hash_mix~2"]["is_good"] and idioms["sample_hash_mix~2"]["forbidden"] > 0


def test_static_checks_say_their_state_with_reason_and_line(scored):
    idioms = {row: output["static"] for row, output in by_code(scored).items()}
    assert idioms["sample_rowsum"]["state"] == "pass" and not idioms["sample_rowsum"]["reasons"]
    forbidden = idioms["sample_hash_mix~2"]
    assert forbidden["state"] == forbidden["checks"]["allowed"] == "fail"
    reason = next(each for each in forbidden["reasons"] if each["check"] == "allowed")
    assert reason["line"] > 0 and f"allowed, line {reason['line']}: {reason['what']}" in scored["stdout"]
    assert sum(scored["static"]["checks"]["allowed"].values()) == scored["static"]["outputs"]
    assert f"| fail | allowed | {reason['line']} |" in scored["text"]


def test_figures_are_of_tasks_and_not_of_answers(scored):
    verdicts = scored["verdicts"]
    assert (verdicts["tasks"], verdicts["samples"], verdicts["right"]) == (4, 7, 2)
    first = verdicts["pass_at_k"][0]
    assert first["k"] == 1 and first["value"] == pytest.approx((0.5 + 0.5 + 0 + 0) / 4)
    assert first["low"] < first["value"] < first["high"]
    assert verdicts["proves_nothing"] == {"library_only": 1, "decoy": 1}


@pytest.mark.skipif(program.DEVICE != "cpu", reason="speed is measured here")
def test_without_a_gpu_speed_is_bounded_and_not_invented(scored):
    fast_1 = next(each for each in scored["verdicts"]["fast_p"] if each["p"] == 1)
    assert fast_1["share"]["value"] is None
    assert fast_1["at_least"]["value"] == 0 and fast_1["at_most"]["value"] == pytest.approx(0.25)
    assert "not measured" in scored["stdout"] and "no GPU" in scored["text"]


def test_the_report_names_the_turns_of_a_conversation(run, tmp_path):
    traces = killing.quick_traces(tmp_path, 2)
    python = killing.stand_in_python(tmp_path)
    assert run(*loop.command(traces, tmp_path / "x.json", "--device", "cpu", "--python", python, "--multi-turn",
                             "--max-turns", 3, "--no-retry-failed")[1:], limit=60).code == 0
    code, stdout, stderr = run("score", tmp_path / "x.json", "--recorded", "--output", tmp_path / "s.json", limit=60)
    assert code == 0 and "pass@1, best of up to 3 turns" in stdout, stdout + stderr
    assert "| pass@1, best of up to 3 turns | 0.000 |" in (tmp_path / "s.md").read_text(encoding="utf-8")


def test_the_report_says_what_it_is_about(scored):
    for words in ("pass@1", "No training manifest was given", "To repeat this score", "--baseline", "kernelwright ",
                  scored["protocol"]["torch"], scored["protocol"]["protocols"][0], "library_only", "forbidden"):
        assert words in scored["text"], words


def test_before_and_after_are_paired(scored):
    right = next(each for each in scored["paired"]["measures"] if each["name"] == "right")
    assert (right["tasks"], right["gained"], right["lost"]) == (3, 2, 0)
    assert right["only_after"] == 1 and not right["significant"] and right["p_value"] > 0.05


def test_some_kernels_were_compiled(scored):
    labels = [each["compile"] for each in scored["outputs"] if each["compile"]]
    assert len(labels) == 3 and sum(scored["compile"]["labels"].values()) == 3


def test_results_keep_to_the_schema(scored, validator):
    assert complaints(validator, scored) == []
    broken = json.loads(json.dumps({**scored, "verdicts": {}}))
    assert complaints(validator, broken)


def test_an_earlier_result_is_a_baseline(score, scored, folder, tmp_path):
    answers = loop.write(tmp_path / "same.json", [judged(each, True) for each in sample("sample_rowsum")])
    result = score(answers, "--recorded", "--baseline", folder / "score.json", output=tmp_path / "after.json")
    right = next(each for each in result["paired"]["measures"] if each["name"] == "right")
    assert (right["tasks"], right["before"], right["after"]) == (1, 0.5, 1)


def test_recorded_verdicts_are_labelled(score, tmp_path, validator):
    answers = loop.write(tmp_path / "a.json", [judged(each, True, 3.0) for each in sample("sample_linear_relu~3")])
    result = score(answers, "--recorded", output=tmp_path / "score.json")
    assert result["verdicts"]["recorded"] == 1 and result["verdicts"]["counts_unknown"] == 1
    assert "RECORDED" in result["stdout"] and "RECORDED" in result["text"]
    assert complaints(validator, result) == []


def test_rows_that_are_left_out_are_named_and_are_a_failure(score, tmp_path):
    rows = program.write_rows(tmp_path / "rows.jsonl", [{"id": "a", "prompt": "p", "output": "x", "completion": "y"}])
    with rows.open("a", encoding="utf-8") as file:
        file.write("no row\n")
    result = score(rows, output=tmp_path / "score.json")
    assert result["code"] == 1 and f"left out: {rows}, row 2" in result["stderr"]
    assert [each["target"] for each in result["outputs"]] == ["a"]


def test_what_was_trained_on_is_refused(score, tmp_path):
    answers = loop.write(tmp_path / "a.json", [judged(each, True) for each in sample("sample_rowsum", "sample_half_scale")])
    trained = manifest(tmp_path / "training_manifest.json", ["sample/rowsum"])
    result = score(answers, "--recorded", "--adapter", tmp_path, output=tmp_path / "score.json")
    assert result["code"] == 1 and "sample/rowsum" in result["stderr"] and "sample/half_scale" not in result["stderr"]
    assert not (tmp_path / "score.json").exists()
    result = score(answers, "--recorded", "--manifest", trained, "--dry-run", output=tmp_path / "score.json")
    assert result["code"] == 1 and "1 refused" in result["stdout"]


def test_what_is_forced_is_said_at_every_table(score, tmp_path, validator):
    answers = loop.write(tmp_path / "a.json", [judged(each, True) for each in sample("sample_rowsum", "sample_half_scale")])
    trained = manifest(tmp_path / "m.json", ["sample/rowsum"])
    result = score(answers, "--recorded", "--manifest", trained, "--allow-trained", output=tmp_path / "score.json")
    assert result["code"] == 0 and "TRAINED ON: 1 of 2" in result["stdout"]
    headings = [line for line in result["text"].splitlines() if line.startswith("## ")]
    tables = [line for line in headings if "Training" not in line and "Method" not in line]
    assert tables and all("training tasks" in line for line in tables), headings
    assert result["training"]["seen"][0]["item"] == "sample/rowsum" and complaints(validator, result) == []


def test_a_broken_manifest_lets_nothing_pass(score, tmp_path):
    answers = loop.write(tmp_path / "a.json", sample("sample_rowsum"))
    (tmp_path / "m.json").write_text('{"schema": "kernelwright.training/1", "rows": [{"id":')
    result = score(answers, "--manifest", tmp_path / "m.json", "--allow-trained", output=tmp_path / "score.json")
    assert result["code"] == 1 and "m.json" in result["stderr"]


def test_rows_are_compared_with_their_references(score, tmp_path, validator):
    kernel = "@triton.jit\ndef k(x_ptr, n: tl.constexpr):\n    tl.store(x_ptr, tl.load(x_ptr) + n)\n"
    rows = [{"id": "equal", "prompt": "p", "output": kernel + "# a remark\n", "completion": kernel},
            {"id": "renamed", "prompt": "p", "output": kernel.replace("x_ptr", "y_ptr"), "completion": kernel},
            {"id": "other", "prompt": "p", "output": "pass", "completion": kernel},
            {"id": "fenced", "prompt": "p", "output": f"Here:\n```python\n{kernel}```\n", "completion": kernel}]
    result = score(program.write_rows(tmp_path / "rows.jsonl", rows), output=tmp_path / "score.json")
    found = {each["target"]: each["overlap"] for each in result["outputs"]}
    assert found["equal"]["exact_tokens"] and not found["equal"]["exact"]
    assert found["renamed"]["exact_renamed"] and not found["renamed"]["exact_tokens"]
    assert found["other"]["bleu"] < 0.2 and found["fenced"]["exact_tokens"]
    assert result["verdicts"] is None and result["overlap"]["pairs"] == 4 and complaints(validator, result) == []


def test_csv_rows_are_read(score, tmp_path):
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "prompt", "output", "completion"])
        writer.writeheader()
        writer.writerow({"id": "a", "prompt": "p,\nq", "output": "x = 1\n", "completion": "x = 1\n"})
    result = score(path, output=tmp_path / "score.json")
    assert result["code"] == 0, result["stderr"]
    assert [each["target"] for each in result["outputs"]] == ["a"] and result["outputs"][0]["overlap"]["exact"]


def test_rows_that_were_trained_on_are_known_by_their_id(score, tmp_path):
    rows = program.write_rows(tmp_path / "rows.jsonl", [{"id": "r1", "prompt": "p", "output": "x", "completion": "y"}])
    trained = manifest(tmp_path / "m.json", row_ids=["r1"])
    result = score(rows, "--manifest", trained, output=tmp_path / "score.json")
    assert result["code"] == 1 and "by its row_id" in result["stderr"]


def fill(sheet, labels):
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["label"], row["reviewer"] = labels(row["target"]), "r1"
    with sheet.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def test_a_review_goes_out_and_comes_back(score, run, tmp_path, validator):
    traces = [judged(each, "~" not in row) for row, each in zip(SCORED, sample(*SCORED), strict=True)]
    result = score(loop.write(tmp_path / "a.json", traces), "--recorded", "--review", "5", output=tmp_path / "score.json")
    assert result["review"]["drawn"] == 5 and (tmp_path / "score.review.md").exists()
    assert fill(tmp_path / "score.review.csv", lambda target: "good" if "rowsum" in target else "goood") == 5
    code, stdout, stderr = run("score", "--read-review", tmp_path / "score.review.csv", tmp_path / "score.json")
    assert code == 0 and "goood" in stderr, stderr
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/score.json").write_bytes((tmp_path / "score.json").read_bytes())
    (tmp_path / "notes/score.md").write_text("my notes")
    code, _, stderr = run("score", "--read-review", tmp_path / "score.review.csv", tmp_path / "notes/score.json")
    assert code == 1 and "score.md" in stderr and (tmp_path / "notes/score.md").read_text() == "my notes"
    after = json.loads((tmp_path / "score.json").read_text(encoding="utf-8"))
    reader = after["review"]["reviewers"][0]
    assert reader["reviewer"] == "r1" and reader["labels"] == {"good": len(after["review"]["reviews"])}
    assert {each["with"] for each in reader["agreement"]} == {"static checks", "verdicts"}
    assert "Human review" in (tmp_path / "score.md").read_text(encoding="utf-8")
    assert complaints(validator, after) == []


def test_labels_of_people_outlive_a_second_score(score, run, tmp_path):
    traces = [judged(each, True) for each in sample("sample_rowsum", "sample_half_scale~2")]
    words = (loop.write(tmp_path / "a.json", traces), "--recorded", "--review", "2")
    score(*words, output=tmp_path / "score.json")
    fill(tmp_path / "score.review.csv", lambda target: "good")
    sheet = (tmp_path / "score.review.csv").read_bytes()
    assert run("score", "--read-review", tmp_path / "score.review.csv", tmp_path / "score.json")[0] == 0
    again = score(*words, output=tmp_path / "score.json")
    assert again["code"] == 0 and "score.review.1.csv" in again["stderr"] and "score.1.json" in again["stderr"]
    assert (tmp_path / "score.review.1.csv").read_bytes() == sheet
    kept = json.loads((tmp_path / "score.1.json").read_text(encoding="utf-8"))
    assert len(kept["review"]["reviews"]) == 2
    assert run("score", "--read-review", tmp_path / "score.review.1.csv", tmp_path / "score.json")[0] == 0


def test_nothing_is_written_over_what_is_read(run, tmp_path):
    source = tmp_path / "score.json"
    loop.write(source, [judged(each, True) for each in sample("sample_rowsum")])
    before = source.read_bytes()
    (tmp_path / "link.json").symlink_to(source)
    for words in ((source, "--output", source), (source, "--output", tmp_path / "link.json"),
                  (tmp_path / "link.json", "--output", source)):
        code, _, stderr = run("score", *words, "--recorded")
        assert code == 1 and "--output" in stderr, stderr
    other = tmp_path / "other.json"
    other.write_text("{}")
    code, _, stderr = run("score", source, "--recorded", "--output", other)
    assert code == 1 and "not a result of `score`" in stderr and other.read_text() == "{}"
    assert source.read_bytes() == before


def test_a_result_is_no_source(score, run, tmp_path):
    traces = loop.write(tmp_path / "a.json", [judged(each, True) for each in sample("sample_rowsum")])
    assert score(traces, "--recorded", output=tmp_path / "score.json")["code"] == 0
    code, _, stderr = run("score", tmp_path / "score.json", "--output", tmp_path / "next.json")
    assert code == 1 and "--baseline" in stderr, stderr


def test_a_model_is_asked_and_its_answers_scored(score, tmp_path, validator):
    recorded = loop.write(tmp_path / "recorded.json", sample("sample_rowsum", "sample_rowsum~4", "sample_half_scale~2"))
    words = ("--traces", recorded, "--model-replay", recorded, "--samples", "1")
    result = score(*words, output=tmp_path / "score.json")
    assert result["code"] == 0, result["stderr"]
    assert (result["verdicts"]["samples"], result["verdicts"]["right"]) == (3, 1)
    assert result["scored"]["what"] == "answers of a model" and result["scored"]["models"]
    assert complaints(validator, result) == []
    again = score(*words, output=tmp_path / "score.json")
    assert [each["verdict"] for each in again["outputs"]] == [each["verdict"] for each in result["outputs"]]


def test_held_out_rows_are_asked(score, tmp_path, validator):
    rows = [{"id": f"r{number}", "prompt": f"Write {number} down as one line of Python.", "completion": f"x = {number}\n"}
            for number in range(4)]
    recorded = [{"sample_key": f"sample_r{number}", "source": "sample", "name": f"r{number}",
                 "pytorch_code": row["prompt"], "full_completion": f"x = {min(number, 2)}\n"}
                for number, row in enumerate(rows)]
    held_out = program.write_rows(tmp_path / "held_out.jsonl", rows)
    replay = loop.write(tmp_path / "recorded.json", recorded)
    result = score(held_out, "--model-replay", replay, output=tmp_path / "score.json")
    assert result["code"] == 0, result["stderr"]
    assert [each["overlap"]["exact"] for each in sorted(result["outputs"], key=lambda each: each["target"])] == \
        [True, True, True, False]
    assert complaints(validator, result) == []
    trained = manifest(tmp_path / "m.json", row_ids=["r2"])
    refused = score(held_out, "--model-replay", replay, "--manifest", trained, output=tmp_path / "other.json")
    assert refused["code"] == 1 and "r2" in refused["stderr"] and not (tmp_path / "other.outputs.run").exists()


def test_a_killed_score_goes_on(score, scratch, tmp_path):
    answers = loop.write(tmp_path / "a.json", sample(*SCORED))
    output = tmp_path / "score.json"
    verdicts = tmp_path / "score.verdicts.jsonl"
    command = [program.binary(), "score", str(answers), "--output", str(output), "--python", os.sys.executable,
               "--device", program.DEVICE]
    process = program.start(command, scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def lines():
        return verdicts.read_bytes().count(b"\n") if verdicts.exists() else 0

    loop.wait_for(lambda: lines() >= 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = lines()
    assert 2 <= kept < len(SCORED) and not output.exists()
    result = score(answers, output=output)
    assert result["code"] == 0 and result["verdicts"]["samples"] == len(SCORED)
    assert lines() == len(SCORED)


@pytest.mark.parametrize("content, words", [("", "no rows"), ("[]", "no rows"), ('[{"sample_key": "a"', "a.json"),
                                            ('[{"foo": 1}]', "not those of anything known")])
def test_bad_files_are_named(score, tmp_path, content, words):
    (tmp_path / "a.json").write_text(content)
    result = score(tmp_path / "a.json", output=tmp_path / "score.json")
    assert result["code"] == 1 and words in result["stderr"]


@pytest.mark.parametrize("words", [("x.json", "--baseline-model", "m"), ("x.json", "--model", "m"), (),
                                   ("x.json", "--k", "0"), ("x.json", "--turns", "all")])
def test_flags_that_make_no_sense_are_refused(score, tmp_path, words):
    result = score(*words, output=tmp_path / "score.json")
    assert result["code"] == 2 and result["stderr"]


def test_a_result_of_another_program_is_no_result(run, tmp_path):
    (tmp_path / "r.json").write_text('{"schema": "kernelwright.score/99"}')
    (tmp_path / "s.csv").write_text("target,label\n")
    code, _, stderr = run("score", "--read-review", tmp_path / "s.csv", tmp_path / "r.json")
    assert code == 1 and "kernelwright.score/99" in stderr
