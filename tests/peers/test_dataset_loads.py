"""The folder of the dataset builder, read by `datasets` as its card describes."""
import json
import sys
from pathlib import Path

import datasets
import pyarrow.parquet
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "python")]
import dataset_rows
from kernelwright._dataset import parquet_dataset

UNICODE = "# größer als 漢字 🚀\r\n\tx = 'a\\u2028b\u2028'\n"
HOLE = {"node": "body", "rendering": "plain", "region": [0, 40], "middle": [12, 30]}


def rows():
    """kind → split → rows. No trace is for validation."""
    return {
        "fim": {"train": [dataset_rows.row(), dataset_rows.row(prompt=UNICODE, hole=HOLE),
                          dataset_rows.full_row(kind="fim", pair=None, verdict=None)],
                "validation": [dataset_rows.row(split="validation")]},
        "cu2triton": {"train": [dataset_rows.full_row(verdict=None)],
                      "validation": [dataset_rows.full_row(split="validation")]},
        "torch2triton": {"train": [dataset_rows.row(kind="torch2triton", unit="a" * 40)],
                         "validation": [dataset_rows.full_row(kind="torch2triton", split="validation")]},
        "trace": {"train": [dataset_rows.full_row(kind="trace", hole=None, pair=None)], "validation": []},
    }


def card(files):
    """The front matter in the builder's form."""
    text = "---\nlicense:\n- \"mit\"\n- \"other\"\nsize_categories:\n- n<1K\nconfigs:\n"
    for kind, splits in files.items():
        text += f"- config_name: \"{kind}\"\n  data_files:\n"
        for split, path in splits.items():
            text += f"  - split: \"{split}\"\n    path: \"{path}\"\n"
    return text + "---\n# GPU kernels for training\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("dataset")
    files = {}
    for kind, splits in rows().items():
        for split, some in splits.items():
            path = f"data/{kind}/{split}-00000-of-00001.parquet"
            source = dataset_rows.write(top / f"{kind}_{split}.jsonl", some)
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            with open(source, encoding="utf-8") as lines:
                written = parquet_dataset.convert(lines, top / path, pyarrow, pyarrow.parquet)
            if written:
                files.setdefault(kind, {})[split] = path
    (top / "fim_sft.csv").write_text("prompt,completion\nnot,for the configs\n")
    (top / "README.md").write_text(card(files), encoding="utf-8")
    return top


@pytest.fixture
def load(folder, tmp_path):
    return lambda kind: datasets.load_dataset(str(folder), kind, cache_dir=str(tmp_path))


@pytest.mark.parametrize("kind", ["fim", "cu2triton", "torch2triton", "trace"])
def test_every_config_has_its_rows_by_split(load, kind):
    loaded = load(kind)
    wanted = {split: len(some) for split, some in rows()[kind].items() if some}
    assert {split: len(loaded[split]) for split in loaded} == wanted
    assert all(row["kind"] == kind for split in loaded.values() for row in split)


def test_all_configs_and_splits_have_the_same_features(load):
    features = [split.features for kind in rows() for split in load(kind).values()]
    assert all(each == features[0] for each in features)
    assert list(features[0]) == [name for name, _ in parquet_dataset.COLUMNS]
    assert features[0]["tokens"].dtype == "int64" and features[0]["pair_confidence"].dtype == "float64"
    assert features[0]["masked_loads"].dtype == "bool" and features[0]["verdict"].dtype == "string"


def test_texts_come_back_as_they_were(load):
    assert load("fim")["train"][1]["prompt"] == UNICODE


def test_what_does_not_apply_is_none(load):
    row = load("fim")["train"][0]
    assert [row[name] for name in ("unit", "source_version", "hole_node", "tokens", "licence", "verdict")] == [None] * 6
    assert row["leakage"] == [] and row["compiled_for"] == []
    assert (row["source_begin"], row["source_end"]) == (0, 40)


def test_a_verdict_and_its_spans_are_all_there(load):
    row = load("trace")["train"][0]
    assert json.loads(row["verdict"]) == {"status": "correct", "note": "größer 🚀"}
    leak = row["leakage"][0]
    assert (leak["against"], leak["jaccard"], leak["renamed"]) == ("KernelBench", 0.9, True)
    assert leak["spans"] == [{"begin": 0, "end": 3}, {"begin": 5, "end": 8}]


def test_both_ends_of_a_pair_are_named(load):
    row = load("cu2triton")["validation"][0]
    assert (row["source_path"], row["pair_other_path"]) == ("kernels/add.py", "csrc/add.cu")
    assert row["pair_reasons"] == ["name: add"] and row["pair_other_licence"] == "Apache-2.0"


def test_configs_can_be_joined(load):
    joined = datasets.concatenate_datasets([load(kind)["train"] for kind in rows()])
    assert len(joined) == 6
