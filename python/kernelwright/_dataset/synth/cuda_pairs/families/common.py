"""Parts that several families use: reductions of a block, and results in the type of the inputs."""

from ..expressions import is_atom, written
from ..program import fill

WARP_SUM = """
__device__ __forceinline__ float warp_reduce_$word(float value) {
  for (int offset = 16; offset > 0; offset >>= 1) {
    $shuffled
  }
  return value;
}
"""
BLOCK_SUM = """
// Combines the values of all threads of the block; every thread gets the result.
__device__ float block_reduce_$word(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_reduce_$word(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? partial[lane] : $identity;
  value = warp_reduce_$word(value);
  __syncthreads();  // partial may be used again
  return __shfl_sync(0xffffffff, value, 0);
}
"""
TREE_SUM = """
// A tree in shared memory; every thread gets the result.
__device__ float block_reduce_$word(float value) {
  __shared__ float scratch[THREADS];
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) {
      $combined
    }
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();  // scratch may be used again
  return result;
}
"""
UPDATE = {"sum": "{0} += {1};", "max": "{0} = fmaxf({0}, {1});", "min": "{0} = fminf({0}, {1});"}
IDENTITY = {"sum": "0.0f", "max": "-CUDART_INF_F", "min": "CUDART_INF_F"}


def warp_reduction(word, everyone=True):
    """A function of a warp's 32 values; `everyone` gets the result, or the first lane only."""
    shuffle = "__shfl_xor_sync" if everyone else "__shfl_down_sync"
    return fill(WARP_SUM, word=word, shuffled=UPDATE[word].format("value", f"{shuffle}(0xffffffff, value, offset)"))


def block_reduction(word, tree=False):
    """Functions of the values of a block's threads."""
    if tree:
        return fill(TREE_SUM, word=word, combined=UPDATE[word].format("scratch[threadIdx.x]", "scratch[threadIdx.x + stride]"))
    block = fill(BLOCK_SUM, word=word, identity=IDENTITY[word])
    return warp_reduction(word) + "\n\n" + block


def block_reductions(words, tree=False):
    """Functions for several words."""
    return "\n\n".join(block_reduction(word, tree) for word in words)


def typed(draw, text):
    """A PyTorch expression in the element type of the pair."""
    if draw.dtype == "float32":
        return text
    return f"{grouped(text)}.half()"


def grouped(text):
    """The text as an operand."""
    return text if is_atom(text) else f"({text})"


def returned(draw, node, taken=()):
    """The reference's lines that compute and return an expression."""
    lines, text = written(node, "torch", taken)
    return [*lines, f"return {typed(draw, text)}"]


def name_of(*words):
    """A function's name of at most five different words."""
    return "_".join(list(dict.fromkeys(word for each in words for word in (each if isinstance(each, list) else [each])))[:5])
