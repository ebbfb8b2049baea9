"""`kernelwright recording show`: a recording as text."""
import pytest

from . import program

RECORDING = program.ROOT / "tests" / "fuzz" / "corpus" / "fuzz_recording" / "small.kwr"


def test_a_recording_is_shown(run):
    code, stdout, stderr = run("recording", "show", RECORDING, limit=10)
    assert (code, stderr) == (0, "")
    assert "NVIDIA H200" in stdout and "launch add of cubin 0" in stdout and "replayable: yes" in stdout


def test_the_text_goes_to_a_file(run, tmp_path):
    code, stdout, _ = run("recording", "show", RECORDING, "-o", tmp_path / "text", limit=10)
    assert (code, stdout) == (0, "")
    assert (tmp_path / "text").read_text() == run("recording", "show", RECORDING, limit=10).stdout


@pytest.mark.parametrize("content", [b"", b"Once upon a time.", b"\x7fELF" + bytes(200)])
def test_another_file_is_refused_with_words(run, tmp_path, content):
    file = tmp_path / "file"
    file.write_bytes(content)
    code, stdout, stderr = run("recording", "show", file, limit=10)
    assert (code, stdout) == (1, "")
    assert stderr == f"error: {file}: this is no recording\n"


def test_a_recording_whose_cubin_was_changed_is_refused(run, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(RECORDING.read_bytes().replace(b".text.add", b".text.sub"))
    code, stdout, stderr = run("recording", "show", file, limit=10)
    assert (code, stdout) == (1, "")
    assert "cubin 0: the image is not what its hash says" in stderr


def test_a_file_that_is_not_there_is_an_error(run, tmp_path):
    code, _, stderr = run("recording", "show", tmp_path / "none", limit=10)
    assert code == 1 and "none" in stderr


@pytest.mark.parametrize("words", [["recording"], ["recording", "show"], ["recording", "play", "x"]])
def test_bad_usage_is_said(run, words):
    assert run(*words, limit=10)[0] == 2
