"""A tokenizer's chat template: renders conversations, and keeps text that resembles special tokens apart from them."""
import re

from .events import TrainError

HIDDEN = 0xF0000  # a private plane: placeholders for special tokens in texts
GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")


class Refused(Exception):
    """The template rejects these messages."""


def any_of(words):
    """A pattern that matches any of the words, the longest first; without words it never matches."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or r"(?!)"


class Template:
    """A tokenizer's chat template, and the facts about its special tokens."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        if not getattr(tokenizer, "chat_template", None):
            raise TrainError("the data has messages, and the model's tokenizer has no chat template",
                             'give prompts and completions, or join the messages with --set data.template="none"')
        added = tokenizer.added_tokens_decoder.values()
        self.specials = sorted({each.content for each in added if each.special})
        self.special = re.compile(any_of(self.specials))
        token = any_of({each.content for each in added})
        # Pieces of a header: tokens that were added to the vocabulary, and the text between them, line by line.
        self.header_piece = re.compile(rf"{token}|(?:(?!{token})[^\n])*\n|(?:(?!{token})[^\n])+")
        self.template = tokenizer.get_chat_template()
        self.marks = bool(GENERATION.search(self.template))

    def render(self, messages, asking=False):
        """The messages as text. Raises Refused."""
        import jinja2

        try:
            return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asking)
        except (jinja2.TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise Refused(str(error)) from None

    def header(self):
        """The text that asks for an answer after a user's message."""
        before = [{"role": "user", "content": "x"}]
        return self.render(before, asking=True)[len(self.render(before)):]

    def marked(self, messages):
        """(text, spans that the template itself marks)."""
        from transformers.utils.chat_template_utils import render_jinja_template

        texts, spans = render_jinja_template([messages], chat_template=self.template, return_assistant_tokens_mask=True,
                                             **self.tokenizer.special_tokens_map)
        return texts[0], spans[0]

    def hide(self, value):
        """The messages with a placeholder for each special token in their texts, and the hidden tokens."""
        hidden = {}

        def replace(match):
            placeholder = chr(HIDDEN + self.specials.index(match[0]))
            hidden[placeholder] = match[0]
            return placeholder

        def walk(each):
            if isinstance(each, str):
                return self.special.sub(replace, each)
            if isinstance(each, list):
                return [walk(item) for item in each]
            return {name: walk(item) for name, item in each.items()} if isinstance(each, dict) else each
        return walk(value), hidden
