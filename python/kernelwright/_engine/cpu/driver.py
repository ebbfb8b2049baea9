"""A Triton driver that reports sm_90 and has no device; replaces the measurements of autotune and do_bench.

An autotuner takes its first configuration, or the one of choose_configuration(). It launches the latter once beforehand, as a
device does to measure it, so a kernel that adds onto its output is wrong with it.
"""
import operator

import torch
import triton
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner

TARGET = GPUTarget("cuda", 90, 32)
MAX_SHARED = 232448
MAX_GRID = (2**31 - 1, 65535, 65535)
PROPERTIES = {"max_shared_mem": MAX_SHARED, "multiprocessor_count": 132, "warpSize": 32, "max_num_regs": 65536,
              "sm_clock_rate": 1980000, "mem_clock_rate": 2619000, "mem_bus_width": 5120}


class Utils:
    """The functions of `driver.active.utils` that candidates call."""

    def get_device_properties(self, device):
        """The properties of an H100, as Triton names them."""
        return dict(PROPERTIES)


class Driver:
    """Answers like one idle H100 and runs nothing."""

    utils = Utils()

    def get_current_device(self):
        """Always device 0."""
        return 0

    def set_current_device(self, device):
        """Does nothing: only device 0 exists."""

    def get_current_stream(self, device=None):
        """The null stream."""
        return 0

    def get_device_capability(self, device=0):
        """Compute capability."""
        return (9, 0)

    def get_current_target(self):
        """sm_90."""
        return TARGET

    def get_active_torch_device(self):
        """The DEVICE of Triton's tutorials; a candidate's scope maps it to the CPU."""
        return torch.device("cuda", 0)

    def get_device_interface(self):
        """torch.cuda, which a candidate's scope emulates."""
        return torch.cuda

    def get_benchmarker(self):
        """A benchmarker that runs once and measures nothing."""
        return do_bench

    def get_empty_cache_for_benchmark(self):
        """A small object with a zero_() method."""
        return torch.zeros(1)

    def clear_cache(self, cache):
        """Does nothing: no cache exists."""

    def map_python_to_cpp_type(self, kind):
        """The type unchanged: no launcher is compiled."""
        return kind

    @staticmethod
    def is_active():
        """Always true."""
        return True


def do_bench(fn, *args, quantiles=None, return_mode="mean", **kwargs):
    """Call `fn` once and return 1.0 in the form of triton.testing.do_bench."""
    fn()
    if quantiles is not None:
        return [1.0] * len(quantiles) if len(quantiles) > 1 else 1.0
    return [1.0] if return_mode == "all" else 1.0


def launch_grid(grid, meta):
    """The grid as three ints, checked as the launcher and the device would."""
    if callable(grid):
        grid = grid(meta)
    sizes = [operator.index(each) for each in list(grid)[:3]]
    sizes += [1] * (3 - len(sizes))
    if all(each > 0 for each in sizes) and any(each > most for each, most in zip(sizes, MAX_GRID)):
        raise RuntimeError(f"Triton Error [CUDA]: invalid argument: grid {sizes} exceeds {list(MAX_GRID)}")
    return sizes


def programs_of(sizes):
    """The number of programs of a grid; 0 where a size is not positive, as in the launcher."""
    return 0 if min(sizes) <= 0 else sizes[0] * sizes[1] * sizes[2]


_choice = {"number": 0, "most": 0, "chosen": None}
_prune_configs, _measure = Autotuner.prune_configs, Autotuner._bench


def choose_configuration(number):
    """From now on autotuners take the configuration of this number, counted from 0 and again from the first one."""
    _choice["number"] = number


def configurations():
    """The most that an autotuner has had to choose from."""
    return _choice["most"]


def _chosen_first(self, kwargs):
    found = list(_prune_configs(self, kwargs))
    _choice["most"] = max(_choice["most"], len(found))
    start = _choice["number"] % max(1, len(found))
    found = found[start:] + found[:start]
    _choice["chosen"] = found[0] if found and _choice["number"] else None
    return found


def _take_first(self, *args, config, **meta):
    conflicts = meta.keys() & config.kwargs.keys()
    if conflicts:
        raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't "
                         "re-define auto-tuned symbols.")
    if config is _choice["chosen"]:
        _measure(self, *args, config=config, **meta)
    # Equal times: the tuner takes the first configuration that its pruning left.
    return [1.0, 1.0, 1.0]


def install(driver, bench=_take_first):
    """Make `driver` the active one and replace all measurements."""
    triton.runtime.driver.set_active(driver)
    Autotuner._bench = bench
    Autotuner.prune_configs = _chosen_first
    triton.testing.do_bench = do_bench
    triton.testing.do_bench_cudagraph = do_bench
