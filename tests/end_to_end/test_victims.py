"""Hostile and broken candidates between honest ones: each gets its verdict, and the others are unaffected."""
import pytest

from . import victims

EXPECTED = victims.expected()


def said(verdict):
    return verdict["status"] + (f"/{verdict['error_class']}" if verdict["error_class"] else "")


def test_every_row_has_its_verdict(victims_run):
    assert victims_run.code == 0, victims_run.stderr
    assert set(victims_run.verdicts) == set(EXPECTED) | {f"honest-{number}" for number in range(len(EXPECTED) + 1)}


@pytest.mark.parametrize("number", range(len(EXPECTED) + 1))
def test_honest_kernels_keep_their_verdicts(victims_run, number):
    verdict = victims_run.verdicts[f"honest-{number}"]
    assert verdict["status"] == "correct" and verdict["counts"], verdict


@pytest.mark.parametrize("name", EXPECTED)
def test_victims_get_theirs(victims_run, name):
    verdict = victims_run.verdicts[name]
    assert said(verdict) in EXPECTED[name], verdict
    assert verdict["fault"] == (None if verdict["status"] == "correct" else "kernel")


def test_the_bait_process_lives(victims_run):
    assert victims_run.bait_alive


def test_the_bait_folder_is_intact(victims_run):
    assert victims_run.bait_folder == {"keep.txt": "keep"}


def test_no_process_is_left(victims_run):
    assert victims_run.processes == []


def test_no_cgroup_is_left(victims_run):
    assert victims_run.cgroups == []


def test_no_file_is_left(victims_run):
    assert victims_run.files == [] and victims_run.temporary == []


def test_verdicts_stay_small(victims_run):
    assert victims_run.largest_row < 256 << 10


def test_nothing_they_print_reaches_the_terminal(victims_run):
    assert "work and no play" not in victims_run.stderr
    assert not set("\x1b\x07\x9b\x00") & set(victims_run.stderr)


def test_they_hold_nobody_up(victims_run):
    assert victims_run.seconds < 360
