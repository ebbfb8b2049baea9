#include "pairs/operations.h"

#include <array>
#include <unordered_map>

#include "base/ascii.h"

namespace kw::pairs {
namespace {

constexpr std::array<std::string_view, 19> names = {
    "exp",  "log",     "sqrt",           "trigonometry", "tanh",           "sigmoid",
    "erf",  "atomics", "matrix product", "maximum",      "minimum",        "sum",
    "scan", "sort",    "random",         "8-bit floats", "absolute value", "rounding",
    "bits"};

const std::unordered_map<std::string_view, unsigned> words = {{"exp", 0},
                                                              {"exp2", 0},
                                                              {"expf", 0},
                                                              {"__expf", 0},
                                                              {"exp2f", 0},
                                                              {"ex2", 0},
                                                              {"ptx_exp2", 0},
                                                              {"fast_expf", 0},
                                                              {"log", 1},
                                                              {"log2", 1},
                                                              {"logf", 1},
                                                              {"__logf", 1},
                                                              {"log2f", 1},
                                                              {"log1p", 1},
                                                              {"log1pf", 1},
                                                              {"ptx_log2", 1},
                                                              {"sqrt", 2},
                                                              {"rsqrt", 2},
                                                              {"sqrtf", 2},
                                                              {"rsqrtf", 2},
                                                              {"__frsqrt_rn", 2},
                                                              {"sqrt_rn", 2},
                                                              {"sin", 3},
                                                              {"cos", 3},
                                                              {"sinf", 3},
                                                              {"cosf", 3},
                                                              {"__sinf", 3},
                                                              {"__cosf", 3},
                                                              {"__sincosf", 3},
                                                              {"sincosf", 3},
                                                              {"tanh", 4},
                                                              {"tanhf", 4},
                                                              {"sigmoid", 5},
                                                              {"erf", 6},
                                                              {"erff", 6},
                                                              {"dot", 8},
                                                              {"wmma", 8},
                                                              {"mma", 8},
                                                              {"gemm", 8},
                                                              {"matmul", 8},
                                                              {"mma_sync", 8},
                                                              {"max", 9},
                                                              {"fmaxf", 9},
                                                              {"__hmax", 9},
                                                              {"__hmax2", 9},
                                                              {"maximum", 9},
                                                              {"amax", 9},
                                                              {"argmax", 9},
                                                              {"min", 10},
                                                              {"fminf", 10},
                                                              {"minimum", 10},
                                                              {"sum", 11},
                                                              {"BlockReduce", 11},
                                                              {"WarpReduce", 11},
                                                              {"blockReduceSum", 11},
                                                              {"warpReduceSum", 11},
                                                              {"__shfl_xor_sync", 11},
                                                              {"__shfl_down_sync", 11},
                                                              {"shfl_xor_sync", 11},
                                                              {"reduce", 11},
                                                              {"mean", 11},
                                                              {"cumsum", 12},
                                                              {"BlockScan", 12},
                                                              {"InclusiveSum", 12},
                                                              {"ExclusiveSum", 12},
                                                              {"associative_scan", 12},
                                                              {"sort", 13},
                                                              {"argsort", 13},
                                                              {"topk", 13},
                                                              {"RadixSort", 13},
                                                              {"BlockRadixSort", 13},
                                                              {"rand", 14},
                                                              {"randint", 14},
                                                              {"philox", 14},
                                                              {"curand", 14},
                                                              {"curand_uniform", 14},
                                                              {"curand_init", 14},
                                                              {"__nv_fp8_e4m3", 15},
                                                              {"float8e4nv", 15},
                                                              {"float8_e4m3fn", 15},
                                                              {"float8e5", 15},
                                                              {"float_e4m3_t", 15},
                                                              {"abs", 16},
                                                              {"fabsf", 16},
                                                              {"fabs", 16},
                                                              {"round", 17},
                                                              {"rintf", 17},
                                                              {"roundf", 17},
                                                              {"floor", 17},
                                                              {"floorf", 17},
                                                              {"rint", 17},
                                                              {"__float2int_rn", 17},
                                                              {"popc", 18},
                                                              {"__popc", 18},
                                                              {"clz", 18},
                                                              {"__clz", 18}};

constexpr unsigned atomics = 7;

Operations bit_of(std::string_view word) {
  if (word.starts_with("atomic")) return Operations{1} << atomics;
  auto found = words.find(word);
  return found == words.end() ? 0 : Operations{1} << found->second;
}

}  // namespace

Operations operations_in(std::string_view text) {
  Operations found = 0;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > i) found |= bit_of(text.substr(i, end - i));
    i = end > i ? end : i + 1;
  }
  return found;
}

std::vector<std::string> operation_names(Operations operations) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((operations >> i & 1U) != 0) out.emplace_back(names[i]);
  return out;
}

}  // namespace kw::pairs
