"""`kernelwright report`: pages of runs, traces, verdicts and data sets, also of broken and hostile ones."""
import base64
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess

import pytest

from . import loop, program, report_file

SAMPLE = program.ROOT / "examples" / "sample"
VERDICTS = program.ROOT / "examples" / "recorded_gpu" / "verdicts.jsonl"
DATASET = program.ROOT / "examples" / "dataset"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u2028{{constructor}}"


def report(*words, **options):
    """Runs the verb; its exit status and outputs."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600"}
    done = subprocess.run([program.binary(), "report", *map(str, words)], capture_output=True, text=True, timeout=120,
                          env=environment, errors="replace", **options)
    assert done.returncode >= 0, f"ended by signal {-done.returncode}: {done.stderr}"
    return done


def page(folder, *words, code=0):
    """The report of these words, read back."""
    output = folder / "report.html"
    done = report(*words, "--output", output)
    assert done.returncode == code, done.stderr
    return report_file.Report(output)


@pytest.fixture(scope="module")
def run(tmp_path_factory, scratch):
    """A run of the conversation of four turns with a scripted model."""
    folder = tmp_path_factory.mktemp("report")
    command = loop.command(loop.FOUR_TURNS / "cpu.json", folder / "traces.json", "--multi-turn", "--max-turns", "4",
                           "--require-speed", "always", "--device", "cpu")
    process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, _, stderr = program.finish(process)
    assert code == 0, stderr
    return folder / "traces.run"


def test_a_run_becomes_a_page(run, tmp_path):
    made = page(tmp_path, run)
    assert made.index["schema"] == "kernelwright.report/1" and made.index["made_at"] == "2026-01-01T00:00:00Z"
    [source] = made.index["sources"]
    assert (source["kind"], source["state"], source["messages"]) == ("run", "finished", [])
    assert made.column("standing") == ["right"] and made.column("turns") == [4]
    assert made.column("status", "turns") == ["incorrect", "failed", "correct", "correct"]
    [detail] = made.details()
    [trace] = loop.read(run.with_suffix(".json"))
    assert detail["trace"]["turns"] == trace["turns"]
    assert [each["role"] for each in detail["trace"]["prompt"]] == ["system", "user"]
    wrong = detail["explained"][1]
    assert wrong["place"]["line"] and wrong["sentence"] and wrong["help"]


def test_a_run_and_its_export_give_the_same_rows(run, tmp_path):
    columns = ("key", "task_id", "status", "standing", "turns", "prompt_tokens", "stop_reason")
    first = page(tmp_path, run)
    second = page(tmp_path, run.with_suffix(".json"))
    assert [first.column(name) for name in columns] == [second.column(name) for name in columns]


def test_a_killed_run_is_interrupted(run, tmp_path):
    killed = tmp_path / "killed.run"
    loop.Store(run.with_suffix(".json")).copied(killed)
    subprocess.run(["sqlite3", killed / "run.db", "UPDATE traces SET ended_at = NULL"], check=False)
    made = page(tmp_path, killed)
    assert made.count == 1
    assert made.index["sources"][0]["state"] in ("interrupted", "finished")


def test_equal_inputs_give_equal_bytes(run, tmp_path):
    pages = [page(tmp_path, run, SAMPLE / "multi_turn.json").text for _ in range(2)]
    assert pages[0] == pages[1]


def test_the_policy_allows_the_embedded_script_and_style_alone(tmp_path):
    made = page(tmp_path, VERDICTS)
    policy = made.policy()
    assert policy["default-src"] == ["'none'"] and policy["base-uri"] == ["'none'"]
    assert policy["form-action"] == ["'none'"]

    def source(element):
        digest = hashlib.sha256(element["text"].encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"
    [script] = [each for each in made.elements.scripts if "type" not in each["attributes"]]
    assert policy["script-src"] == [source(script)]
    assert policy["style-src"] == [source(each) for each in made.elements.styles]
    # Nothing is loaded.
    assert not re.search(r"<(link|img|iframe|object|script[^>]* src)", made.text.replace(script["text"], ""))


def test_large_details_are_a_second_file(run, tmp_path):
    made = page(tmp_path, run, SAMPLE / "single_turn.json", "--split-bytes", "1K")
    assert made.index["data_file"]["name"] == "report.kwdata"
    assert len(made.details()) == made.count > 30
    whole = page(tmp_path, run, SAMPLE / "single_turn.json")
    assert whole.details() == made.details() if (tmp_path / "report.kwdata").exists() else whole.count == made.count


def test_mixed_sources_have_keys_of_their_own(run, tmp_path):
    made = page(tmp_path, run, run, VERDICTS, DATASET, SAMPLE / "multi_turn.json")
    assert [each["kind"] for each in made.index["sources"]] == ["run", "run", "verdicts", "dataset", "traces"]
    keys = made.column("key")
    assert len(set(keys)) == len(keys)
    assert set(made.column("kind")) == {"trace", "verdict", "dataset"}
    assert {each["kind"] for each in made.details()} == {"trace", "verdict", "dataset"}


def test_verdicts_get_the_sources_that_were_judged(tmp_path):
    rows = [{"id": "a", "reference_code": "r = 1", "kernel_code": "k = 1"}]
    batch = program.write_rows(tmp_path / "batch.jsonl", rows)
    verdict = {**json.loads(VERDICTS.read_text(encoding="utf-8").splitlines()[0]), "id": "a",
               "candidate_sha256": hashlib.sha256(b"k = 1").hexdigest()}
    verdicts = program.write_rows(tmp_path / "verdicts.jsonl", [verdict])
    [detail] = page(tmp_path, verdicts, "--input", batch).details()
    assert (detail["reference_code"], detail["kernel_code"]) == ("r = 1", "k = 1")
    [detail] = page(tmp_path, verdicts).details()
    assert detail["kernel_code"] is None


def test_redacted_pages_have_no_prompts_paths_hosts_and_keys(run, tmp_path):
    [trace] = loop.read(run.with_suffix(".json"))
    trace["turns"][0]["result"].update(error="cannot open /home/ann/secret/x.py",
                                       error_detail={"file": None, "line": None, "compiler_text": None,
                                                     "traceback": 'File "/home/ann/secret/x.py", line 3'})
    trace["turns"][0]["full_completion"] += "\nhttp://gpu7.lab.example/v1 sk-abcdefghijklmnopqrstuvwxyz"
    file = tmp_path / "traces.json"
    file.write_text(json.dumps([trace]), encoding="utf-8")
    made = page(tmp_path, file, "--redact")
    everything = json.dumps([made.index["sources"], made.index["rows"], *made.details()])
    for hidden in ("/home/ann", "gpu7", "sk-abc", trace["full_messages"][0]["content"][:60]):
        assert hidden not in everything
    assert made.index["contents"]["redacted"]
    left_out = {each["what"]: each["count"] for each in made.index["contents"]["left_out"]}
    assert left_out["prompts"] == 1 and left_out["paths"] >= 2 and left_out["hosts"] == 1 and left_out["keys"] == 1
    plain = page(tmp_path, file)
    assert {"paths", "hosts", "keys"} <= {each["what"] for each in plain.index["contents"]["holds"]}


def test_rows_under_restrictive_licences_are_left_out(tmp_path):
    traces = json.loads((SAMPLE / "single_turn.json").read_text(encoding="utf-8"))[:3]
    for trace, licence in zip(traces, ("GPL-3.0-only", "MIT", None)):
        trace["licence"] = licence
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(traces), encoding="utf-8")
    made = page(tmp_path, file)
    assert made.column("licence") == ["MIT", None]
    assert made.index["contents"]["left_out"] == [{"what": "rows", "count": 1, "why": "licence GPL-3.0-only"}]
    assert page(tmp_path, file, "--include-restricted").count == 3


def test_hostile_texts_stay_data(tmp_path):
    [trace] = json.loads((loop.FOUR_TURNS / "cpu.json").read_text(encoding="utf-8"))

    def poisoned(value):
        if isinstance(value, dict):
            return {name: poisoned(each) for name, each in value.items()}
        if isinstance(value, list):
            return [poisoned(each) for each in value]
        return value + HOSTILE if isinstance(value, str) else value
    folder = tmp_path / "<b>"
    folder.mkdir()
    file = folder / "<img src=x onerror=alert(1)>.json"
    file.write_text(json.dumps([poisoned(trace)]), encoding="utf-8")
    made = page(tmp_path, file)
    assert "onerror" not in made.text.replace("&lt;img src=x onerror=alert(1)&gt;.json</title>", "")
    assert made.details()[0]["trace"]["turns"][0]["full_completion"].endswith(HOSTILE)


@pytest.mark.parametrize("cut", [0, 1, 100, 5000])
def test_truncated_files_are_named(cut, tmp_path):
    text = (SAMPLE / "multi_turn.json").read_bytes()
    file = tmp_path / "cut.json"
    file.write_bytes(text[:cut])
    done = report(file, SAMPLE / "multi_turn.json", "--output", tmp_path / "report.html")
    assert done.returncode == 1 and "cut.json" in done.stderr
    made = report_file.Report(tmp_path / "report.html")
    assert made.index["sources"][0]["state"] == "damaged" and made.index["sources"][0]["messages"]
    assert made.count >= 3


def test_ugly_files_never_end_the_program(tmp_path):
    ugly = {"nan.jsonl": b'{"status": "correct", "stage": "done", "speedup": NaN}\n',
            "bytes.json": bytes(range(256)), "deep.json": b"[" * 100_000, "deep_object.json": b'{"a":' * 100_000,
            "numbers.json": b"[1, 2, 3]", "null.json": b"null", "bom.json": b"\xef\xbb\xbf[]",
            "verdict.jsonl": b'{"schema": "kernelwright.verdict/1", "status": 3}\n',
            "trace.json": b'[{"pytorch_code": "x", "turns": [{"turn": -1, "result": {"schema": 1}}]}]',
            "score.json": b'{"schema": "kernelwright.score/1", "outputs": 3}',
            "rows.csv": b'prompt,completion\n"unclosed,b\n', "rows.jsonl": b'{"prompt": "p", "completion": 3}\n'}
    for name, content in ugly.items():
        (tmp_path / name).write_bytes(content)
        done = report(tmp_path / name, "--output", tmp_path / f"{name}.html")
        assert done.returncode in (0, 1), name
        assert done.returncode == 0 or "error:" in done.stderr, name


def test_huge_code_has_a_chunk_of_its_own(tmp_path):
    [trace] = json.loads((loop.FOUR_TURNS / "cpu.json").read_text(encoding="utf-8"))
    trace["turns"][0]["triton_code"] = "x = 1\n" * 2_000_000
    file = tmp_path / "traces.json"
    file.write_text(json.dumps([trace]), encoding="utf-8")
    [detail] = page(tmp_path, file).details()
    assert len(detail["trace"]["turns"][0]["triton_code"]) == 12_000_000


def test_nothing_to_report_is_an_error(tmp_path):
    done = report(tmp_path / "none", "--output", tmp_path / "report.html")
    assert done.returncode == 1 and done.stderr.startswith(f"error: {tmp_path / 'none'} does not exist")
    assert not (tmp_path / "report.html").exists()


def test_other_files_are_not_replaced(tmp_path):
    output = tmp_path / "report.html"
    output.write_text("<html>mine</html>", encoding="utf-8")
    done = report(VERDICTS, "--output", output)
    assert done.returncode == 1 and "is not a report" in done.stderr
    assert output.read_text(encoding="utf-8") == "<html>mine</html>"
    output.unlink()
    (tmp_path / "report.kwdata").write_text("mine", encoding="utf-8")
    assert report(VERDICTS, "--output", output).returncode == 1


def test_a_failed_write_leaves_the_earlier_page(run, tmp_path):
    before = page(tmp_path, VERDICTS).text

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    done = subprocess.run([program.binary(), "report", str(run), "--output", str(tmp_path / "report.html")],
                          capture_output=True, text=True, preexec_fn=limited, timeout=120)
    assert done.returncode != 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == before
    shutil.rmtree(tmp_path / "none", ignore_errors=True)


def test_wrong_words_are_usage_errors(tmp_path):
    for words in ((), (VERDICTS, "--output", tmp_path / "x.pdf"), (VERDICTS, "--redacted")):
        assert report(*words).returncode == 2
    assert "--redact" in report(VERDICTS, "--redacted").stderr


def test_standard_input_is_a_source(tmp_path):
    with VERDICTS.open("rb") as verdicts:
        done = report("-", "--output", tmp_path / "report.html", stdin=verdicts)
    assert done.returncode == 0, done.stderr
    made = report_file.Report(tmp_path / "report.html")
    assert made.index["sources"][0]["name"] == "standard input" and made.count == 8
