"""Draws the loss over the steps from the log of events."""
import json
from pathlib import Path

from .._figures.style import BLUE, GREY, SERIES, WIDTH_IN, in_style, plotter

SMOOTHED_STEPS = 20


def losses_of(log):
    """(step, loss) of the step events in a file of JSON lines; of a repeated step, the later one."""
    found = {}
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the last line of a killed run
            if isinstance(event, dict) and event.get("event") == "step" and event.get("loss") is not None:
                found[event["step"]] = event["loss"]
    return sorted(found.items())


def smoothed(values, share):
    """Exponential means, the first ones unbiased."""
    means, mean, weight = [], 0.0, 0.0
    for value in values:
        mean, weight = mean * (1 - share) + value * share, weight * (1 - share) + share
        means.append(mean / weight)
    return means


def draw(points, path, held_out=()):
    """An SVG (or the format of the name's suffix) of the losses. Returns the path; None without the plotting library."""
    try:
        plot = plotter()
    except ImportError:
        return None
    steps, losses = zip(*points) if points else ((), ())
    with in_style():
        figure, axes = plot.subplots(figsize=(WIDTH_IN, 4), layout="constrained")
        many = len(steps) > SMOOTHED_STEPS
        axes.plot(steps, losses, color=GREY if many else BLUE, linewidth=1, label="each step")
        if many:
            axes.plot(steps, smoothed(losses, 1 / SMOOTHED_STEPS), color=BLUE, linewidth=2,
                      label=f"mean over about {SMOOTHED_STEPS} steps")
        if held_out:
            axes.plot(*zip(*held_out), color=SERIES[1][0], linewidth=2, marker="o", label="held-out rows")
        if many or held_out:
            axes.legend(frameon=False)
        axes.set_xlabel("step")
        axes.set_ylabel("loss (nats a token)")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None)
        plot.close(figure)
    return Path(path)
