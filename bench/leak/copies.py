"""Makes copies of a Python source as they occur in training data: reformatted, renamed, in part."""

import ast
import io
import random
import re
import textwrap
import tokenize

HOSTS = ["plain", "file", "chat"]
WIDTH = 50  # columns, so that nearly every call is broken


def code_tokens(source):
    """The tokens of a source without comments, docstrings, newlines and indentation, up to the first syntax error."""
    passed_over = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    tokens = []
    at_start = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            docstring = token.type == tokenize.STRING and at_start
            if token.type not in passed_over and not docstring:
                tokens.append(token)
            at_start = token.type in passed_over and (at_start or token.type != tokenize.COMMENT)
    except (tokenize.TokenError, IndentationError):
        pass
    return tokens


def without_docstrings(tree):
    """The tree without docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
                node.body = body[1:] or [ast.Pass()]
    return tree


def reformatted(source):
    """As ast.unparse writes it: no comments, no docstrings, other brackets, quotes and numbers."""
    return ast.unparse(without_docstrings(ast.parse(source)))


def respaced(source):
    """One argument a line with a trailing comma, double quotes, no comments, CRLF."""
    out = []
    depth = []
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    indent = ""
    for i, token in enumerate(tokens):
        if token.type in (tokenize.ENCODING, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER):
            continue
        if token.type == tokenize.INDENT:
            indent = token.string
            continue
        if token.type == tokenize.DEDENT:
            indent = tokens_indent(tokens, i)
            continue
        if token.type == tokenize.NEWLINE:
            out.append("\n")
            continue
        text = token.string
        if token.type == tokenize.STRING and text.startswith("'") and not text.startswith("'''") and '"' not in text:
            text = '"' + text[1:-1] + '"'
        if not out or out[-1].endswith("\n") and not depth:
            out.append(indent)
        if text in ")]}" and depth:
            broken = depth.pop()
            if broken and out[-1].strip() not in (",", "*") and not out[-1].endswith("(\n"):
                out.append(",\n" + indent)
            out.append(text)
        elif text in "([{":
            call = text == "(" and i > 0 and tokens[i - 1].type == tokenize.NAME and has_commas(tokens, i)
            depth.append(call)
            out.append(text + ("\n" + indent + "        " if call else ""))
        elif text == "," and depth and depth[-1]:
            out.append(",\n" + indent + "        ")
        else:
            between = " " if needs_space(tokens, i) else ""
            out.append(between + text)
    return "".join(out).replace("\n", "\r\n")


def tokens_indent(tokens, i):
    """The indentation of the first token other than white space from here on."""
    for token in tokens[i:]:
        if token.type not in (tokenize.DEDENT, tokenize.NL, tokenize.COMMENT):
            return " " * token.start[1]
    return ""


def has_commas(tokens, i):
    """Whether the bracket at i holds several plain arguments: no starred ones, no generator."""
    depth = 0
    found = False
    for token in tokens[i:]:
        if token.string in ("for", "*", "**", "lambda") and depth == 1:
            return False
        depth += token.string in ("(", "[", "{")
        depth -= token.string in (")", "]", "}")
        found = found or (token.string == "," and depth == 1)
        if depth == 0:
            return found
    return False


def needs_space(tokens, i):
    """Whether the source has a space here, or two words would merge without one."""
    before = tokens[i - 1]
    if before.type in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT):
        return False
    return before.end != tokens[i].start and before.string not in ("(", "[", "{")


class Names(ast.NodeVisitor):
    """The names of a source that its author chose."""

    def __init__(self):
        self.own = set()
        self.attributes = set()
        self.callables = set()

    def visit_FunctionDef(self, node):
        if not node.name.startswith("__") and node.name not in ("forward", "get_inputs", "get_init_inputs"):
            self.own.add(node.name)
            self.callables.add(node.name)
        self.generic_visit(node)

    def visit_ClassDef(self, node):
        self.own.add(node.name)
        self.callables.add(node.name)
        self.generic_visit(node)

    def visit_arg(self, node):
        if node.arg != "self":
            self.own.add(node.arg)
        self.generic_visit(node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self.own.add(node.id)

    def visit_Attribute(self, node):
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self":
            self.attributes.add(node.attr)
        self.generic_visit(node)


def renamed(source, chance):
    """Every own name, the attributes of self among them, replaced by another; the rest byte for byte."""
    tree = ast.parse(source)
    names = Names()
    names.visit(tree)
    new = {}
    for name in sorted(names.own | names.attributes):
        new[name] = f"{chance.choice(WORDS)}_{len(new)}"
    lines = source.encode().split(b"\n")
    edits = []
    for node in ast.walk(tree):
        edits += places(node, names, new, lines)
    for line, begin, end, text in sorted(set(edits), reverse=True):
        lines[line] = lines[line][:begin] + text.encode() + lines[line][end:]
    return b"\n".join(lines).decode()


def aliased(source):
    """As renamed(), with the modules under other names too."""
    lines = []
    for line in source.split("\n"):
        if line.startswith("import "):
            line = re.sub(r"^import torch$", "import torch as th", re.sub(r" as nn$", " as layers", line))
        elif not line.startswith("from "):
            line = re.sub(r"(?<![\w.])torch\.", "th.", re.sub(r"(?<![\w.])nn\.", "layers.", line))
        lines.append(line)
    return "\n".join(lines)


WORDS = "amber brook cedar delta ember fjord grove heath islet jetty knoll ledge marsh north orbit prism".split()


def places(node, names, new, lines):
    """The places of a node's name, and its replacement."""
    line = getattr(node, "lineno", 1) - 1
    if isinstance(node, ast.Name) and node.id in names.own:
        return [(line, node.col_offset, node.end_col_offset, new[node.id])]
    if isinstance(node, ast.arg) and node.arg in names.own:
        return [(line, node.col_offset, node.col_offset + len(node.arg.encode()), new[node.arg])]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names.own:
        word = b"class" if isinstance(node, ast.ClassDef) else b"def"
        begin = lines[line].index(node.name.encode(), lines[line].index(word) + len(word))
        return [(line, begin, begin + len(node.name.encode()), new[node.name])]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        if node.attr in names.attributes and node.lineno == node.end_lineno:
            end = node.end_col_offset
            return [(line, end - len(node.attr.encode()), end, new[node.attr])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names.callables:
        return [
            (word.lineno - 1, word.col_offset, word.col_offset + len(word.arg.encode()), new[word.arg])
            for word in node.keywords
            if word.arg in names.own
        ]
    return []


def pieces(source, least_share=0.4, least_tokens=30):
    """Named parts of a source: each has at least this share of its tokens."""
    lines = source.split("\n")
    whole = len(code_tokens(source))
    cuts = {
        "first half": lines[: len(lines) // 2],
        "last half": lines[len(lines) // 2 :],
        "middle half": lines[len(lines) // 4 : 3 * len(lines) // 4],
        "classes": class_lines(source),
    }
    for name, cut in cuts.items():
        text = textwrap.dedent("\n".join(cut))
        tokens = len(code_tokens_of_piece(text))
        if tokens >= max(least_tokens, least_share * whole):
            yield name, text


def code_tokens_of_piece(text):
    """Tokens of a piece that may begin or end anywhere: docstrings and comments are removed by pattern."""
    text = re.sub(r'""".*?"""', "", text, flags=re.S)
    text = re.sub(r"#.*", "", text)
    return re.findall(r"\w+|[^\w\s]", text)


def class_lines(source):
    """The lines of all classes."""
    lines = source.split("\n")
    return [
        line
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        for line in lines[node.lineno - 1 : node.end_lineno]
    ]


def hosted(text, host, around):
    """The copy as a prompt and a completion: alone, within a longer file, or within a conversation."""
    if host == "plain":
        return "Complete this.", text
    if host == "file":
        return around[0] + "\n\n" + text + "\n\n" + around[1], "    pass\n"
    chat = (
        "You write Triton kernels. Don't explain; here's the model to speed up:\n\n```python\n"
        + text
        + "\n```\nAnswer with one ```python block, and keep the class's name.\n"
    )
    return chat, around[0]


def chance(*parts):
    """Random choices that are the same for the same parts."""
    return random.Random("|".join(parts))
