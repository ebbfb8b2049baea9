"""Prepare, draw and judge, in the supervisor's order."""
import time

import pytest
import torch
from oracle_world import LINEAR, SAMPLES, draw, judge, module, recorded, request, session, shapes_of, tried  # noqa

from kernelwright._engine import wire
from kernelwright._engine.cpu_arena import CpuArena
from kernelwright._engine.layout import describe, span
from kernelwright._engine.oracle import inputs as drawing
from kernelwright._engine.oracle import session as session_module
from kernelwright._engine.oracle import tf32
from kernelwright._engine.oracle.certificate import passing_answers
from kernelwright._engine.oracle.faults import TaskFault
from kernelwright._engine.oracle.judge import _Taker
from kernelwright._engine.oracle.prepare import PreparedTask
from kernelwright._engine.oracle.tolerance import Flat
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.wire import made


def reference_of(session, seed=77):
    """A candidate that calls the reference, and changes the inputs as it does."""
    def candidate(inputs, weights):
        found, effects = session._task.reference.call(inputs, seed), session._task.reference.effects
        for at, name in effects.items():
            drawing.tensors_in(inputs)[at].copy_(found[name])
        return found["output"] if effects else found
    return candidate


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", ["kernelbench", "strict"])
def test_samples(session, path, rule):
    reply, spec = session.prepare(request(shapes_of(path), tolerance=made(wire.ToleranceT, name=rule)), path.read_text())
    assert reply.provesNothing == "" and not reply.referenceRandom and not reply.findings
    assert reply.reduced is (path.stem == "log_softmax")
    found = tried(session, reference_of(session))
    assert found.right and not found.error and not found.findings


def test_recorded(session):
    """The references of the recorded traces, with the known results of their certificates."""
    hollow = {"kernelbook_1174": "constant", "kernelbench_80": "zeros", "kernelbench_9": "zeros"}
    for key, source in recorded().items():
        reply, _ = session.prepare(request(maxBytes=2 << 20), source)
        assert reply.provesNothing == next((word for name, word in hollow.items() if key.startswith(name)), ""), key
        assert tried(session, reference_of(session)).right, key


def test_call_spec(session):
    source = module("return self.norm(self.fc(x)) * self.gain + self.shift", init=(
        "self.fc = torch.nn.Linear(8, 8); self.norm = torch.nn.BatchNorm1d(8)\n"
        "        self.gain = torch.nn.Parameter(torch.ones(8)); self.shift = torch.nn.Parameter(torch.zeros(8))\n"
        "        self.again = self.fc"))
    reply, data = session.prepare(request(), source)
    spec = wire.from_bytes("CallSpec", data)
    assert wire.texts(spec.positionalWeights) == ["gain", "shift", "fc.weight", "fc.bias", "norm.weight", "norm.bias"]
    weights = {wire.text(each.name): each.isBuffer for each in spec.weights}
    assert weights["norm.running_mean"] and not weights["again.weight"] and "fc.weight" in weights
    assert wire.texts(spec.inputNames) == ["x"] and wire.text(spec.entryPoint) == "Model"
    assert spec.outputBytes == 4 * 8 * 4 and spec.arenaBytes - spec.outputsOffset > 1 << 20
    assert reply.findings == ["the reference changes norm.num_batches_tracked, norm.running_mean, norm.running_var"]
    weights = session._task.reference.weights()
    assert not torch.equal(weights["norm.weight"], torch.ones(8))
    assert tried(session, reference_of(session)).right


def test_wrong_answers(session):
    session.prepare(request(), LINEAR)

    def linear(inputs, weights):
        return torch.relu(inputs[0] @ weights["fc.weight"].T + weights["fc.bias"])
    assert tried(session, linear).right
    forgot = tried(session, lambda inputs, weights: torch.relu(inputs[0] @ weights["fc.weight"].T))
    assert forgot.errorClass == "wrong_value" and 0 < forgot.mismatchedShare <= 1 and forgot.maxAbsError > 0
    assert len(forgot.firstMismatch.index) == 2 and wire.text(forgot.firstMismatch.output) == "output"
    assert tried(session, lambda *given: linear(*given)[0]).errorClass == "wrong_shape"
    assert tried(session, lambda *given: linear(*given).half()).errorClass == "wrong_dtype"
    assert tried(session, lambda *given: [linear(*given)]).errorClass == "wrong_structure"
    assert tried(session, lambda *given: linear(*given) / 0).errorClass == "nonfinite"
    assert tried(session, lambda *given: {1, 2}).errorClass == "wrong_structure"
    assert tried(session, lambda *given: torch.zeros(3000, 3000)).errorClass == "wrong_shape"
    assert "strides" in tried(session, lambda *given: linear(*given).T.contiguous().T).findings[0]


