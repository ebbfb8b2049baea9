"""The engine that trains through TRL, on a CPU: learning, masks, and the state that is kept after an error."""
import contextlib
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
import transformers
from liger_kernel.transformers import monkey_patch
from safetensors.torch import load_file, save_file

from . import train_world
from .train_world import Heard, make_job, recipe, train, write_rows

from kernelwright._train import (attention, checkpoints, collator, engine_trl, model, packages, packing, prepare,  # isort: skip
                                rows, session, tokens)
from kernelwright._train.events import TrainError  # isort: skip
from kernelwright._train.signals import StopAsked, Stopped  # isort: skip


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "rows.jsonl")


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return model.load_tokenizer(tiny)


@pytest.fixture(scope="module")
def exact(tiny):
    """The model in float32, in evaluation mode."""
    return model.load_base(tiny, recipe(), "cpu").eval()


def packed(tokenizer, data, folder, wanted):
    prepared = prepare.prepare([str(data)], tokenizer, wanted, folder)
    return prepared, engine_trl.lengths_of(prepared.shards)


def alone(tokenizer, data, wanted):
    """Every row as a sample of its own, by its number."""
    encoder = tokens.Encoder(tokenizer, wanted)
    return [encoder.encode(row) for row in rows.read([str(data)])]


def changed(model_folder, folder, name, change):
    """A copy of a model with one weight changed in place."""
    shutil.copytree(model_folder, folder)
    weights = load_file(folder / "model.safetensors")
    change(weights[name])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


# Learning

def test_the_loss_falls_where_something_can_be_learnt(tiny, data, tmp_path):
    """The tiny model's random head is so flat that no earlier layer could make it certain, so it is sharpened."""
    sharp = changed(tiny, tmp_path / "sharp", "lm_head.weight", lambda weights: weights.mul_(20))
    heard = train(sharp, data, tmp_path / "out", recipe=recipe(training__epochs=20, lora__rank=16, lora__alpha=32))
    assert heard.losses[-1] < heard.losses[0] / 2
    assert heard.of("done")[0]["steps"] == len(heard.losses) == heard.of("data")[0]["steps"]


def test_a_quantised_model_is_trained_on_a_cpu(tiny, data, tmp_path):
    heard = train(tiny, data, tmp_path / "out", recipe=recipe(
        quantisation__type="nf4", quantisation__compute="bf16", training__precision="bf16", training__epochs=6))
    assert all(map(math.isfinite, heard.losses)) and heard.losses[-1] < heard.losses[0]
    kept = load_file(tmp_path / "out" / "adapter_model.safetensors")
    assert {each.dtype for each in kept.values()} == {torch.float32}


