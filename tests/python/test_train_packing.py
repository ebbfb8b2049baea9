"""Samples in sequences, sequences on disk, the manifest, and the memory estimate of a training."""
import hashlib
import json
import random
import resource

import numpy
import pytest
from kernelwright._train import columns, estimate, manifest, packing, prepare, safetensors_file, shards
from kernelwright._train.events import TrainError
from kernelwright._train.samples import NOT_LEARNT, Encoded
from train_world import Letters, lines, recipe

LIMIT = 100


def sample(number, length):
    """Tokens that identify their sample; every third is not learnt."""
    ids = [number * 1000 + at for at in range(length)]
    return Encoded(ids, [NOT_LEARNT if at % 3 == 0 else each for at, each in enumerate(ids)])


def some_samples(count, seed=0, longest=LIMIT):
    lengths = random.Random(seed)
    return [sample(number, lengths.randint(1, longest)) for number in range(count)]


def packed(samples, **words):
    return list(packing.pack(samples, LIMIT, **words))


# Packing

@pytest.mark.parametrize("seed", range(8))
def test_no_sample_is_split_lost_or_learnt_across_its_edge(seed):
    samples = some_samples(random.Random(seed).randint(1, 400), seed)
    found = {}
    for sequence in packed(samples, seed=seed):
        assert len(sequence.input_ids) == sum(sequence.lengths) <= LIMIT
        at = 0
        for row, length in zip(sequence.rows, sequence.lengths, strict=True):
            part = slice(at, at + length)
            found[row] = sequence.input_ids[part].tolist()
            assert sequence.position_ids[part].tolist() == list(range(length))
            assert sequence.labels[part].tolist() == [NOT_LEARNT, *samples[row].labels[1:]]
            at += length
    assert [found[number] for number in range(len(samples))] == [each.input_ids for each in samples]


def test_best_fit_takes_the_least_room_that_is_enough():
    assert packing.plan([60, 50, 45, 40, 5, 100], 100) == [[5], [0, 3], [1, 2, 4]]
    assert packing.plan([70, 60, 30], 100) == [[0, 2], [1]]


def test_sequences_are_well_filled():
    lengths = [len(each.input_ids) for each in some_samples(5000, 1)]
    assert sum(lengths) / (len(packing.plan(lengths, LIMIT)) * LIMIT) > 0.98
    assert len(packing.plan([51] * 10, LIMIT)) == 10


def test_a_sample_longer_than_a_sequence_is_an_error():
    with pytest.raises(ValueError, match="101 tokens"):
        packing.plan([101], LIMIT)
    with pytest.raises(ValueError):
        packing.plan([0], LIMIT)


def test_the_order_depends_on_the_seed_alone():
    samples = some_samples(100)
    orders = []
    for seed in (1, 1, 2, None):
        random.seed(len(orders))
        orders.append([each.rows for each in packed(samples, seed=seed)])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(map(tuple, orders[0])) == sorted(map(tuple, orders[2])) == sorted(map(tuple, orders[3]))
    assert packing.order(50, 1, epoch=0) != packing.order(50, 1, epoch=1)


def test_without_packing_each_sample_is_a_sequence():
    samples = some_samples(20)
    assert [each.rows for each in packed(samples, packing=False)] == [[number] for number in range(20)]


def test_equal_samples_are_all_kept():
    assert sorted(row for each in packed([sample(7, 30)] * 9) for row in each.rows) == list(range(9))


def test_a_hundred_thousand_samples_are_quick():
    lengths = [random.Random(3).randint(1, 1024) for _ in range(100_000)]
    assert sum(map(len, packing.plan(lengths, 1024))) == 100_000


# Shards

@pytest.fixture
def folder(tmp_path):
    shards.write(tmp_path / "shards", packed(some_samples(200), seed=1), {"data": {"max_length": LIMIT}}, shard_bytes=20_000)
    return tmp_path / "shards"


