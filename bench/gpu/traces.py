"""Reads rows of recorded traces, under the program's names for them."""
import json


def rows_of(path):
    """(id, trace, completion) of every completion in a file of traces."""
    met = {}
    with open(path, encoding="utf-8") as file:
        traces = json.load(file)
    for trace in traces:
        key = trace["sample_key"]
        met[key] = met.get(key, 0) + 1
        if met[key] > 1:
            key += f"~{met[key]}"
        if "turns" in trace:
            for turn in trace["turns"]:
                yield f"{key}#{turn['turn']}", trace, turn
        else:
            yield key, trace, trace


def verdicts_of(path):
    """Verdicts of a file of JSON lines; none without a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []
