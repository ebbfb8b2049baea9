"""The command line's texts: help, errors of usage, completion, the manual page, `new`, `python -m kernelwright`."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from . import program, victims

# Notation of the parser, and sentences of its own.
LEAKS = re.compile(r"\(0x\)|\(\d+x\)|\{false\}|\{true\}|At Most|At least|SUBCOMMAND|Run with --help|not expected|:POSITIVE|"
                   r" x \d|\bTEXT\b|\bINT\b|\bUINT\b|\bFLOAT\b|Needs:|Excludes:|Env:")
SHELLS = ("bash", "zsh", "fish")


def paths_of(run, *above):
    """Every verb with its subverbs, as the help lists them."""
    text = run(*above, "--help", limit=10).stdout
    section = re.search(r"\nVerbs:\n((?:  .*\n)+)", text)
    names = re.findall(r"^  (\S+) ", section[1], re.M) if section else []
    found = [above] if above else []
    for name in names:
        found += paths_of(run, *above, name)
    return found


@pytest.fixture(scope="module")
def paths(run):
    found = paths_of(run)
    assert ("verify",) in found and ("dataset", "build") in found and ("deploy", "modal") in found
    return found


def entries_of(text):
    """[names, description] of every flag and argument of a help text."""
    entries = []
    for line in text.splitlines():
        if re.match(r"  \S", line):
            names, _, words = line.strip().partition("  ")
            entries.append([names, words.strip()])
        elif line.startswith("   ") and entries:
            entries[-1][1] += " " + line.strip()
    return entries


# ---- help ----------------------------------------------------------------------------------------------


def test_help_is_plain(run, paths):
    for path in [(), *paths]:
        code, text, _ = run(*path, "--help", limit=10)
        assert code == 0 and "Usage: kernelwright" in text
        assert not LEAKS.search(text), (path, LEAKS.search(text))
        assert max(len(line) for line in text.splitlines()) <= 100, path
        for names, words in entries_of(text):
            assert len(words.strip()) > 5, (path, names)


def test_help_verb_is_the_verbs_help(run, paths):
    for path in paths:
        assert run("help", *path, limit=10) == run(*path, "--help", limit=10)
    assert run("help", limit=10) == run("--help", limit=10)
    code, _, stderr = run("help", "verfy", limit=10)
    assert code == 2 and "did you mean verify?" in stderr


def test_every_verb_has_the_common_flags(run, paths):
    for path in paths:
        text = run(*path, "--help", limit=10).stdout
        if re.search(r"^  (-o, )?--output ", text, re.M) and path[0] not in ("score", "dataset"):
            assert "-o, --output" in text, path
        if "--quiet" in text:
            assert "-q, --quiet" in text, path
        if re.search(r"^  (?:-\w, )?--[\w-]+ \[?[A-Z]", text, re.M):
            assert "--config F.toml" in text, path


# ---- errors of usage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words, fault, remedy", [
    (["verfy"], "has no verb verfy", "did you mean verify?"),
    (["dataset", "bild"], "`kernelwright dataset` has no verb bild", "did you mean build?"),
    (["train", "marge", "adapter"], "has no verb marge", "did you mean merge?"),
    (["verify", "--tolerence", "1", "a.py", "b.py"], "`kernelwright verify` has no flag --tolerence",
     "did you mean --tolerance?"),
    (["run", "--vllm-ulr=http://x"], "has no flag --vllm-ulr", "did you mean --vllm-url?"),
    (["verify", "--max-turns", "3", "a.py", "b.py"], "has no flag --max-turns", "it is a flag of `run`"),
    (["--device", "cpu", "verify"], "`kernelwright` has no flag --device", "write it after the verb"),
    (["verify", "a", "b", "c"], "PATH takes at most 2 values, and 3 were given", "kernelwright verify --help"),
    (["verify", "a", "b", "--output"], "--output lacks its value F", "kernelwright verify --help"),
    (["verify", "a", "b", "--json=maybe"], "--json takes no value", "kernelwright verify --help"),
    (["doctor", "extra"], "`kernelwright doctor` takes no argument extra", "kernelwright doctor --help"),
    (["export"], "SOURCE is missing", "kernelwright export --help"),
    (["models"], "a verb is missing", "kernelwright models --help"),
    ([], "a verb is missing", "kernelwright --help"),
    (["dataset", "export", "x", "--out", "y.csv", "--kind", "fin"], '"fin" is none of fim', "--help"),
])
def test_wrong_words_say_what_to_write(run, words, fault, remedy):
    code, stdout, stderr = run(*words, limit=10)
    assert code == 2 and stdout == ""
    assert fault in stderr and remedy in stderr, stderr
    assert not LEAKS.search(stderr), stderr


def test_a_verb_below_reads_a_config_file(run, tmp_path):
    file = tmp_path / "ray.toml"
    file.write_text('host = "0.0.0.0"\n')
    code, _, stderr = run("deploy", "ray", "--config", file, limit=10)
    assert code == 2 and "--host 0.0.0.0 is beyond loopback" in stderr
    file.write_text("hots = 1\n")
    code, _, stderr = run("deploy", "ray", "--config", file, limit=10)
    assert code == 2 and "do you mean host?" in stderr


def test_doctor_is_quiet_and_writes_a_file(run, tmp_path):
    launch = ("doctor", "--launch", "vllm serve some/model --port 8000")
    assert run(*launch, "-o", tmp_path / "report.txt", limit=30).stdout == ""
    assert (tmp_path / "report.txt").read_text() == run(*launch, limit=30).stdout
    assert not re.search(r"^ok ", run(*launch, "-q", limit=30).stdout, re.M)


# ---- completion ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scripts(run, tmp_path_factory):
    """The completion script of each shell, as a file."""
    folder = tmp_path_factory.mktemp("completion")
    files = {}
    for shell in SHELLS:
        code, text, _ = run("completion", shell, limit=10)
        assert code == 0
        files[shell] = folder / shell
        files[shell].write_text(text)
    return files


def in_bash(script, folder, line):
    """What bash completes at the end of this line."""
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    listed = " ".join(f"'{word}'" for word in words)
    code = (f"source {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _kernelwright; "
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-uc", code], capture_output=True, text=True, cwd=folder, timeout=20)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "answers.json").write_text("")
    (tmp_path / "adapters").mkdir()
    return tmp_path


@pytest.mark.parametrize("line, expected", [
    ("kernelwright ver", ["verify"]),
    ("kernelwright dataset ", ["discover", "build", "synth", "dedup", "audit", "export"]),
    ("kernelwright verify --weights ", ["moved", "constructor"]),
    ("kernelwright verify --weights=con", ["constructor"]),
    ("kernelwright verify --precision bf", ["bf16"]),
    ("kernelwright verify --tol", ["--tolerance"]),
    ("kernelwright verify -o an", ["answers.json"]),
    ("kernelwright verify --output dataset --tf32 ", ["on", "off"]),
    ("kernelwright train --output ad", ["adapters"]),
    ("kernelwright train merge --mod", ["--model"]),
    ("kernelwright verify an", ["answers.json"]),
    ("kernelwright help tra", ["train"]),
    ("kernelwright completion ", ["bash", "zsh", "fish"]),
    ("kernelwright models show qw", None),
])
def test_bash_completes(scripts, folder, line, expected):
    found = in_bash(scripts["bash"], folder, line)
    assert sorted(found) == sorted(expected) if expected else found and all(word.startswith("qw") for word in found)


def test_bash_completes_every_flag(scripts, folder, run, paths):
    for path in paths:
        text = run(*path, "--help", limit=10).stdout
        named = re.findall(r"^  (?:-\w, )?(--[\w-]+(?:, --[\w-]+)*)", text, re.M)
        flags = {flag for each in named for flag in each.split(", ")}
        assert flags == {word for word in in_bash(scripts["bash"], folder, f"kernelwright {' '.join(path)} --")}, path


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize("line, expected", [
    ("kernelwright ver", {"verify"}),
    ("kernelwright dataset ", {"build", "dedup", "audit", "export"}),
    ("kernelwright verify --weights ", {"moved", "constructor"}),
    ("kernelwright verify --tol", {"--tolerance"}),
    ("kernelwright verify an", {"answers.json"}),
    ("kernelwright train --output ad", {"adapters/"}),
])
def test_fish_completes(scripts, folder, line, expected):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {scripts['fish']}; complete -C '{line}'"],
                          capture_output=True, text=True, cwd=folder, timeout=60,
                          env={**os.environ, "HOME": str(folder)})
    assert not done.stderr and {each.split("\t")[0] for each in done.stdout.splitlines()} == expected, done


# zsh completes on a terminal only.
ZSH = """
import os, pty, re, select, sys, time
pid, ours = pty.fork()
if pid == 0:
    os.execvp("zsh", ["zsh", "-f", "-i"])