def test_changed_inputs(session):
    session.prepare(request(), LINEAR)
    for change in (lambda i, w: i[0][3, 4].add_(1), lambda i, w: w["fc.bias"].zero_()):
        def candidate(inputs, weights, change=change):
            found = session._task.reference.call(inputs, 77)
            change(inputs, weights)
            return found
        assert tried(session, candidate).errorClass == "input_modified"
    spec = wire.from_bytes("CallSpec", session._task.spec)
    arena = draw(session)
    inputs = [arena.tensor(each.tensor) for each in spec.inputs.items]
    outputs = place_outputs(session._task.reference.call(inputs, 77), arena, spec.outputsOffset)
    inputs[0].zero_()
    assert judge(session, outputs, outputsOnly=True).right


def test_reference_may_change_its_inputs(session):
    reply, _ = session.prepare(request(), module("return x.relu_()"))
    assert reply.findings == ["the reference changes its input x"] and reply.provesNothing == ""
    assert tried(session, lambda inputs, _: inputs[0].relu_()).right


@pytest.mark.parametrize("lie", [
    dict(offset=0), dict(bytes=8), dict(offset=1 << 62), dict(shape=[1 << 40, 1 << 40]), dict(shape=[-1, 4]),
    dict(dtype="no_such_dtype"), dict(dtype="load"), dict(shape=[1 << 20], bytes=1 << 22), dict(dtype="quint8"),
    dict(shape=[0, 1 << 62]), dict(dtype=None), dict(shape=None, stride=None),
])
def test_lies_about_outputs(session, lie):
    session.prepare(request(), LINEAR)
    spec, arena = wire.from_bytes("CallSpec", session._task.spec), draw(session)
    outputs = place_outputs(session._task.reference.call(session._task.draw(77), 77), arena, spec.outputsOffset)
    for name, value in lie.items():
        setattr(outputs.tensor, name, value)
    found = judge(session, outputs)
    assert not found.right and found.errorClass in ("wrong_structure", "wrong_shape", "wrong_dtype")


def strided(arena, tensor, at, **lie):
    """The description of an output that lies in the arena with the strides of its return."""
    size = span(tensor.shape, tensor.stride()) * tensor.element_size()
    ref = describe(tensor, at, size)
    arena.write(ref, tensor)
    for name, value in lie.items():
        setattr(ref, name, value)
    return made(wire.ValueT, kind=wire.ValueKind.tensor, tensor=ref)


def as_returned(how):
    """A tensor of these values in other strides."""
    def lay(values):
        if how == "transposed":
            return values.T.contiguous().T
        if how == "gaps":
            return values.new_full((2 * values.shape[0], 3 * values.shape[1]), 7)[::2, ::3].copy_(values)
        return values
    return lay


@pytest.mark.parametrize("how", ["dense", "transposed", "gaps"])
def test_outputs_may_lie_as_they_were_returned(session, how):
    session.prepare(request(), LINEAR)
    arena, offset = draw(session), session._task.plan.outputs_offset
    expected = session._task.reference.call(session._task.draw(77), 77)
    found = judge(session, strided(arena, as_returned(how)(expected), offset + 512), strided=True)
    assert found.right and not found.error, vars(found)
    expected[3, 4] += 1
    found = judge(session, strided(arena, as_returned(how)(expected), offset + 512), strided=True)
    assert found.errorClass == "wrong_value" and list(found.firstMismatch.index) == [3, 4]


def test_an_expanded_output_is_judged_by_all_its_elements(session):
    session.prepare(request(), module("return x.sum(0, keepdim=True).expand(4, 8)"))
    arena = draw(session)
    row = session._task.reference.call(session._task.draw(77), 77)[:1].clone()
    outputs = strided(arena, row.expand(4, 8), session._task.plan.outputs_offset)
    assert outputs.tensor.bytes == 32 and judge(session, outputs, strided=True).right
    outputs.tensor.shape = [1 << 40, 8]
    assert judge(session, outputs, strided=True).errorClass == "wrong_shape"


def test_truth_values_of_any_byte_are_true(session):
    session.prepare(request(), module("return x > 0"))
    arena = draw(session)
    expected = session._task.reference.call(session._task.draw(77), 77)
    transposed = (expected.to(torch.uint8) * 5).T.contiguous().T
    outputs = strided(arena, transposed, session._task.plan.outputs_offset, dtype="bool")
    assert judge(session, outputs, strided=True).right


