"""Kernels that `dataset synth` rewrites: sizes come from the tensors, and comments state what programs do."""
import ast
import re
from types import SimpleNamespace

import pytest

from kernelwright._dataset.synth import grammar, job
from kernelwright._dataset.synth.sizes import GAP, RESERVED, SMALLEST, Sizes, generic_sizes


def shaped(*sizes):
    return SimpleNamespace(sizes=sizes)


def known(**sizes):
    return Sizes((number, ast.Name(name)) for name, number in sizes.items())


def test_sizes_of_a_compilation_are_far_from_each_other_and_from_constants():
    sizes = generic_sizes([shaped(2, 40, 96), shaped(40, 1), shaped(12)], [(12, 4)])
    assert sizes[0][1] == sizes[1][0] and sizes[1][1] == 1 and sizes[2][0] % 4 == 0
    chosen = sorted({*sizes[0], *sizes[2], RESERVED})
    assert min(chosen) >= SMALLEST and all(two - one >= GAP for one, two in zip(chosen, chosen[1:]))


@pytest.mark.parametrize("number, text", [
    (131, "n"), (131 * 59, "m * n"), (130, "n - 1"), (262, "2 * n"), (190, "m + n"), (136, "n + 5"), (131 * 58, "m * n - n"),
    (111, "3 * b"), (11, "c // 3"), (11 * 131, "c // 3 * n"), (20, None), (100, None), (1000, None)])
def test_a_whole_number_of_the_code_is_an_expression_of_sizes(number, text):
    node = known(b=37, c=33, m=59, n=131).whole(number)
    assert (node and ast.unparse(node)) == text


@pytest.mark.parametrize("number, text", [(131.0, "n"), (130.0, "n - 1"), (1 / 131, "1.0 / n"), (0.044715, None), (20.0, None)])
def test_a_real_number_is_a_size_or_the_reciprocal_of_one(number, text):
    node = known(m=59, n=131).real(number)
    assert (node and ast.unparse(node)) == text


@pytest.mark.parametrize("number, text", [(0.01, None), (1 / 128, "1.0 / (m + k)")])
def test_a_round_number_is_no_reciprocal_of_a_sum(number, text):
    node = known(m=59, n=41, k=69).real(number)
    assert (node and ast.unparse(node)) == text


@pytest.fixture(scope="module", autouse=True)
def compiler():
    job.prepare()


def kernel_of(family, fits, seed=9):
    """The kernel of the first drawn source of the family whose text fits."""
    number = next(each for each in range(500) if fits(grammar.draw(seed, each, (family,)).text))
    return job.pair(seed, number, (family,))["kernel"]


def literals(text):
    """The numbers of the code that may be sizes; blocks are powers of two."""
    numbers = [float(each) for each in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", text)]
    return [each for each in numbers if each > 30 and each not in (32, 64, 128, 256, 512, 1024)]


@pytest.mark.parametrize("family, part", [
    ("row_reduction", ".mean("), ("row_reduction", "torch.std("), ("gather", ".mean(dim=1)\n"), ("movement", "torch.flip("),
    ("movement", "torch.cat("), ("movement", "torch.roll("), ("movement", "F.pad("), ("norm", "F.group_norm("),
    ("softmax", ".shape[-1])"), ("loss", ".mean()"), ("scan", "dim=0"), ("matmul", "torch.bmm(")])
def test_a_kernel_has_no_size_as_a_number(family, part):
    assert not literals(kernel_of(family, lambda text: part in text))


def test_one_program_for_all_elements_is_called_so():
    kernel = kernel_of("loss", lambda text: "loss.sum()" in text and "cosine" not in text)
    assert "# One program handles all elements, BLOCK at a time." in kernel
    assert "row" not in kernel and "[(1,)](" in kernel


def test_the_limit_of_an_index_is_a_size_by_name():
    text = grammar.draw(9, 2, ("gather",)).text
    limit, = re.findall(r"torch\.randint\(0, (\w+), ", text)
    assert re.search(rf"^{limit} = \d+$", text, re.MULTILINE) and text.count(limit) == 3
