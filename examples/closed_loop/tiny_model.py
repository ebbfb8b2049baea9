"""A chat model of a hundred thousand weights: random, made here, never downloaded."""
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

ROOT = Path(__file__).resolve().parents[2]
CONTEXT_TOKENS = 8192
START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"

# As chat models of this family have it: the reasoning of an answer stands before it in tags of its own, and
# `enable_thinking` opens them in the model's stead. A random model never closes them.
CHAT_TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if enable_thinking %}<think>
{% endif %}{% endif -%}"""


def make_tokenizer(vocabulary=512):
    """Byte-level, so that every text has tokens; trained on the sample's sources."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=[PAD, START, END], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    core.train([str(each) for each in sorted((ROOT / "examples" / "sample" / "tasks").glob("*.py"))], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=END, pad_token=PAD, chat_template=CHAT_TEMPLATE,
                                   model_max_length=CONTEXT_TOKENS)


def make_model(tokenizer):
    torch.manual_seed(0)
    config = Qwen3Config(vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                         max_position_embeddings=CONTEXT_TOKENS, tie_word_embeddings=False,
                         eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None)
    model = Qwen3ForCausalLM(config)
    # Without it a server takes the likeliest token, and an answer is one word over and over.
    model.generation_config.do_sample = True
    # An answer ends where it must, never at its first token by chance.
    model.generation_config.suppress_tokens = list(range(len([PAD, START, END])))
    return model


def save(folder):
    """Both into `folder`, as from_pretrained and a model server want them."""
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    make_model(tokenizer).save_pretrained(folder)



if __name__ == "__main__":
    save(sys.argv[1])
