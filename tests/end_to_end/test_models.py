"""Verbs and options that judge nothing: model servers, launch lines, configuration."""
import subprocess

import pytest

from . import program

SCRIPTS = {"glm-4.5-air": "run_glm45_air.sh", "gpt-oss-120b": "run_gpt_oss.sh", "qwen3-235b": "serve_qwen3_235b.sh"}


def test_list_names_every_server(run):
    code, stdout, _ = run("models", "list", limit=10)
    assert code == 0
    for name, script in SCRIPTS.items():
        assert name in stdout and script in stdout


def test_list_states_parameters_and_architecture(run):
    lines = {line.split()[0]: line.split() for line in run("models", "list", limit=10)[1].splitlines() if line[0] != " "}
    assert lines["glm-4.5-air"][1:6] == ["MoE", "106", "B", "12", "B"]
    assert lines["gpt-oss-120b"][1:6] == ["MoE", "117", "B", "5.1", "B"]
    assert lines["qwen3-235b"][1:6] == ["MoE", "235", "B", "22", "B"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_show_gives_the_line(run, name):
    code, stdout, _ = run("models", "show", name, limit=10)
    assert code == 0 and "vllm serve " in stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_is_the_one_of_the_tree(run, name, tmp_path):
    file = tmp_path / "serve.sh"
    code, stdout, stderr = run("models", "script", name, "--output", str(file), limit=10)
    assert (code, stdout) == (0, ""), stderr
    assert file.stat().st_mode & 0o111
    assert run("models", "script", name, limit=10)[1] == file.read_text(encoding="utf-8")
    in_tree = program.ROOT / "scripts" / SCRIPTS[name]
    if in_tree.exists():  # absent where tests are unpacked on another machine
        assert file.read_text(encoding="utf-8") == in_tree.read_text(encoding="utf-8")


def test_a_dash_is_standard_output(scratch, tmp_path):
    process = program.start([program.binary(), "models", "script", "gpt-oss-120b", "--output", "-"], scratch, cwd=tmp_path,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, stdout, stderr = program.finish(process, 10)
    assert code == 0 and stdout.startswith("#!"), stderr
    assert list(tmp_path.iterdir()) == []


def test_a_script_replaces_only_a_script(run, tmp_path):
    notes, script = tmp_path / "notes.sh", tmp_path / "serve.sh"
    notes.write_text("#!/bin/sh\necho mine\n", encoding="utf-8")
    code, _, stderr = run("models", "script", "gpt-oss-120b", "--output", notes, limit=10)
    assert code == 1 and "notes.sh exists and is not a script of `models script`" in stderr
    assert notes.read_text(encoding="utf-8") == "#!/bin/sh\necho mine\n"
    for name in SCRIPTS:
        assert run("models", "script", name, "--output", script, limit=10).code == 0


@pytest.mark.parametrize("verb", ["show", "script"])
def test_an_unknown_server_is_a_usage_error(run, verb):
    code, _, stderr = run("models", verb, "nope", limit=10)
    assert code == 2 and "glm-4.5-air" in stderr


def test_doctor_reads_a_launch_line(run):
    code, stdout, _ = run("doctor", "--launch", "vllm serve zai-org/GLM-4.5-Air --enable-reasoning", limit=10)
    assert code == 1 and "--enable-reasoning" in stdout and "--reasoning-parser glm45" in stdout


def test_doctor_says_that_nobody_is_there(run):
    code, stdout, _ = run("doctor", "--vllm-url", "http://127.0.0.1:9/v1", limit=60)
    assert code == 1 and "cannot reach" in stdout


def test_a_misspelt_key_is_an_error(run, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text("[timing]\ntiming-trails = 3\n", encoding="utf-8")
    code, _, stderr = run("verify", "--config", str(file), "x", limit=10)
    assert code == 2 and "c.toml:2: timing-trails" in stderr and "timing-trials" in stderr
