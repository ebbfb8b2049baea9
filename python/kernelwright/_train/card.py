"""Writes README.md of an adapter: its data, its training, its results and its limits."""
import json
import math
from collections import Counter
from pathlib import Path

LIMITATIONS = """\
The adapter has been trained, not judged: a falling loss says that it foretells the completions of its data better, not that
the kernels it writes compile, are right or are fast. Verify what it writes. What benchmarks its data resembles is for the
data set's own card to say; `kernelwright score` refuses tasks that stand in `training_manifest.json`."""


def front_matter(base, hub_name):
    """The metadata that the hub reads. A local folder is left out, because the hub does not know it."""
    named = [f"base_model: {json.dumps(base)}"] if hub_name else []
    return "\n".join(["---", *named, "library_name: peft", "pipeline_tag: text-generation", "tags:", "- kernelwright",
                      "- lora", "- triton", "---"])


def numbered(number, one, several=None):
    """"1 row", "2,000 rows"; both forms may contain the verb."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def counted(names):
    return [f"| {name or 'not said'} | {count:,} |" for name, count in Counter(names).most_common()]


def table(head, lines):
    return "\n".join([head, "|".join(["", *["---"] * (head.count("|") - 1), ""]), *lines])


def data_section(manifest):
    counts = manifest["counts"]
    held_back = [f"| `{Path(each['path']).name}` (validation) | {each['rows']:,} | `{each['sha256']}` |"
                 for each in manifest.get("validation", {}).get("files", ())]
    lost = [f"{numbered(count, 'row was', 'rows were')} {what}: {why}." for what in ("dropped", "cut")
            for why, count in counts.get(what, {}).items()]
    sequences = numbered(counts["sequences"], "sequence")
    if counts["sequences_reached"] < counts["sequences"]:
        lost.append(f"Training ended before all of them were seen: {counts['sequences_reached']:,} of {sequences}, with "
                    f"{numbered(counts['rows_reached'], 'row')}, were learnt from; the others were not.")
    files = [f"| `{Path(each['path']).name}` | {each['rows']:,} | `{each['sha256']}` |" for each in manifest["files"]]
    return "\n\n".join([
        "## Data", table("| file | rows | SHA-256 |", files + held_back),
        f"{counts['used']:,} of {numbered(counts['rows'], 'row')}, {numbered(counts['tokens'], 'token')}, of which "
        f"{counts['learnt_tokens']:,} are to be learnt, in {sequences}. " + " ".join(lost),
        table("| licence | rows |", counted(each["licence"] for each in manifest["rows"])),
        "Id, task, licence and hash of every row that was learnt from stand in `training_manifest.json`."])


def recipe_section(recipe):
    lines = [f"| {section} | {key} | `{json.dumps(value)}` |"
             for section, keys in recipe.items() for key, value in keys.items()]
    return "## Recipe\n\n" + table("| | key | value |", lines)


def results_section(result):
    points = [f"| {step:,} | {loss:.4f} |" for step, loss in result["losses"]]
    lines = [f"{numbered(result['steps'], 'step')} in {result['seconds']:,.0f} s on {result['device']}."]
    if points:
        lines.append(table("| step | loss |", points))
    if result.get("course"):
        lines.append(held_out_text(result["course"], result["steps"]))
    if result.get("curve"):
        lines.append(f"![loss over the steps]({result['curve']})")
    return "\n\n".join(["## Results", *lines])


def held_out_text(course, steps):
    """The held-out losses, and the step whose weights the adapter has."""
    points = spread(sorted(course.losses.items()))
    of = f"step {course.best_step:,}, which had the lowest" if course.best_step else f"step {steps:,}: none was a number"
    early = " Training ended early, because the held-out loss no longer fell." if course.ended else ""
    if course.best_loss is not None and course.best_loss >= course.losses.get(0, math.inf):
        early += " No step had a lower loss than the base model."
    return "\n\n".join([
        f"The held-out loss is taken on rows that were not trained on; step 0 is the base model. The adapter is of {of}."
        f"{early}",
        table("| step | held-out loss |", [f"| {step:,} | {loss:.4f} |" for step, loss in points])])


def loading_section(base):
    return f"""## How to load it

```python
from peft import AutoPeftModelForCausalLM
from transformers import AutoTokenizer

model = AutoPeftModelForCausalLM.from_pretrained("PATH")  # this folder
tokenizer = AutoTokenizer.from_pretrained("PATH")
```

Or serve it beside its base model, `{base}`. `kernelwright train merge` puts it into the base model's weights."""


def spread(points, count=11):
    """A few of the points, evenly spaced, the first and the last among them."""
    if len(points) <= count:
        return points
    return [points[round(index * (len(points) - 1) / (count - 1))] for index in range(count)]


def render(manifest, result):
    base = manifest["base_model"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(result["packages"].items()))
    return "\n\n".join([
        front_matter(base, not Path(base).exists()), f"# LoRA adapter for {Path(base).name if Path(base).exists() else base}",
        f"Made by {manifest['program']} on {manifest['created'][:10]}, with {versions}.",
        data_section(manifest), recipe_section(manifest["recipe"]),
        results_section(result | {"losses": spread(result["losses"])}),
        "## Limitations\n\n" + LIMITATIONS, loading_section(base)]) + "\n"