def test_sequences_come_back_as_they_were_whatever_file_they_lie_in(folder):
    read, written = shards.open(folder), packed(some_samples(200), seed=1)
    assert len(read.files) > 3 and len(read) == len(written)
    for number in random.Random(0).sample(range(len(read)), len(read)):
        for name in ("input_ids", "labels", "position_ids", "lengths", "rows"):
            assert list(read[number][name]) == list(written[number][name])
    assert read.lengths == [len(each.input_ids) for each in written]
    with pytest.raises(IndexError):
        read[len(read)]


def test_the_header_counts_what_is_there(folder):
    about, samples = shards.open(folder).about, some_samples(200)
    assert about["schema"] == "kernelwright.shards/1" and about["data"] == {"max_length": LIMIT}
    # The first token of a sample is never learnt; in these samples it was not learnt before either.
    assert about["counts"] == {"sequences": sum(each["sequences"] for each in about["files"]), "samples": 200,
                               "tokens": sum(len(each.input_ids) for each in samples),
                               "learnt_tokens": sum(each.learnt for each in samples)}
    assert about["longest"] == max(shards.open(folder).lengths)
    first = (folder / about["files"][0]["name"]).read_bytes()
    assert hashlib.sha256(first).hexdigest() == about["files"][0]["sha256"]


def test_memory_holds_one_shard_at_a_time(tmp_path):
    def watched():
        for number, sequence in enumerate(packed(some_samples(300))):
            seen.append(len(list(tmp_path.glob("shard-*"))))
            yield sequence
    seen = []
    shards.write(tmp_path, watched(), {}, shard_bytes=10_000)
    assert seen[0] == 0 and seen[-1] > 5


@pytest.mark.parametrize("spoil, words", [
    (lambda shard: shard.write_bytes(shard.read_bytes()[:-4]), "bytes, not"),
    (lambda shard: shard.unlink(), "cannot read"),
    (lambda shard: shard.write_bytes(bytes(shard.stat().st_size)), "header is cut short or not one"),
    (lambda shard: shard.write_bytes(b"\xff" * shard.stat().st_size), "header is cut short or not one"),
    (lambda shard: shard.write_bytes(shard.read_bytes().replace(b'"I64"', b'"F64"')), "no array of a known kind"),
    (lambda shard: shard.write_bytes(shard.read_bytes().replace(b'"labels"', b'"labelz"')), "labels is missing"),
    (lambda shard: overwrite(shard, "sequence_offsets", 1, 10**9), "sequence_offsets does not count the tokens"),
    (lambda shard: overwrite(shard, "sample_offsets", 0, -1), "sample_offsets does not count the tokens"),
    (lambda shard: overwrite(shard, "input_ids", 0, -1), "a token below 0"),
])
def test_a_damaged_shard_is_refused_in_words(folder, spoil, words):
    spoil(folder / "shard-00001.safetensors")
    with pytest.raises(TrainError, match=words):
        shards.open(folder)


def overwrite(shard, name, index, value):
    """Changes one number of an array in the file."""
    header, start, _ = safetensors_file.header_of(shard)
    entry = header[name]
    width = {"I32": 4, "I64": 8}[entry["dtype"]]
    with open(shard, "r+b") as file:
        file.seek(start + entry["data_offsets"][0] + index * width)
        file.write(value.to_bytes(width, "little", signed=True))


ELSEWHERE = {"schema": shards.SCHEMA, "files": [{"name": "../../x", "bytes": 1, "sequences": 1, "samples": 1, "tokens": 1}]}


@pytest.mark.parametrize("text, words", [
    (None, "never finished"), ("{", "cannot read"), ("[]", "no header of"),
    ('{"schema": "other/1", "files": []}', "no header of"), (json.dumps(ELSEWHERE), "no header of"),
])
def test_a_foreign_or_unfinished_folder_is_refused_in_words(folder, text, words):
    (folder / "shards.json").unlink()
    if text is not None:
        (folder / "shards.json").write_text(text)
    with pytest.raises(TrainError, match=words):
        shards.open(folder)


