"""FakeService with tasks and conversations: verdicts by completion, and faults in order."""
from fake_service import FakeService

PROMPT = [{"role": "system", "content": "You write kernels."}, {"role": "user", "content": "Write one for this reference."}]
CORRECT = {"status": "correct", "counts": True, "speedup": 2.0, "trust": "replay", "fault": None, "reward": 2.3}
SLOW = {"status": "correct", "counts": True, "speedup": 0.5, "trust": "replay", "fault": None, "reward": 0.8}
WRONG = {"status": "incorrect", "error_class": "wrong_value", "counts": None, "speedup": None, "trust": "replay",
         "fault": None, "reward": 0}
FAULT = {"status": "error", "error_class": "infrastructure", "fault": "infrastructure", "error": "the GPU fell off",
         "counts": None, "speedup": None, "trust": None, "reward": None}
BROKEN = {**FAULT, "error_class": "task_invalid", "fault": "task", "error": "the reference fails"}


class ConversingService(FakeService):
    """`verdicts`: by a word that the completion contains, a list from which the last one stays."""

    def __init__(self):
        super().__init__()
        self.verdicts = {"fast": [CORRECT], "slow": [SLOW], "wrong": [WRONG], "broken": [BROKEN], "fault": [FAULT]}
        self.judged, self.talks, self.protocol, self.ended = {}, {}, "p1", []

    def verdict(self, completion):
        verdicts = next((known for word, known in self.verdicts.items() if word in completion), [WRONG])
        return verdicts.pop(0) if len(verdicts) > 1 else verdicts[0]

    def _answer(self, method, path, body):
        parts = path.strip("/").split("/")[1:]
        if path == "/v1/protocol":
            return 200, {"protocol": self.protocol}
        if path == "/v1/tasks":
            tasks = [{"id": each, "version": "v1", "source": "s", "sample_key": each, "level": each} for each in ("one", "two")]
            return 200, {"tasks": tasks, "next": None}
        if parts[0] == "tasks":
            return 200, {"id": parts[1], "version": "v1", "source": "s", "sample_key": parts[1], "messages": PROMPT}
        if parts[0] == "conversations":
            return self._converse(method, parts, body)
        return super()._answer(method, path, body)

    def _record(self, evaluation_id):
        if evaluation_id in self.holding or evaluation_id not in self.known:
            return super()._record(evaluation_id)
        if evaluation_id not in self.judged:
            self.judged[evaluation_id] = self.verdict(self.known[evaluation_id]["completion"])
        return {"id": evaluation_id, "state": "done", "verdict": self.judged[evaluation_id]}

    def _converse(self, method, parts, body):
        if len(parts) == 1:
            state = {"id": body["id"], "task_id": body["task_id"], "task_version": "v1", "turns": body.get("turns") or 4,
                     "turn": 1, "observation": PROMPT, "done": False, "state": "open", "stop_reason": None,
                     "best_turn": None, "expires_at": None, "result": None, "not_judged": None, "why": None}
            return 201, self.talks.setdefault(body["id"], state)
        if parts[1] not in self.talks:
            return 404, {"error": {"class": "not_found", "message": "there is none", "field": None}}
        state = self.talks[parts[1]]
        if method == "DELETE":
            self.ended.append(parts[1])
            state |= {"done": True, "stop_reason": "cancelled", "turn": None}
        elif "stuck" in body["completion"]:
            state |= {"state": "judging", "result": self._result(state, body, None)}
        else:
            verdict = self.verdict(body["completion"])
            self._judge(state, body, verdict)
        return 200, state

    def _judge(self, state, body, verdict):
        number = body["turn"]
        if verdict["fault"] == "infrastructure":
            return state.update(result=self._result(state, body, None), not_judged=verdict["error"], state="open")
        stop = {CORRECT["reward"]: "success_fast", None: "task_invalid"}.get(verdict["reward"])
        stop = stop or ("max_turns_reached" if number == state["turns"] else None)
        result = self._result(state, body, verdict)
        result["feedback"] = None if stop else f"feedback {number}"
        told = [] if stop else [{"role": "user", "content": result["feedback"]}]
        state.update(result=result, not_judged=None, done=stop is not None, stop_reason=stop, observation=told, state="open",
                     turn=None if stop else number + 1)

    def _result(self, state, body, verdict):
        return {"turn": body["turn"], "judged": verdict is not None, "verdict": verdict, "feedback": None,
                "reward": verdict and verdict["reward"], "evaluation": f"{state['id']}-{body['turn']}"}
