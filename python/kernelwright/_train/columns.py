"""Interprets a record of a file: a prompt and its completion, a conversation, or a text."""
import json
import re
from dataclasses import dataclass

from .events import TrainError

# The columns tried in this order where a record has neither a prompt nor messages, as in the other commands.
TEXTS = ("text", "content", "code")
ROLES = ("system", "developer", "user", "assistant", "tool")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Row:
    """One training row. `file` and `line` give its place: rows count from 1; for JSON lines it is the line."""

    kind: str  # "pair": prompt and completion; "messages"; "text"
    prompt: str | None = None
    completion: str | None = None
    messages: list | None = None
    text: str | None = None
    id: str | None = None
    task_id: str | None = None
    licence: str | None = None
    file: str = ""
    line: int = 0
    learn_from: int = 0  # of messages: answers before this one are context and are not learnt


class BadRow(Exception):
    """The reason why a record is not a row. The caller adds the file and the line."""


def refuse_other_forms(record):
    """Refuse files of this project that hold no training rows."""
    if "chosen" in record and "rejected" in record:
        raise TrainError("these are preferences (chosen and rejected), which this training does not learn from",
                         "export messages or prompt-completion: kernelwright export RUN --format prompt-completion")
    if ("full_completion" in record or "turns" in record) and "prompt" not in record and "messages" not in record:
        raise TrainError("these are recorded traces, not rows to learn from",
                         "make rows of them: kernelwright export FILE --format prompt-completion --output OUT.jsonl")


def text_of(value, name):
    if not isinstance(value, str):
        word = "missing" if value is None else f"not text but {type(value).__name__}"
        raise BadRow(f"{name} is {word}")
    return LONE_SURROGATE.sub("\ufffd", value)


def whole(value):
    """The value without nulls in objects, and with U+FFFD for lone surrogates: JSON and Parquet then agree."""
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {str(name): whole(item) for name, item in value.items() if item is not None}
    return value


def message_of(value, name):
    if not isinstance(value, dict):
        raise BadRow(f"{name} holds something that is no message")
    message = whole(value)
    if message.get("role") not in ROLES:
        raise BadRow(f"{name} has a message whose role is {message.get('role')!r}, none of {', '.join(ROLES)}")
    if "content" not in message and message.get("tool_calls"):
        message["content"] = ""
    if not isinstance(message.get("content"), str):
        raise BadRow(f"{name} has a message whose content is not text")
    return message


def messages_of(value, name):
    if isinstance(value, str) and value.lstrip().startswith("["):  # from a CSV file
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise BadRow(f"{name} is neither a list of messages nor its JSON") from None
    if not isinstance(value, list):
        raise BadRow(f"{name} is no list of messages")
    return [message_of(each, name) for each in value]


def from_messages(record):
    row = Row("messages", messages=messages_of(record["messages"], "messages"))
    if not row.messages:
        raise BadRow("messages is empty")
    return row


def from_pair(record):
    prompt, completion = record.get("prompt"), record.get("completion")
    if not isinstance(prompt, list) and not isinstance(completion, list):
        return Row("pair", text_of(prompt, "prompt"), text_of(completion, "completion"))
    if not (isinstance(prompt, list) and isinstance(completion, list)):
        raise BadRow("prompt and completion are not of one kind: one is text, the other a list of messages")
    asked, answered = messages_of(prompt, "prompt"), messages_of(completion, "completion")
    if not answered:
        raise BadRow("completion is empty")
    return Row("messages", messages=asked + answered, learn_from=len(asked))


def word_of(value):
    """A licence or an id in any of a file's forms: text, {"spdx": ...}, that object as JSON text, or a list of words."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, dict):
        value = value.get("spdx")
    if isinstance(value, list):
        value = " AND ".join(str(each) for each in value) or None
    if value is None or value == "":
        return None
    return LONE_SURROGATE.sub("\ufffd", str(value))


def object_in(record, name):
    """A member that is an object, or an object as JSON text (CSV, Parquet); otherwise an empty one."""
    value = record.get(name)
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    return value if isinstance(value, dict) else {}


def task_of(record):
    """The task of an answer. Rows exported from a run name it by the path within their source."""
    if task := word_of(record.get("task_id")):
        return task
    if record.get("kind") == "trace":
        return word_of(object_in(record, "source").get("path") or record.get("source_path"))
    return None


def describe(row, record):
    """The record's further facts about the row: its id, its task, its licence."""
    row.id, row.task_id, row.licence = word_of(record.get("id")), task_of(record), word_of(record.get("licence"))
    return row


def row_of(record):
    """The row of a record."""
    if not isinstance(record, dict):
        raise BadRow("it is no JSON object")
    refuse_other_forms(record)
    if "prompt" in record or "completion" in record:
        row = from_pair(record)
    elif "messages" in record:
        row = from_messages(record)
    else:
        name = next((each for each in TEXTS if each in record), None)
        if name is None:
            known = ", ".join(list(map(str, record))[:12]) or "none"
            raise TrainError(f"there are no columns to learn from (there are: {known})",
                             "name them prompt and completion, messages, or text")
        row = Row("text", text=text_of(record[name], name))
    return describe(row, record)