def send(text, until, seconds=20):
    os.write(ours, text.encode())
    shown, end = "", time.monotonic() + seconds
    while until not in shown and time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            shown += os.read(ours, 65536).decode("utf-8", "replace")
    return shown
send("PS1='READY> '; autoload -Uz compinit; compinit -u -D; source %s; print LOA''DED\\n" % sys.argv[1], "LOADED")
shown = send(sys.argv[2] + "\\t", sys.argv[3])
os.close(ours)
sys.exit(0 if sys.argv[3] in shown else shown)
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize("line, expected", [
    ("kernelwright verif", "verify"),
    ("kernelwright dataset bui", "build"),
    ("kernelwright verify --weights cons", "constructor"),
    ("kernelwright verify --toleran", "--tolerance"),
    ("kernelwright verify answ", "answers.json"),
])
def test_zsh_completes(scripts, folder, line, expected):
    done = subprocess.run([sys.executable, "-c", ZSH, str(scripts["zsh"]), line, expected], capture_output=True, text=True,
                          cwd=folder, timeout=60, env={**os.environ, "HOME": str(folder), "TERM": "dumb"})
    assert done.returncode == 0, done.stderr


def test_scripts_have_the_shape_of_their_shell(scripts, run):
    assert scripts["zsh"].read_text().startswith("#compdef kernelwright kw\n")
    for line in scripts["fish"].read_text().splitlines():
        assert re.match(r"complete -c |function |    |end$|#|set -g |$", line), line
    code, _, stderr = run("completion", "tcsh", limit=10)
    assert code == 2 and "bash, zsh, fish" in stderr


