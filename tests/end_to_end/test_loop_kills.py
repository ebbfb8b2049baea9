"""SIGKILL at random moments: finished work stays, and the same command continues. bench/kills.py does it longer."""
import sqlite3

import pytest

from . import killing, loop


@pytest.mark.parametrize("world, tasks, kills", [(killing.quick_world, 40, 16), (killing.judged_world, 6, 4)])
def test_no_kill_loses_a_turn(world, tasks, kills, tmp_path, traces_left):
    folder = tmp_path / "runs"
    folder.mkdir()
    tally = killing.Killing(world(folder, tasks), folder, seed=20).kill(kills)
    print(tally.as_json())
    assert tally.failures == [] and tally.kills == kills
    assert tally.lost == [] and tally.answers_lost == 0
    assert tally.unsound == []
    assert tally.laps >= 1 and tally.turns > 0
    traces_left.assert_none()


def test_a_lost_turn_would_be_seen(tmp_path):
    killing_it = killing.Killing(killing.quick_world(tmp_path, tasks=2), tmp_path, seed=1)
    key, row = ("sample/quick_0", 0, 0, 1), loop.Row(("answer",), "{}", None)
    for now in ({}, {key: row._replace(answer=("another",))}, {key: row._replace(verdict=None)},
                {key: row._replace(verdict="[]")}):
        killing_it._compare({key: row}, now)
    killing_it._compare({key: row}, {key: row._replace(feedback="said later")})
    assert len(killing_it.tally.lost) == 4


def test_a_torn_database_would_be_seen(tmp_path):
    whole = tmp_path / "whole.db"
    with sqlite3.connect(whole) as connection:
        connection.execute("CREATE TABLE t (a TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [(str(number) * 500,) for number in range(100)])
    connection.close()
    assert loop.check(whole) == []
    torn = tmp_path / "torn.db"
    torn.write_bytes(whole.read_bytes()[:-8192] + bytes(8192))
    assert loop.check(torn) != []
