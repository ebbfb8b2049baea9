"""The loop against a real model server. A random model's text has no kernel, and the loop must handle that."""
import json

import pytest
from end_to_end import program

from .conftest import LISTED

TRACES = program.ROOT / "examples" / "sample" / "multi_turn.json"
TASKS, TOKENS = 2, 64


@pytest.fixture
def ask(run, server, tmp_path):
    """Two tasks sent to the server: the program's output, and its traces."""
    def asked(*words, tasks=TASKS):
        output = tmp_path / "traces.json"
        ended = run("--traces", TRACES, "--limit", tasks, "--vllm-url", server.url, "--max-tokens", TOKENS,
                    "--output", output, *words)
        return ended, json.loads(output.read_text(encoding="utf-8")) if output.exists() else None
    return asked


def assert_used(usage):
    assert usage["prompt_tokens"] > 100
    assert 0 < usage["completion_tokens"] <= TOKENS


@pytest.mark.parametrize("how", [(), ("--no-stream",)], ids=["streamed", "whole"])
def test_every_turn_is_stored_with_its_usage_and_verdict(ask, tiny, how):
    ended, traces = ask("--model", tiny, *how)
    assert ended.code == 0, ended.stderr
    assert len(traces) == TASKS
    for trace in traces:
        assert trace["full_completion"].strip()
        assert trace["model"].startswith(str(tiny))
        assert trace["finish_reason"] in ("length", "stop")
        assert_used(trace["usage"])
        assert (trace["result"]["status"], trace["result"]["error_class"]) == ("failed", "missing_entry")
        assert trace["stop_reason"] == "max_turns_reached"


def test_a_conversation_goes_on_over_several_requests(ask, tiny):
    ended, traces = ask("--model", tiny, "--multi-turn", "--max-turns", 3, "--no-retry-failed")
    assert ended.code == 0, ended.stderr
    assert [trace["num_turns"] for trace in traces] == [3] * TASKS
    for trace in traces:
        prompts = [turn["usage"]["prompt_tokens"] for turn in trace["turns"]]
        assert prompts == sorted(set(prompts)), "each request holds the turns before it"
        assert all(turn["feedback_given"] for turn in trace["turns"][:-1])


def test_reasoning_without_an_answer_is_a_turn_without_code(ask, tiny):
    ended, [trace] = ask("--model", tiny, "--chat-template-kwargs", '{"enable_thinking": true}', tasks=1)
    assert ended.code == 0, ended.stderr
    assert trace["model_reasoning"] and not trace["full_completion"]
    assert_used(trace["usage"])
    assert trace["result"]["error_class"] == "missing_entry"
    assert trace["stop_reason"] == "generation_failed"


def test_a_name_that_the_server_refuses_is_told_in_its_words(ask, tiny):
    ended, _ = ask("--model", "nobody/nothing", tasks=1)
    assert ended.code == 1
    assert "nobody/nothing" in ended.stderr and str(tiny) in ended.stderr


def test_without_a_name_the_only_one_that_is_listed_is_asked_for(ask):
    ended, _ = ask(tasks=1)
    assert ended.code == 1, "the server lists its cache, and serves one model of another name"
    assert LISTED in ended.stderr