# ---- the manual page -----------------------------------------------------------------------------------


def test_man(run, paths, tmp_path):
    code, page, _ = run("man", limit=10)
    assert code == 0 and page.startswith(".TH KERNELWRIGHT 1 ")
    for path in paths:
        assert f'.SH "{" ".join(["kernelwright", *path]).upper()}"' in page
    for flag in ("--tolerance", "--vllm-url", "--push-to-hub"):
        assert flag.replace("-", r"\-") in page
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    file = tmp_path / "kernelwright.1"
    file.write_text(page)
    done = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8", file], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, done.stderr[:500]
    assert "KERNELWRIGHT VERIFY" in re.sub(".\x08", "", done.stdout)  # bold letters are struck twice


def test_an_installation_has_the_page_and_the_scripts(run, tmp_path):
    build = program.ROOT / "build"
    if shutil.which("cmake") is None or not (build / "CMakeCache.txt").exists():
        pytest.skip("no build tree")
    subprocess.run(["cmake", "--install", build, "--component", "program", "--prefix", tmp_path], check=True,
                   capture_output=True, timeout=120, env={**os.environ, "KW_BUNDLED_FROM": sys.executable})
    for file, *words in (("man/man1/kernelwright.1", "man"),
                         ("bash-completion/completions/kernelwright", "completion", "bash"),
                         ("zsh/site-functions/_kernelwright", "completion", "zsh"),
                         ("fish/vendor_completions.d/kernelwright.fish", "completion", "fish")):
        assert (tmp_path / "share" / file).read_text() == run(*words, limit=10).stdout, file


