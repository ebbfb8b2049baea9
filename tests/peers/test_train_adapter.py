"""The results of a training: an adapter that other libraries load, that merges, with its origin; and broken ones."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import AutoPeftModelForCausalLM, PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from . import train_world
from .train_world import Heard, make_job, recipe, write_rows

from kernelwright._train import adapter, collator, merge, session  # isort: skip
from kernelwright._train.events import TrainError  # isort: skip
from kernelwright._train.signals import StopAsked  # isort: skip

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import fake_hub  # noqa: E402

IDS = torch.tensor([[5, 9, 33, 60, 7, 41]])


def logits_of(model):
    with torch.no_grad():
        return model.eval()(input_ids=IDS).logits


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    """The folder, the events, and the logits of the model at the end of the training."""
    folder = tmp_path_factory.mktemp("trained")
    data, heard, kept = write_rows(folder / "rows.jsonl", more=[{"prompt": "p " * 300, "completion": "c"}]), Heard(), {}
    finish = session.finish

    def keep(job, prepared, held_back, tokenizer, trained_model, *rest):
        kept["logits"] = logits_of(trained_model[0])
        finish(job, prepared, held_back, tokenizer, trained_model, *rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "finish", keep)
        session.run(make_job(tiny, data, folder / "out", recipe=recipe(training__epochs=4)), heard, StopAsked())
    return folder / "out", heard, kept["logits"]


def base_config(model):
    return json.loads((Path(model) / "config.json").read_text())


def base(tiny):
    return AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)


def test_plain_peft_loads_it_with_equal_logits(tiny, trained):
    folder, _, wanted = trained
    assert torch.equal(logits_of(PeftModel.from_pretrained(base(tiny), folder)), wanted)
    assert torch.equal(logits_of(AutoPeftModelForCausalLM.from_pretrained(folder, dtype=torch.float32)), wanted)
    assert not torch.allclose(logits_of(base(tiny)), wanted, atol=1e-3)


def test_merging_keeps_the_logits(tiny, trained, tmp_path):
    folder, _, wanted = trained
    heard = Heard()
    merge.merge(str(folder), str(tiny), str(tmp_path / "merged"), "cpu", heard)
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype="auto")
    assert torch.allclose(logits_of(merged), wanted, atol=1e-5)
    assert [each["event"] for each in heard.said] == ["saved", "done"]
    assert AutoTokenizer.from_pretrained(tmp_path / "merged")("a b") == AutoTokenizer.from_pretrained(tiny)("a b")
    assert any(path.suffix == ".safetensors" for path in (tmp_path / "merged").iterdir())


def test_a_base_in_bfloat16_stays_in_it_and_merges_within_its_precision(tiny, trained, tmp_path):
    folder, _, wanted = trained
    half = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.bfloat16)
    half.save_pretrained(tmp_path / "half")
    merge.merge(str(folder), str(tmp_path / "half"), str(tmp_path / "merged"), "cpu", Heard())
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype="auto")
    assert merged.dtype == torch.bfloat16
    assert torch.allclose(logits_of(merged).float(), wanted, atol=0.05)


def test_the_folder_has_its_papers(trained):
    folder, heard, _ = trained
    names = {each.name for each in folder.iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json", "README.md", "training_manifest.json",
            "loss.svg"} <= names
    assert not names & {"shards", ".checkpoint.partial"}
    manifest = json.loads((folder / "training_manifest.json").read_text())
    assert [row["id"] for row in manifest["rows"]] == [f"row-{number}" for number in range(24)]
    assert manifest["counts"]["dropped"] == {"the prompt alone fills max_length": 1}
    assert "<svg" in (folder / "loss.svg").read_text()
    assert heard.of("saved")[0]["path"] == heard.of("done")[0]["path"] == str(folder)


def test_the_card_counts_licences_and_tells_the_recipe_and_the_limits(trained):
    folder, heard, _ = trained
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: peft\n")
    for words in ("| MIT | 12 |", "| Apache-2.0 | 12 |", "| lora | rank | `4` |", "1 row was dropped", "## Limitations",
                  "AutoPeftModelForCausalLM", f"| {len(heard.losses)} | {heard.losses[-1]:.4f} |", "(loss.svg)"):
        assert words in card


def manifest_in(folder):
    return json.loads((folder / "training_manifest.json").read_text())


@pytest.fixture(scope="module")
def cut_short(tiny, tmp_path_factory):
    """Three of ten steps, with four of 40 sequences each, in the seed's order."""
    folder = tmp_path_factory.mktemp("short")
    wanted = recipe(data__packing=False, training__save_every=2)
    train_world.train(tiny, write_rows(folder / "rows.jsonl", 40), folder / "out", recipe=wanted, max_steps=3)
    return folder / "out"


def test_papers_list_the_rows_that_were_reached_alone(tiny, tmp_path, cut_short, monkeypatch):
    seen, real = [], collator.Collator.__call__
    monkeypatch.setattr(collator.Collator, "__call__", lambda self, examples: seen.extend(
        row for each in examples for row in self.sequences[each["sequence"]].rows) or real(self, examples))
    wanted = recipe(data__packing=False)
    train_world.train(tiny, write_rows(tmp_path / "rows.jsonl", 40), tmp_path / "out", recipe=wanted, max_steps=3)
    assert sorted(seen) != list(range(12))
    for folder, rows in ((tmp_path / "out", 12), (cut_short, 12), (cut_short / "checkpoint-2", 8)):
        paper = manifest_in(folder)
        assert [row["id"] for row in paper["rows"]] == [f"row-{number}" for number in sorted(seen[:rows])]
        assert paper["counts"]["rows_reached"] == paper["counts"]["sequences_reached"] == rows
        assert paper["counts"]["sequences"] == paper["counts"]["used"] == 40
    assert "12 of 40 sequences, with 12 rows, were learnt from" in (cut_short / "README.md").read_text()


