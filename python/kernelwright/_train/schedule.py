"""Whether a training learns: the library's warm-up gives the first step the learning rate 0."""
from .events import TrainError


def learns(recipe, steps):
    """Whether the learning rate of any step is above 0. Step n of a warm-up over m steps has the share (n - 1) / m of the
    full rate; so without a warm-up every step learns, and with one all but the first."""
    return steps > 1 or recipe["training"]["warmup"] == 0


def nothing_learnt(recipe):
    return TrainError(f"nothing would be learnt: the only step is the first of the warm-up (training.warmup = "
                      f"{recipe['training']['warmup']:g}), whose learning rate is 0",
                      "--set warmup=0, or more steps: more rows, training.epochs, or a smaller training.accumulation; "
                      "--force trains anyway", usage=True)
