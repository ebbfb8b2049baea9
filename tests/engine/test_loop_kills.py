"""SIGKILL at random moments: what was finished stays, and the same command goes on. bench/kills.py does it longer."""
import pytest

from . import killing


@pytest.mark.parametrize("world, kills", [(killing.quick_world, 14), (killing.judged_world, 6)])
def test_no_kill_loses_a_turn(world, kills, tmp_path, traces_left):
    folder = tmp_path / "runs"
    folder.mkdir()
    tally = killing.Killing(world(folder), folder, seed=20).kill(kills)
    print(tally.as_json())
    assert tally.failures == [] and tally.kills == kills
    assert tally.lost == [] and tally.answers_lost == 0
    assert tally.unsound == []
    assert tally.laps >= 1 and tally.turns > 0
    traces_left.assert_none()
