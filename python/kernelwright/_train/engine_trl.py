"""The engine that trains through TRL: its settings, its events and its checkpoints."""
import inspect
import math
import time
from pathlib import Path

import numpy
import torch
from datasets import Dataset
from torch.utils.data import Sampler
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from . import checkpoints, json_file, manifest, packing
from .collator import Collator
from .events import TrainError
from .model import evaluate, settle_adapter_type

# On a GPU rows are padded to a multiple of this. Libraries make a plan for each new width, which takes longer than the
# computation of the padding; packed rows nearly all get one width.
WIDTH = 128
SCHEDULES = {"cosine": "cosine", "linear": "linear", "constant": "constant_with_warmup"}


def settings(recipe, output, steps, device):
    """TRL's settings. All that affect learning or speed are explicit, so that no default of a library version applies."""
    wanted = recipe["training"]
    gpu = device == "cuda"
    return SFTConfig(
        output_dir=str(output), max_steps=steps, num_train_epochs=wanted["epochs"], use_cpu=not gpu,
        per_device_train_batch_size=wanted["micro_batch"], gradient_accumulation_steps=wanted["accumulation"],
        learning_rate=wanted["learning_rate"], lr_scheduler_type=SCHEDULES[wanted["schedule"]],
        lr_scheduler_kwargs=None, warmup_steps=wanted["warmup"], optim=wanted["optimiser"], optim_args=None,
        adam_beta1=wanted["beta1"], adam_beta2=wanted["beta2"], adam_epsilon=wanted["epsilon"],
        weight_decay=wanted["weight_decay"], max_grad_norm=wanted["clip"], seed=wanted["seed"], data_seed=wanted["seed"],
        bf16=wanted["precision"] == "bf16", fp16=wanted["precision"] == "fp16", tf32=None,
        activation_checkpointing=wanted["gradient_checkpointing"], activation_checkpointing_kwargs={"use_reentrant": False},
        full_determinism=False,
        dataloader_num_workers=0, dataloader_pin_memory=gpu, dataloader_drop_last=False, remove_unused_columns=False,
        loss_type="nll", label_smoothing_factor=0.0, neftune_noise_alpha=None, average_tokens_across_devices=False,
        # Done by this package, not by the library: tokenising and packing rows, checking losses, complete checkpoints.
        dataset_kwargs={"skip_prepare_dataset": True}, max_length=None, packing=False, padding_free=False,
        completion_only_loss=False, assistant_only_loss=False, shuffle_dataset=False, use_liger_kernel=False,
        activation_offloading=False, torch_compile=False, auto_find_batch_size=False, torch_empty_cache_steps=None,
        logging_strategy="no", logging_nan_inf_filter=False, save_strategy="no", eval_strategy="no", report_to="none",
        disable_tqdm=True, push_to_hub=False, load_best_model_at_end=False, include_num_input_tokens_seen="no")


class Watch(TrainerCallback):
    """After every step: reports it, and asks for a checkpoint where one is due."""

    def __init__(self, plan):
        self.plan = plan
        self.started = self.last = time.monotonic()
        self.first_step = None

    def on_train_begin(self, args, state, control, **_):
        if self.plan.held_out:
            self.plan.held_out.measure(self.plan.trainer, state.global_step, state.max_steps)

    def on_step_begin(self, args, state, control, **_):
        if self.first_step is None:
            self.first_step, self.started, self.last = state.global_step, time.monotonic(), time.monotonic()

    def on_pre_optimizer_step(self, args, state, control, **_):
        self.plan.trainer.refuse_broken(state.global_step + 1)

    def on_step_end(self, args, state, control, **_):
        plan, step = self.plan, state.global_step
        loss, tokens, norm, rate = plan.trainer.step_done()
        now = time.monotonic()
        plan.losses.append((step, loss))
        if step % plan.recipe["training"]["log_every"] == 0 or step == state.max_steps:
            plan.events.send(
                "step", step=step, of=state.max_steps, loss=loss, learning_rate=rate, gradient_norm=norm,
                tokens_per_s=tokens / max(now - self.last, 1e-9), memory_bytes=peak_memory(args),
                remaining_s=(now - self.started) / (step - self.first_step) * (state.max_steps - step), epoch=state.epoch)
        if plan.events.lost:
            plan.stop.ask()
        if plan.held_out:
            plan.held_out.measure(plan.trainer, step, state.max_steps)
        self.last = time.monotonic()
        ended = step >= state.max_steps
        if plan.ended_early:
            control.should_training_stop = True
        elif plan.stop.asked and not ended:
            control.should_save = control.should_training_stop = True
        elif step % plan.recipe["training"]["save_every"] == 0 and not ended:
            control.should_save = True