def test_writing_again_leaves_nothing_of_before(folder):
    shards.write(folder, packed(some_samples(3)), {})
    assert len(shards.open(folder)) == len(packed(some_samples(3)))
    assert sorted(each.name for each in folder.iterdir()) == ["shard-00000.safetensors", "shards.json"]


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(safetensors_file, "write", full)
    with pytest.raises(TrainError, match="No space left on device"):
        shards.write(tmp_path, packed(some_samples(3)), {})


# The manifest

def test_hashes_are_over_what_is_learnt_from():
    said = [{"role": "user", "content": "ä"}]
    assert manifest.row_hash(columns.Row("pair", "p", "c")) == hashlib.sha256(b"p\0c").hexdigest()
    assert manifest.row_hash(columns.Row("text", text="t")) == hashlib.sha256(b"t").hexdigest()
    canonical = '[{"content":"ä","role":"user"}]'.encode()
    assert manifest.row_hash(columns.Row("messages", messages=said)) == hashlib.sha256(canonical).hexdigest()


# From files to shards

@pytest.fixture
def prepared(tmp_path):
    made = [{"prompt": f"{number}?", "completion": "x" * (number % 40), "task_id": f"sample/{number}"} for number in range(80)]
    path = lines(tmp_path / "a.jsonl", [*made, made[1]])
    return lambda **data: prepare.prepare([path], Letters(), recipe(**data), tmp_path / "out")


def test_files_become_shards_with_a_manifest_of_what_is_learnt(prepared):
    ready = prepared()
    assert ready.counts["rows"] == 81 and ready.counts["used"] == 79
    assert ready.counts["dropped"] == {"empty completion": 2} and ready.counts["cut"] == {}
    assert len(ready.rows) == 79 and ready.rows[-1] == ready.rows[0], "a row that is there twice is learnt twice"
    assert ready.files[0]["rows"] == 81 and ready.shards.about["sources"] == ready.files
    texts = set()
    for number in range(len(ready.shards)):
        sequence, at = ready.shards[number], 0
        for row, length, place in zip(sequence.rows, sequence.lengths, ready.rows_of(number), strict=True):
            text = Letters().decode(sequence.input_ids[at:at + length])
            asked = ready.rows[row]["task_id"].removeprefix("sample/") + "?"
            assert text.startswith(asked) and text.endswith("\x01")
            assert hashlib.sha256(f"{asked}\0{text[len(asked):-1]}".encode()).hexdigest() == ready.rows[row]["sha256"]
            assert place.endswith(f".jsonl:{ready.places[row][1]}")
            texts.add((row, text))
            at += length
    assert len(texts) == 79
    assert ready.counts["share_filled"] > 0.9 and ready.counts["sequences"] == len(ready.shards)


def test_the_same_data_gives_the_same_bytes(prepared, tmp_path):
    def digest():
        return [(each.name, each.read_bytes()) for each in sorted((tmp_path / "out").iterdir())]
    prepared()
    first = digest()
    prepared()
    assert digest() == first and [name for name, _ in first] == ["shard-00000.safetensors", "shards.json"]


def test_unshuffled_unpacked_rows_keep_the_order_of_the_file(prepared):
    ready = prepared(shuffle=False, packing=False)
    assert [ready.shards[number].rows for number in range(len(ready.shards))] == [[number] for number in range(79)]


def test_data_of_which_nothing_is_left_is_an_error_with_reasons(tmp_path):
    path = lines(tmp_path / "a.jsonl", [{"prompt": "p", "completion": ""}] * 3)
    with pytest.raises(TrainError, match=r"none of 3 rows is left to learn from \(empty completion: 3\)"):
        prepare.prepare([path], Letters(), recipe(), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("room", [1000, 15_000], ids=["while tokenising", "while packing"])
def test_a_disk_that_fills_up_is_named_and_leaves_nothing_half_done(prepared, tmp_path, room):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(TrainError, match="cannot write the tokens to .*out: File too large"):
            prepared()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "out").iterdir()) == []


