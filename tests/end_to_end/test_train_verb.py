"""`kernelwright train` against a stand-in for the Python that trains: events, signals, exit codes, folders."""
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from . import program

HEAD = f"""#!{sys.executable} -I
import json, os, signal, sys, time
words = sys.argv[1:]
assert words[:3] == ["-P", "-m", "kernelwright._train"], words
assert words[-2:] == ["--events", "3"], words
def tell(event, **fields):
    os.write(3, (json.dumps({{"event": event, **fields}}) + "\\n").encode())
def job():
    return json.load(open(words[3]))
def step(number, of, **more):
    tell("step", step=number, of=of, loss=2.5, learning_rate=1e-4, gradient_norm=1.0, tokens_per_s=1988.4,
         memory_bytes=None, remaining_s=9.0, epoch=0.5, **more)
def checkpoint(number):
    folder = os.path.join(job()["output"], f"checkpoint-{{number}}")
    os.makedirs(folder, exist_ok=True)
    tell("checkpoint", path=folder, step=number)
def done(steps=3):
    open(os.path.join(job()["output"], "adapter_model.safetensors"), "w").close()
    tell("done", steps=steps, loss=0.25, seconds=1.5, path=job()["output"])
"""
DATA = """tell("data", rows=10, used=8, dropped={"empty completion": 2}, cut={"completion": 1}, tokens=1234567,
     learnt_tokens=1000, tokens_cut=31, tokens_dropped=0, sequences=4, steps=3, share_filled=0.98)
tell("estimate", parts={"weights_bytes": 5 << 30, "adapter_bytes": 1 << 20}, total_bytes=6 << 30,
     limit_bytes=24 << 30, fits=True)
"""
COUNTED = 'tell("done", steps=3, loss=None, seconds=1.0, path="")\n'


@pytest.fixture
def world(run, tmp_path):
    return World(run, tmp_path)


class World:
    """A folder with rows, a model's folder, and a Python stand-in that the test controls."""

    def __init__(self, run, folder):
        self.run, self.folder, self.output = run, folder, folder / "out"
        self.rows = folder / "rows.jsonl"
        self.rows.write_text('{"prompt": "a", "completion": "b"}\n', encoding="utf-8")
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text("{}", encoding="utf-8")

    def python(self, body):
        path = self.folder / "python"
        path.write_text(HEAD + body, encoding="utf-8")
        path.chmod(0o755)
        return path

    def words(self, body, *more):
        return ["train", "--model", self.folder / "model", "--data", self.rows, "--output", self.output, "--python",
                self.python(body), *more]

    def train(self, body, *more, limit=60):
        return self.run(*self.words(body, *more), limit=limit)

    def log(self):
        return [json.loads(line) for line in (self.output / "log.jsonl").read_text(encoding="utf-8").splitlines()]


# ---- a successful training ------------------------------------------------------------------------------


def test_events_are_kept_and_the_summary_says_what_came(world):
    code, stdout, stderr = world.train(DATA + "step(1, 3)\nstep(3, 3)\ndone()")
    assert code == 0, stderr
    assert [each["event"] for each in world.log()] == ["data", "estimate", "step", "step", "done"]
    assert all(each["time"].endswith("Z") for each in world.log())
    assert "0.2500" in stdout and str(world.output) in stdout
    assert "10, of which 8 are used" in stderr and "2 empty completion" in stderr and "1,234,567" in stderr
    assert "31 were cut" in stderr
    assert "6.0 GiB of 24.0 GiB: fits" in stderr and "1,988 tokens/s" in stderr


def test_the_job_says_all(world):
    words = ("--set", "epochs=2", "rank=8", "--device", "cpu", "--memory", "24G", "--max-steps", 7, "--push-to-hub", "me/it")
    assert world.train("done()", *words).code == 0
    job = json.loads((world.output / "train.job.json").read_text(encoding="utf-8"))
    assert job["schema"] == "kernelwright.train-job/1" and job["engine"] == "trl" and job["device"] == "cpu"
    assert job["memory_bytes"] == 24 << 30 and job["max_steps"] == 7 and job["push_to_hub"] == "me/it"
    assert job["data"] == [str(world.rows)] and job["model"] == str(world.folder / "model")
    assert job["recipe"]["training"]["epochs"] == 2 and job["recipe"]["lora"]["rank"] == 8
    assert "epochs = 2" in (world.output / "recipe.toml").read_text(encoding="utf-8")