def peak_memory(args):
    """The most bytes of the GPU that PyTorch used; None on a CPU."""
    return None if args.use_cpu else torch.cuda.max_memory_reserved()


class Order(Sampler):
    """The order of the shards, already shuffled; later epochs have other orders."""

    def __init__(self, count, recipe):
        self.count, self.epoch = count, 0
        self.seed = recipe["training"]["seed"] if recipe["data"]["shuffle"] else None

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.count

    def __iter__(self):
        stays = self.seed is None or self.epoch == 0
        return iter(range(self.count) if stays else packing.order(self.count, self.seed, self.epoch))


def without_logits(model):
    """The words by which a model, before TRL changes it, computes its loss without logits.

    Liger's loss would return logits outside of training. A model without Liger's loss gets TRL's.
    """
    has_ligers = "skip_logits" in inspect.signature(model.get_base_model().forward).parameters
    return {"skip_logits": True} if has_ligers else {"fused_lm_head": True}


class Engine(SFTTrainer):
    """TRL's trainer over existing packed sequences, with TRL's loss and this package's checkpoints."""

    def __init__(self, plan, **words):
        self.plan = plan
        plan.trainer = self
        self.head = without_logits(words["model"])
        super().__init__(**words)
        self.losses, self.taken, self.tokens, self.norm, self.rate = [], [], 0, None, 0.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The mean over the learnt tokens of the whole step, without the library's figures: each of them waits for the GPU."""
        numbers = inputs.pop("sequences")
        outputs = self._outputs(model, inputs, num_items_in_batch)
        self.losses.append(outputs.loss.detach())
        self.taken.append(numbers)
        self.tokens += sum(self.plan.lengths[each] for each in numbers)
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def _outputs(self, model, inputs, count):
        """The model's outputs, with a loss over `count` tokens and without logits."""
        return model(**inputs, use_cache=False, num_items_in_batch=count, **self.head)

    def held_out_loss(self, batches):
        """The mean over all tokens of the batches (numbers of validation sequences); None after a signal."""
        model, total, count = self.model, 0.0, 0
        evaluate(model)
        try:
            for numbers in batches:
                inputs = self.plan.held_out_collate([{"sequence": number} for number in numbers])
                inputs.pop("sequences")
                learnt = int((inputs["labels"] >= 0).sum())
                if not learnt:  # samples of one token each: nothing precedes it, so nothing predicts it
                    continue
                with torch.no_grad(), self.compute_loss_context_manager():
                    total += self._outputs(model, self._prepare_inputs(inputs), learnt).loss.item() * learnt
                count += learnt
        finally:
            model.train()
        return None if self.plan.stop.asked else total / count if count else math.nan

    def adapter_weights(self):
        """A copy of the adapter's weights in the host's memory."""
        from peft import get_peft_model_state_dict
        return {name: value.detach().to("cpu", copy=True).contiguous()
                for name, value in get_peft_model_state_dict(self.model).items()}

    def _get_train_sampler(self, train_dataset=None):
        return Order(len(self.plan.lengths), self.plan.recipe)

    def floating_point_ops(self, inputs):
        return 0  # the library asks for it at each micro-batch and does not use it here

    def _get_grad_norm(self, model, grad_norm=None):
        self.norm = float(super()._get_grad_norm(model, grad_norm))
        return self.norm

    def refuse_broken(self, step):
        """Before the weights change: a loss or gradient that is not finite ends the training."""
        self.rate = self._get_learning_rate()
        self.losses = torch.stack(self.losses).tolist()
        for loss, numbers in zip(self.losses, self.taken, strict=True):
            if not math.isfinite(loss):
                self._broken(step, f"the loss is {loss}", numbers)
        if not math.isfinite(self.norm):
            self._broken(step, f"the gradient's norm is {self.norm}", [each for batch in self.taken for each in batch])

    def _broken(self, step, what, numbers):
        kept = checkpoints.listed(self.plan.output)
        good = f"the last good checkpoint is {kept[-1][1]}" if kept else "there is no checkpoint yet"
        rows = sorted({row for number in numbers for row in self.plan.rows_of(number)})
        shown = "; ".join(rows[:20]) + (f" and {len(rows) - 20} more" if len(rows) > 20 else "")
        raise TrainError(f"{what} at step {step}, in {shown}; {good}",
                         "look at these rows; a lower training.learning_rate or precision bf16 helps where they are sound")

    def step_done(self):
        """(loss, tokens, gradient norm, learning rate) of the step that ended; clears them."""
        done = sum(self.losses), self.tokens, self.norm, self.rate
        self.losses, self.taken, self.tokens = [], [], 0
        return done

    def _save_checkpoint(self, model, trial):
        step = self.state.global_step
        path = checkpoints.write_whole(self.plan.output, step, self.plan.made_for, self._write_checkpoint)
        checkpoints.keep_newest(self.plan.output, self.plan.recipe["training"]["keep"])
        self.plan.events.send("checkpoint", path=str(path), step=step)

    def _write_checkpoint(self, folder):
        self.save_model(str(folder), _internal_call=True)
        self._save_optimizer_and_scheduler(str(folder))
        self._save_scaler(str(folder))
        self._save_rng_state(str(folder))
        self.state.save_to_json(str(folder / "trainer_state.json"))
        if self.plan.paper_after:  # so that a checkpoint can be scored without further files
            json_file.write(folder / manifest.NAME, self.plan.paper_after(self.state.global_step))
        if self.plan.held_out:
            self.plan.held_out.save(folder)

    def _load_from_checkpoint(self, resume_from_checkpoint, model=None):
        """Load the saved weights bit by bit: PEFT would convert them to float32."""
        from peft import set_peft_model_state_dict
        from safetensors.torch import load_file
        set_peft_model_state_dict(self.model, load_file(Path(resume_from_checkpoint) / "adapter_model.safetensors"))
        if self.plan.held_out:
            self.plan.held_out.load(resume_from_checkpoint)