@pytest.mark.parametrize("lie", [
    dict(offset=0), dict(offset=1 << 62), dict(bytes=8), dict(bytes=1 << 62), dict(stride=[-32, 1]), dict(stride=[1]),
    dict(stride=[1 << 60, 1]), dict(stride=[1 << 20, 1], bytes=1 << 28), dict(stride=None), dict(shape=[1 << 40, 1 << 40]),
])
def test_lies_about_strided_outputs(session, lie):
    session.prepare(request(), LINEAR)
    arena, offset = draw(session), session._task.plan.outputs_offset
    expected = session._task.reference.call(session._task.draw(77), 77)
    found = judge(session, strided(arena, expected, offset, **lie), strided=True)
    assert not found.right and found.errorClass == "wrong_structure"


def test_many_expanded_outputs_are_not_copied_for_ever(session):
    session.prepare(request(), LINEAR)
    arena, offset = draw(session), session._task.plan.outputs_offset
    one = strided(arena, torch.ones(1), offset)
    one.tensor.shape, one.tensor.stride = [1 << 18], [0]
    found = judge(session, made(wire.ValueT, kind=wire.ValueKind.list, items=[one] * 4000), strided=True)
    assert found.errorClass == "wrong_structure"
    taken = _Taker(arena, session._task.plan, strided=True)
    sizes = [each.data.numel() * 4 for each in (taken.taken(one.tensor) for _ in range(50)) if each.data is not None]
    assert 0 < sum(sizes) <= session._task.plan.arena_bytes - offset


def test_a_slot_of_a_device_keeps_its_memory(session, monkeypatch):
    monkeypatch.setattr("kernelwright._engine.oracle.session.create_arena", lambda size, device: CpuArena.create(size))
    monkeypatch.setattr(session, "_ordinal", 0)
    session.prepare(request(), LINEAR)

    def drawn(trial, slot):
        return session.draw(made(wire.DrawT, trial=trial, seed=77 + trial, slot=slot))
    first, second = drawn(1, 0), drawn(1, 1)
    assert first is not second and drawn(2, 0) is first and drawn(9, 1) is second
    offset = session._task.plan.outputs_offset
    for slot, trial, arena in ((0, 2, first), (1, 9, second)):
        answer = session._task.reference.call(session._task.draw(77 + trial), 77)
        outputs = place_outputs(answer, arena, offset)
        assert judge(session, outputs, trial, 77 + trial, slot=slot).right
        assert not judge(session, outputs, trial, 77 + trial, slot=1 - slot).right
    with pytest.raises(LookupError):
        judge(session, outputs, slot=2)
    with pytest.raises(LookupError):
        drawn(1, 1 << 31)
    session.prepare(request(), LINEAR)
    assert drawn(3, 0) is first  # a replayer of this task's reference has it mapped
    session.prepare(request(initSeed=6), LINEAR)
    with pytest.raises(LookupError):
        judge(session, outputs)
    assert drawn(3, 0) is not first


