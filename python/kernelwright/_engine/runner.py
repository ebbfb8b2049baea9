"""The process in which a candidate runs: loads it, calls it, times it, and reports; it judges nothing.

After Load a candidate may have patched anything, so functions that an honest one could break by accident are bound
early. Nothing else is protected: no other process trusts the results of this one.
"""
import contextlib
import gc
import mmap
import os
import time

import torch

from . import as_reference, convention, errors, packets, recording, seeds, source, timing, wire
from .arena import open_arena
from .backward_entry import WithEntry, differentiated
from .cuda_driver import AddressTaken
from .edges import Edges
from .guard import Guard, Stop
from .outputs import place_outputs
from .replies import COUNT_LIMIT, NAME_LIMIT, failed, failed_by, launches
from .values import TooLarge, to_wire
from .wire import made, numbers, text

LOAD, CONSTRUCT, CALL = 1, 2, 3
PAGE_BYTES = 4096
_close, _now, _seed_everything = os.close, time.perf_counter, seeds.seed_everything


def serve(channel, backend, device=-1):
    """Answer messages until the other end closes."""
    backend.start(device)
    runner = Runner(backend, device)
    handlers = {wire.OpenT: runner.open, wire.LoadT: runner.load, wire.CallT: runner.call, wire.RecordT: runner.record,
                wire.TimeCandidateT: runner.time}
    while True:
        message, fds = channel.receive()
        reply = _answer(handlers.get(type(message), runner.refuse), message, fds)
        reply, beside = reply if isinstance(reply, tuple) else (reply, [])
        try:
            channel.send(reply, beside)
        except packets.TooLong as exc:
            channel.send(failed("run", "wrong_structure", f"the answer does not fit: {exc}"))
        finally:
            for fd in beside:
                _close(fd)


def _answer(handler, message, fds):
    """The handler's reply, with its descriptors if any; an exception without a reply is a fault of the judge."""
    try:
        return handler(message, fds)
    except Stop as stop:
        return stop.reply
    except Exception as exc:
        return _unexpected(f"{type(exc).__name__}: {exc}")
    finally:
        for fd in fds:
            _close(fd)


def _unexpected(what):
    return failed("import", "infrastructure", what)


def _contents(fd):
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


