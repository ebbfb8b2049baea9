"""Trains an adapter, or merges one. The program starts it and reads its events.

python -m kernelwright._train JOB.json --events FD
python -m kernelwright._train merge ADAPTER --model BASE --output FOLDER [--device cpu] --events FD

Exit status: 0; 1 after an event "error"; 128 + the number of the signal that ended the training, after a checkpoint.
"""
import argparse
import os
import sys
import traceback

from .events import Events, TrainError
from .signals import StopAsked, Stopped

# Set before any library is imported: libraries must not print progress bars without a terminal, and fragmented device
# memory must not count against the limit.
QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false",
         "TRANSFORMERS_VERBOSITY": "error", "PYTORCH_ALLOC_CONF": "expandable_segments:True",
         "BITSANDBYTES_NOWELCOME": "1"}


def words(arguments):
    parser = argparse.ArgumentParser(prog="kernelwright._train", description=__doc__.splitlines()[0])
    if arguments[:1] == ["merge"]:
        parser.add_argument("verb")
        parser.add_argument("adapter")
        parser.add_argument("--model", required=True)
        parser.add_argument("--output", required=True)
        parser.add_argument("--device", default="cpu")
    else:
        parser.add_argument("job")
        parser.set_defaults(verb="train")
    parser.add_argument("--events", type=int, required=True)
    return parser.parse_args(arguments)


def act(options, events, stop):
    if options.verb == "merge":
        from .merge import merge
        return merge(options.adapter, options.model, options.output, options.device, events)
    from . import job, session
    return session.run(job.read(options.job), events, stop)


def main(arguments=None):
    options = words(sys.argv[1:] if arguments is None else arguments)
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    os.set_inheritable(options.events, False)
    events, stop = Events(options.events), StopAsked().install()
    try:
        act(options, events, stop)
    except Stopped:
        return stop.status
    except TrainError as error:
        traceback.print_exc()
        events.error(error.what, error.remedy, error.usage)
        return 1
    except Exception as error:
        traceback.print_exc()
        said = (str(error).strip().splitlines() or [""])[0]
        events.error(f"the training broke: {type(error).__name__}: {said}", "the traceback stands in train.stderr.log")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
