"""Runs a training from its job to the files in the output folder."""
import contextlib
import shutil
import tempfile
import time
from pathlib import Path

from . import (attention, card, checkpoints, curve, estimate, held_out, manifest, model, packages, prepare, schedule,
               tokens)
from .events import TrainError

LOG = "log.jsonl"  # the program writes it
CURVE = "loss.svg"
NOT_LEARNING = ("save_every", "keep", "log_every")  # keys that do not affect learning
MOST_DROPPED = 0.1  # share of the rows that may be dropped without a warning
LONGEST = 1_000_000  # the largest max_length of a recipe
LOWER = ("lower training.micro_batch (and raise training.accumulation as much) or data.max_length, turn on "
         "training.gradient_checkpointing, or take quantisation.type nf4; or a GPU with more memory. Another "
         "recipe begins anew: --fresh")


def run(job, events, stop):
    """Run all steps, the cheapest checks first."""
    began = time.monotonic()
    events.send("packages", versions=packages.check(job.recipe))
    device = planned_device(job)
    config, tokenizer = model.load_config(job.model), model.load_tokenizer(job.model)
    model.refuse_unknown_targets(config, job.recipe)
    if job.recipe["training"]["kernels"] == "liger":
        attention.refuse_unfused(config)
    with token_folder(job) as folder:
        prepared = prepare.prepare(job.data, tokenizer, job.recipe, folder, job.max_steps, lambda _: stop.check())
        events.send("data", **prepared.counts)
        refuse_nothing_learnt(job, prepared.counts["steps"], events)
        refuse_foreign_tokens(tokenizer, config)
        held_back = prepared_validation(job, prepared, tokenizer, folder, events, stop)
        warn_of_dropped(prepared.counts, job.recipe, events)
        needed = told_estimate(job, config, prepared, device, events)
        stop.check()
        if job.dry_run:
            events.send("done", steps=prepared.counts["steps"], loss=None, seconds=time.monotonic() - began, path="")
            return
        if not needed["fits"]:
            raise too_little(needed, device)
        trained = learn(job, prepared, held_back, tokenizer, device, needed, events, stop)
    finish(job, prepared, held_back, tokenizer, trained, device, events, time.monotonic() - began)


def planned_device(job):
    """Without a GPU, a dry run for a GPU still counts and estimates."""
    if job.dry_run and job.device == "cuda":
        return "cuda"
    return model.choose_device(job.device)


@contextlib.contextmanager
def token_folder(job):
    """The folder of the tokens: deleted after a successful training, otherwise kept for inspection or another engine."""
    if job.dry_run:
        with tempfile.TemporaryDirectory(prefix="kernelwright-train-") as folder:
            yield Path(folder)
        return
    job.output.mkdir(parents=True, exist_ok=True)
    if not job.resume:
        checkpoints.refuse_leftovers(job.output)
    checkpoints.sweep(job.output)
    yield job.output / "shards"
    shutil.rmtree(job.output / "shards", ignore_errors=True)
    checkpoints.sweep(job.output)


def prepared_validation(job, prepared, tokenizer, folder, events, stop):
    """The validation rows, without those that are trained on; None without --validation."""
    if not job.validation:
        return None
    trained = frozenset(each["sha256"] for each in prepared.rows)
    try:
        held_back = prepare.prepare(job.validation, tokenizer, job.recipe, folder / "validation",
                                    progress=lambda _: stop.check(), trained=trained)
    except TrainError as error:
        raise TrainError(f"--validation: {error.what}", error.remedy) from None
    counts = {name: held_back.counts[name] for name in ("rows", "used", "dropped", "cut", "tokens", "learnt_tokens",
                                                        "sequences")}
    events.send("validation_data", files=[each["path"] for each in held_back.files], **counts)
    shared = counts["dropped"].get(prepare.SHARED, 0)
    if shared:
        names = ", ".join(sorted(held_back.shared))
        events.send("warning", what=f"{shared:,} of {counts['rows']:,} validation rows stand among the training rows too, "
                    f"and are left out of the held-out loss: {names}", remedy="give --validation rows that --data lacks")
    return held_back


def warn_of_dropped(counts, recipe, events):
    """A warning where more than a tenth of the rows are dropped. It names the flags that keep long rows."""
    dropped, limit = sum(counts["dropped"].values()), recipe["data"]["max_length"]
    if dropped <= MOST_DROPPED * counts["rows"]:
        return
    too_long = sum(counts["dropped"].get(reason, 0) for reason in tokens.FOR_LENGTH)
    what = f"{dropped:,} of {counts['rows']:,} rows ({dropped / counts['rows']:.1%}) are dropped and teach nothing"
    remedy = "look at the reasons above" if not too_long else (
        f"--set max_length={min(4 * limit, LONGEST)}, as far as the device's memory allows, or rows of "
        f"`dataset build --max-tokens {limit}`")
    if too_long:
        what += f"; {too_long:,} of them are too long for max_length = {limit:,}"
    events.send("warning", what=what, remedy=remedy)


def refuse_nothing_learnt(job, steps, events):
    """A dry run, which only counts, and --force get a notice."""
    if schedule.learns(job.recipe, steps):
        return
    error = schedule.nothing_learnt(job.recipe)
    if not job.dry_run and not job.force:
        raise error
    events.send("notice", what=error.what)


def refuse_foreign_tokens(tokenizer, config):
    words = config.get_text_config().vocab_size
    if len(tokenizer) > words:
        raise TrainError(f"the tokenizer knows {len(tokenizer):,} tokens and the model only {words:,}",
                         "the tokenizer belongs to another model: take both from one place")