class Runner:
    """One candidate."""

    def __init__(self, backend, device):
        self._backend, self._device = backend, device
        self._torch_device = torch.device("cuda", device) if device >= 0 else torch.device("cpu")
        self._file, self._spec, self._callee, self._arena = "", None, None, None
        self._edges = None  # of a call whose inputs end at unmapped pages
        self._stage, self._loading = None, False
        self._values = []  # results of the first calls
        self._recorded_arena, self._flush, self._host_ms = None, None, timing.GATE_MS[1]

    # ---- load ----------------------------------------------------------------------------------

    def open(self, message, fds):
        """The judge's part of a load, before foreign code runs; descriptors: CallSpec, page[, arena]."""
        if len(fds) not in (2, 3) or self._spec is not None:
            return _unexpected(f"Open with {len(fds)} descriptors, or for the second time")
        if backend_of(message.mode) != self._backend.name:
            return _unexpected(f"this process is for mode {self._backend.name}")
        self._spec = wire.from_bytes("CallSpec", _contents(fds[0]))
        self._attach(fds[1])
        self._open(fds[2:])
        self._backend.poison(text(message.poison))
        self._backend.choose_configuration(message.configuration)
        errors.take_raised()
        return made(wire.OpenedT)

    def load(self, message, fds):
        """Import the candidate and construct what will be called; descriptor: the source."""
        if len(fds) != 1 or self._spec is None or self._loading:
            return _unexpected(f"Load with {len(fds)} descriptors, before Open, or for the second time")
        self._loading = True
        name = text(message.fileName) or "candidate.py"
        self._file = as_reference.file_of(name) if message.reference else name
        names = self._imported(message, _contents(fds[0]))
        name, entry = self._entry(names, message)
        self._stage[0] = CONSTRUCT
        with self._guarding("import"), torch.no_grad(), self._backend.scope():
            callee = self._callee = self._made(name, entry, names, message)
        self._backend.log.reset()
        return made(wire.LoadedT, entry=packets.clip(name, 200), convention=callee.convention,
                    arguments=[packets.clip(each, 200) for each in callee.arguments[:64]],
                    weights=callee.weights, weights_differ=callee.weights_differ,
                    backward_entry=isinstance(callee, WithEntry))

    def _made(self, name, entry, names, message):
        if message.reference:
            return as_reference.make(name, entry, self._spec, self._arena, message, self._torch_device)
        return differentiated(convention.make(name, entry, self._spec, self._arena, message.weights, self._torch_device),
                              self._spec, names)

    def _imported(self, message, data):
        try:
            code = source.parse(data, self._file)
        except source.NotPython as exc:
            raise Stop(failed_by("parse", exc.cause, self._file, "syntax_error")) from None
        with self._guarding("import"), self._backend.scope():
            if message.reference:
                return as_reference.run(data, self._file)
            # As for the reference, so that the parts that both leave to PyTorch have equal precision.
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = message.tf32
            return source.run(code, self._file)

    def _entry(self, names, message):
        explicit = text(self._spec.entryPoint) if message.reference else text(message.entry)
        try:
            return convention.find_entry(names, explicit, text(self._spec.entryPoint))
        except convention.MissingEntry as exc:
            raise Stop(failed("import", "missing_entry", str(exc))) from None

    def _attach(self, fd):
        page = mmap.mmap(fd, PAGE_BYTES)
        self._backend.log.attach(page)
        self._stage = memoryview(page).cast("Q")
        self._stage[0] = LOAD

    def _open(self, fds):
        if fds:
            # The old arena is released after the new one is mapped, so that no address is used twice in a row.
            self._arena = open_arena(fds[0], self._spec.arenaBytes, self._device)

    # ---- call ----------------------------------------------------------------------------------

    def call(self, message, fds):
        """One call on fresh tensors over the arena in the message; without one, over the last arena."""
        if self._callee is None or len(fds) > 1 or (self._arena is None and not fds):
            return _unexpected("Call without a candidate or an arena")
        if message.previous:
            return self._previous(message)
        self._open(fds)
        timer = self._timer(message.flushL2) if message.timed and self._device >= 0 else None
        if text(message.poison):
            self._backend.poison(text(message.poison))
        self._edges = Edges(self._arena, numbers(message.atEdge)) if numbers(message.atEdge) else None
        with self._naming_faults() if message.waits else contextlib.nullcontext():
            value, returned = self._called(message, message.effect, timer or self._untimed, way=message.backward)
            self._keep(value)
            self._put_back()
            returned.outputs = self._placed(value, returned)
        returned.deviceMs = timer.device_ms if timer else -1.0
        return returned

    @contextlib.contextmanager
    def _naming_faults(self):
        """The context of a call whose failure names the kernel of a device's fault."""
        try:
            with self._backend.waiting():
                yield
        except Stop as stop:
            stop.reply.kernel = packets.clip(self._backend.faulty_kernel(), NAME_LIMIT)
            raise

    def _put_back(self):
        if self._edges is None:
            return
        with self._guarding("run"):
            self._edges.put_back()
        self._edges = None

    def _keep(self, value):
        # Two results show whether a later call changes the first; more would only take memory.
        if self._values is not None and len(self._values) < 2:
            self._values = None if self._lies_in_arena(value) else [*self._values, value]

    def _lies_in_arena(self, value):
        """Whether a result shares memory with an input or a weight, which is drawn again for the next call."""
        found = []
        with contextlib.suppress(Exception):  # placing the outputs reports a value that cannot be described
            to_wire(value, lambda tensor: found.append(tensor) or made(wire.TensorT))
        return any(self._arena.holds(tensor) for tensor in found)

    def _previous(self, message):
        """The result of the first of two or more calls, as it is now."""
        returned = made(wire.ReturnedT, trial=message.trial, ms=0.0)
        if self._values is None or len(self._values) != 2:
            return returned  # no result was kept
        value, self._values = self._values[0], None
        returned.outputs = self._placed(value, returned)
        return returned

    def _timer(self, flush_l2):
        if flush_l2 and self._flush is None:
            self._flush = timing.Flush(self._torch_device)
        return timing.OneCall(self._host_ms, self._flush if flush_l2 else None)

    def _untimed(self, run):
        began = _now()
        value = run()
        self._host_ms = min(self._host_ms, (_now() - began) * 1e3)
        return value

    def _called(self, message, effect, made_by, recorded=None, way=wire.Backward.once):
        """(the candidate's result in the call that `made_by` makes, the ReturnedT without the outputs)"""
        self._stage[0] = CALL
        self._callee.way = way  # of the backward pass, where there is one
        run, log = self._ready(), self._backend.log
        log.reset()
        _seed_everything(message.seed)
        with self._guarding("run"), torch.no_grad(), self._backend.having(effect):
            with self._backend.scope(), recorded or contextlib.nullcontext():
                began = _now()
                value = made_by(run)
            spent = (_now() - began) * 1e3
        launch_count, finished, records = log.launches, log.programs, log.reset()
        # Only the interpreter counts programs one by one; the other modes take them from the recorded launches.
        program_count = min(finished or sum(each["programs"] for each in records), COUNT_LIMIT)
        return value, made(wire.ReturnedT, trial=message.trial, launches=launches(records),
                           launch_count=launch_count, program_count=program_count,
                           native_code=self._backend.native_code, ms=spent,
                           configurations=self._backend.configurations())

    def _ready(self):
        def tensor(ref):
            return (self._edges or self._arena).tensor(ref, self._backend.guarded)
        with self._guarding("run"):
            with self._backend.scope():
                self._callee.prepare(self._arena)
            return self._callee.ready(tensor)

    def _placed(self, value, returned):
        # Copied as a caller would, without a wait for the device: work that another stream still writes is late.
        began = _now()
        with self._guarding("run"):
            try:
                placed = place_outputs(value, self._arena, self._spec.outputsOffset)
            except TooLarge as exc:
                raise Stop(failed("run", "wrong_structure", f"the result is {exc}")) from None
            self._backend.synchronize()
            returned.ms += (_now() - began) * 1e3
            return placed

    # ---- record ----------------------------------------------------------------------------------

    def record(self, message, fds):
        """One call on the arena in the message, under the recorder; (RecordedT, its descriptors)."""
        if self._callee is None or len(fds) != 1:
            return _unexpected("Record without a candidate or an arena")
        if self._backend.recorder is None:
            return recording.refusal(self._backend.no_recorder)
        self._open_at(fds[0], message.inputAddress)
        under = recording.Recording(self._backend.recorder, self._arena, self._spec.arenaBytes)
        value, returned = self._called(message, wire.Effect.kept, lambda run: run(), under)
        in_place = recording.outputs_in_place(value)
        returned.outputs = self._placed(value, returned)
        files, state_bytes = under.written(self._backend.lowered())
        return made(wire.RecordedT, returned=returned, outputs=in_place, state_bytes=state_bytes), files

    def _open_at(self, fd, address):
        # An earlier Record's mapping at these addresses stays where it is the same memory: a candidate may have kept
        # inputs there.
        old = self._recorded_arena
        if old is not None and recording.same_memory(old, open_arena(fd, self._spec.arenaBytes, self._device)):
            self._arena = old
            return
        self._arena = self._recorded_arena = old = None
        gc.collect()
        try:
            self._arena = open_arena(fd, self._spec.arenaBytes, self._device, address)
        except AddressTaken as exc:
            raise Stop(recording.refusal(str(exc))) from None
        self._recorded_arena = self._arena

    # ---- time ----------------------------------------------------------------------------------

    def time(self, message, fds):
        """Samples of the candidate's time on the arena of the last call."""
        if self._callee is None or self._arena is None or self._device < 0:
            return failed("time", "infrastructure", "nothing to time, or no device to time it on")
        run = self._ready()
        with self._guarding("time"):
            found = timing.samples(run, message.warmup, message.calls, message.budgetMs, message.flushL2,
                                   self._torch_device)
            call_ms = timing.whole_call_ms(run, message.budgetMs)
        self._backend.log.reset()
        return made(wire.TimedT, samples_ms=found, instrument=timing.INSTRUMENT, call_ms=call_ms)

    def refuse(self, message, fds):
        """Refuse a message for another process."""
        return _unexpected(f"a runner does not answer {type(message).__name__}")

    def _guarding(self, stage):
        return Guard(stage, self._file)


def backend_of(mode):
    """The name of a wire mode."""
    return {wire.Mode.interpret: "interpret", wire.Mode.compile: "compile", wire.Mode.cuda: "cuda"}.get(mode)
