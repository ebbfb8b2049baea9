"""One oracle's state: the tasks that it keeps, and the arenas of the current task."""
import gc
from collections import OrderedDict

import torch

from .. import timing, wire
from ..arena import create_arena
from ..seeds import of_call
from ..wire import made, text
from . import edges
from .certify import certified
from .families import reported_only
from .faults import TaskFault
from .judge import judged
from .kept_families import Drawn
from .prepare import NeedsRoom, PreparedTask, key_of
from .state import Snapshot

TASKS_KEPT, ARENAS_KEPT = 4, 16
BYTES_KEPT = {"cpu": 512 << 20, "cuda": 1 << 30}  # of inputs and weights of kept tasks
IDLE_BYTES = 2 << 30  # of device memory that may stay reserved between requests
LAST_BYTES_KEPT = 64 << 20  # of inputs, so that judging need not draw them again
NOTHING = (None, None, None)


class Session:
    """Answers requests about one task after another. `device` is a CUDA ordinal, or -1 for the CPU."""

    def __init__(self, device=-1):
        self._ordinal = device
        self.device = torch.device("cuda", device) if device >= 0 else torch.device("cpu")
        if device >= 0:
            torch.cuda.set_device(device)
        else:
            torch.set_num_threads(1)
        self._tasks, self._task = OrderedDict(), None
        self._arenas, self._kept_inputs = OrderedDict(), OrderedDict()
        self._poison_seeds = {}  # of each arena's last draw
        self._expanded_seeds = set()  # of draws with expanded cotangents
        self._last_inputs = NOTHING  # (slot, seed, inputs) of the last draw
        self._last_varied = None  # (what was drawn, inputs, answer of the reference) of the last draw of a family

    def prepare(self, request, source):
        """(PreparedT, the CallSpec's bytes). A task without room is not prepared."""
        key = key_of(request, source, self.device)
        if self._ordinal < 0 or self._task is None or self._tasks.get(key) is not self._task:
            self._leave()  # otherwise a replayer of this task's reference still has its arena mapped
        if key not in self._tasks:
            self._make_room(0)
            before = Snapshot()
            try:
                task = PreparedTask(request, source, self.device)
            except NeedsRoom as large:
                needed_bytes = large.bytes
            else:
                needed_bytes = 0
                task.settings = before.differences()
                self._tasks[key] = task
            if needed_bytes:
                self._free()
                return made(wire.PreparedT, neededBytes=needed_bytes), b""
        self._tasks.move_to_end(key)
        self._task = self._tasks[key]
        self._make_room(1)
        return self._task.reply, self._task.spec

    def draw(self, request):
        """The arena with this trial's inputs and weights, and poison in all its other memory."""
        task = self._current()
        if request.expanded:
            self._expanded_seeds.add(request.seed)
        return self._filled(task, request, self._inputs(task, request.seed))

    def _inputs(self, task, seed):
        return task.draw(seed, seed in self._expanded_seeds)

    def draw_family(self, request):
        """(the arena with inputs of a family, or None, the DrawnT)."""
        task = self._current()
        self._last_varied = None  # a large task has no memory for two draws
        family = text(request.family)
        found = task.kept_families.take(family) if request.reuse else None
        if found is None:
            found = self._drawn_family(task, family, request.seed)
            if request.reuse and found.lasts:
                task.kept_families.put(family, found)
        reply = made(wire.DrawnT, trial=request.trial, reported_only=reported_only(family), description=found.description,
                     dropped=found.dropped)
        if found.dropped:
            return None, reply
        self._last_varied = _drawn(request), found.inputs, found.answer
        return self._filled(task, request, found.inputs), reply

    def _drawn_family(self, task, family, seed):
        found = Drawn()
        try:
            (found.inputs, found.description), found.answer = edges.drawn(task, family, seed)
        except edges.NO_ANSWER as exc:
            found.inputs, found.dropped = None, str(exc)[:400] or type(exc).__name__
            found.lasts = isinstance(exc, TaskFault)  # memory may be there the next time
        if found.dropped:
            self._free()
            self._synchronise()  # a device that is lost is no reason to drop a family
        return found

    def _free(self):
        """Free device memory that an error has left: an exception and its frames refer to each other, and to tensors."""
        if self.device.type != "cuda":
            return
        if torch.cuda.memory_allocated(self.device) > IDLE_BYTES:
            gc.collect()
        torch.cuda.empty_cache()

    def _filled(self, task, request, inputs):
        arena = self._arena(request)
        task.plan.fill(arena, inputs, task.reference.weights())
        # A kernel sees the poison, and must not learn the seed of the inputs from it.
        poison_seed = request.poisonSeed or of_call(request.seed)
        task.plan.gaps.fill(arena, poison_seed)
        task.plan.poison(arena, poison_seed)
        self._poison_seeds[self._arena_key(request)] = poison_seed
        if task.unseeded:
            self._kept_inputs[request.slot, request.trial] = inputs
            while len(self._kept_inputs) > ARENAS_KEPT:
                self._kept_inputs.popitem(last=False)
        elif not request.family and task.plan.input_bytes <= LAST_BYTES_KEPT:
            self._last_inputs = request.slot, request.seed, inputs
        self._synchronise()
        return arena

    def judge(self, request):
        """The JudgedT of a trial that was drawn before."""
        task = self._current()
        arena = self._arenas.get(self._arena_key(request))
        if arena is None:
            raise LookupError(f"trial {request.trial} was not drawn, or too long ago")
        poison_seed = self._poison_seeds[self._arena_key(request)]
        if request.family:
            drawn, inputs, answer = self._last_varied or NOTHING
            if drawn != _drawn(request):
                raise LookupError(f"the family {text(request.family)!r} was not drawn last")
            return judged(task, arena, request, inputs, poison_seed, answer)
        reply = judged(task, arena, request, self._pristine(task, request), poison_seed)
        reply.findings = [*(each for each in task.findings if each not in task.reply.findings), *reply.findings][:16]
        return reply

    def _pristine(self, task, request):
        """The drawn inputs: kept, where they are few or no seed reproduces them; otherwise drawn again."""
        if task.unseeded:
            return self._kept_inputs[request.slot, request.trial]
        slot, seed, inputs = self._last_inputs
        return inputs if (slot, seed) == (request.slot, request.seed) else self._inputs(task, request.seed)

    def certify(self, request):
        """The CertifiedT of the current task."""
        return certified(self._current(), [int(seed) for seed in request.seeds])

    def time_reference(self, request):
        """The TimedT of the reference, by CUDA events."""
        if self.device.type != "cuda":
            raise TaskFault("there is no GPU to time the reference on", "infrastructure", "time")
        task = self._current()
        inputs = task.draw(request.seed)
        run = task.reference.prepared(inputs, request.seed)
        samples = timing.samples(run, request.warmup, request.calls, request.budgetMs, request.flushL2, self.device)
        return made(wire.TimedT, samplesMs=samples, instrument=timing.INSTRUMENT,
                    callMs=timing.whole_call_ms(run, request.budgetMs))

    def trim(self):
        """Free the allocator's cached memory, because other oracles and runners share the device."""
        if self.device.type == "cuda" and torch.cuda.memory_reserved(self.device) > IDLE_BYTES:
            torch.cuda.empty_cache()

    def forget(self):
        """Drop every task and arena."""
        self._leave()
        while self._tasks:
            self._tasks.popitem(last=False)[1].close()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _current(self):
        if self._task is None:
            raise LookupError("no task was prepared")
        for put, value in self._task.settings:
            put(value)
        return self._task

    def _leave(self):
        self._task = None
        while self._arenas:
            self._arenas.popitem()[1].close()
        self._kept_inputs.clear()
        self._poison_seeds.clear()
        self._expanded_seeds.clear()
        self._last_inputs, self._last_varied = NOTHING, None

    def _arena_key(self, request):
        # Device memory is scarce, and a replayer maps it once: while the task is current, a slot's arena is filled again for
        # each trial. Memory files cost little.
        return request.slot if self._ordinal >= 0 else request.trial

    def _arena(self, request):
        size, key = self._task.plan.arena_bytes, self._arena_key(request)
        if self._ordinal >= 0:
            if key in self._arenas:
                return self._arenas[key]
            if key >= ARENAS_KEPT:
                raise LookupError(f"slot {key}, and there are {ARENAS_KEPT}")
        if (old := self._arenas.pop(key, None)) is not None:
            old.close()
        while len(self._arenas) >= ARENAS_KEPT:
            self._arenas.popitem(last=False)[1].close()
        self._arenas[key] = create_arena(size, self._ordinal)
        return self._arenas[key]

    def _make_room(self, least):
        """Drop the tasks unused for longest, until the rest fits the limit, but keep at least `least`."""
        while len(self._tasks) > least and (
                len(self._tasks) > TASKS_KEPT - (least == 0)
                or sum(each.plan.input_bytes for each in self._tasks.values()) > BYTES_KEPT[self.device.type]):
            self._tasks.popitem(last=False)[1].close()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def _synchronise(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _drawn(request):
    """Names a draw of a family."""
    return request.slot, request.seed, text(request.family)
