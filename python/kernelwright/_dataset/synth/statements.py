"""The body of a kernel between reading and writing: statements, and the passes that shorten and name them."""
import ast
import copy
import itertools
from dataclasses import dataclass

MOST_OPERATIONS = 4  # in one line after joining


@dataclass(eq=False)
class Assign:
    """`target = value`."""

    target: str
    value: ast.expr
    named: str = ""  # a name to prefer
    pinned: bool = False  # stays a statement of its own


@dataclass(eq=False)
class Effect:
    """A store or a barrier."""

    value: ast.expr


@dataclass(eq=False)
class Loop:
    """Steps over the reduced axis."""

    body: list


def each_statement(body):
    """All statements, loops opened."""
    for statement in body:
        if isinstance(statement, Loop):
            yield from each_statement(statement.body)
        else:
            yield statement


def names_in(node):
    """The names that an expression reads, with repetitions."""
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def drop_unused(body):
    """Removes values that nothing reads."""
    while remove(body, read_names(body)):
        pass


def read_names(body):
    """The names that some statement reads."""
    return set(itertools.chain.from_iterable(names_in(each.value) for each in each_statement(body)))


def remove(body, used):
    """Removes assignments to names that are not used; whether there were some."""
    found = False
    for statement in list(body):
        if isinstance(statement, Loop):
            found |= remove(statement.body, used)
            if not statement.body:
                body.remove(statement)
        elif isinstance(statement, Assign) and statement.target not in used:
            body.remove(statement)
            found = True
    return found


def keep_narrow(body, narrow):
    """A loaded value that is widened, and narrowed again wherever it is read, stays as it was loaded."""
    for statement in each_statement(body):
        kind = narrow.get(statement.target) if isinstance(statement, Assign) else None
        if kind is None:
            continue
        readers = [each for each in each_statement(body) if statement.target in names_in(each.value)]
        narrowed = [Narrowed(statement.target, kind) for _ in readers]
        values = [writer.visit(copy.deepcopy(each.value)) for writer, each in zip(narrowed, readers, strict=True)]
        if all(writer.count == names_in(each.value).count(statement.target)
               for writer, each in zip(narrowed, readers, strict=True)):
            statement.value = statement.value.func.value
            for reader, value in zip(readers, values, strict=True):
                reader.value = value


class Narrowed(ast.NodeTransformer):
    """Drops the conversion of one name to one element type."""

    def __init__(self, name, kind):
        self.name, self.kind, self.count = name, kind, 0

    def visit_Call(self, node):
        """`x.to(tl.float16)` as `x`."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "to" and names_in(function.value) == [self.name] and (
                isinstance(function.value, ast.Name) and node.args[0].attr == self.kind):
            self.count += 1
            return function.value
        return self.generic_visit(node)


def add_in_product(body):
    """`product = tl.dot(a, b); acc = acc + product` as `acc = tl.dot(a, b, acc)`."""
    for loop in [each for each in body if isinstance(each, Loop)]:
        products = {each.target: each for each in loop.body if isinstance(each, Assign) and stem_of(each.value) == "product"}
        for statement in list(loop.body):
            if not isinstance(statement, Assign) or not isinstance(statement.value, ast.BinOp):
                continue
            right = getattr(statement.value.right, "id", None)
            if right in products and getattr(statement.value.left, "id", None) == statement.target:
                statement.value = products[right].value
                statement.value.args.append(ast.Name(statement.target, ast.Load()))
                loop.body.remove(products[right])


class Substitute(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, values):
        self.values = values

    def visit_Name(self, node):
        """The expression of this name, if it has one."""
        return self.values.get(node.id, node)


def operations(node):
    """How many operations an expression has; indexing and attributes are none."""
    return sum(isinstance(each, (ast.BinOp, ast.Compare, ast.Call)) for each in ast.walk(node))


def join_lines(body):
    """Moves a value that is read once into the statement that reads it, within a block, while the line stays short."""
    uses = {}
    for statement in each_statement(body):
        for name in names_in(statement.value):
            uses[name] = uses.get(name, 0) + 1
    join_block(body, uses)


def join_block(body, uses):
    """The same for one block."""
    ready = {}
    kept = []
    for statement in body:
        if isinstance(statement, Loop):
            join_block(statement.body, uses)
            kept.append(statement)
            continue
        for name in names_in(statement.value):
            if name in ready and fits(statement, joined := joined_with(statement.value, ready[name])):
                statement.value = joined
                kept = [each for each in kept if each is not ready[name]]
                del ready[name]
        if isinstance(statement, Assign) and is_carried(statement.target):
            # A value of the step before must not be read after its replacement.
            ready = {name: each for name, each in ready.items() if statement.target not in names_in(each.value)}
        kept.append(statement)
        if isinstance(statement, Assign) and not statement.pinned and uses.get(statement.target) == 1:
            ready[statement.target] = statement
    body[:] = kept


def joined_with(value, earlier):
    """The expression with the earlier statement's value in the place of its name."""
    return Substitute({earlier.target: earlier.value}).visit(copy.deepcopy(value))


def fits(statement, joined):
    """Whether the line stays readable."""
    if isinstance(statement, Effect):
        return operations(joined.args[1]) <= 1 if len(joined.args) > 1 else False
    return operations(joined) <= MOST_OPERATIONS


def is_carried(name):
    """Whether the compiler's name is that of a value which a loop carries from step to step."""
    return name.startswith("_tmp")


WORDS = {"exp": "exp", "log": "log", "sqrt": "root", "rsqrt": "rstd", "sigmoid": "gate", "tanh": "tanh", "erf": "erf",
         "where": "chosen", "maximum": "upper", "minimum": "lower", "sum": "total", "max": "peak", "min": "least",
         "cumsum": "running", "cumprod": "running", "dot": "product", "abs": "magnitude", "argmax": "position",
         "argmin": "position", "sin": "sine", "cos": "cosine", "log1p": "log1p", "expm1": "expm1", "pow": "power"}
OPERATORS = {ast.Mult: "scaled", ast.Add: "shifted", ast.Sub: "diff", ast.Div: "ratio", ast.Mod: "rest",
             ast.FloorDiv: "quotient"}
COUNTS = ("n_cols", "n_rows", "n_steps", "n_elements")  # of a reduction


def stem_of(value):
    """A word for a value, by its outermost operation."""
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        if name == "to" and isinstance(value.func, ast.Attribute):
            return stem_of(value.func.value)
        return WORDS.get(name, "value")
    if isinstance(value, ast.BinOp):
        if isinstance(value.op, ast.Div) and isinstance(value.right, ast.Name) and value.right.id in COUNTS:
            return "mean"
        same = isinstance(value.op, ast.Mult) and ast.dump(value.left) == ast.dump(value.right)
        return "square" if same else OPERATORS.get(type(value.op), "value")
    if isinstance(value, ast.UnaryOp):
        return "negated"
    return "flag" if isinstance(value, ast.Compare) else "value"


def name_values(body, taken):
    """Gives every value a readable name."""
    names, taken = {}, set(taken)
    for statement in each_statement(body):
        if not isinstance(statement, Assign) or statement.target in names:
            continue
        stem = statement.named or stem_of(statement.value)
        name = next(each for each in itertools.chain([stem], (f"{stem}{i}" for i in itertools.count(2))) if each not in taken)
        taken.add(name)
        names[statement.target] = name
    for statement in each_statement(body):
        statement.value = Substitute({old: ast.Name(new, ast.Load()) for old, new in names.items()}).visit(statement.value)
        if isinstance(statement, Assign):
            statement.target = names[statement.target]
