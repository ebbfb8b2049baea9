"""Prepares a task: loads it, reduces it, examines its reference's behaviour, plans its arena."""
import contextlib
import hashlib
import json
import time

import torch

from .. import wire
from ..backward import expanded
from ..packets import clip
from ..wire import made, text
from . import error_units, families, rare_branches, traits
from . import inputs as drawing
from .backward import OTHERWISE, OUTPUT
from .bits import same_bits
from .certificate import ANSWERS, passing_by_output
from .compare import names_of
from .faults import TaskFault, blame
from .kept_families import KeptFamilies
from .load import load
from .plan import Plan, call_spec, labels_of
from .reference import Reference
from .reference_watch import ReferenceWatch
from .reshape import reshaped
from .shrink import shrink
from .soundness import refuse_ties
from .tolerance import chosen, chosen_exacts, exact_of, granting, limited
from .weak_answers import SLOW_S, Draw, limits_of

LEARNT_DRAWS = 4  # whose inputs are compared where there are integers or masks
NAMES, NAME_LIMIT = 64, 200  # of gradients, in bytes: they bound a Prepared to a packet
_64_BITS = 2 ** 64 - 1
_OTHER = 0x9E3779B97F4A7C15  # separates the oracle's own seeds from the supervisor's


def key_of(request, source, device):
    """The key of a prepared task: all settings that affect it."""
    tolerance = request.tolerance
    # Without a version, a GPU's limit decides only whether the task is prepared.
    most_bytes = request.maxBytes if device.type == "cpu" or text(request.version) else 0
    facts = [text(request.taskKey), hashlib.sha256(source.encode()).hexdigest(), text(request.entryPoint),
             text(request.inputShapes), text(request.precision), request.tf32, request.moveWeights, request.initSeed,
             [int(seed) for seed in _seeds(request)], most_bytes, request.halvings,
             request.varied, request.backward, text(request.version),
             [text(tolerance.name), tolerance.rtol, tolerance.atol] if tolerance is not None else []]
    return json.dumps(facts)


def _seeds(request):
    return [int(seed) for seed in request.certificateSeeds] if request.certificateSeeds is not None else []


class NeedsRoom(Exception):
    """The task's inputs and weights exceed Prepare.maxBytes on a GPU, where nothing is made smaller."""

    def __init__(self, size):
        super().__init__(f"inputs and weights of {size} bytes")
        self.bytes = size


