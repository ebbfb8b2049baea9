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
