"""scripts/ci_judge.py, which action.yml calls: in a repository of git, with hostile names and links."""
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from . import program, victims

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu" or not shutil.which("git"), reason="the CPU path, and git")

SCRIPT = program.ROOT / "scripts/ci_judge.py"
REFERENCE, HONEST = victims.code_of("reference"), victims.code_of("honest")
WRONG = HONEST.replace("x + y,", "x - y,")
NOTHING = "No kernel is touched: there is nothing to judge."


@pytest.fixture
def checkout(tmp_path, scratch, monkeypatch):
    """A repository with a first commit; `commit` writes files, and `judge` runs the script on the last commit."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "checkout"
    folder.mkdir()

    def git(*words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)

    def commit(files):
        for name, text in files.items():
            path = os.path.join(os.fsencode(folder), os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        git("add", "--all", "--", ".")
        git("commit", "-q", "--allow-empty", "-m", "change")

    def judge(*words, stand_in=None):
        out, summary = tmp_path / "out", tmp_path / "summary.md"
        summary.write_text("", encoding="utf-8")
        command = [sys.executable, "-I", SCRIPT, "--output-folder", out, "--program", stand_in or program.binary(), *words,
                   "--", "--device", "cpu", "--python", sys.executable]
        environment = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"}
        process = program.start(command, scratch, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                environment=environment)
        done = program.finish(process)
        verdicts = program.read_verdicts((out / "verdicts.jsonl").read_text(encoding="utf-8"))
        sarif = out / "kernelwright.sarif"
        return SimpleNamespace(code=done.code, stdout=done.stdout, stderr=done.stderr, summary=summary.read_text("utf-8"),
                               verdicts={row["id"]: row["status"] for row in verdicts},
                               sarif=json.loads(sarif.read_text("utf-8")) if sarif.exists() else None)

    git("init", "-q")
    commit({"README.md": "first\n"})
    return SimpleNamespace(folder=folder, git=git, commit=commit, judge=judge)


@pytest.fixture
def rows_of(checkout, tmp_path):
    """The rows that the script hands to a program that judges nothing."""
    stand_in = tmp_path / "stand_in"
    stand_in.write_text(f"#!{sys.executable}\nimport shutil, sys\n"
                        f"shutil.copy(sys.argv[sys.argv.index('--batch') + 1], {str(tmp_path / 'rows')!r})\n", encoding="utf-8")
    stand_in.chmod(0o755)

    def call(*words):
        (tmp_path / "rows").write_text("", encoding="utf-8")
        done = checkout.judge(*words, stand_in=str(stand_in))
        rows = [json.loads(line) for line in (tmp_path / "rows").read_text("utf-8").splitlines()]
        return {row["id"]: row for row in rows}, done
    return call


@pytest.fixture
def developers_git(tmp_path, monkeypatch):
    """The configuration of a developer whose commits are signed, by a program that fails here."""
    (tmp_path / "gitconfig").write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))


def test_the_developers_configuration_of_git_does_not_apply(developers_git, checkout):
    checkout.commit({"README.md": "second\n"})


def commands(text):
    """The lines that a runner executes."""
    return [line for line in text.split("\n") if line.lstrip().startswith("::") or "##[" in line]


def test_touched_kernels_are_judged_and_others_are_not(checkout):
    checkout.commit({"a/reference.py": REFERENCE, "a/kernel.py": HONEST, "b/add_reference.py": REFERENCE,
                     "b/add_kernel.py": HONEST})
    checkout.commit({"b/add_kernel.py": WRONG, "b/add_kernel_two.py": HONEST + "\n"})
    done = checkout.judge()
    assert done.code == 1, done.stderr
    assert done.verdicts == {"b/add_kernel.py": "incorrect", "b/add_kernel_two.py": "correct"}
    [command] = commands(done.stdout + done.stderr)
    assert command.startswith("::error file=b/add_kernel.py,title=incorrect (wrong_value)::b/add_kernel.py: ")
    assert "1 of 2 kernels right" in done.summary
    [result] = done.sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "b/add_kernel.py", "uriBaseId": "%SRCROOT%"}


def test_right_kernels_succeed_without_annotations(checkout):
    checkout.commit({"reference.py": REFERENCE, "kernel.py": HONEST})
    done = checkout.judge()
    assert done.code == 0, done.stderr
    assert done.verdicts == {"kernel.py": "correct"} and commands(done.stdout + done.stderr) == []
    assert done.sarif["runs"][0]["results"] == []


def test_a_function_of_any_name_is_the_entry(checkout):
    reference = ("import torch\n\n\ndef add_up(x, y):\n    return x + y\n\n\ndef get_inputs():\n"
                 "    return [torch.randn(1000), torch.randn(1000)]\n")
    checkout.commit({"reference.py": reference, "kernel.py": HONEST.replace("triton_kernel_wrapper", "add_up")})
    assert checkout.judge().verdicts == {"kernel.py": "correct"}


def test_no_kernel_is_a_success_with_a_sentence(checkout):
    checkout.commit({"reference.py": REFERENCE, "kernel.py": HONEST})
    checkout.commit({"README.md": "second\n"})
    done = checkout.judge()
    assert done.code == 0 and done.stdout == NOTHING + "\n" and NOTHING in done.summary and done.sarif is None


def test_files_of_an_earlier_use_are_not_those_of_this_one(checkout, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/verdicts.jsonl").write_text('{"id": "earlier", "status": "correct"}\n', encoding="utf-8")
    (tmp_path / "out/kernelwright.sarif").write_text("{}", encoding="utf-8")
    checkout.commit({})
    done = checkout.judge()
    assert done.stdout == NOTHING + "\n" and done.verdicts == {} and done.sarif is None


def test_a_reference_and_its_shapes_touch_all_of_their_kernels(checkout, rows_of):
    checkout.commit({"add_reference.py": REFERENCE, "add_kernel_a.py": HONEST, "add_kernel_b.md": HONEST, "kernel.py": HONEST})
    checkout.commit({"add_reference.py": REFERENCE + "\n"})
    assert set(rows_of()[0]) == {"add_kernel_a.py", "add_kernel_b.md"}
    checkout.commit({"add_shapes.json": "{}"})
    rows, _ = rows_of()
    assert {row["input_shapes"] for row in rows.values()} == {"{}"} and len(rows) == 2
    os.unlink(checkout.folder / "add_shapes.json")
    checkout.commit({})
    assert set(rows_of()[0]) == {"add_kernel_a.py", "add_kernel_b.md"}
    assert set(rows_of("--paths", "*.md")[0]) == {"add_kernel_b.md"}


def test_all_kernels_are_found_on_request(checkout, rows_of):
    checkout.commit({"reference.py": REFERENCE, "kernel.py": HONEST})
    checkout.commit({"README.md": "second\n"})
    assert set(rows_of("--all")[0]) == {"kernel.py"}


def test_a_map_names_references_elsewhere(checkout, rows_of):
    checkout.commit({"ref/softmax.py": REFERENCE, "src/softmax/fast.py": HONEST, "src/other.py": HONEST,
                     ".github/kernelwright.toml": '[[kernels]]\nreference = "ref/softmax.py"\npaths = ["src/softmax/*"]\n'
                                                  'kernel_entry = "triton_kernel_wrapper"\n'})
    rows, _ = rows_of()
    assert rows["src/softmax/fast.py"]["reference_path"] == str(checkout.folder / "ref/softmax.py")
    assert rows["src/softmax/fast.py"]["kernel_entry"] == "triton_kernel_wrapper" and len(rows) == 1
    checkout.commit({"src/softmax/fast.py": HONEST + "\n"})
    assert set(rows_of()[0]) == {"src/softmax/fast.py"}
    checkout.commit({"src/other.py": HONEST + "\n"})
    assert rows_of()[0] == {}


def test_a_map_may_spell_a_path_in_another_way(checkout, rows_of):
    checkout.commit({"ref/softmax.py": REFERENCE, "fast.py": HONEST, ".github/kernelwright.toml":
                     '[[kernels]]\nreference = "./ref//softmax.py"\npaths = ["fast.py"]\n'})
    checkout.commit({"ref/softmax.py": REFERENCE + "\n"})
    assert set(rows_of()[0]) == {"fast.py"}


def test_every_pair_of_one_kernel_is_judged(checkout, rows_of):
    entry = '[[kernels]]\nreference = "reference.py"\npaths = ["kernel.py"]\nshapes = "{}.json"\n'
    checkout.commit({"reference.py": REFERENCE, "kernel.py": HONEST, "a.json": '{"a": 1}', "b.json": '{"b": 1}',
                     ".github/kernelwright.toml": entry.format("a") + entry.format("b")})
    rows, _ = rows_of()
    assert {name: row.get("input_shapes") for name, row in rows.items()} == {
        "kernel.py": None, "kernel.py (reference.py)": '{"a": 1}', "kernel.py (reference.py, 2)": '{"b": 1}'}


MAP = ".github/kernelwright.toml"
MAPPED = '[[kernels]]\nreference = "ref.py"\npaths = ["src/*"]\n'
MAPPED_TWICE = MAPPED + '[[kernels]]\nreference = "second.py"\npaths = ["src/*"]\n'


@pytest.fixture
def changed(checkout, rows_of):
    """The rows and the problems of a change from some files to others; None removes a file."""
    def call(before, after, *words):
        checkout.commit(before)
        for name in [name for name, text in after.items() if text is None]:
            os.unlink(checkout.folder / name)
        checkout.commit({name: text for name, text in after.items() if text is not None})
        rows, done = rows_of(*words)
        assert done.code == (1 if commands(done.stdout) else 0), done.stderr
        return set(rows), commands(done.stdout)
    return call


@pytest.mark.parametrize("before, after, kernel, reference", [
    ({"reference.py": "", "kernel.py": ""}, {"reference.py": None, "other.py": "", "kernel.py": "1"}, "kernel.py",
     "reference.py"),
    ({"reference.py": "", "kernel.py": ""}, {"reference.py": None}, "kernel.py", "reference.py"),
    ({"reference.py": ""}, {"reference.py": None, "kernel.py": ""}, "kernel.py", "reference.py"),
    ({"ref.py": "", "src/a.py": "", MAP: MAPPED}, {MAP: None, "src/a.py": "1"}, "src/a.py", "ref.py"),
    ({"ref.py": "", "src/a.py": "", MAP: MAPPED}, {MAP: "", "src/a.py": "1"}, "src/a.py", "ref.py"),
    ({"ref.py": "", "src/a.py": "", MAP: MAPPED}, {MAP: None}, "src/a.py", "ref.py"),
    ({"ref.py": "", "second.py": "", "src/a.py": "", MAP: MAPPED_TWICE}, {MAP: MAPPED}, "src/a.py", "second.py"),
    ({"ref.py": "", "src/a.py": "", MAP: MAPPED.replace("ref.py", "./ref.py")}, {MAP: None}, "src/a.py", "ref.py"),
], ids=["renamed", "removed", "new kernel", "no map", "no entry", "untouched kernel", "one of two", "another spelling"])
def test_a_kernel_that_loses_its_reference_is_an_annotation(changed, before, after, kernel, reference):
    _, [command] = changed(before, after)
    assert command.startswith(f"::error file={kernel},title=not judged::{kernel} is no longer judged against {reference}: ")


@pytest.mark.parametrize("before, after, rows", [
    ({"reference.py": "", "kernel.py": ""}, {"reference.py": None, "kernel.py": None}, set()),
    ({"reference.py": "", "kernel.py": ""}, {"reference.py": None, "ref.py": "", MAP: MAPPED.replace("src/*", "kernel.py")},
     {"kernel.py"}),
    ({"ref.py": "", "src/a.py": "", MAP: MAPPED}, {"ref.py": None, "second.py": "", MAP: MAPPED.replace("ref.py", "second.py")},
     {"src/a.py"}),
    ({"ref.py": "", "src/a.py": "", MAP: "="}, {MAP: None}, set()),
    ({"src/a.py": "", MAP: MAPPED}, {MAP: None}, set()),
], ids=["kernel removed", "to the map", "reference renamed", "unreadable map", "reference never there"])
def test_another_change_of_references_is_no_problem(changed, before, after, rows):
    assert changed(before, after) == (rows, [])


def test_a_lost_reference_counts_for_the_paths_to_judge(changed):
    assert changed({"reference.py": "", "kernel.py": ""}, {"reference.py": None}, "--paths", "src/*") == (set(), [])


def test_all_kernels_need_no_commit_before(checkout, rows_of):
    checkout.commit({"reference.py": REFERENCE, "kernel.py": HONEST})
    assert set(rows_of("--all", "--base", "missing")[0]) == {"kernel.py"}


@pytest.mark.parametrize("text", ["kernels = 1", "[[kernels]]\npaths = ['*']", "[[kernels]]\nreference = 'a'\npaths = 'b'",
                                  "=", "a=" + "[" * 100_000])
def test_a_wrong_map_is_an_annotation(checkout, text):
    checkout.commit({".github/kernelwright.toml": text})
    done = checkout.judge()
    assert done.code == 1 and "Traceback" not in done.stderr
    [command] = commands(done.stdout)
    assert command.startswith("::error file=.github/kernelwright.toml,title=not judged::.github/kernelwright.toml: ")


@pytest.mark.parametrize("name", ["../outside.py", "/etc/hostname", "missing.py", "."])
def test_a_map_leads_nowhere_else(checkout, rows_of, name):
    checkout.commit({"kernel.py": HONEST, ".github/kernelwright.toml":
                     f'[[kernels]]\nreference = "{name}"\npaths = ["kernel.py"]\n'})
    rows, done = rows_of()
    assert rows == {} and done.code == 1
    assert "title=not judged" in done.stdout


HOSTILE_NAMES = ["a b", "-rf", "--output=x", "x\n::error::injected", "x\r::set-output name=a::b", "$(touch injected)",
                 "`id`;'\"", "##[error]x", "a%0A::error::b", "x,line=1::y", "\u202egnp", "\u2028::error::z", "ä"]


def test_a_hostile_name_is_a_name(checkout):
    names = [f"{hostile}/add_" for hostile in HOSTILE_NAMES] + [f"{hostile}_" for hostile in HOSTILE_NAMES]
    checkout.commit({name + ending: text for name in names
                     for ending, text in (("reference.py", REFERENCE), ("kernel.py", WRONG))})
    done = checkout.judge()
    assert done.code == 1, done.stderr
    assert done.verdicts == {name + "kernel.py": "incorrect" for name in names}
    lines = commands(done.stdout + done.stderr)
    assert len(lines) == 10 and all(line.startswith("::error ") for line in lines), lines
    assert f"{len(names) - 10} more are without an annotation" in done.stdout
    assert "\r" not in done.stdout + done.stderr
    assert not (checkout.folder / "injected").exists()


def test_a_name_that_is_not_utf8_is_an_annotation(checkout):
    name = os.fsdecode(b"\xff_")
    checkout.commit({name + "reference.py": REFERENCE, name + "kernel.py": HONEST})
    done = checkout.judge()
    assert done.code == 1 and "is not UTF-8" in done.stdout and done.verdicts == {}
    assert len(commands(done.stdout)) == 1


def test_links_are_not_followed(checkout, tmp_path):
    secret = tmp_path / "secret_kernel.py"
    secret.write_text("SECRET = 1\n", encoding="utf-8")
    checkout.commit({"reference.py": REFERENCE, "folder/reference.py": REFERENCE})
    os.symlink(secret, checkout.folder / "kernel.py")
    os.symlink(tmp_path, checkout.folder / "other")
    os.symlink("/proc/self/environ", checkout.folder / "folder/kernel.py")
    checkout.commit({})
    done = checkout.judge()
    assert done.code == 1 and done.verdicts == {}
    assert "SECRET" not in done.stdout + done.stderr + done.summary
    assert done.stdout.count("links are not followed") == 2


def test_a_kernels_messages_are_no_commands(checkout):
    attack = "::stop-commands::x\\n##[add-mask]y\\n\\u2028::error::z\\x1b[2J\\u202e%0A::warning::w"
    loud = HONEST + f"\n\nraise ValueError('{attack}' + '\\n::error::' + 'A' * 10_000_000)\n"
    checkout.commit({"reference.py": REFERENCE, "kernel.py": loud, "kernel_two.py": HONEST + f"\nprint('{attack}')\n"})
    done = checkout.judge()
    assert done.code == 1
    [command] = commands(done.stdout + done.stderr)
    assert command.startswith("::error file=kernel.py,line=")
    assert len(done.stdout) < 20_000 and len(done.summary) < 50_000
    assert "\x1b" not in done.stdout + done.summary and "\u202e" not in done.stdout + done.summary


def test_a_commit_that_git_lacks_is_an_error(checkout):
    done = checkout.judge("--base=--output=/tmp/x")
    assert done.code == 1 and "git knows no commit" in done.stdout and "fetch-depth: 2" in done.stdout
