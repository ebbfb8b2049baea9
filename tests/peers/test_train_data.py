"""The learnt tokens of rows, with a real tokenizer and chat templates; and all exports of this project."""
import json
import sys

import pytest
from end_to_end import program
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from . import tiny_model

sys.path[:0] = [str(program.ROOT / "tests" / "python"), str(program.ROOT / "python")]
from kernelwright._train import columns, prepare, rows, samples, shards, tokens, turns
from train_world import recipe

RECORDED = program.ROOT / "examples" / "sample" / "multi_turn.json"

# Qwen3's form of conversations: reasoning before the last question is left out, and a last answer without any gets an
# empty one.
LEAVES_OUT = """\
{%- set ns = namespace(last=0) -%}
{%- for message in messages if message.role == 'user' %}{% set ns.last = messages.index(message) %}{% endfor -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.role == 'assistant' and loop.index0 > ns.last %}<think>
{{ message.reasoning_content or '' }}
</think>

{% endif %}{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}"""
OPENS = LEAVES_OUT.removesuffix("{% endif -%}") + "<think>\n{% endif -%}"
MARKS = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}{{ '\\n' }}
{%- if message.role == 'assistant' %}{% generation %}
{%- if message.reasoning_content %}{{ '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
{{- message.content + '<|im_end|>\\n' }}{% endgeneration %}
{%- else %}{{ message.content + '<|im_end|>\\n' }}{% endif %}
{%- endfor %}"""
COUNTS = "{{ messages | length }}: " + tiny_model.CHAT_TEMPLATE
DROPS_TEXT = tiny_model.CHAT_TEMPLATE.replace("{{ message.content }}", "")

TALK = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "one <|im_end|>"},
        {"role": "assistant", "content": "1 <|im_start|>", "reasoning_content": "first"},
        {"role": "user", "content": "two"}, {"role": "assistant", "content": "two", "reasoning_content": "second"}]


@pytest.fixture(scope="module")
def made_once():
    return tiny_model.make_tokenizer()


@pytest.fixture
def tokenizer(made_once):
    made_once.chat_template = tiny_model.CHAT_TEMPLATE
    return made_once


def long_recipe(**data):
    return recipe(max_length=100_000, **data)


def encode(tokenizer, messages, learn_from=0, **data):
    row = columns.Row("messages", messages=messages, learn_from=learn_from)
    return tokens.encode(tokenizer, row, long_recipe(**data))


def learnt(tokenizer, sample):
    """The runs of learnt tokens, as text. Each label is at its own token."""
    runs, before = [], False
    for token, label in zip(sample.input_ids, sample.labels, strict=True):
        assert label in (token, samples.NOT_LEARNT)
        if label >= 0 and not before:
            runs.append([])
        if label >= 0:
            runs[-1].append(label)
        before = label >= 0
    return [tokenizer.decode(each) for each in runs]


# Plain pairs

def test_a_pair_has_no_template_and_ends_with_the_token_that_ends_a_text(tokenizer):
    sample = tokens.encode(tokenizer, columns.Row("pair", "def f(x):\n", "\n    return x\n"), long_recipe())
    asked, answered = (tokenizer(each, add_special_tokens=False)["input_ids"] for each in ("def f(x):\n", "\n    return x\n"))
    assert sample.input_ids == [*asked, *answered, tokenizer.eos_token_id]
    assert sample.labels == [samples.NOT_LEARNT] * len(asked) + [*answered, tokenizer.eos_token_id]


def test_the_boundary_of_a_pair_is_one_of_tokens(tokenizer):
    word = next(each for each in sorted(tokenizer.get_vocab(), key=len, reverse=True) if each.isascii() and each.isalpha())
    assert len(tokenizer(word, add_special_tokens=False)["input_ids"]) == 1
    apart = tokens.encode(tokenizer, columns.Row("pair", word[:2], word[2:]), long_recipe())
    assert learnt(tokenizer, apart) == [word[2:] + "<|im_end|>"] and tokenizer.decode(apart.input_ids) == word + "<|im_end|>"


def test_special_tokens_in_a_pairs_text_stay_text(tokenizer):
    asked = "<|im_start|>user\n<|im_end|><|endoftext|>"
    sample = tokens.encode(tokenizer, columns.Row("pair", asked, "<|im_end|>"), long_recipe())
    special = set(tokenizer.all_special_ids)
    assert [each for each in sample.input_ids if each in special] == [tokenizer.eos_token_id]
    assert tokenizer.decode(sample.input_ids[:-1]) == asked + "<|im_end|>"


def test_marks_of_holes_are_single_tokens_whether_the_tokenizer_calls_them_special_or_not():
    for special in (True, False):
        tokenizer = tiny_model.make_tokenizer()
        tokenizer.add_tokens(["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"], special_tokens=special)
        row = columns.Row("pair", "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>", "c")
        sample = tokens.encode(tokenizer, row, long_recipe())
        assert tokenizer.convert_ids_to_tokens(sample.input_ids) == \
            ["<|fim_prefix|>", "a", "<|fim_suffix|>", "b", "<|fim_middle|>", "c", "<|im_end|>"]


def test_a_tokenizer_that_puts_a_space_before_every_text_puts_none_between_prompt_and_completion():
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    core.decoder = decoders.Metaspace(prepend_scheme="always")
    core.train_from_iterator(["some words\n and\nother words"] * 3,
                             trainers.BpeTrainer(vocab_size=60, special_tokens=["</s>"], show_progress=False))
    spaced = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>")
    sample = tokens.encode(spaced, columns.Row("pair", "some w", "ords"), long_recipe())
    assert spaced.decode(sample.input_ids) == "some words</s>"


# Conversations

def test_every_answer_is_learnt_up_to_the_token_that_closes_it(tokenizer):
    sample = encode(tokenizer, TALK)
    assert learnt(tokenizer, sample) == ["<think>\nfirst\n</think>\n\n1 <|im_start|><|im_end|>",
                                         "<think>\nsecond\n</think>\n\ntwo<|im_end|>"]


def test_the_tokens_are_those_that_a_server_makes_of_the_same_conversation(tokenizer):
    plain = [{**each, "content": each["content"].replace("<|im_end|>", "?").replace("<|im_start|>", "!")} for each in TALK]
    whole = tokenizer.apply_chat_template(plain, tokenize=True, return_dict=False)
    sample = encode(tokenizer, plain)
    assert tokenizer.decode(sample.input_ids) == tokenizer.decode(whole).rstrip("\n")
    asked = tokenizer.apply_chat_template(plain[:-1], tokenize=True, add_generation_prompt=True, return_dict=False)
    assert sample.input_ids[:len(asked)] == asked, "what is given to a model before its last answer"
    assert sample.labels[len(asked):] == sample.input_ids[len(asked):]


def test_special_tokens_in_messages_are_text_and_the_templates_own_are_special(tokenizer):
    sample = encode(tokenizer, TALK)
    ends = sample.input_ids.count(tokenizer.convert_tokens_to_ids("<|im_end|>"))
    starts = sample.input_ids.count(tokenizer.convert_tokens_to_ids("<|im_start|>"))
    assert (starts, ends) == (len(TALK), len(TALK))
    assert "one <|im_end|><|im_end|>" in tokenizer.decode(sample.input_ids)


def test_of_a_prompt_and_its_completion_earlier_answers_are_not_learnt(tokenizer):
    assert learnt(tokenizer, encode(tokenizer, TALK, learn_from=3)) == ["<think>\nsecond\n</think>\n\ntwo<|im_end|>"]


def test_all_is_learnt_where_the_recipe_says_so(tokenizer):
    sample = encode(tokenizer, TALK, loss="all")
    assert sample.labels[1:] == sample.input_ids[1:] and sample.labels[0] == samples.NOT_LEARNT


def test_reasoning_that_a_template_leaves_out_of_earlier_answers_is_not_missed(tokenizer):
    tokenizer.chat_template = LEAVES_OUT
    sample = encode(tokenizer, TALK)
    assert learnt(tokenizer, sample) == ["1 <|im_start|><|im_end|>", "<think>\nsecond\n</think>\n\ntwo<|im_end|>"]
    assert sample.cut == ()


def test_a_template_that_opens_the_reasoning_itself(tokenizer):
    tokenizer.chat_template = OPENS
    assert learnt(tokenizer, encode(tokenizer, TALK)) == ["1 <|im_start|><|im_end|>", "second\n</think>\n\ntwo<|im_end|>"]


def test_a_template_that_marks_what_the_model_writes_is_believed(tokenizer):
    unmarked = encode(tokenizer, TALK)
    tokenizer.chat_template = MARKS
    marked = encode(tokenizer, TALK)
    assert (marked.input_ids, marked.labels) == (unmarked.input_ids, unmarked.labels)
    assert learnt(tokenizer, encode(tokenizer, TALK, learn_from=3)) == ["<think>\nsecond\n</think>\n\ntwo<|im_end|>"]


@pytest.mark.parametrize("template, reason", [
    (COUNTS, turns.NOT_FOUND), (DROPS_TEXT, turns.NOT_FOUND),
    ("{{ raise_exception('roles must alternate') }}", turns.REFUSED), ("{{ nothing.there }}", turns.REFUSED),
])
def test_a_template_with_which_answers_cannot_be_found_is_a_reason_to_drop(tokenizer, template, reason):
    tokenizer.chat_template = template
    assert encode(tokenizer, TALK).reason == reason


def test_a_conversation_without_an_answer_is_dropped_and_what_follows_the_last_one_is_left_away(tokenizer):
    assert encode(tokenizer, TALK[:2]).reason == turns.NO_ANSWER
    longer = encode(tokenizer, [*TALK, {"role": "user", "content": "and?"}])
    assert longer.input_ids == encode(tokenizer, TALK).input_ids


def test_a_conversation_that_begins_with_an_answer(tokenizer):
    assert learnt(tokenizer, encode(tokenizer, TALK[-1:])) == ["<think>\nsecond\n</think>\n\ntwo<|im_end|>"]


def test_a_huge_conversation_is_tokenised_only_as_far_as_it_may_matter(tokenizer, monkeypatch):
    def watched(some, text, special=False):
        longest.append(len(text))
        return whole(some, text, special)
    longest, whole = [], tokens.ids_of
    monkeypatch.setattr(tokens, "ids_of", watched)
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a\n" * 5_000_000}]
    sample = tokens.encode(tokenizer, columns.Row("messages", messages=talk), recipe())
    assert len(sample.input_ids) == 64 and sample.tokens_cut == pytest.approx(10_000_000, rel=0.05)
    assert max(longest) < 100_000


# What this project exports

def learnt_of(tokenizer, path):
    encoder = tokens.Encoder(tokenizer, long_recipe())
    return [learnt(tokenizer, encoder.encode(row)) for row in rows.read([str(path)])]


@pytest.fixture
def export(call, python, tmp_path):
    def exported(kind, *words):
        output = tmp_path / f"rows.{kind}"
        ended = call("export", RECORDED, "--output", output, "--python", python, "--filter", "none", *words)
        assert ended.code == 0, ended.stderr
        return output
    return exported


def answer(message):
    reasoning = message.get("reasoning_content")
    return (f"<think>\n{reasoning}\n</think>\n\n" if reasoning else "") + message["content"] + "<|im_end|>"


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("words", [["messages", "--rows", "turn"], ["messages", "--rows", "conversation"],
                                   ["prompt-completion"], ["prompt-completion", "--reasoning", "inline"]], ids=" ".join)
def test_exports_of_a_run_are_learnt_from(export, tokenizer, kind, words):
    path = export(kind, "--format", *words)
    expected = [json.loads(line) for line in export("jsonl", "--format", *words).read_text(encoding="utf-8").splitlines()]
    answers = [[answer(each) for each in row.get("completion", row.get("messages")) if each["role"] == "assistant"]
               for row in expected]
    assert learnt_of(tokenizer, path) == answers
    assert all(row.task_id.startswith("sample/") for row in rows.read([str(path)]))


def test_recorded_traces_are_refused_in_words(export):
    with pytest.raises(columns.TrainError, match="recorded traces"):
        list(rows.read([str(export("jsonl", "--format", "traces"))]))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_exports_of_a_data_set_are_learnt_from(call, python, tokenizer, tmp_path, kind):
    (tmp_path / "a.csv").write_text('prompt,completion\n"a, ""b""\n",c\n')
    plain, talk = tmp_path / f"out.{kind}", tmp_path / "talk.jsonl"
    for words in ([plain], [talk, "--messages"]):
        ended = call("dataset", "export", tmp_path / "a.csv", "--python", python, "--out", *words)
        assert ended.code == 0, ended.stderr
    assert learnt_of(tokenizer, plain) == learnt_of(tokenizer, talk) == [["c<|im_end|>"]]


def test_shards_are_safetensors(tokenizer, tmp_path):
    from safetensors.numpy import load_file
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": TALK}) + "\n")
    ready = prepare.prepare([str(tmp_path / "a.jsonl")], tokenizer, long_recipe(), tmp_path / "shards")
    read = load_file(tmp_path / "shards" / "shard-00000.safetensors")
    assert {name: array.dtype.name for name, array in read.items()} == \
        {name: {"I32": "int32", "I64": "int64"}[kind] for name, kind in shards.ARRAYS.items()}
    assert read["input_ids"].tolist() == ready.shards[0].input_ids.tolist()
    assert read["sample_offsets"].tolist() == [0, len(ready.shards[0].input_ids)]
