#include <string_view>
#include <unordered_set>

#include "near/code_text.h"

namespace kw::near {
namespace {

const std::unordered_set<std::string_view>& keywords() {
  static const std::unordered_set<std::string_view> words{
      // Python
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
      "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
      "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "self",
      "cls",
      // C++
      "alignas", "alignof", "asm", "auto", "bool", "case", "catch", "char", "concept", "const", "consteval",
      "constexpr", "constinit", "const_cast", "decltype", "default", "delete", "do", "double", "dynamic_cast",
      "enum", "explicit", "export", "extern", "false", "float", "friend", "goto", "inline", "int", "long",
      "mutable", "namespace", "new", "noexcept", "nullptr", "operator", "private", "protected", "public",
      "register", "reinterpret_cast", "requires", "restrict", "short", "signed", "sizeof", "static",
      "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
      "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
      // the preprocessor's
      "define", "defined", "endif", "error", "ifdef", "ifndef", "include", "once", "pragma", "undef",
      "unroll"};
  return words;
}

const std::unordered_set<std::string_view>& python_names() {
  static const std::unordered_set<std::string_view> words{
      // builtins
      "abs", "all", "any", "bytes", "callable", "complex", "dict", "dir", "divmod", "enumerate", "eval",
      "exec", "filter", "format", "frozenset", "getattr", "globals", "hasattr", "hash", "hex", "id", "input",
      "isinstance", "issubclass", "iter", "len", "list", "locals", "map", "max", "min", "next", "object",
      "open", "ord", "pow", "print", "property", "range", "repr", "reversed", "round", "set", "setattr",
      "slice", "sorted", "staticmethod", "classmethod", "str", "sum", "super", "tuple", "type", "vars", "zip",
      "Exception", "AssertionError", "AttributeError", "ImportError", "IndexError", "KeyError",
      "NotImplemented", "NotImplementedError", "RuntimeError", "StopIteration", "TypeError", "ValueError",
      // modules and what is imported from them under its own name
      "triton", "tl", "language", "libdevice", "gl", "gluon", "torch", "nn", "F", "np", "numpy", "math",
      "jax", "jnp", "os", "sys", "re", "time", "json", "copy", "random", "logging", "warnings", "functools",
      "itertools", "contextlib", "dataclasses", "dataclass", "collections", "pathlib", "typing", "inspect",
      "partial", "lru_cache", "wraps", "Any", "Callable", "Dict", "List", "Literal", "Optional", "Sequence",
      "Tuple", "Union", "Tensor", "Module", "Parameter", "autograd", "einops", "rearrange", "einsum",
      "pytest"};
  return words;
}

const std::unordered_set<std::string_view>& cuda_names() {
  static const std::unordered_set<std::string_view> words{
      "blockIdx", "blockDim", "threadIdx", "gridDim", "warpSize", "dim3", "half", "half2", "float2", "float3",
      "float4", "double2", "int2", "int3", "int4", "uint2", "uint3", "uint4", "uint", "size_t", "ptrdiff_t",
      "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t",
      "nv_bfloat16", "nv_bfloat162", "bfloat16", "std", "at", "c10", "cub", "thrust", "cutlass", "cute",
      "wmma", "mma", "cooperative_groups", "cg", "printf", "assert", "INFINITY", "NAN", "FLT_MAX", "FLT_MIN",
      "FLT_EPSILON", "INT_MAX", "INT_MIN", "NULL", "memcpy", "memset", "malloc", "free", "make_float2",
      "make_float3", "make_float4", "make_int2", "make_int4", "make_uint2", "make_uint4", "make_half2",
      // arithmetic, of float and of double
      "acos", "acosf", "asin", "asinf", "atan", "atan2", "atan2f", "atanf", "cbrt", "cbrtf", "ceil", "ceilf",
      "cos", "cosf", "cosh", "coshf", "erf", "erfc", "erfcf", "erff", "exp", "exp10", "exp10f", "exp2",
      "exp2f", "expf", "expm1", "expm1f", "fabs", "fabsf", "floor", "floorf", "fma", "fmaf", "fmax", "fmaxf",
      "fmin", "fminf", "fmod", "fmodf", "hypot", "hypotf", "isfinite", "isinf", "isnan", "log", "log10",
      "log10f", "log1p", "log1pf", "log2", "log2f", "logf", "lrint", "lrintf", "nearbyintf", "normcdf",
      "powf", "rcbrt", "rint", "rintf", "roundf", "rsqrt", "rsqrtf", "sin", "sincosf", "sinf", "sinh",
      "sinhf", "sqrt", "sqrtf", "tan", "tanf", "tanh", "tanhf", "trunc", "truncf"};
  return words;
}

}  // namespace

bool is_known_name(std::string_view name) {
  for (std::string_view start : {"__", "atomic", "cuda", "cublas", "cudnn"})
    if (name.starts_with(start)) return true;
  return keywords().contains(name) || python_names().contains(name) || cuda_names().contains(name);
}

}  // namespace kw::near