class Plan:
    """The settings of a training besides the model."""

    def __init__(self, recipe, output, steps, device, sequences, lengths, rows_of, made_for, events, stop,
                 paper_after=None, held_out=None):
        self.recipe, self.output, self.steps, self.device = recipe, Path(output), steps, device
        self.sequences, self.lengths, self.rows_of = sequences, lengths, rows_of
        self.made_for, self.events, self.stop = made_for, events, stop
        self.paper_after = paper_after  # steps → the manifest
        self.held_out, self.held_out_collate = held_out, None
        self.trainer, self.losses = None, []

    @property
    def ended_early(self):
        return self.held_out is not None and self.held_out.course.ended


def lengths_of(shards):
    """The number of tokens of each sequence."""
    return [int(length) for which in range(len(shards.files))
            for length in numpy.diff(shards.mapped(which)["sequence_offsets"])]


def make_trainer(plan, model, tokenizer):
    """The trainer of `model`, which has its adapter. Sequences are looked up by number, so that the library copies none."""
    pad_id = next((each for each in (tokenizer.pad_token_id, tokenizer.eos_token_id) if each is not None), 0)
    def collator_of(sequences):
        return Collator(sequences, pad_id, flat=plan.recipe["training"]["attention"] == "varlen",
                        multiple=WIDTH if plan.device == "cuda" else 1)
    if plan.held_out:
        plan.held_out_collate = collator_of(plan.held_out.sequences)
    trainer = Engine(
        plan, model=model, args=settings(plan.recipe, plan.output, plan.steps, plan.device), processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"sequence": list(range(len(plan.lengths)))}),
        data_collator=collator_of(plan.sequences), callbacks=[Watch(plan)])
    trainer.remove_callback(PrinterCallback)
    settle_adapter_type(model, plan.recipe)
    return trainer


def train(plan, model, tokenizer, resume_from=None):
    """Returns the trainer's state: the steps done, and whether the training reached its end.

    After a training with validation rows that was not interrupted, the model has the weights of the best step.
    """
    trainer = make_trainer(plan, model, tokenizer)
    trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
    state = trainer.state
    if plan.held_out and plan.held_out.best is not None and (state.global_step >= state.max_steps or plan.ended_early):
        from peft import set_peft_model_state_dict
        set_peft_model_state_dict(model, plan.held_out.best)
    return state
