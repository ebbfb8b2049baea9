"""Trains the tiny model with TRL on an unchanged file: no column is renamed or dropped."""
from pathlib import Path
from typing import NamedTuple

from datasets import load_dataset
from transformers import AutoTokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

STEPS = 2


class Trained(NamedTuple):
    """The result of a training, and the trainer's form of the file's rows."""

    dataset: object  # as loaded
    losses: list
    texts: list  # one for each row: column → text, as the model saw it
    learnt: list  # one for each row: the text over which the loss is taken; only for SFT


def load(path):
    """The rows of a file, as `datasets` reads it."""
    kind = {".jsonl": "json", ".parquet": "parquet"}[Path(path).suffix]
    return load_dataset(kind, data_files=str(path), split="train")


def settings(folder):
    return {"output_dir": str(folder), "max_steps": STEPS, "per_device_train_batch_size": 1, "use_cpu": True,
            "report_to": [], "save_strategy": "no", "logging_steps": 1, "bf16": False, "disable_tqdm": True,
            "max_length": None, "shuffle_dataset": False}


def trained(trainer, dataset):
    trainer.train()
    texts, learnt = [], []
    tokenizer = trainer.processing_class
    for row in trainer.train_dataset:
        texts.append({key: tokenizer.decode(row[key]) for key in row if key.endswith("_ids")})
        if "labels" in row:
            learnt.append(tokenizer.decode([token for token in row["labels"] if token >= 0]))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return Trained(dataset, losses, texts, learnt)


def fine_tune(model, path, folder):
    """SFTTrainer on conversations, or on prompts and completions."""
    dataset = load(path)
    trainer = SFTTrainer(model=str(model), args=SFTConfig(**settings(folder)), train_dataset=dataset,
                         processing_class=AutoTokenizer.from_pretrained(model))
    return trained(trainer, dataset)


def prefer(model, path, folder):
    """DPOTrainer on better and worse answers."""
    dataset = load(path)
    words = settings(folder)
    words.pop("shuffle_dataset")
    trainer = DPOTrainer(model=str(model), args=DPOConfig(**words), train_dataset=dataset,
                         processing_class=AutoTokenizer.from_pretrained(model))
    return trained(trainer, dataset)