def test_papers_of_a_whole_training_say_so(trained):
    counts = manifest_in(trained[0])["counts"]
    assert counts["sequences_reached"] == counts["sequences"] and counts["rows_reached"] == counts["used"] == 24
    assert "ended before" not in (trained[0] / "README.md").read_text()


@pytest.mark.parametrize("has_its_own", [True, False])
def test_what_was_learnt_from_goes_along_into_the_merged_model(tiny, tmp_path, cut_short, has_its_own):
    folder = tmp_path / "out"
    shutil.copytree(cut_short, folder)
    checkpoint = folder / "checkpoint-2"
    wanted = manifest_in(checkpoint if has_its_own else folder)
    if not has_its_own:
        (checkpoint / "training_manifest.json").unlink()
    merge.merge(str(checkpoint), str(tiny), str(tmp_path / "merged"), "cpu", Heard())
    assert manifest_in(tmp_path / "merged") == wanted


def test_an_adapter_that_fits_is_found_sound(tiny, trained):
    assert adapter.check(trained[0], base_config(tiny))["r"] == 4


@pytest.fixture
def copy(trained, tmp_path):
    shutil.copytree(trained[0], tmp_path / "copy")
    return tmp_path / "copy"


def refused(folder, config):
    with pytest.raises(TrainError) as error:
        adapter.check(folder, config)
    return error.value


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_weights_that_are_cut_short_are_told(tiny, copy, share):
    path = copy / adapter.WEIGHTS
    whole = path.read_bytes()
    path.write_bytes(whole[:int(len(whole) * share)])
    assert "is damaged" in refused(copy, base_config(tiny)).what


@pytest.mark.parametrize("header", [b"[]", b'{"a": 1}', b'{"a": {"shape": [2], "data_offsets": [8, 0]}}', b"\xff" * 30,
                                    b'{"a": {"shape": 3, "data_offsets": [0, 0]}}', b"[" * 5000,
                                    b'{"a": {"shape": [2], "data_offsets": ["x", 0]}}'])
def test_a_header_that_means_nothing_is_told(tiny, copy, header):
    (copy / adapter.WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)
    assert "is damaged" in refused(copy, base_config(tiny)).what


def test_a_missing_matrix_is_named(tiny, copy):
    weights = load_file(copy / adapter.WEIGHTS)
    gone = next(name for name in weights if "layers.1" in name and name.endswith("up_proj.lora_B.weight"))
    save_file({name: value for name, value in weights.items() if name != gone}, copy / adapter.WEIGHTS)
    assert "lacks lora_B of layer 1's up_proj" in refused(copy, base_config(tiny)).what


@pytest.mark.parametrize("change, told", [
    ({"hidden_size": 128}, "of layer 0's down_proj measures"), ({"num_hidden_layers": 3}, "lacks lora_A of layer 2's"),
    ({"num_hidden_layers": 1}, "this base has only 1 layers"), ({"num_key_value_heads": 4}, "k_proj measures (32, 4)")])
def test_a_foreign_base_is_told_from_its_config(tiny, copy, change, told):
    error = refused(copy, base_config(tiny) | change)
    assert told in error.what and "base" in error.remedy


@pytest.mark.parametrize("text, told", [(None, "is no adapter"), ("{", "cannot be read"), ("{}", "no LoRA adapter's"),
                                        ('{"peft_type": "LORA", "r": 0, "target_modules": ["q_proj"]}', "no rank")])
def test_a_config_that_means_nothing_is_told(tiny, copy, text, told):
    (copy / adapter.CONFIG).unlink()
    if text is not None:
        (copy / adapter.CONFIG).write_text(text)
    assert told in refused(copy, base_config(tiny)).what


def test_a_broken_adapter_is_not_merged(tiny, copy, tmp_path, monkeypatch):
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("a model was loaded"))
    (copy / adapter.WEIGHTS).write_bytes(b"")
    with pytest.raises(TrainError, match="is damaged"):
        merge.merge(str(copy), str(tiny), str(tmp_path / "merged"), "cpu", Heard())
    assert not (tmp_path / "merged").exists()


UPLOAD = """\
import sys
from kernelwright._train.events import TrainError
from kernelwright._train.upload import upload
try:
    print(upload(sys.argv[1], "me/adapter"))
except TrainError as error:
    print(error.what, "//", error.remedy)
"""


def uploaded(folder, hub, token):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment = clean | {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder.parent / "home"), "HF_TOKEN": token,
                           "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": str(train_world.ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", UPLOAD, str(folder)], capture_output=True, text=True, env=environment,
                          timeout=100)
    return done.stdout.strip() or done.stderr


def test_the_hub_gets_the_adapter_without_what_is_for_going_on(trained, copy):
    (copy / "checkpoint-2").mkdir()
    (copy / "checkpoint-2" / "optimizer.pt").write_text("mine")
    (copy / "log.jsonl").write_text("{}\n")
    with fake_hub.FakeHub() as hub:
        said = uploaded(copy, hub, hub.token)
        assert "me/adapter" in said, said
        assert hub.repos["me/adapter"].get("type", "model") == "model"
        assert {"adapter_config.json", "adapter_model.safetensors", "README.md", "training_manifest.json"} <= set(hub.files)
        assert not [name for name in hub.files if "checkpoint" in name or name == "log.jsonl"]


def test_a_hub_that_refuses_is_told_without_the_token(copy):
    with fake_hub.FakeHub() as hub:
        said = uploaded(copy, hub, "hf_not_the_right_one")
    assert "does not let you write" in said and "hf auth login" in said and "hf_not_the_right_one" not in said
