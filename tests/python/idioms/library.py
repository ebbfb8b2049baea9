"""PyTorch's own modules inside a candidate: the emulated devices must not change their behaviour."""
import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.rand(2, 8, 16, device="cuda")


def recurrent_modules():
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        assert kind(16, 8, batch_first=True).cuda()(x)[0].shape == (2, 8, 8)


def attention_module():
    assert nn.MultiheadAttention(16, 2, batch_first=True, device="cuda")(x, x, x)[0].shape == x.shape
    assert nn.TransformerEncoderLayer(16, 2, batch_first=True).eval().cuda()(x).shape == x.shape


def constructors_draw_as_without_us():
    torch.manual_seed(0)
    first = nn.Linear(4, 4)
    torch.manual_seed(0)
    torch.empty(1000)
    assert torch.equal(first.weight, nn.Linear(4, 4, device="cuda").weight)


def checkpointing():
    from torch.utils.checkpoint import checkpoint
    assert torch.equal(checkpoint(lambda a: a * 2, x, use_reentrant=False), x * 2)


def meta_then_allocated():
    layer = nn.Linear(3, 3, device="meta").to_empty(device="cuda")
    assert layer.weight.is_cuda and layer.weight.isnan().all()


def types_and_constructors():
    assert x.type(torch.float16).dtype is torch.float16
    assert torch.cuda.FloatTensor([1.0, 2.0]).sum() == 3
    assert torch.from_numpy(x.cpu().numpy()).cuda().is_cuda


def indexing_and_host_values():
    assert x[torch.tensor([0, 1], device="cuda")].shape == x.shape
    assert isinstance(x.sum().item(), float) and len(x[0, 0].tolist()) == 16
    assert F.one_hot(torch.tensor([1, 2], device="cuda")).shape == (2, 3)


def seeded_on_the_device():
    torch.cuda.manual_seed_all(1)
    torch.cuda.manual_seed(1)
    with torch.random.fork_rng(devices=[0]):
        torch.rand(3, device="cuda")