class PreparedTask:
    """A task that can be drawn and judged; to prepare one raises NeedsRoom or TaskFault."""

    def __init__(self, request, source, device):
        self.settings = []  # (put, value) of settings that its import left in the process, restored for each later call
        self.findings, self.precision = [], text(request.precision) or "fp32"
        if self.precision not in drawing.CASTS:
            raise TaskFault(f"no precision is called {self.precision!r}; there are fp32, fp16 and bf16")
        self.rule = chosen(request.tolerance)
        self.tight = set()  # positions of outputs that have an error budget under every tolerance
        self.kept_families = KeptFamilies()
        self.without_edges = set()  # families on whose edges the reference has no answer
        self.orders = False         # the reference orders numbers
        self.any_order = False      # and PyTorch leaves the order of equal ones open
        self.limits = {}    # position of an output that a weak answer passes: the largest error that it may have
        self.passing_alone = {}  # position of an output: the empty answers that pass for it alone
        source, shapes, sizes = _resized(request, source, device)
        self.device = device
        self.task = load(source, text(request.entryPoint), shapes)
        try:
            self._prepare(request, sizes)
        except BaseException:
            self.close()
            raise

    def _prepare(self, request, sizes):
        with blame("the reference cannot be constructed", self.task.code.file):
            self.reference = Reference(self.task, self.device, precision=self.precision, tf32=request.tf32,
                                       move_weights=request.moveWeights, init_seed=request.initSeed)
        seeds = _seeds(request) or [request.initSeed]
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        given = self.draw(seeds[0])
        self._refuse_large(request, given)
        self.unseeded = not _same_inputs(given, self.draw(seeds[0]))
        outputs, self.changed_inputs, self.changed_weights = self.reference.probe(given, seeds[0])
        self.is_random = self._random(given, outputs, seeds[0])
        if request.backward:
            given, outputs = self._differentiated(given, seeds[0])
        backward = self.reference.backward
        self.plan = Plan(given, self.reference.weights(), outputs, self.task.input_names, self.device.type == "cpu",
                         backward.labels if backward else ())
        self.is_large = self._has_no_room()  # for copies in float64 beside it
        self._remark()
        self.reference.effects = {at: f"input {self.plan.labels[at]} changed in place" for at in sorted(self.changed_inputs)}
        whole = self.reference.with_effects(outputs, given) if self.changed_inputs else outputs
        self.output_facts, self.units = drawing.facts(whole), []
        certified = len(_seeds(request))
        passing = self._certified(seeds) if certified else []
        offered = self._families(request, given, seeds)
        self.error_units = {} if text(request.version) else self._error_units(given, whole, seeds[0])
        if certified and not self.is_random:
            passing = self._limited(passing, whole, seeds)
        self.spec = call_spec(self.plan, self.task, self.reference, request, bool(self.changed_weights))
        self.reply = made(wire.PreparedT, reduced=bool(sizes), sizes=json.dumps(sizes),
                          provesNothing=passing[0] if passing else "", referenceRandom=self.is_random,
                          findings=self.findings[:16], certificate_sets=certified,
                          empty_answers=list(ANSWERS) if certified else [], passing_answers=passing, families=offered,
                          gradients=[clip(each, NAME_LIMIT) for each in backward.names()[:NAMES]] if backward else [])

    def _refuse_large(self, request, given):
        if self.device.type == "cpu" or not request.maxBytes or text(request.version):
            return
        size = sum(each.numel() * each.dtype.itemsize
                   for each in (*drawing.tensors_in(given), *self.reference.weights().values()))
        if size > request.maxBytes:
            raise NeedsRoom(size)

    def draw(self, seed, expanded=False):
        """The inputs for this seed; where gradients are judged, cotangents follow as a last one."""
        given, backward = drawing.draw(self.task, seed, self.device, self.precision), self.reference.backward
        return given if backward is None else [*given, backward.cotangents(seed, self.device, expanded)]

    def _differentiated(self, given, seed):
        """(inputs, outputs) of a call with gradients."""
        labels = labels_of(given, self.task.input_names)
        if self.changed_inputs:
            changed = ", ".join(labels[at] for at in sorted(self.changed_inputs))
            raise TaskFault(f"the reference changes its input {changed}, so that no gradient is defined: {OTHERWISE}")
        self.reference.differentiate(given, seed, labels)
        given = self.draw(seed)
        return given, self.reference.call(given, seed)

    def expected(self, inputs, seed):
        """(outputs of the reference, what bounds their errors beside the tolerance, in the same structure, or None)."""
        outputs, exact = self.by_tolerance(inputs, seed)
        return outputs, limited(outputs, exact, self.limits) if self.limits else exact

    def by_tolerance(self, inputs, seed):
        """(outputs of the reference, their tolerance.exact_of in float64 or None)."""
        outputs, exact = self.reference.call(inputs, seed), None
        if not self._needs_float64:
            return outputs, None
        try:
            exact = exact_of(outputs, self.reference.call_exact(inputs, seed))
            if (expanded := self._by_expanded_cotangents(inputs, seed)) is not None:
                exact = granting(exact, expanded)
        except TaskFault as fault:
            self._note(f"no error budget, since the reference does not run in float64 ({fault.error[:200]}): "
                       "judged by the kernelbench tolerance")
        if self.rule.name == "strict":
            return outputs, exact
        return outputs, chosen_exacts(outputs, exact, self.tight, OUTPUT if self._scales_gradients else None)

    def _by_expanded_cotangents(self, inputs, seed):
        """The reference's own outputs where a candidate gets cotangents with stride 0; None: it gets none, or raises there.

        PyTorch's rounding depends on the strides of a cotangent.
        """
        if not self._scales_gradients:
            return None
        given = [expanded(each) for each in inputs[-1]]
        if all(own is other for own, other in zip(given, inputs[-1])):
            return None
        try:
            return self.reference.call([*inputs[:-1], given], seed)
        except TaskFault:
            return None

    @property
    def _needs_float64(self):
        return self.rule.name == "strict" or bool(self.tight) or self._scales_gradients

    @property
    def _scales_gradients(self):
        return self.reference.backward is not None and not self.rule.is_custom

    def varied(self, family, seed, edges=False):
        """The inputs of a family for this seed: families.Varied."""
        found = families.varied(self.draw(seed), self.units, family, seed, self.plan.labels, edges)
        if families.changes_integers(family):
            refuse_ties(self, found.values, seed)
        return found

    def _families(self, request, given, seeds):
        if not request.varied or self.is_random or self.unseeded:
            return []
        draws = [drawing.tensors_in(each) for each in (given, self._another(seeds[0], 1))]
        self.units = traits.learned(*draws)
        if not self.is_large and any(unit.traits.kind == traits.KEPT for unit in self.units):
            draws += [drawing.tensors_in(self._another(seeds[0], each)) for each in range(2, LEARNT_DRAWS)]
            self.units = traits.learned(*draws)
        if families.offered(self.units):
            self._watch(given, seeds[0])
        return families.offered(self.units)

    def _watch(self, given, seed):
        """Learns what the reference does with its inputs; where it cannot be watched, the least is taken for granted."""
        watch, sides = ReferenceWatch(drawing.tensors_in(given)), rare_branches.Sides()
        try:
            with watch, contextlib.nullcontext() if self.is_large else sides:
                self.reference.call(given, seed)
        except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError):
            self.orders = True
            return
        self.orders, self.any_order = watch.orders, watch.orders and watch.of_equals
        for unit in self.units:
            unit.traits.sides = all(watch.has_sides(at) for at in unit.places)
        beyond = () if self.is_large else rare_branches.scales(self.reference, given, self.units, seed, sides)
        for unit in self.units:
            unit.traits.beyond = beyond

    def _another(self, seed, number):
        return self.draw(seed ^ (_OTHER * number & _64_BITS))

    def _error_units(self, given, outputs, seed):
        """error_units.of_task; what the run in float64 needed is freed where no later one needs it."""
        unusable = error_units.RANDOM if self.is_random else ""
        if self.is_large:
            unusable = error_units.TOO_LARGE
        if self.reference.effects and not unusable:
            outputs = self.reference.call(given, seed)
        found = error_units.of_task(self.reference, given, outputs, seed, unusable)
        self.free_float64()
        return found

    def _has_no_room(self):
        moved_bytes = self.plan.input_bytes + self.plan.output_bytes
        return moved_bytes > error_units.LIMIT_BYTES or _peak(self.device) > error_units.LIMIT_PEAK

    def free_float64(self):
        """Free the weights in float64 unless judging needs them."""
        if not self._needs_float64 and not self.units:
            self.reference.forget_float64()

    def close(self):
        """Remove the source."""
        self.task.close()

    def _certified(self, seeds):
        """The empty answers that pass; an output that one of them answers alone gets an error budget from float64.

        The budget is of no use, and is left out, where the empty answer keeps it: the output is that answer.
        """
        passing, alone = passing_by_output(self._sets(seeds), self.rule)
        self.passing_alone = alone or ({0: passing} if passing and len(self.output_facts) == 1 else {})
        if passing or not alone or self.rule.name == "strict":
            return passing
        self.tight = set(alone)
        _, within = passing_by_output(self._sets(seeds), self.rule)
        self.tight -= set(within)
        names = names_of(self.reference.call(self.draw(seeds[0]), seeds[0]), self.reference.named)
        for at in sorted(self.tight):
            self._note(f"{names[at]}: an empty answer ({alone[at][0]}) passes the tolerance, so this output is judged by the "
                       "error budget from float64")
        return passing

    def _limited(self, passing, outputs, seeds):
        """The empty answers that pass all the same, after each output that a weak answer passes has a limit."""
        names = names_of(outputs, self.reference.named)
        units = {at: unit.value for at, name in enumerate(names) if at not in self.tight
                 and (unit := self.error_units.get(name)) is not None and unit.value is not None}
        if not units or self.rule.name == "strict" or self.rule.is_custom or self.is_large:
            return passing
        start = time.monotonic()
        draws = [self._answered(seeds[0] ^ _OTHER)]
        if time.monotonic() - start > SLOW_S and not self.passing_alone:
            return passing
        draws.append(self._answered(seeds[-1]))
        try:
            found = limits_of(self.reference, draws, units, self.rule, self.passing_alone)
        except (MemoryError, torch.OutOfMemoryError):
            return passing
        for at, limit in sorted(found.items()):
            self._note(f"{names[at]}: an incomplete computation ({limit.answer}) passes the tolerance, so errors of this "
                       f"output may be at most {limit.allowed:.2g}")
        self.limits = {at: limit.allowed for at, limit in found.items()}
        return passing_by_output(self._sets(seeds), self.rule)[0] if passing and found else passing

    def _answered(self, seed):
        inputs = self.draw(seed)
        return Draw(inputs, seed, self.reference.call(inputs, seed))

    def _sets(self, seeds):
        for seed in (seeds[0] ^ _OTHER, *seeds):
            inputs = self.draw(seed)
            yield inputs, *self.expected(inputs, seed)

    def _random(self, given, outputs, seed):
        """Whether the outputs depend on the seed of the random numbers alone."""
        again = self.reference.call(given, seed ^ _OTHER)
        if _same_inputs(outputs, again):
            return False
        if not _same_inputs(outputs, self.reference.call(given, seed)):
            self._note("the reference gives other outputs on equal inputs and equal seeds")
            return self.device.type == "cpu"  # on a GPU atomic additions vary without any random numbers
        self._note("the reference draws random numbers: a candidate cannot be expected to draw the same ones")
        return True

    def _remark(self):
        if self.unseeded:
            self._note("get_inputs() draws from a generator that no seed reaches; its inputs are kept instead")
        for at in sorted(self.changed_inputs):
            self._note(f"the reference changes its input {self.plan.labels[at]}")
        if self.changed_weights:
            self._note(f"the reference changes {', '.join(sorted(self.changed_weights)[:8])}")

    def _note(self, finding):
        if finding not in self.findings:
            self.findings.append(finding)


def _resized(request, source, device):
    """(source, shapes, {size: new value}), reduced and as the version that is asked for."""
    source, shapes, sizes = _reduced(request, source, device)
    if not text(request.version):
        return source, shapes, sizes
    source, shapes, changed = reshaped(source, text(request.entryPoint), shapes, text(request.version), request.maxBytes)
    return source, shapes, {**sizes, **changed}


def _reduced(request, source, device):
    shapes = text(request.inputShapes)
    if device.type != "cpu" or not (request.maxBytes or request.halvings):
        return source, shapes, {}
    try:
        found = shrink(source, text(request.entryPoint), shapes, request.maxBytes, request.halvings)
    except (SyntaxError, RecursionError):
        return source, shapes, {}  # loading reports the error
    return found.source, found.input_shapes, found.sizes


def _peak(device):
    """Bytes of device memory that the task has needed at once so far."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0


def _same_inputs(first, second):
    return len(one := drawing.tensors_in(first)) == len(two := drawing.tensors_in(second)) \
        and all(same_bits(own, other) for own, other in zip(one, two))
