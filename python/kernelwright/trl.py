"""An environment for TRL's GRPOTrainer: the model submits kernels by a tool call, and gets feedback from the service.

trainer = GRPOTrainer(model, environment_factory=functools.partial(KernelEnvironment, "http://127.0.0.1:8471"),
                      train_dataset=rows)  # columns: prompt, task_id

The service needs --tasks. Imports no TRL. Documented in docs/rewards.md.
"""
from __future__ import annotations

import asyncio
from typing import Any

from .client import Client
from .client_conversation import Conversation, PromptStyle, TurnResult
from .client_http import Refused, ServiceError
from .client_types import Options, RewardTerms
from .outcomes import WAIT_S, NotJudged, best_reward, turn_within

__all__ = ["KernelEnvironment"]

TOO_LARGE = 413
ASK = ("Call the tool submit_kernel with the complete Python source of your answer. It returns what is wrong or slow; "
       "you may then submit a better one. You have {turns} submissions, and the best one counts.")


class KernelEnvironment:
    """One conversation of the service at a time. TRL makes the instances, and uses one again after reset(). Each public
    method, except reset and get_reward, is a tool of the model.

    `evaluator` is a Client of the service or its URL, else KERNELWRIGHT_EVALUATOR. `turns` is the number of submissions. With
    `prompt` False, reset() adds no text to the prompt of the row. A submission that is not judged within `wait_s` seconds
    leaves the rollout without a reward: None, which TRL leaves out of the mean. The other parameters are those of
    Client.conversation."""

    def __init__(self, evaluator: Client | str | None = None, *, turns: int = 4, prompt: bool = True, wait_s: float = WAIT_S,
                 prompt_style: PromptStyle | None = None, target_speedup: float | None = None, options: Options | None = None,
                 reward: RewardTerms | None = None) -> None:
        self._client = evaluator if isinstance(evaluator, Client) else Client(evaluator)
        self._prompt, self._wait_s = prompt, wait_s
        self._fields: dict[str, Any] = {"turns": turns, "prompt_style": prompt_style, "target_speedup": target_speedup,
                                        "options": options, "reward": reward}
        self._conversation: Conversation | None = None
        self._one_turn = asyncio.Lock()
        self.results: list[TurnResult] = []
        """The judged submissions of this rollout, for reward functions of yours (TRL passes them `environments`)."""
        self.not_judged: str | None = None
        """Why this rollout has no reward."""

    def reset(self, task_id: str | None = None, task_version: str | None = None, **_: Any) -> str | None:
        """Begins a conversation about the task of this row; other columns are ignored."""
        old, self._conversation, self.results, self.not_judged = self._conversation, None, [], None
        self._one_turn = asyncio.Lock()
        if old is not None and not old.done:
            _end(old)
        if not task_id:
            raise ValueError("the row has no task_id: KernelEnvironment needs the id of a task of the service")
        self._conversation = self._client.conversation(task_id, task_version=task_version or None, **self._fields)
        if not self._prompt:
            return None
        texts = [message["content"] for message in self._conversation.observation]
        return "\n\n".join([*texts, ASK.format(turns=self._conversation.turns)])

    # Asynchronous, so that TRL runs the submissions of one answer at a time; TRL makes the tool's schema of the docstring.
    async def submit_kernel(self, code: str) -> str:
        """Judges a kernel: whether it computes the same as the reference, and how fast it is.

        Args:
            code: The complete Python source, with all imports, kernels and the function that launches them.

        Returns:
            What the judge found.
        """
        async with self._one_turn:  # one answer may call the tool several times, and TRL runs the calls at a time
            return await self._submit(code)

    def get_reward(self) -> float | None:
        """The reward of the best submission, 0 without one; None where one was not judged."""
        return None if self.not_judged is not None else best_reward(self.results)

    async def _submit(self, code: str) -> str:
        conversation = self._conversation
        if conversation is None:
            return "There is no task: the environment was not reset."
        if conversation.done:
            return f"Not judged: the conversation has ended ({conversation.stop_reason})."
        if self.not_judged is not None:
            return "Not judged: the judge does not answer."
        if not isinstance(code, str):
            return "Not judged: `code` is no text."
        try:
            result = await self._client.on_thread([], lambda: turn_within(conversation, _answer(code), self._wait_s))
        except Refused as refused:
            if refused.status == TOO_LARGE:
                return f"Not judged: {refused}"  # the model's own fault, which earns nothing
            why = str(refused)
        except (NotJudged, ServiceError) as error:
            why = str(error)
        else:
            if conversation is self._conversation:  # else this rollout was given up, and another one began
                self.results.append(result)
            return result.feedback or _words(result)
        if conversation is self._conversation:
            self.not_judged = why
        return "The judge has failed; this is no fault of your code."


def _answer(code: str) -> str:
    """The code as an answer from which the service extracts it. Models may put their fences into the argument."""
    return code if code.lstrip().startswith(("```", "~~~", "<triton>")) else f"<triton>\n{code}\n</triton>"


def _words(result: TurnResult) -> str:
    """After the last turn there is no feedback."""
    verdict = result.verdict or {}
    word = verdict.get("error_class") or verdict.get("counts_reason") or verdict.get("status")
    speedup = "" if result.speedup is None else f", {result.speedup:.2f} times as fast as the reference"
    return f"Verdict: {word}{speedup}. The conversation has ended ({result.stop_reason})."


def _end(conversation: Conversation) -> None:
    """So that it takes no place of the service's until it expires. It may be gone."""
    try:
        conversation.end(patience_s=0)
    except ServiceError:
        pass
