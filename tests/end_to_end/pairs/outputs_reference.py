"""A function with two outputs; its helper is private."""


def _centred(x):
    return x - x.mean(dim=-1, keepdim=True)


def mean_and_spread(x):
    return x.mean(dim=-1), _centred(x).abs().amax(dim=-1)
