"""Outside a candidate's scope torch is unchanged; inside, fresh memory is poisoned and launches are recorded."""


def test_leaving_the_scope_restores():
    import torch
    from kernelwright._engine.cpu import cuda_words
    before = {name: getattr(torch.cuda, name) for name in ("is_available", "Stream", "synchronize")}
    restore = cuda_words.apply()
    assert torch.cuda.is_available()
    restore()
    assert {name: getattr(torch.cuda, name) for name in before} == before
    assert torch.zeros(2).device.type == "cpu" and torch.Generator().device.type == "cpu"


def test_leftover_modes_are_taken_away():
    import torch
    from kernelwright._engine.cpu import poison, scope
    poison.set_poison("nan")
    with scope.candidate_scope():
        torch.set_default_device("cuda")
        torch.device("cuda").__enter__()
        assert torch.zeros(2).is_cuda
    assert torch._C._len_torch_function_stack() == 0
    assert not torch.zeros(2).is_cuda


def test_poison_nan(interpret):
    assert interpret("""
def go():
    made = [torch.empty(3), torch.empty_like(torch.ones(3)), torch.ones(1).new_empty(3),
            torch.empty_strided((2, 2), (2, 1)), torch.ones(1).new(3), torch.empty(3, dtype=torch.bfloat16, device="cuda")]
    return all(bool(each.isnan().all()) for each in made)
""")["value"] is True


def test_poison_of_integers(interpret):
    assert interpret("""
def go():
    return torch.empty(2, dtype=torch.int32).tolist(), torch.empty(2, dtype=torch.bool).tolist()
""")["value"] == [[2**31 - 1] * 2, [True, True]]


def test_poison_zeros(interpret):
    assert interpret("def go():\n    return torch.empty(3).tolist()\n", poison="zeros")["value"] == [0, 0, 0]


def test_mixed_poison_has_no_zero(interpret):
    found = interpret("""
def go():
    kinds = torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.uint8, torch.uint32, torch.complex64
    made = [torch.empty(1000, dtype=each) for each in kinds]
    bits = [each.view(torch.uint8).view(1000, -1) for each in made]
    return [bool((each != 0).any(1).all()) for each in bits], [len(set(map(tuple, each.tolist()))) for each in bits]
""", poison="mixed")["value"]
    assert all(found[0]) and min(found[1]) > 1


def test_mixed_poison_has_nan_in_other_places_each_time(interpret):
    source = "def go():\n    return torch.empty(1000).isnan().nonzero().view(-1).tolist()\n"
    first, second = (interpret(source, poison="mixed", seed=seed)["value"] for seed in (1, 2))
    assert 300 < len(first) < 700 and first != second


def test_memory_of_other_allocators_is_not_zero(interpret):
    assert interpret("""
import threading
import numpy as np
def go():
    made = [torch.FloatTensor(100000), torch.from_numpy(np.empty(100000, np.float32)), torch.ones(1).resize_(100000)[1:]]
    worker = threading.Thread(target=lambda: made.append(torch.empty(100000)))
    worker.start()
    worker.join()
    return [int((each == 0).sum()) for each in made]
""", poison="zeros")["value"] == [0, 0, 0, 0]


def test_poison_data_is_drawn_from_its_seed(interpret):
    source = "def go():\n    return torch.empty(3).tolist()\n"
    first, second = (interpret(source, poison="data", seed=seed)["value"] for seed in (1, 2))
    assert first != second and first == interpret(source, poison="data", seed=1)["value"]


def test_poison_leaves_random_numbers_alone(interpret):
    assert interpret("""
def go():
    torch.manual_seed(3)
    torch.empty(100)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    return torch.equal(drawn, torch.rand(1))
""", poison="data")["value"] is True


def test_given_values_are_not_poisoned(interpret):
    assert interpret("""
def go():
    return torch.ones(1).new([1.0, 2.0]).tolist() + torch.ones(1).new_tensor([3.0]).tolist()
""")["value"] == [1, 2, 3]


def test_a_forgotten_import_stays_forgotten(interpret):
    facts = interpret("""
@triton.jit
def k(o):
    tl.store(o, 1.0)
def go():
    k[(1,)](torch.empty(1))
    return math.sqrt(2)
""")
    assert facts["error_class"] == "runtime_error" and "math" in facts["error"] and facts["line"] == 7


def test_launches_are_counted(interpret):
    facts = interpret("""
@triton.jit
def k(o):
    tl.store(o, 1.0)
def go():
    for _ in range(70):
        k[(2, 3)](torch.empty(1))
""")
    assert facts["launches"] == 70 and facts["programs"] == 420 and len(facts["records"]) == 64
    assert facts["records"][0]["grid"] == [2, 3, 1] and facts["records"][0]["ms"] > 0