# ---- README --------------------------------------------------------------------------------------------


def commands_of(page):
    """Every command of the program in the page's shell blocks and in its spans, as words."""
    text = (program.ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S) + re.findall(r"`((?:build/)?kernelwright [^`]+)`", text)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    parts = [part.split("#")[0].strip() for line in lines for part in re.split(r" && |, then ", line)]
    return [shlex.split(part)[1:] for part in parts if re.match(r"(build/)?kernelwright ", part)]


def test_commands_of_the_readme_exist(run, paths):
    commands = commands_of("README.md")
    assert len(commands) > 20
    for words in commands:
        path = next(tuple(words[:count]) for count in (2, 1) if tuple(words[:count]) in [*paths, ("--version",)])
        text = run(*path, "--help", limit=10).stdout
        for flag in (word.split("=")[0] for word in words[len(path):] if re.match(r"--?[a-z]", word)):
            assert re.search(rf"^  (-\w, )?{flag}\b", text, re.M) or f"  {flag}, " in text, (words, flag)


# ---- new -----------------------------------------------------------------------------------------------


def test_new_writes_a_pair_that_is_correct(run, tmp_path):
    code, stdout, stderr = run("new", "bias_relu", "--output", tmp_path / "mine", limit=10)
    assert code == 0, stderr
    words = stdout.splitlines()[-1].split()
    assert words[:2] == ["kernelwright", "verify"]
    code, stdout, stderr = run(*program.verify_command(*words[2:])[1:])
    assert code == 0 and "1 correct (1 count" in stdout, (stdout, stderr)


def test_new_overwrites_nothing(run, tmp_path):
    kernel = tmp_path / "a_kernel.py"
    kernel.write_text("mine")
    code, stdout, stderr = run("new", "a", "-o", tmp_path, limit=10)
    assert code == 1 and stdout == "" and str(kernel) in stderr and "exists" in stderr
    assert kernel.read_text() == "mine" and not (tmp_path / "a_reference.py").exists()


@pytest.mark.parametrize("name", ["", "1a", "a-b", "../a", "a b"])
def test_new_wants_a_python_name(run, tmp_path, name):
    code, _, stderr = run("new", name, "--output", tmp_path, limit=10)
    assert code == 2 and "Python name" in stderr
    assert not list(tmp_path.iterdir())


# ---- Python --------------------------------------------------------------------------------------------


def python(*words, **environment):
    environment = {**os.environ, "PYTHONPATH": str(program.ROOT / "python"), **environment}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, timeout=60)


def test_python_m_runs_the_program(run):
    done = python("-m", "kernelwright", "verfy")
    assert done.returncode == 2 and "did you mean verify?" in done.stderr


def test_the_package_knows_its_version(run):
    version = run("--version", limit=10).stdout.split()[-1]
    assert python("-c", "import kernelwright; print(kernelwright.__version__)").stdout.strip() == version


# ---- interruption --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [True, False])
def test_ctrl_c_says_what_is_kept(batch, tmp_path, scratch, stored):
    loop = {"id": "loop", "reference_code": victims.code_of("reference"), "kernel_code": victims.code_of("host_loop")}
    rows, output = batch([victims.honest_row(1), loop]), tmp_path / "out.jsonl"
    words = ["--batch", rows, "--timeout", 120, "--jobs", 1, *(["--output", output] if stored else [])]
    process = program.start(program.verify_command(*words), scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    shown = b""
    deadline = time.monotonic() + 120
    while b"honest-1" not in shown and time.monotonic() < deadline:
        shown += os.read(process.stderr.fileno(), 4096)
    process.send_signal(signal.SIGINT)
    code, _, stderr = program.finish(process)
    assert code == 130
    if stored:
        assert f"interrupted; {output} keeps the verdicts so far (1); the same command goes on" in stderr
    else:
        assert "interrupted; the verdicts so far (1) are not stored: with --output FILE" in stderr
