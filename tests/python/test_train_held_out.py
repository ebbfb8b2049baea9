"""The best step and the early stop, by the held-out losses."""
import math

import pytest
from kernelwright._train import card
from kernelwright._train.held_out import Course, verdict


def course(*losses, patience=2):
    """One with these losses, from step 0 on."""
    return Course(1, patience, dict(enumerate(losses)))


@pytest.mark.parametrize("losses, best, ended", [
    ((3.0,), None, False), ((3.0, 2.0), 1, False), ((3.0, 2.0, 2.0), 1, False), ((3.0, 2.0, 2.5, 2.0), 1, True),
    ((3.0, 2.0, 2.5, 1.0), 3, False), ((1.0, 2.0, 3.0), 1, False), ((3.0, math.nan, 2.0), 2, False),
    ((3.0, math.nan, math.nan, math.nan), None, True)])
def test_the_best_is_the_first_lowest_step_after_the_base_model(losses, best, ended):
    assert (course(*losses).best_step, course(*losses).ended) == (best, ended)


def test_the_card_says_where_training_did_not_help():
    words = "No step had a lower loss than the base model."
    assert words in card.held_out_text(course(1.0, 2.0), 1) and words not in card.held_out_text(course(2.0, 1.0), 1)
    assert "step 3: none was a number" in card.held_out_text(course(1.0, math.nan), 3)


def test_without_patience_nothing_ends_it():
    assert not course(3.0, 1.0, *[2.0] * 99, patience=0).ended


def test_it_is_due_at_every_nth_step_and_at_the_last():
    assert [step for step in range(8) if Course(3, 0).due(step, 7)] == [0, 3, 6, 7]


def test_a_result_says_what_its_user_must_know():
    def told(*losses, steps):
        return [(event, fields["what"]) for event, fields in verdict(course(*losses), steps)]
    assert told(3.0, 2.0, steps=1) == []
    [(event, what)] = told(3.0, 2.0, 2.5, steps=2)
    assert event == "notice" and "lowest at step 1 (2.0000)" in what
    [(event, what)] = told(1.0, 2.0, steps=1)
    assert event == "warning" and "no step had a lower held-out loss than the base model (1.0000)" in what
    [(event, what)] = told(1.0, math.nan, steps=1)
    assert event == "warning" and "no held-out loss was a number" in what


def test_the_card_counts_one_row_as_one():
    words = [card.numbered(number, "row was", "rows were") for number in (0, 1, 2000)]
    assert words == ["0 rows were", "1 row was", "2,000 rows were"]
    assert card.numbered(2, "step") == "2 steps"
