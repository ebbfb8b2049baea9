"""`dataset build --git`: clones of a local bare repository, from the command line to the files of the folder."""
import shutil
import subprocess

import pytest

from . import dataset

FAST = ("--no-compile", "--no-tokens", "--no-figures", "--validation", "0")


@pytest.fixture(scope="module")
def world(scratch):
    root = scratch / "dataset-git"
    root.mkdir()
    yield root
    shutil.rmtree(root, ignore_errors=True)


def paths(folder):
    return {row["source"]["path"] for row in dataset.lines(folder / "fim.jsonl")}


@pytest.fixture(scope="module")
def repository(world):
    """A bare repository with a branch, a tag of its first commit, and a link out of its tree."""
    def git(*words, at=world):
        return subprocess.run(["git", "-c", "user.name=Test", "-c", "user.email=test@localhost", *words], cwd=at, check=True,
                              capture_output=True, text=True).stdout.strip()

    work, bare = world / "git-work", world / "kernels.git"
    git("init", "--quiet", "--initial-branch=main", str(work))
    git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    dataset.write(work, {"LICENSE": dataset.MIT, "scale.py": dataset.SCALE})
    git("add", "--all", at=work)
    git("commit", "--quiet", "-m", "scale", at=work)
    git("tag", "-a", "v1", "-m", "first", at=work)
    first = git("rev-parse", "HEAD", at=work)
    dataset.write(work, {"softmax.py": dataset.SOFTMAX})
    (world / "secret.py").write_text(dataset.SCALE.replace("scale_kernel", "secret_kernel"), encoding="utf-8")
    (work / "link.py").symlink_to(world / "secret.py")
    git("add", "--all", at=work)
    git("commit", "--quiet", "-m", "softmax", at=work)
    for what in ("--all", "--tags"):
        git("push", "--quiet", what, str(bare), at=work)
    return bare, first, git("rev-parse", "HEAD", at=work)


def test_a_repository_is_cloned_at_a_commit(world, run, repository):
    bare, first, _ = repository
    out = world / "git-commit"
    code, _, stderr = run("dataset", "build", "--git", f"{bare}@{first}", "--out", out, *FAST)
    assert code == 0, stderr
    assert paths(out) == {"scale.py"}
    assert f"- kind: git\n- commit: {first}\n" in (out / "PROVENANCE.md").read_text(encoding="utf-8")
    assert "pinned" not in stderr


def test_a_branch_is_pinned_and_its_pin_gives_the_same_bytes(world, run, repository):
    bare, _, second = repository
    branch, pinned = world / "git-branch", world / "git-pinned"
    code, _, stderr = run("dataset", "build", "--git", f"{bare}@main", "--out", branch, *FAST)
    assert code == 0, stderr
    assert f"pinned: --git {bare}@{second}" in stderr
    code, _, stderr = run("dataset", "build", "--git", f"{bare}@{second}", "--out", pinned, *FAST)
    assert code == 0, stderr
    assert dataset.digest(branch) == dataset.digest(pinned)


def test_a_clone_is_read_as_a_checkout(world, run, repository):
    """The same commit as a checkout by path gives the same rows, and neither follows a link."""
    bare, _, second = repository
    clone, checkout = world / "git-clone", world / "git-by-path"
    subprocess.run(["git", "clone", "--quiet", str(bare), str(world / "by-path/kernels")], check=True)
    assert run("dataset", "build", "--git", f"{bare}@{second}", "--out", clone, *FAST)[0] == 0
    assert run("dataset", "build", world / "by-path/kernels", "--out", checkout, *FAST)[0] == 0
    assert dataset.digest(clone) == dataset.digest(checkout)
    assert paths(clone) == {"scale.py", "softmax.py"}


def test_a_missing_commit_is_named(world, run, repository):
    bare, _, _ = repository
    code, _, stderr = run("dataset", "build", "--git", f"{bare}@{'0' * 40}", "--out", world / "git-missing", *FAST)
    assert code == 1
    assert f"cannot clone {bare}: it has no commit {'0' * 40}" in stderr


def test_a_hostile_url_is_a_usage_error(world, run):
    mark = world / "ran"
    for url in (f"ext::touch {mark}", f"--upload-pack=touch {mark}", f"ssh://-oProxyCommand=touch {mark}/x"):
        code, _, stderr = run("dataset", "build", f"--git={url}", "--out", world / "git-hostile", *FAST)
        assert code == 2, stderr
        assert "--git" in stderr
    assert not mark.exists()
