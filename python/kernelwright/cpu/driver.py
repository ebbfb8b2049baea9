"""A Triton driver that says sm_90 and owns no device, and what measures: autotune and do_bench."""
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
    """What candidates ask `driver.active.utils` for."""

    def get_device_properties(self, device):
        """The properties of an H100, as Triton names them."""
        return dict(PROPERTIES)


class Driver:
    """Answers as one idle H100 would; runs nothing."""

    utils = Utils()

    def get_current_device(self):
        """There is one device."""
        return 0

    def set_current_device(self, device):
        """There is one device."""

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
        """The tutorials' DEVICE; a candidate's scope maps it to the CPU."""
        return torch.device("cuda", 0)

    def get_device_interface(self):
        """torch.cuda, whose words a candidate's scope answers."""
        return torch.cuda

    def get_benchmarker(self):
        """A benchmarker that runs once and measures nothing."""
        return do_bench

    def get_empty_cache_for_benchmark(self):
        """Something small with a zero_()."""
        return torch.zeros(1)

    def clear_cache(self, cache):
        """There is no cache to clear."""

    def map_python_to_cpp_type(self, kind):
        """No launcher is compiled."""
        return kind

    @staticmethod
    def is_active():
        """This driver is the one."""
        return True


def do_bench(fn, *args, quantiles=None, return_mode="mean", **kwargs):
    """Call `fn` once and answer 1.0 in the shape that triton.testing.do_bench would."""
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
    """How many programs a grid has; none where a size is not positive, as the launcher does."""
    return 0 if min(sizes) <= 0 else sizes[0] * sizes[1] * sizes[2]


def _take_first(self, *args, config, **meta):
    conflicts = meta.keys() & config.kwargs.keys()
    if conflicts:
        raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't "
                         "re-define auto-tuned symbols.")
    # Equal times: the tuner takes the first configuration that its pruning left.
    return [1.0, 1.0, 1.0]


def install(driver, bench=_take_first):
    """Make `driver` the active one, and let nothing be measured."""
    triton.runtime.driver.set_active(driver)
    Autotuner._bench = bench
    triton.testing.do_bench = do_bench
    triton.testing.do_bench_cudagraph = do_bench