def test_held_out_losses_and_warnings_stand_in_progress_log_and_summary(world):
    (world.folder / "rows.jsonl").rename(world.folder / "x_sft.csv")
    world.rows = world.folder / "x_sft.csv"
    held = world.folder / "x_sft_validation.csv"
    held.write_text("prompt,completion\nc,d\n", encoding="utf-8")
    body = DATA + """assert job()["validation"] == [VALIDATION], job()
tell("validation_data", files=job()["validation"], rows=6, used=4, dropped={"in the training rows too": 2})
tell("warning", what="40 of 100 rows are dropped for their length", remedy="--set max_length=4096")
tell("validation", step=0, loss=2.5, best_step=None)
step(3, 9)
tell("validation", step=3, loss=1.25, best_step=3)
tell("done", steps=5, loss=0.25, seconds=1.5, path=job()["output"], validation_loss=1.25, best_step=3, ended_early=True)
""".replace("VALIDATION", repr(str(held)))
    code, stdout, stderr = world.train(body, "--validation", "split")
    assert code == 0, stderr
    assert "held-out loss 2.5000 at step 0, the base model" in stderr and "1.2500 at step 3, the best" in stderr
    assert "6 rows, of which 4 are used" in stderr and "2 in the training rows too" in stderr
    for words in (stdout, stderr):
        assert "warning: 40 of 100 rows are dropped for their length\n  -> --set max_length=4096" in words
    assert "held out 1.2500, at step 3" in stdout and "5, ended early" in stdout
    assert [each["loss"] for each in world.log() if each["event"] == "validation"] == [2.5, 1.25]
    held.unlink()
    code, _, stderr = world.train(body, "--validation", "split", "--fresh")
    assert code == 1 and "no validation file beside --data" in stderr


def test_json_is_every_event(world):
    code, stdout, _ = world.train(DATA + "done()", "--json")
    assert code == 0 and [json.loads(line)["event"] for line in stdout.splitlines()] == ["data", "estimate", "done"]


def test_quiet_says_nothing(world):
    assert world.train(DATA + "done()", "--quiet") == (0, "", "")


def test_a_dry_run_leaves_nothing_behind(world, scratch):
    before = set(os.listdir(scratch))
    code, stdout, _ = world.train(DATA + "assert job()['dry_run'] and not job()['resume']\n" + COUNTED, "--dry-run")
    assert code == 0 and "steps      3" in stdout and "fits" in stdout
    assert not world.output.exists() and set(os.listdir(scratch)) == before


def test_what_does_not_fit_is_exit_code_1(world):
    code, stdout, stderr = world.train(DATA.replace("fits=True", "fits=False") + COUNTED, "--dry-run")
    assert code == 1 and "does not fit" in stdout and "micro_batch" in stderr


def test_a_recipe_written_out_is_a_recipe(world):
    assert world.train("done()", "--set", "lora.rank=8").code == 0
    kept = (world.output / "recipe.toml").read_text(encoding="utf-8")
    assert world.train("done()", "--recipe", world.output / "recipe.toml", "--fresh").code == 0
    assert (world.output / "recipe.toml").read_text(encoding="utf-8") == kept and "rank = 8" in kept


def test_options_come_from_a_file(world):
    file = world.folder / "train.toml"
    file.write_text(f'model = "{world.folder / "model"}"\ndata = ["{world.rows}"]\nset = ["epochs=4"]\n', encoding="utf-8")
    code, _, stderr = world.run("train", "--config", file, "--output", world.output, "--python", world.python("done()"))
    assert code == 0, stderr
    assert "epochs = 4" in (world.output / "recipe.toml").read_text(encoding="utf-8")


# ---- a failing trainer ----------------------------------------------------------------------------------


