"""Sizes at which a source is compiled, and numbers of the compiled code as expressions of sizes.

A source is compiled at other sizes than those of its `get_inputs`: distinct primes, far from each other and from the
constants of the grammar. A number of the code that is one of them, or a product, sum or neighbour of them, is a size.
"""
import ast
import itertools

SMALLEST = 37  # the constants of the grammar and of PyTorch's operators are smaller, or no whole numbers
LEAST_PART = 11  # of a size that a number divides, such as channels in groups
MOST_PARTS = 4
GAP = 17  # more than twice NEAR: a neighbour of one size is no neighbour of another
RESERVED = 100  # the index that losses ignore is -100
ROUND = 5  # characters: a number as short as 0.01 or 0.025 is a constant of the source, whatever 1 / (a + b) is
NEAR = 8  # shifts, paddings and last positions differ from a size by so much at most


def generic_sizes(inputs, factors=()):
    """The sizes of each input with a prime for each number over 1; `factors` are (size, divisor that it keeps)."""
    kept = dict(factors)
    chosen = {1: 1}
    taken = [RESERVED]
    for size in sorted({each for one in inputs for each in one.sizes}, key=lambda each: (each not in kept, each)):
        if size > 1:
            chosen[size] = next_prime(size, taken, kept.get(size, 1))
            taken.append(chosen[size])
    return [tuple(chosen[each] for each in one.sizes) for one in inputs]


def next_prime(least, taken, factor):
    """The first `factor` times a prime from `least` on that keeps its distance from the sizes that are taken."""
    for prime in itertools.count(SMALLEST if factor == 1 else LEAST_PART):
        size = factor * prime
        if size >= least and is_prime(prime) and all(abs(size - each) >= GAP for each in taken):
            return size
    raise AssertionError


def is_prime(number):
    """Whether no smaller number over 1 divides it."""
    return all(number % each for each in range(2, int(number**0.5) + 1))


class Sizes:
    """What is known of sizes: numbers with the node that stands for each, the preferred ones first.

    A node may be a function that makes it, called when it is used.
    """

    def __init__(self, known):
        self._known = {}
        for number, node in known:
            if number > 1:
                self._known.setdefault(number, node)

    def whole(self, number, most=NEAR):
        """An expression of sizes with this value, or up to `most` away from it; None where there is none."""
        if number < LEAST_PART or number == RESERVED or isinstance(number, bool):
            return None
        if number < SMALLEST - NEAR:
            return self._part(number)
        for distance in range(most + 1):
            for base in {number - distance, number + distance}:
                node = self._combined(base, MOST_PARTS if distance == 0 else 2)
                if node is not None and base == number:
                    return node
                if node is not None:
                    operator = ast.Add() if number > base else ast.Sub()
                    return ast.BinOp(node, operator, ast.Constant(distance))
        return None

    def real(self, number):
        """The same for a floating point number: a size, one less, or the reciprocal of one."""
        if number == int(number):
            below = self._combined(int(number) + 1)
            return self._combined(int(number)) or (
                ast.BinOp(below, ast.Sub(), ast.Constant(1)) if below is not None else None)
        inverse = round(1 / number) if 0 < number < 1 and len(repr(number)) > ROUND else 0
        node = self._combined(inverse) if inverse and abs(number * inverse - 1) < 1e-7 else None
        return node and ast.BinOp(ast.Constant(1.0), ast.Div(), node)

    def _combined(self, number, most_parts=MOST_PARTS):
        if number < SMALLEST:
            return None
        if number in self._known:
            return self._node(number)
        for many in (2, 3):
            for each in itertools.combinations(self._known, many):
                if product_of(each) == number:
                    return self._joined(each, ast.Mult)
        for parts in range(2, most_parts + 1):
            if number % parts == 0 and number // parts in self._known:
                return ast.BinOp(ast.Constant(parts), ast.Mult(), self._node(number // parts))
        for one, other in itertools.combinations(self._known, 2):
            if one + other == number:
                return self._joined((one, other), ast.Add)
        for one, other in itertools.permutations(self._known, 2):
            if one - other == number:
                return ast.BinOp(self._node(one), ast.Sub(), self._node(other))
            if one * other - one == number:
                both = [each for each in self._known if each in (one, other)]
                return ast.BinOp(self._joined(both, ast.Mult), ast.Sub(), self._node(one))
            if number % other == 0 and (part := self._part(number // other, one)) is not None:
                return ast.BinOp(part, ast.Mult(), self._node(other))
        return self._part(number)

    def _part(self, number, *wholes):
        """A part of a size, or of one of `wholes`."""
        for each in wholes or self._known:
            if number >= LEAST_PART and each % number == 0 and 1 < each // number <= MOST_PARTS:
                return ast.BinOp(self._node(each), ast.FloorDiv(), ast.Constant(each // number))
        return None

    def _joined(self, numbers, operator):
        node, *others = [self._node(each) for each in numbers]
        for other in others:
            node = ast.BinOp(node, operator(), other)
        return node

    def _node(self, number):
        node = self._known[number]
        return node() if callable(node) else node


def product_of(numbers):
    """The product."""
    total = 1
    for each in numbers:
        total *= each
    return total