def test_poison_covers_all_that_outputs_may_take(session):
    session.prepare(request(), LINEAR)
    plan, seen = session._task.plan, set()
    for seed in (75, 76, 77):
        arena = draw(session, poison_seed=seed)
        region = arena.bytes(plan.outputs_offset, plan.arena_bytes - plan.outputs_offset)
        seen.add(bytes(region[-64:].tolist()))
        region.fill_(0x55)
        session._task.plan.poison(arena, seed)
        words = region[:region.numel() // 4 * 4].view(torch.int32)
        assert (words != 0x55555555).all()
    assert len(seen) == 3


def test_tf32_explains(session):
    session.prepare(request(), LINEAR)
    found = tried(session, lambda i, w: torch.relu(tf32.rounded(i[0]) @ tf32.rounded(w["fc.weight"]).T + w["fc.bias"]))
    assert found.errorClass == "wrong_value" and tf32.FINDING in found.findings
    found = tried(session, lambda i, w: torch.relu(i[0] @ w["fc.weight"].T + w["fc.bias"] + 0.1))
    assert found.errorClass == "wrong_value" and not found.findings
    session.prepare(request(tf32=True), LINEAR)
    assert tried(session, lambda i, w: torch.relu(tf32.rounded(i[0]) @ tf32.rounded(w["fc.weight"]).T + w["fc.bias"])).right


FAINT = module("return torch.sigmoid(x * 0.5) * 0.02", inputs="[torch.randn(16, 64)]")
SMALL_PRODUCT = module("return x @ self.w", inputs="[torch.randn(64, 128) * 0.025]",
                       init="self.w = torch.nn.Parameter(torch.randn(128, 32) * 0.025)")
SHORT = module("return torch.sigmoid(x * 0.5) * 0.02", inputs="[torch.randn(8, 8)]")


@pytest.mark.parametrize("source, candidate, wanted", [
    (FAINT, lambda i, w: torch.sigmoid(i[0].bfloat16().float() * 0.5) * 0.02, "bfloat16"),
    (FAINT, lambda i, w: torch.sigmoid(i[0].half().float() * 0.5) * 0.02, ""),
    (FAINT, lambda i, w: torch.sigmoid(tf32.rounded(i[0]) * 0.5) * 0.02, ""),
    (FAINT, lambda i, w: torch.sigmoid(i[0] * 0.5) * 0.02 + torch.randn(16, 64) * 1e-5, ""),
    (FAINT, lambda i, w: torch.sigmoid(i[0] * 0.5) * 0.02001, ""),
    (SMALL_PRODUCT, lambda i, w: (i[0].bfloat16() @ w["w"].bfloat16()).float(), "bfloat16"),
    (SMALL_PRODUCT, lambda i, w: i[0] @ w["w"].bfloat16().float(), "bfloat16"),
    (SMALL_PRODUCT, lambda i, w: tf32.rounded(i[0]) @ tf32.rounded(w["w"]), ""),
    (SHORT, lambda i, w: torch.sigmoid(i[0].bfloat16().float() * 0.5) * 0.02, ""),  # too few elements
])
def test_operands_of_lower_precision(session, source, candidate, wanted):
    session.prepare(request(), source)
    found = tried(session, candidate)
    assert found.right and wire.text(found.operandPrecision) == wanted, found.error


@pytest.mark.parametrize("forward, inputs, wanted", [
    ("return x * 2", "[torch.randn(4, 8)]", ""),
    ("return torch.relu(x - 100)", "[torch.rand(4, 8)]", "zeros"),
    ("return torch.ne(x, 0).float()", "[torch.rand(4, 8) + 1]", "constant"),
    ("return x.clone()", "[torch.randn(4, 8)]", "echo"),
    ("return x * 2", "[torch.arange(32.0).reshape(4, 8)]", "stale"),
    ("return (x + 1, x * 3)", "[torch.randn(4, 8)]", ""),
    ("return (x > -9, x.long() * 0 + 3)", "[torch.randn(4, 8)]", "constant"),
    ("return x.argmax(1)", "[torch.randn(64, 8)]", ""),
])
def test_certificate(session, forward, inputs, wanted):
    assert session.prepare(request(), module(forward, inputs))[0].provesNothing == wanted


@pytest.mark.parametrize("values, wanted", [((5, 5, 6, 7, 8), []), ((5, 5, 5, 5, 8), ["constant", "stale"])])
def test_one_equal_number_is_no_empty_answer(values, wanted):
    sets = [([torch.zeros(3)], torch.tensor(float(value)), None) for value in values]
    assert passing_answers(sets, Flat()) == wanted


def test_cache_and_memory(session):
    first = session.prepare(request(), LINEAR)
    started = time.perf_counter()
    assert session.prepare(request(), LINEAR)[1] is first[1] and time.perf_counter() - started < 0.1
    for rows in range(8):
        session.prepare(request(), LINEAR.replace("128", str(100 + rows)))
    assert len(session._tasks) == 4
    assert session.prepare(request(), LINEAR)[1] is not first[1]


def test_no_gpu(session):
    session.prepare(request(), LINEAR)
    with pytest.raises(TaskFault) as caught:
        session.time_reference(made(wire.TimeReferenceT, seed=1, calls=3))
    assert caught.value.error_class == "infrastructure" and "no GPU" in caught.value.error


@pytest.mark.parametrize("most_bytes, refused", [(64, True), (1 << 20, False)])
def test_a_task_without_room_on_a_gpu_is_not_prepared(session, monkeypatch, most_bytes, refused):
    class OnAGpu(PreparedTask):
        def _refuse_large(self, _, given):
            own, self.device = self.device, torch.device("cuda")
            super()._refuse_large(made(wire.PrepareT, maxBytes=most_bytes), given)
            self.device = own

    monkeypatch.setattr(session_module, "PreparedTask", OnAGpu)
    prepared, spec = session.prepare(request(), LINEAR)
    assert (prepared.neededBytes > most_bytes, spec == b"", session._tasks == {}) == (refused,) * 3


@pytest.mark.parametrize("bound, right", [(9, True), (0, False)])
def test_zeros_are_judged_in_place_of_outputs(session, bound, right):
    session.prepare(request(), module(f"return x.clamp(min={bound}) - {bound}"))
    draw(session)
    asked = made(wire.JudgeT, trial=1, seed=77, outputsOnly=True, zeros=True)
    assert session.judge(asked).right == right