@pytest.mark.parametrize("word, dtype", [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_adapter_and_optimiser_states_have_the_recipes_type(tiny, data, tmp_path, word, dtype):
    train(tiny, data, tmp_path / "out", max_steps=2, recipe=recipe(
        quantisation__type="nf4", quantisation__compute="bf16", training__precision="bf16", training__save_every=1,
        lora__adapter_dtype=word))
    kept = load_file(tmp_path / "out" / "checkpoint-1" / "adapter_model.safetensors")
    states = torch.load(tmp_path / "out" / "checkpoint-1" / "optimizer.pt")["state"].values()
    assert {each.dtype for each in kept.values()} == {dtype}
    assert {state[name].dtype for state in states for name in ("exp_avg", "exp_avg_sq")} == {dtype}


@pytest.mark.parametrize("word, survives", [("fp32", True), ("bf16", False)])
def test_small_updates_survive_in_float32_alone(word, survives):
    """A thousand updates of 1/2000 of a weight each: bfloat16 rounds every one of them away."""
    layer = torch.nn.Linear(4, 1, bias=False)
    layer.weight.data.fill_(1.0)
    model.settle_adapter_type(layer, recipe(lora__adapter_dtype=word))
    optimiser = torch.optim.AdamW(layer.parameters(), lr=5e-4, weight_decay=0.0)
    for _ in range(1000):
        layer.weight.grad = torch.ones_like(layer.weight)
        optimiser.step()
    assert layer.weight.float().mean().item() == pytest.approx(0.5 if survives else 1.0, abs=1e-3)


def test_a_step_has_the_loss_of_its_learnt_tokens(tiny, tokenizer, exact, data, tmp_path):
    """The first step of an adapter that changes nothing yet, against the base model's loss, token by token."""
    wanted = recipe(lora__dropout=0.0, training__warmup=0)
    heard = train(tiny, data, tmp_path / "out", recipe=wanted, max_steps=1)
    prepared, _ = packed(tokenizer, data, tmp_path / "again", wanted)
    samples, losses = alone(tokenizer, data, wanted), []
    for number in range(min(4, len(prepared.shards))):
        for row in prepared.shards[number].rows:
            ids, labels = torch.tensor([samples[row].input_ids]), torch.tensor(samples[row].labels)
            with torch.no_grad():
                chances = exact(input_ids=ids).logits[0].log_softmax(-1)
            losses += [-chances[at, label].item() for at, label in enumerate(labels[1:]) if label >= 0]
    assert heard.losses[0] == pytest.approx(sum(losses) / len(losses), rel=1e-5)


# Fused kernels. Those of Liger need a GPU; which kernels and which loss a model gets does not.

def test_a_type_without_fused_kernels_is_refused_before_weights_are_read(tiny, data, tmp_path):
    empty = shutil.copytree(tiny, tmp_path / "gpt2", ignore=shutil.ignore_patterns("*.safetensors"))
    transformers.GPT2Config(n_layer=1, n_embd=16, n_head=2).save_pretrained(empty)
    with pytest.raises(TrainError, match="know no model of type gpt2") as found:
        train(empty, data, tmp_path / "out", recipe=recipe(training__kernels="liger", lora__targets=["c_attn"]))
    assert found.value.remedy == "--set training.kernels=none"


def test_fused_kernels_are_refused_on_a_cpu(tiny, data, tmp_path):
    with pytest.raises(TrainError, match="need a GPU"):
        train(tiny, data, tmp_path / "out", recipe=recipe(training__kernels="liger"))


def test_a_multimodal_model_has_the_kernels_of_its_text_model():
    attention.refuse_unfused(transformers.Gemma3Config(vision_config={}))


@pytest.mark.parametrize("fault", [NotImplementedError, TypeError, ValueError])
def test_a_class_that_ligers_function_refuses_is_named(monkeypatch, exact, fault):
    def refuse(model):
        raise fault
    monkeypatch.setitem(monkey_patch.MODEL_TYPE_TO_APPLY_LIGER_FN, exact.config.model_type, refuse)
    with pytest.raises(TrainError, match=f"know no model of type {exact.config.model_type}"):
        attention.fuse_kernels(exact)


def test_ligers_loss_is_asked_for_where_the_model_has_it():
    """Granite has Liger's layers, but not its loss."""
    def fused(input_ids, skip_logits=None):
        pass

    def plain(input_ids, **kwargs):
        pass
    words = [engine_trl.without_logits(SimpleNamespace(get_base_model=lambda of=of: SimpleNamespace(forward=of)))
             for of in (fused, plain)]
    assert words == [{"skip_logits": True}, {"fused_lm_head": True}]


# Masks and packing

def test_rows_are_padded_to_one_width_with_a_sample_of_its_own():
    sequences = [packing.Sequence(*(torch.arange(size).numpy() for _ in range(2)), [size], [0]) for size in (5, 3)]
    batch = collator.Collator(sequences, 9, False, multiple=4)([{"sequence": 0}, {"sequence": 1}])
    assert batch["input_ids"].tolist() == [[0, 1, 2, 3, 4, 9, 9, 9], [0, 1, 2, 9, 9, 9, 9, 9]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 4, 0, 1, 2], [0, 1, 2, 0, 1, 2, 3, 4]]
    assert (batch["labels"][0, 5:] == collator.IGNORED).all() and (batch["labels"][1, 3:] == collator.IGNORED).all()


@pytest.mark.parametrize("flat", [False, True])
def test_batches_hold_every_sample_whole_and_mask_what_is_not_learnt(tokenizer, data, tmp_path, flat):
    wanted = recipe()
    prepared, lengths = packed(tokenizer, data, tmp_path / "shards", wanted)
    assert any(len(prepared.shards[number].rows) > 2 for number in range(len(lengths)))
    collate, seen = collator.Collator(prepared.shards, tokenizer.pad_token_id, flat), []
    samples = alone(tokenizer, data, wanted)
    for first in range(0, len(lengths), 2):
        numbers = [*range(first, min(first + 2, len(lengths)))]
        batch = collate([{"sequence": number} for number in numbers])
        assert batch["sequences"] == numbers
        for place, row in placed(prepared, lengths, numbers, flat):
            length = len(samples[row].input_ids)
            cut = [batch[name][place[0]][place[1]:place[1] + length].tolist()
                   for name in ("input_ids", "labels", "position_ids")]
            assert cut == [samples[row].input_ids, samples[row].labels, list(range(length))]
            assert cut[1][0] == collator.IGNORED
            seen.append(row)
        learnt = sum(label >= 0 for number in numbers for row in prepared.shards[number].rows for label in samples[row].labels)
        assert (batch["labels"] >= 0).sum() == learnt
    assert sorted(seen) == list(range(len(samples)))


def placed(prepared, lengths, numbers, flat):
    """((row of the batch, column), row of the data) for each sample."""
    begin = 0
    for index, number in enumerate(numbers):
        at = 0
        for row, length in zip(prepared.shards[number].rows, prepared.shards[number].lengths, strict=True):
            yield ((0, begin + at) if flat else (index, at)), row
            at += length
        begin += lengths[number]


def test_labels_at_a_samples_beginning_are_masked_whatever_the_shards_say():
    sequence = packing.Sequence(*(torch.arange(5).numpy() for _ in range(2)), [2, 3], [0, 1])
    batch = collator.Collator([sequence], 0, False)([{"sequence": 0}])
    assert batch["labels"].tolist() == [[-100, 1, -100, 3, 4]]


@pytest.mark.parametrize("word", ["sdpa", "eager"])
def test_a_packed_sample_sees_nothing_but_itself(tiny, tokenizer, data, tmp_path, word):
    wanted = recipe(training__attention=word)
    loaded = model.load_base(tiny, wanted, "cpu").eval()
    prepared, lengths = packed(tokenizer, data, tmp_path / "shards", wanted)
    numbers = sorted(range(len(lengths)), key=lambda number: lengths[number])[::len(lengths) - 1]  # the shortest, the longest
    batch = collator.Collator(prepared.shards, tokenizer.pad_token_id, False)([{"sequence": number} for number in numbers])
    same_as_alone(loaded, batch, prepared, lengths, numbers, flat=False)


def test_attention_of_different_lengths_is_given_the_samples_bounds(tiny, tokenizer, data, tmp_path, monkeypatch):
    """A function for the CPU replaces the GPU's: its arguments, and the use of its result."""
    other = train(tiny, data, tmp_path / "other", recipe=recipe(), max_steps=2)
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", varlen_on_cpu)
    monkeypatch.setattr(attention, "_grouped", [False])
    from transformers import AttentionInterface
    AttentionInterface.register(attention.VARLEN, attention.varlen_attention)
    monkeypatch.setattr(model, "implementation", lambda word, on_cuda: attention.VARLEN)
    wanted = recipe(training__attention="varlen")
    loaded = model.load_base(tiny, wanted, "cpu").eval()
    prepared, lengths = packed(tokenizer, data, tmp_path / "shards", wanted)
    batch = collator.Collator(prepared.shards, tokenizer.pad_token_id, True)([{"sequence": 0}, {"sequence": 1}])
    same_as_alone(loaded, batch, prepared, lengths, [0, 1], flat=True)
    heard = train(tiny, data, tmp_path / "out", recipe=wanted, max_steps=2)
    assert heard.losses[0] == pytest.approx(other.losses[0], rel=0.02)  # except for the effect of dropout


def varlen_on_cpu(query, key, value, bounds, bounds_k, longest, longest_k, *, scale, window_size):
    assert bounds.equal(bounds_k) and bounds.dtype == torch.int32 and window_size == (-1, 0)
    assert bounds.diff().max() == longest == longest_k
    parts = []
    for begin, end in zip(bounds, bounds[1:]):
        each = [value[begin:end].transpose(0, 1) for value in (query, key, value)]
        parts.append(torch.nn.functional.scaled_dot_product_attention(*each, is_causal=True, scale=scale).transpose(0, 1))
    return torch.cat(parts)


def same_as_alone(loaded, batch, prepared, lengths, numbers, flat):
    """Logits of every sample in the batch, against those of a batch with that sample alone."""
    given = {name: value for name, value in batch.items() if name not in ("sequences", "labels")}
    with torch.no_grad():
        together = loaded(**given, use_cache=False).logits
    by_number = {number: iter(prepared.shards[number].lengths) for number in numbers}
    for (row, column), _ in placed(prepared, lengths, numbers, flat):
        number = numbers[row] if not flat else next(each for each in numbers if by_number[each].__length_hint__())
        length = next(by_number[number])
        ids = batch["input_ids"][row:row + 1, column:column + length]
        alone = {"input_ids": ids, "position_ids": torch.arange(length)[None]}
        if flat:
            alone |= {"cu_seq_lens_q": torch.tensor([0, length], dtype=torch.int32), "max_length_q": length}
        with torch.no_grad():
            single = loaded(**alone, use_cache=False).logits[0]
        assert torch.allclose(together[row, column:column + length], single, atol=1e-5)


# Going on

def test_a_resumed_training_equals_one_that_was_never_stopped(tiny, data, tmp_path):
    wanted = recipe(training__epochs=3, training__save_every=2, data__max_length=32)
    whole = train(tiny, data, tmp_path / "whole", recipe=wanted)
    stop = StopAsked()

    def after_three(event):
        if event["event"] == "step" and event["step"] == 3:
            stop.ask()
    first = Heard(after_three)
    with pytest.raises(Stopped):
        session.run(make_job(tiny, data, tmp_path / "parts", recipe=wanted), first, stop)
    assert [step for step, _ in checkpoints.listed(tmp_path / "parts")] == [2, 3] and stop.status == 143
    second = train(tiny, data, tmp_path / "parts", recipe=wanted, resume=True)
    assert len(whole.losses) > 6
    assert first.losses + second.losses == whole.losses
    files = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert files[0] == files[1]


def test_later_epochs_have_another_order_and_the_same_sequences(tiny, data, tmp_path, monkeypatch):
    seen, real = [], collator.Collator.__call__
    monkeypatch.setattr(collator.Collator, "__call__",
                        lambda self, examples: seen.extend(each["sequence"] for each in examples) or real(self, examples))
    heard = train(tiny, data, tmp_path / "out", recipe=recipe(training__epochs=2, data__max_length=24))
    count = heard.of("data")[0]["sequences"]
    assert seen[:count] == list(range(count)) and sorted(seen[count:]) == list(range(count)) and seen[count:] != seen[:count]


@pytest.mark.parametrize("damage", [("adapter_model.safetensors", 99), ("optimizer.pt", 99), ("optimizer.pt", 0),
                                    ("trainer_state.json", 9), ("kernelwright.json", 9)])
def test_a_damaged_checkpoint_is_named_with_the_one_before(tiny, data, tmp_path, monkeypatch, damage):
    output, wanted = tmp_path / "out", recipe(training__save_every=2, training__epochs=6)
    train(tiny, data, output, recipe=wanted)
    before, newest = [path for _, path in checkpoints.listed(output)][-2:]
    name, length = damage
    whole = (newest / name).read_bytes()
    (newest / name).write_bytes(whole[:length] if length else whole[:len(whole) // 2] + b"?" + whole[len(whole) // 2 + 1:])
    with monkeypatch.context() as patch:
        patch.setattr(model, "load_base", refuse_to_load)
        with pytest.raises(TrainError) as error:
            train(tiny, data, output, recipe=wanted, resume=True)
    assert f"the checkpoint {newest} is damaged" in error.value.what
    assert f"remove {newest}" in error.value.remedy and str(before) in error.value.remedy


def test_what_was_left_half_removed_is_swept(tiny, data, tmp_path):
    (tmp_path / "out" / ".checkpoint-2.gone").mkdir(parents=True)
    train(tiny, data, tmp_path / "out", recipe=recipe(training__warmup=0), max_steps=1)
    assert not list((tmp_path / "out").glob(".checkpoint*"))


def test_a_checkpoint_of_another_recipe_is_refused(tiny, data, tmp_path):
    wanted = recipe(training__save_every=2, training__epochs=4)
    train(tiny, data, tmp_path / "out", recipe=wanted)
    with pytest.raises(TrainError, match="another recipe"):
        train(tiny, data, tmp_path / "out", recipe=recipe(training__epochs=4, training__seed=7), resume=True)
    with pytest.raises(TrainError, match="earlier training"):
        train(tiny, data, tmp_path / "out", recipe=wanted)


def test_a_signal_ends_the_process_with_a_checkpoint(tiny, data, tmp_path):
    """The whole process, started as the program does."""
    wanted = {"schema": "kernelwright.train-job/1", "model": str(tiny), "data": [str(data)], "output": str(tmp_path / "out"),
              "engine": "trl", "device": "cpu", "memory_bytes": None, "max_steps": None, "resume": False, "dry_run": False,
              "push_to_hub": None, "program": "kernelwright 0.0", "recipe": recipe(training__epochs=400)}
    (tmp_path / "job.json").write_text(json.dumps(wanted))
    read, write = os.pipe()
    process = subprocess.Popen([sys.executable, "-P", "-m", "kernelwright._train", tmp_path / "job.json",
                                "--events", str(write)],
                               env=os.environ | {"PYTHONPATH": str(train_world.ROOT / "python")}, pass_fds=[write],
                               stderr=subprocess.PIPE)
    os.close(write)
    heard = []
    with os.fdopen(read, encoding="utf-8") as lines:
        for line in lines:
            heard.append(json.loads(line))
            if heard[-1]["event"] == "step" and heard[-1]["step"] == 2:
                process.send_signal(signal.SIGTERM)
    errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 143, errors
    assert [each["event"] for each in heard[:3]] == ["packages", "data", "estimate"]
    step, path = checkpoints.listed(tmp_path / "out")[-1]
    assert heard[-1] == {"event": "checkpoint", "path": str(path), "step": step}
    there = {each.name for each in path.iterdir()}
    assert {"adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"} <= there


# Errors

def test_a_loss_that_is_no_number_ends_it_and_names_the_rows(tiny, tokenizer, tmp_path):
    """Only one row has the token whose embedding is broken."""
    [token] = tokenizer("~", add_special_tokens=False)["input_ids"]
    broken = changed(tiny, tmp_path / "broken", "model.embed_tokens.weight", lambda weights: weights[token].fill_(math.nan))
    output = tmp_path / "out"
    data = write_rows(tmp_path / "rows.jsonl", 40, more=[{"prompt": "~ ", "completion": "x" * 9}])
    wanted = recipe(data__shuffle=False, data__packing=False, training__save_every=4)
    heard = Heard()
    with pytest.raises(TrainError) as error:
        session.run(make_job(broken, data, output, recipe=wanted), heard, StopAsked())
    step = len(heard.losses) + 1
    assert f"the loss is nan at step {step}" in error.value.what and "rows.jsonl:41" in error.value.what
    assert step == 11 and checkpoints.listed(output)[-1][0] == 8 and "checkpoint-8" in error.value.what
    kept = load_file(output / "checkpoint-8" / "adapter_model.safetensors")
    assert all(torch.isfinite(each).all() for each in kept.values())


def test_a_checkpoint_that_cannot_be_written_leaves_the_earlier_one(tiny, data, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def no_more_room(event):
        if event["event"] == "checkpoint":
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(TrainError) as error:
            train(tiny, data, tmp_path / "out", recipe=recipe(training__save_every=2, training__epochs=4), then=no_more_room)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "checkpoint 4 could not be written" in error.value.what and "checkpoint-2 is whole" in error.value.what
    assert [step for step, _ in checkpoints.listed(tmp_path / "out")] == [2]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["checkpoint-2", "shards"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"),
                                   RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")])
def test_a_full_disk_is_called_one(tmp_path, error):
    def write(folder):
        raise error
    with pytest.raises(TrainError, match="the disk is full: checkpoint 7"):
        checkpoints.write_whole(tmp_path, 7, {}, write)
    assert list(tmp_path.iterdir()) == []


def test_memory_that_runs_out_is_told_with_what_to_lower(tiny, data, tmp_path, monkeypatch):
    def out_of_memory(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")
    monkeypatch.setattr(engine_trl, "train", out_of_memory)
    with pytest.raises(TrainError) as error:
        train(tiny, data, tmp_path / "out", recipe=recipe())
    assert "memory ran out" in error.value.what and "training.micro_batch" in error.value.remedy


def refuse_to_load(*_):
    raise AssertionError("a model was loaded")


def test_too_little_memory_is_told_before_a_model_is_loaded(tiny, data, tmp_path, monkeypatch):
    monkeypatch.setattr(model, "load_base", refuse_to_load)
    with pytest.raises(TrainError, match="would be needed"):
        train(tiny, data, tmp_path / "out", recipe=recipe(), memory_bytes=1000)


def test_a_gpu_that_is_not_there_is_told_at_once(tiny, data, tmp_path):
    with pytest.raises(TrainError, match="no GPU"):
        train(tiny, data, tmp_path / "out", recipe=recipe(), device="cuda")
    assert not (tmp_path / "out").exists()


def test_attention_of_different_lengths_needs_a_gpu(tiny, data, tmp_path):
    with pytest.raises(TrainError, match="needs a GPU"):
        train(tiny, data, tmp_path / "out", recipe=recipe(training__attention="varlen"))


@pytest.mark.parametrize("found, told", [(None, "trl is missing"), ("0.1", "trl is 0.1, and 1.16.0 is needed")])
def test_packages_that_are_missing_or_of_another_version_are_named(tiny, data, tmp_path, monkeypatch, found, told):
    real = packages.installed
    monkeypatch.setattr(packages, "installed", lambda name: found if name == "trl" else real(name))
    with pytest.raises(TrainError) as error:
        train(tiny, data, tmp_path / "out", recipe=recipe())
    assert error.value.what == told and "--install-packages" in error.value.remedy


def test_a_dry_run_counts_and_leaves_nothing(tiny, data, tmp_path, monkeypatch):
    monkeypatch.setattr(model, "load_base", refuse_to_load)
    heard = train(tiny, data, tmp_path / "out", recipe=recipe(), dry_run=True, device="cuda", memory_bytes=24 << 30)
    assert [each["event"] for each in heard.said] == ["packages", "data", "estimate", "done"]
    assert heard.of("estimate")[0]["fits"] and heard.of("estimate")[0]["limit_bytes"] == 24 << 30
    assert not (tmp_path / "out").exists()


def test_a_training_that_learns_nothing_is_refused_before_the_model_is_loaded(tiny, data, tmp_path, monkeypatch):
    monkeypatch.setattr(model, "load_base", refuse_to_load)
    with pytest.raises(TrainError, match="nothing would be learnt") as refused:
        train(tiny, data, tmp_path / "out", recipe=recipe(), max_steps=1)
    assert refused.value.usage and "--force" in refused.value.remedy
    heard = train(tiny, data, tmp_path / "dry", recipe=recipe(), max_steps=1, dry_run=True)
    assert "nothing would be learnt" in heard.of("notice")[0]["what"]


def test_the_program_refuses_a_training_that_learns_nothing(call, tiny, data, tmp_path):
    words = ("train", "--model", tiny, "--data", data, "--device", "cpu", "--python", sys.executable, "--max-steps", 1,
             "--set", "quantisation.type=none", "precision=fp32", "max_length=64")
    code, _, stderr = call(*words, "--output", tmp_path / "out")
    assert code == 2 and "nothing would be learnt" in stderr and "--force" in stderr, stderr
    assert not (tmp_path / "out" / "adapter_model.safetensors").exists()
    code, stdout, stderr = call(*words, "--output", tmp_path / "out", "--force")
    assert code == 0 and "steps    1" in stdout, stderr


@pytest.mark.parametrize("force, warmup", [(True, 0.02), (False, 0)])
def test_the_rate_of_the_only_step_is_as_the_refusal_says(tiny, data, tmp_path, force, warmup):
    heard = train(tiny, data, tmp_path / "out", recipe=recipe(training__warmup=warmup), max_steps=1, force=force)
    assert [each["learning_rate"] > 0 for each in heard.of("step")] == [warmup == 0]


@pytest.mark.parametrize("schedule, warmup", [("cosine", 0.02), ("cosine", 5), ("linear", 1), ("constant", 2)])
def test_two_steps_learn_under_every_schedule(tiny, data, tmp_path, schedule, warmup):
    wanted = recipe(training__warmup=warmup, training__schedule=schedule)
    heard = train(tiny, data, tmp_path / "out", recipe=wanted, max_steps=2)
    assert max(each["learning_rate"] for each in heard.of("step")) > 0


@pytest.mark.parametrize("dry_run", [True, False])
def test_layers_that_the_model_has_not_are_named_before_it_is_loaded(tiny, data, tmp_path, monkeypatch, dry_run):
    monkeypatch.setattr(model, "load_base", refuse_to_load)
    with pytest.raises(TrainError) as error:
        train(tiny, data, tmp_path / "out", recipe=recipe(lora__targets=["q_proj", "zzz", "mlp", "roj"]), dry_run=dry_run)
    assert error.value.what == "the model has no layers called zzz, mlp, roj" and "v_proj" in error.value.remedy


def test_layers_are_looked_at_again_in_the_model_that_was_loaded(tiny):
    with pytest.raises(TrainError, match="called zzz$"):
        model.add_adapter(model.load_base(tiny, recipe(), "cpu"), recipe(lora__targets=["q_proj", "zzz"]))


@pytest.mark.parametrize("kept", [[], ["tokenizer_config.json"]])
def test_a_model_without_its_tokenizer_is_told(tiny, data, tmp_path, kept):
    bare = tmp_path / "bare"
    shutil.copytree(tiny, bare, ignore=lambda _, names: [
        each for each in names if each not in kept and not each.startswith(("model", "config", "generation"))])
    with pytest.raises(TrainError) as error:
        train(bare, data, tmp_path / "out", recipe=recipe())
    assert str(bare) in error.value.what and "tokenizer" in error.value.what and "rows" not in error.value.what
    assert kept or error.value.what == f"there is no tokenizer in {bare}"


def test_a_model_whose_weights_are_cut_short_is_told(tiny, data, tmp_path):
    cut = tmp_path / "cut"
    shutil.copytree(tiny, cut)
    whole = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(whole[:len(whole) // 2])
    with pytest.raises(TrainError, match="cannot be loaded"):
        train(cut, data, tmp_path / "out", recipe=recipe())


# Held-out loss

HELD = [{"prompt": f"count {number}: ", "completion": "four five", "id": f"held-{number}"} for number in range(6)]


def held_rows(path, rows=None):
    path.write_text("".join(json.dumps(each) + "\n" for each in HELD if rows is None or each in rows), encoding="utf-8")
    return path


def test_the_held_out_loss_is_that_of_its_tokens_and_starts_with_the_base_model(tiny, tokenizer, exact, data, tmp_path):
    wanted = recipe(training__validate_every=2, training__epochs=3)
    held = held_rows(tmp_path / "held.jsonl")
    heard = train(tiny, data, tmp_path / "out", recipe=wanted, validation=(str(held),), max_steps=3)
    losses = []
    for sample in alone(tokenizer, held, wanted):
        with torch.no_grad():
            chances = exact(input_ids=torch.tensor([sample.input_ids])).logits[0].log_softmax(-1)
        losses += [-chances[at, label].item() for at, label in enumerate(sample.labels[1:]) if label >= 0]
    measured = heard.of("validation")
    assert [each["step"] for each in measured] == [0, 2, 3]
    assert measured[0]["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert heard.of("validation_data")[0]["learnt_tokens"] == len(losses)
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"| 0 | {measured[0]['loss']:.4f} |" in card and "`held.jsonl` (validation)" in card
    manifest = json.loads((tmp_path / "out" / "training_manifest.json").read_text())
    assert [each["id"] for each in manifest["validation"]["rows"]] == [each["id"] for each in HELD]


def test_a_batch_without_learnt_tokens_is_left_out_of_the_held_out_loss():
    """Its mean would be 0 / 0. So is a text of one token, which nothing precedes."""
    labels = {0: [-100, -100], 1: [-100, 7]}
    part = SimpleNamespace(
        model=torch.nn.Identity(), compute_loss_context_manager=contextlib.nullcontext, _prepare_inputs=lambda inputs: inputs,
        _outputs=lambda model, inputs, count: SimpleNamespace(loss=torch.tensor(3.0) / count),
        plan=SimpleNamespace(stop=StopAsked(), held_out_collate=lambda batch: {
            "sequences": batch, "labels": torch.tensor([labels[each["sequence"]] for each in batch])}))
    assert engine_trl.Engine.held_out_loss(part, [[0], [1]]) == 3.0
    assert math.isnan(engine_trl.Engine.held_out_loss(part, [[0]]))


@pytest.mark.parametrize("changes", [{}, {"quantisation__type": "nf4", "quantisation__compute": "bf16",
                                          "training__precision": "bf16"}])
def test_measuring_changes_nothing_of_what_is_learnt(tiny, data, tmp_path, changes):
    """In evaluation mode, quantised layers would pack themselves for inference on some CPUs, and pass no gradient on."""
    held = held_rows(tmp_path / "held.jsonl")
    wanted = recipe(training__validate_every=1, training__patience=0, training__epochs=3, **changes)
    without = train(tiny, data, tmp_path / "without", recipe=wanted)
    measured = train(tiny, data, tmp_path / "with", recipe=wanted, validation=(str(held),))
    assert measured.losses == without.losses


def overfitting(tiny, tmp_path):
    """A sharp model, and held-out rows that contradict the training rows: their loss rises soon."""
    sharp = changed(tiny, tmp_path / "sharp", "lm_head.weight", lambda weights: weights.mul_(20))
    wanted = recipe(training__epochs=20, training__validate_every=1, training__patience=2, training__save_every=2,
                    training__learning_rate=0.05)
    return sharp, wanted, held_rows(tmp_path / "held.jsonl")


def test_training_ends_early_and_keeps_the_best_step(tiny, data, tmp_path):
    sharp, wanted, held = overfitting(tiny, tmp_path)
    heard = train(sharp, data, tmp_path / "out", recipe=wanted, validation=(str(held),))
    losses = {each["step"]: each["loss"] for each in heard.of("validation")}
    done = heard.of("done")[0]
    best = min((step for step in losses if step), key=losses.get)
    assert done["ended_early"] and done["best_step"] == best and done["steps"] == best + 2 < heard.of("data")[0]["steps"]
    again = train(sharp, data, tmp_path / "again", recipe=wanted | {"training": wanted["training"] | {"save_every": 1}},
                  validation=(str(held),))
    kept = load_file(tmp_path / "again" / f"checkpoint-{best + 1}" / "best_adapter.safetensors")
    saved = load_file(tmp_path / "out" / "adapter_model.safetensors")
    assert again.of("done")[0]["best_step"] == best and saved.keys() == kept.keys()
    assert all(torch.equal(kept[name], saved[name]) for name in saved)


def test_a_resumed_training_keeps_the_best_step_and_the_early_stop(tiny, data, tmp_path):
    sharp, wanted, held = overfitting(tiny, tmp_path)
    whole = train(sharp, data, tmp_path / "whole", recipe=wanted, validation=(str(held),))
    last, stop = whole.of("done")[0]["steps"], StopAsked()

    def killed(event):
        if event["event"] == "step" and event["step"] == last:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        session.run(make_job(sharp, data, tmp_path / "parts", recipe=wanted, validation=(str(held),)), Heard(killed), stop)
    assert checkpoints.listed(tmp_path / "parts")[-1][0] < last
    second = train(sharp, data, tmp_path / "parts", recipe=wanted, validation=(str(held),), resume=True)
    ends = [each.of("done")[0] for each in (whole, second)]
    assert all(ends[0][name] == ends[1][name] for name in ("steps", "best_step", "validation_loss", "ended_early"))
    files = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert files[0] == files[1]
    with pytest.raises(TrainError, match="another validation"):
        train(sharp, data, tmp_path / "parts", recipe=wanted, resume=True)


def test_validation_rows_that_are_trained_on_are_named_and_left_out(tiny, tmp_path):
    data = write_rows(tmp_path / "rows.jsonl", more=HELD[:2])
    held = held_rows(tmp_path / "held.jsonl")
    heard = train(tiny, data, tmp_path / "out", recipe=recipe(), validation=(str(held),), dry_run=True)
    counts = heard.of("validation_data")[0]
    assert counts["used"] == 4 and counts["dropped"] == {prepare.SHARED: 2}
    assert "2 of 6 validation rows" in heard.of("warning")[0]["what"] and str(held) in heard.of("warning")[0]["what"]
    with pytest.raises(TrainError, match="--validation: none of 2 rows") as found:
        train(tiny, data, tmp_path / "out", recipe=recipe(), dry_run=True,
              validation=(str(held_rows(tmp_path / "all.jsonl", HELD[:2])),))
    assert found.value.remedy == "give rows that --data lacks"


@pytest.mark.parametrize("empty, long, warned", [(0, 2, False), (0, 3, True), (1, 2, True), (3, 0, True)])
def test_more_than_a_tenth_dropped_is_warned_of_with_the_flag(tiny, tmp_path, empty, long, warned):
    data = write_rows(tmp_path / "rows.jsonl", 20, more=[
        *({"prompt": f"{number} " * 200, "completion": "x"} for number in range(long)),
        *({"prompt": f"{number}", "completion": ""} for number in range(empty))])
    heard = train(tiny, data, tmp_path / "out", recipe=recipe(), dry_run=True)
    assert [(f"{empty + long} of {20 + empty + long} rows" in each["what"], f"{long} of them are too long" in each["what"],
             "--set max_length=256" in each["remedy"])
            for each in heard.of("warning")] == [(True, long > 0, long > 0)] * warned