def test_an_error_is_said_with_its_remedy(world):
    code, _, stderr = world.train('tell("error", what="no GPU here", remedy="--device cpu"); sys.exit(1)')
    assert code == 1 and "error: no GPU here\n  -> --device cpu" in stderr


def test_a_recipe_that_learns_nothing_is_exit_code_2_unless_forced(world):
    body = ('job()["force"] or (tell("error", what="nothing would be learnt", remedy="--force", usage=True), sys.exit(1))\n'
            'done()')
    code, _, stderr = world.train(body)
    assert code == 2 and "error: nothing would be learnt\n  -> --force" in stderr
    assert world.train(body, "--force").code == 0


def test_a_trainer_that_dies_is_an_error_with_its_last_words(world):
    code, _, stderr = world.train("raise ValueError('the disk is made of cheese')")
    assert code == 1 and "exited with status 1" in stderr and "made of cheese" in stderr and "train.stderr.log" in stderr


def test_a_trainer_that_is_killed_is_named_by_signal(world):
    code, _, stderr = world.train("step(1, 3); os.kill(os.getpid(), signal.SIGKILL)")
    assert code == 1 and "signal 9" in stderr and "--resume" in stderr


def test_a_trainer_that_says_nothing_is_an_error(world):
    code, _, stderr = world.train("pass")
    assert code == 1 and "exited before it reported its result" in stderr


def test_rubbish_is_counted_and_not_kept(world):
    code, _, stderr = world.train('os.write(3, b"rubbish\\n{\\n[]\\n\\xff\\xfe\\n"); done()')
    assert code == 0 and "4 output lines" in stderr and len(world.log()) == 1


def test_a_flood_is_borne(world):
    code, _, stderr = world.train("for _ in range(20): os.write(3, b'x' * 1_000_000)\n"
                                  "os.write(3, b'\\n')\nfor n in range(5000): step(n + 1, 5000)\ndone()")
    assert code == 0 and len(world.log()) == 5001
    assert len(stderr) < 20_000


def test_control_characters_do_not_reach_the_terminal(world):
    _, _, stderr = world.train('tell("notice", what="a\\x1b[2Jb"); done()')
    assert "\x1b" not in stderr


# ---- signals -------------------------------------------------------------------------------------------


KEEPS = """
stopped = []
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda number, frame: stopped.append(number))
for number in range(1, 10_000):
    step(number, 10_000)
    time.sleep(0.02)
    if stopped:
        checkpoint(number)
        sys.exit(128 + stopped[0])
"""
DEAF = """
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, signal.SIG_IGN)
step(1, 2)
time.sleep(300)
"""


def started(world, body, scratch):
    process = program.start([program.binary(), *map(str, world.words(body))], scratch, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not ((world.output / "log.jsonl").exists() and world.log()):
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_is_exit_code_130(world, scratch, number):
    process = started(world, KEEPS, scratch)
    process.send_signal(number)
    code, _, stderr = program.finish(process, 30)
    assert code == 130 and "interrupted" in stderr and "--resume" in stderr, stderr
    assert world.log()[-1]["event"] == "checkpoint"
    assert list(world.output.glob("checkpoint-*"))


def test_a_second_signal_ends_it(world, scratch, traces_left):
    process = started(world, DEAF, scratch)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert program.finish(process, 10).code == 130
    assert traces_left.processes() == []


def test_a_folder_in_use_is_not_entered(world, scratch):
    process = started(world, KEEPS, scratch)
    for more in ((), ("--resume",), ("--fresh",)):
        code, _, stderr = world.train(KEEPS, *more)
        assert code == 1 and "another training uses" in stderr
    process.send_signal(signal.SIGINT)
    assert program.finish(process, 30).code == 130


# ---- existing folders ----------------------------------------------------------------------------------


def test_a_trained_folder_is_not_overwritten(world):
    assert world.train("done()").code == 0
    code, _, stderr = world.train("done()")
    assert code == 1 and "--resume" in stderr and "--fresh" in stderr
    assert world.train("done()", "--fresh").code == 0
    assert (world.folder / "out.1" / "adapter_model.safetensors").exists()


def test_resume_goes_on_and_refuses_another_recipe(world):
    assert world.train("checkpoint(2); sys.exit(143)").code == 130
    code, _, stderr = world.train("done()", "--resume", "--set", "epochs=3")
    assert code == 1 and "training.epochs: 1 -> 3" in stderr
    assert world.train("assert job()['resume']; done()", "--resume").code == 0
    assert [each["event"] for each in world.log()] == ["checkpoint", "done"]


def test_resume_refuses_other_rows(world):
    assert world.train("checkpoint(2); sys.exit(143)").code == 130
    world.rows.write_text('{"prompt": "c", "completion": "d"}\n', encoding="utf-8")
    code, _, stderr = world.train("done()", "--resume")
    assert code == 1 and "rows.jsonl have changed" in stderr


# ---- arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words, said", [
    ((), "--model is missing"),
    (("--model", "m", "--data", "d", "--output", "o", "--engine", "native"), "trl"),
    (("--model", "m", "--data", "d", "--output", "o", "--memory", "much"), "--memory"),
    (("--model", "m", "--data", "d", "--output", "o", "--push-to-hub", "me"), "owner/name"),
    (("--model", "m", "--data", "d", "--output", "o", "--dry-run", "--fresh"), "--dry-run"),
    (("--model", "m", "--data", "d", "--output", "o", "--resume", "--fresh"), "--fresh"),
])
def test_wrong_words_are_exit_code_2(run, words, said):
    code, _, stderr = run("train", *words, limit=10)
    assert code == 2 and said in stderr, stderr


