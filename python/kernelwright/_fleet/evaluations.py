"""What backends and the front share about evaluations: errors, identity, endings. Imports the standard library alone."""
import hashlib
import json


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(self, status, error_class, message, field=None, retry_after_s=None):
        super().__init__(message)
        self.status, self.error_class, self.field, self.retry_after_s = status, error_class, field, retry_after_s


def digest(evaluation):
    """Equal for equal evaluations. The order of `input_shapes` matters, as the order of the arguments; no other order does."""
    shapes = json.dumps(evaluation.get("input_shapes"))
    return hashlib.sha256(json.dumps({**evaluation, "input_shapes": shapes}, sort_keys=True).encode()).hexdigest()


def is_over(state):
    return state["state"] in ("done", "cancelled")
