"""Prepare, draw and judge, as a supervisor asks for them."""
import time

import pytest
import torch
from oracle_world import LINEAR, SAMPLES, draw, judge, module, recorded, request, session, shapes_of, tried  # noqa

from kernelwright import wire
from kernelwright.oracle import tf32
from kernelwright.oracle.faults import TaskFault
from kernelwright.outputs import place_outputs
from kernelwright.wire import made


def reference_of(session, seed=77):
    """A candidate that calls the reference."""
    return lambda inputs, weights: session._task.reference.call(inputs, seed)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", ["kernelbench", "strict"])
def test_samples(session, path, rule):
    reply, spec = session.prepare(request(shapes_of(path), tolerance=made(wire.ToleranceT, name=rule)), path.read_text())
    assert reply.provesNothing == "" and not reply.referenceRandom and not reply.findings
    assert reply.reduced is (path.stem == "log_softmax")
    found = tried(session, reference_of(session))
    assert found.right and not found.error and not found.findings


def test_recorded(session):
    """The references of the recorded traces, with what their certificates are known to say."""
    hollow = {"kernelbook_1174": "constant", "kernelbook_671": "constant", "kernelbench_80": "zeros", "kernelbench_9": "zeros"}
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
    assert tried(session, lambda inputs, _: inputs[0].relu()).right


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


def test_tf32_explains(session):
    session.prepare(request(), LINEAR)
    found = tried(session, lambda i, w: torch.relu(tf32.rounded(i[0]) @ tf32.rounded(w["fc.weight"]).T + w["fc.bias"]))
    assert found.errorClass == "wrong_value" and tf32.FINDING in found.findings
    found = tried(session, lambda i, w: torch.relu(i[0] @ w["fc.weight"].T + w["fc.bias"] + 0.1))
    assert found.errorClass == "wrong_value" and not found.findings
    session.prepare(request(tf32=True), LINEAR)
    assert tried(session, lambda i, w: torch.relu(tf32.rounded(i[0]) @ tf32.rounded(w["fc.weight"]).T + w["fc.bias"])).right


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
