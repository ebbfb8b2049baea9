"""`dataset discover`: the list of sources, its filter, its JSON lines and the commands of one source."""
import json
import shlex


def test_the_whole_list_is_a_table(run):
    code, stdout, stderr = run("dataset", "discover")
    assert code == 0
    lines = stdout.splitlines()
    assert lines[0].split() == ["name", "kind", "pin", "licence", "triton", "cuda", "pytorch", "what"]
    assert [line.split()[0] for line in lines[1:]] == sorted(line.split()[0] for line in lines[1:])
    assert "discover NAME" in stderr


def test_a_word_filters_without_regard_to_case(run):
    found = {word: run("dataset", "discover", word)[1] for word in ("CUDA", "cuda")}
    assert found["CUDA"] == found["cuda"]
    assert "flash-attn" in found["cuda"]
    assert "sageattention" not in found["cuda"]


def test_json_lines_have_every_field(run):
    code, stdout, stderr = run("dataset", "discover", "--json")
    assert (code, stderr) == (0, "")
    rows = [json.loads(line) for line in stdout.splitlines()]
    assert {row["kind"] for row in rows} == {"pypi", "git"}
    for row in rows:
        assert row["languages"] == [name for name in ("triton", "cuda", "pytorch") if row["kernels"][name]]
        assert row["pin"] in row["build"]
        assert all(row["pin"] in command or row["url"] in command for command in row["fetch"])


def test_one_source_prints_its_commands(run):
    code, stdout, stderr = run("dataset", "discover", "liger-kernel")
    assert (code, stderr) == (0, "")
    row = json.loads(run("dataset", "discover", "liger-kernel", "--json")[1])
    for command in [*row["fetch"], row["build"]]:
        assert f"  {command}\n" in stdout


def test_every_build_command_is_understood(run):
    """The words of each command pass the parser: --help behind them prints the help."""
    for line in run("dataset", "discover", "--json")[1].splitlines():
        words = shlex.split(json.loads(line)["build"])
        assert words[0] == "kernelwright"
        assert run(*words[1:], "--help")[0] == 0


def test_no_match_says_what_to_do(run):
    code, stdout, stderr = run("dataset", "discover", "no-such-word")
    assert (code, stdout) == (1, "")
    assert 'no source of the list matches "no-such-word"' in stderr
    assert "--git URL" in stderr