def limit_of(job, device):
    """The available bytes of the GPU, or of this machine."""
    if device == "cpu":
        return job.memory_bytes or available_bytes()
    import torch
    if not torch.cuda.is_available():
        return job.memory_bytes
    return model.limit_memory(device, job.memory_bytes)


def available_bytes():
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def told_estimate(job, config, prepared, device, events):
    found = estimate.memory(config.to_dict(), job.recipe, prepared.shards.about["longest"])
    if device == "cpu" and "context_bytes" in found:
        found["total_bytes"] -= found.pop("context_bytes")
    total, limit = found.pop("total_bytes"), limit_of(job, device)
    event = {"parts": found, "total_bytes": total, "limit_bytes": limit, "fits": limit is None or total <= limit}
    events.send("estimate", **event)
    return event


def gib(count):
    return f"{count / 2**30:.1f} GiB"


def named_parts(event):
    largest = sorted(event["parts"].items(), key=lambda each: -each[1])
    return ", ".join(f"{name.removesuffix('_bytes')} {gib(count)}" for name, count in largest if count >= 2**27)


def too_little(event, device):
    where = "the GPU" if device == "cuda" else "memory"
    parts = named_parts(event)
    return TrainError(f"about {gib(event['total_bytes'])} would be needed, and {where} has {gib(event['limit_bytes'])}"
                      + (f" ({parts})" if parts else ""), LOWER)


def made_for(job, prepared, held_back=None):
    """The settings in which a checkpoint must agree with the training that resumes it."""
    recipe = {section: {key: value for key, value in keys.items() if key not in NOT_LEARNING}
              for section, keys in job.recipe.items()}
    return {"model": job.model, "recipe": recipe, "data": [each["sha256"] for each in prepared.files],
            "validation": [each["sha256"] for each in held_back.files] if held_back else [],
            "steps": prepared.counts["steps"]}


def paper_after(job, prepared, held_back, steps):
    """The manifest of the rows learnt in the first `steps`."""
    learnt, counts = prepared.learnt_after(steps, job.recipe)
    return manifest.make(program=job.program, base_model=job.model, recipe=job.recipe, files=prepared.files,
                         rows=learnt, counts=counts,
                         validation=held_back and {"files": held_back.files, "rows": held_back.rows})


def learn(job, prepared, held_back, tokenizer, device, needed, events, stop):
    """The trained model and the losses. Raises Stopped after a signal, once a checkpoint is written."""
    from . import engine_trl
    identity = made_for(job, prepared, held_back)
    resume_from = checkpoints.to_resume(job.output, identity) if job.resume else None
    if job.resume:
        events.send("notice", what=f"going on from {resume_from}" if resume_from else
                    "there is no checkpoint to go on from: starting at step 1")
    try:
        adapted = model.add_adapter(model.load_base(job.model, job.recipe, device), job.recipe)
        stop.check()
        plan = engine_trl.Plan(job.recipe, job.output, prepared.counts["steps"], device, prepared.shards,
                               engine_trl.lengths_of(prepared.shards), prepared.rows_of, identity, events, stop,
                               paper_after=lambda steps: paper_after(job, prepared, held_back, steps),
                               held_out=held_out.HeldOut(held_back, job.recipe, events, stop) if held_back else None)
        state = engine_trl.train(plan, adapted, tokenizer, resume_from)
    except Exception as error:
        if not model.is_out_of_memory(error):
            raise
        have = f" of the {gib(needed['limit_bytes'])} there are" if needed["limit_bytes"] else ""
        raise TrainError(f"memory ran out{have}; {gib(needed['total_bytes'])} were expected to be enough "
                         f"({named_parts(needed)})", LOWER) from error
    if state.global_step < state.max_steps and not plan.ended_early:
        stop.check()
    plan.done = state.global_step
    return adapted, plan


def finish(job, prepared, held_back, tokenizer, trained, device, events, seconds):
    """Writes the adapter with its card and manifest."""
    adapted, plan = trained
    course = plan.held_out.course if plan.held_out else None
    best = course.best_step if course else None
    for event, fields in held_out.verdict(course, plan.done) if course else ():
        events.send(event, **fields)
    # The rows that were learnt from until the step whose weights these are.
    paper = paper_after(job, prepared, held_back, best or plan.done)
    losses = dict(curve.losses_of(job.output / LOG)) if (job.output / LOG).is_file() else {}
    losses = sorted((losses | dict(plan.losses)).items())
    result = {"steps": plan.done, "course": course, "seconds": seconds, "losses": losses, "curve": CURVE,
              "device": model.name_of(device), "packages": packages.check(job.recipe)}

    def write(folder):
        adapted.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        manifest.write(folder / manifest.NAME, paper)
        if curve.draw(losses, folder / CURVE, sorted(course.losses.items()) if course else ()) is None:
            result["curve"] = None
        (folder / "README.md").write_text(card.render(paper, result), encoding="utf-8")
    checkpoints.write_into(job.output, write)
    events.send("saved", path=str(job.output))
    if job.push_to_hub:
        from .upload import upload
        events.send("notice", what=f"uploaded to {upload(job.output, job.push_to_hub)}")
    measured = {"validation_loss": course.best_loss, "best_step": best, "ended_early": plan.ended_early} if course else {}
    events.send("done", steps=plan.done, loss=losses[-1][1] if losses else None, seconds=seconds, path=str(job.output),
                **measured)
