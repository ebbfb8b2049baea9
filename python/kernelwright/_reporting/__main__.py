"""Passes figures from standard input to TensorBoard and trackio.

python -m kernelwright._reporting --name RUN [--tensorboard DIR] [--trackio PROJECT]

Each line of the input is {"step": 3, "time": SECONDS, "metrics": {"train/loss": 0.5}}. Prints "ready" when the targets
are open, and ends with the input. Exit 1: an error; the last line on standard error gives the reason.
"""
import argparse
import json
import os
import sys

from .event_file import EventFile


def targets(options):
    found = []
    if options.trackio:
        from .trackio_run import TrackioRun
        found.append(TrackioRun(options.trackio, options.name))
    if options.tensorboard:
        found.append(EventFile(options.tensorboard))
    return found


def numbers(metrics):
    return {tag: float(value) for tag, value in metrics.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)}


def pass_on(lines, found):
    for line in lines:
        told = json.loads(line)
        metrics = numbers(told["metrics"])
        if metrics:
            for target in found:
                target.log(told["step"], told["time"], metrics)


def main():
    parser = argparse.ArgumentParser(prog="kernelwright._reporting", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--tensorboard")
    parser.add_argument("--trackio")
    options = parser.parse_args()
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    try:
        found = targets(options)
        os.write(answers, b"ready\n")
        try:
            pass_on(sys.stdin, found)
        finally:
            for target in found:
                target.close()
    except (OSError, ValueError, KeyError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