@pytest.mark.parametrize("more, said", [
    (("--recipe", "fsat"), "do you mean fast?"),
    (("--set", "learning_rat=1"), "do you mean learning_rate?"),
    (("--set", "rank=0"), "a whole number from 1 to 1024"),
    (("--data", "no-such.jsonl"), "cannot read no-such.jsonl"),
    (("--model", "./no-such"), "the folder does not exist"),
    (("--python", "/no/such/python"), "no such program"),
])
def test_what_cannot_be_is_said_before_anything_starts(world, more, said):
    words = world.words("done()")
    if more[0] in words:
        words[words.index(more[0]) + 1] = more[1]
    else:
        words += more
    code, _, stderr = world.run(*words, limit=10)
    assert code == 1 and said in stderr, stderr
    assert not world.output.exists()


# ---- merge ---------------------------------------------------------------------------------------------


def test_merge_calls_the_trainer(world):
    world.output.mkdir()
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (world.output / name).write_text("{}", encoding="utf-8")
    body = 'assert words[3] == "merge", words; tell("saved", path=words[-4]); tell("done", steps=0, path=words[-4])'
    merged = world.folder / "merged"
    words = ["train", "merge", world.output, "--model", world.folder / "model", "--output", merged]
    code, stdout, stderr = world.run(*words, "--python", world.python(body), "--device", "cpu")
    assert code == 0 and str(merged) in stdout, stderr
    code, _, stderr = world.run(*words, "--python", world.python("sys.exit('wrong shapes')"))
    assert code == 1 and "wrong shapes" in stderr
    merged.mkdir()
    (merged / "file").touch()
    assert world.run(*words, "--python", world.python(body)).code == 1


def test_merge_needs_an_adapter(world):
    code, _, stderr = world.run("train", "merge", world.folder, "--model", world.folder / "model", "--output",
                                world.folder / "merged", "--python", world.python("pass"))
    assert code == 1 and "adapter_config.json" in stderr


# ---- packages ------------------------------------------------------------------------------------------


def test_packages_are_installed_with_pip(world):
    python = world.folder / "python"
    python.write_text('#!/bin/sh\necho "$@" >> "$0.calls"\n', encoding="utf-8")
    python.chmod(0o755)
    code, _, stderr = world.run("train", "--install-packages", "--python", python)
    calls = (world.folder / "python.calls").read_text(encoding="utf-8")
    assert code == 0 and "-m pip install" in calls and "requirements-train.txt" in calls, stderr
    python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    code, _, stderr = world.run("train", "--install-packages", "--python", python)
    assert code == 1 and "pip could not install" in stderr
