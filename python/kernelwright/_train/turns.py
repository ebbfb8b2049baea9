"""Finds the exact spans of the answers in a conversation that the model's chat template renders.

Where the template marks the model's text (`{% generation %}`), the marks are used. Otherwise the conversation is rendered
up to each answer with the header that asks for it; the answer follows it in the whole rendering. The answer's end is the
end of the rendering up to and with it. Where a template renders an answer otherwise once more messages follow (most omit
earlier reasoning), it is the special token that closes it. An answer that is not found so is not learnt, and counted; a
row without any is dropped. White space after the closing token is the template's, not the model's.

Special tokens in the messages' own texts are hidden from the template and restored as text.
"""
import re
from dataclasses import dataclass, field

from .chat_template import Refused

NO_ANSWER = "no answer to learn"
REFUSED = "refused by the chat template"
NOT_FOUND = "the chat template does not render the start of a conversation as it renders the whole"
SOME_NOT_FOUND = "an answer that the chat template renders otherwise within the whole conversation"


@dataclass
class Found:
    """A rendered conversation as pieces (text, learnt), and the hidden special tokens."""

    pieces: list
    hidden: dict = field(default_factory=dict)  # placeholder → special token
    cut: tuple = ()

    def parts(self, text):
        """(part, whether special tokens in it are special) of a text."""
        if not self.hidden:
            yield text, True
            return
        for part in re.split("([" + "".join(self.hidden) + "])", text):
            if part:
                yield (self.hidden[part], False) if part in self.hidden else (part, True)


def apart(row):
    """A conversation without a template: (texts before the answer, the answer), a newline between texts; None: none."""
    answers = [index for index, each in enumerate(row.messages) if each["role"] == "assistant" and index >= row.learn_from]
    if not answers:
        return "", None
    at = row.learn_from or answers[-1]
    texts = [each["content"] for each in row.messages[:answers[-1] + 1]]
    return "\n".join(texts[:at]) + ("\n" if at else ""), "\n".join(texts[at:])


class Rendering:
    """One conversation as one template renders it."""

    def __init__(self, template, messages):
        self.template, self.messages = template, messages
        self.whole = template.render(messages)

    def begin(self, index):
        """The start of the answer in the whole, or None."""
        if index == 0:
            header = self.template.header()
            at = self.whole.find(header) if header else -1
            return at + len(header) if at >= 0 else None
        asked = self.template.render(self.messages[:index], asking=True)
        if self.whole.startswith(asked):
            return len(asked)
        # The header opens the reasoning, and this answer has none: match the part of the header that is present.
        said = self.template.render(self.messages[:index])
        if not self.whole.startswith(said) or not asked.startswith(said):
            return None
        at = len(said)
        for piece in self.template.header_piece.findall(asked[len(said):]):
            if not self.whole.startswith(piece, at):
                break
            at += len(piece)
        return at if at > len(said) else None

    def end(self, index, begin):
        """The end of the answer, or None."""
        with_it = self.whole if index == len(self.messages) - 1 else self.template.render(self.messages[:index + 1])
        if self.whole.startswith(with_it) and len(with_it) > begin:
            return begin + len(self.closed(self.whole[begin:len(with_it)]))
        closing = self.template.special.search(self.whole, begin)
        ended = closing and self.whole[begin:closing.start()].rstrip().endswith(self.words(index))
        return closing.end() if ended else None

    def words(self, index):
        """The answer's text after its reasoning."""
        return self.messages[index]["content"].split("</think>")[-1].strip()

    def holds(self, index, begin, end):
        """Whether the rendering has the answer's own text: some templates expect another form of content and omit text."""
        return self.words(index) in self.whole[begin:end]

    def span(self, index):
        begin = self.begin(index)
        return begin, self.end(index, begin) if begin is not None else None

    def closed(self, text):
        """A turn's text without the white space after the token that closes it."""
        bare = text.rstrip()
        closes = any(bare.endswith(each) for each in self.template.specials)
        return bare if closes else text

    def marked(self):
        """Spans that the template itself marks, or None without marks."""
        if not self.template.marks:
            return None
        text, spans = self.template.marked(self.messages)
        if text != self.whole:
            return None
        return [(begin, begin + len(self.closed(text[begin:end]))) for begin, end in spans]


def spans_of(rendering, answers, learn_from):
    """The learnt spans, and the number of answers that were not found."""
    marked = rendering.marked()
    if marked is None or len(marked) != len(answers):
        marked = None
    spans, lost = [], 0
    for number, index in enumerate(answers):
        if index < learn_from:
            continue
        begin, end = marked[number] if marked else rendering.span(index)
        if begin is None or end is None or begin < (spans[-1][1] if spans else 0) or not rendering.holds(index, begin, end):
            lost += 1
        else:
            spans.append((begin, end))
    return spans, lost


def find(template, row):
    """The row's conversation as Found, or the reason why it is dropped."""
    answers = [index for index, each in enumerate(row.messages) if each["role"] == "assistant"]
    if not answers or answers[-1] < row.learn_from:
        return NO_ANSWER
    messages, hidden = template.hide(row.messages[:answers[-1] + 1])
    try:
        rendering = Rendering(template, messages)
        spans, lost = spans_of(rendering, answers, row.learn_from)
    except Refused:
        return REFUSED
    if not spans:
        return NOT_FOUND
    pieces, at = [], 0
    for begin, end in spans:
        pieces += [(rendering.whole[at:begin], False), (rendering.whole[begin:end], True)]
        at = end
    if rendering.whole[at:].strip():
        pieces.append((rendering.whole[at:], False))
    return Found([piece for piece in pieces if piece[0]], hidden, (SOME_NOT_FOUND,) * bool(lost))