def test_steps_are_what_the_optimiser_does():
    asked = recipe()
    assert [prepare.steps_of(count, asked) for count in (1, 16, 17, 160)] == [1, 1, 2, 10]
    asked["training"] |= {"micro_batch": 8, "accumulation": 2, "epochs": 2}
    assert prepare.steps_of(17, asked) == 4 and prepare.steps_of(1000, asked, max_steps=3) == 3


def test_a_manifest_appears_when_it_is_whole(tmp_path):
    made = manifest.make(program="kernelwright 0", base_model="m", recipe={}, files=[], rows=[], counts={"rows": 0})
    manifest.write(tmp_path / manifest.NAME, made)
    assert json.loads((tmp_path / manifest.NAME).read_text()) == made and made["schema"] == "kernelwright.training/1"
    assert [each.name for each in tmp_path.iterdir()] == ["training_manifest.json"]
    with pytest.raises(TrainError, match="cannot write"):
        manifest.write(tmp_path / "none" / "x.json", made)


# Memory

EIGHT_B = {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
           "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "tie_word_embeddings": False}


def eight_b(quantisation=(), lora=(), **training):
    chosen = {"quantisation": {"type": "nf4", "double": False, "compute": "bf16"} | dict(quantisation),
              "lora": {"rank": 32, "dropout": 0.05, "targets": list(estimate.Shapes(EIGHT_B).linear),
                       "adapter_dtype": "fp32"} | dict(lora),
              "training": {"micro_batch": 1, "kernels": "none", "attention": "sdpa", "gradient_checkpointing": True} | training}
    return estimate.memory(EIGHT_B, chosen, 1024)


def test_weights_of_eight_billion_are_counted_from_their_shapes():
    shapes = estimate.Shapes(EIGHT_B)
    assert shapes.linear_values == 36 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 12288) == 6_945_767_424
    assert shapes.linear_values + shapes.other_values == 8_190_735_360  # the model's number of parameters
    assert shapes.adapter_values(shapes.linear, 32) == 87_293_952  # as PEFT counts them
    assert eight_b()["adapter_bytes"] == 4 * 87_293_952
    assert eight_b(lora={"adapter_dtype": "bf16"})["adapter_bytes"] == 2 * 87_293_952


def test_the_estimate_comes_near_what_was_measured():
    """A run of the same libraries on an H200, with adapters in bfloat16, took at most 7.3 GiB without CUDA's own memory."""
    parts = eight_b(lora={"adapter_dtype": "bf16"})
    assert (parts["total_bytes"] - parts["context_bytes"]) / 2**30 == pytest.approx(7.3, rel=0.05)


def test_what_costs_memory_raises_the_estimate_and_what_saves_it_lowers_it():
    default = eight_b()["total_bytes"]
    assert eight_b(quantisation={"double": True})["total_bytes"] < default
    assert eight_b(micro_batch=8)["total_bytes"] > default
    assert eight_b(kernels="liger")["activations_bytes"] < eight_b()["activations_bytes"]
    assert eight_b(gradient_checkpointing=False)["total_bytes"] > default
    assert eight_b(attention="eager")["total_bytes"] > default
    whole = eight_b(quantisation={"type": "none"})
    assert whole["weights_bytes"] == 2 * 8_190_735_360 and whole["adapter_bytes"] == 4 * 87_293_952


def test_a_config_of_something_else_is_refused():
    with pytest.raises(TrainError, match="hidden_size, num_hidden_layers"):
        estimate.memory(EIGHT_B | {"hidden_size": None, "num_hidden_layers": "36"}, recipe(), 8)
    assert estimate.Shapes({"text_config": EIGHT_B}).layers == 36


def test_arrays_lie_where_their_types_want_them(tmp_path):
    safetensors_file.write(tmp_path / "a", {"a": numpy.arange(3, dtype="<i4"), "b": numpy.arange(2, dtype="<i8")})
    header, start, _ = safetensors_file.header_of(tmp_path / "a")
    assert (start + header["b"]["data_offsets"][0]) % 8 == 0 and (start + header["a"]["data_offsets"][0]) % 4 == 0
