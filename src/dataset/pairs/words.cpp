#include "dataset/pairs/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

#include "base/core/text.h"

namespace kw::pairs {
namespace {

constexpr std::size_t most_name_words = 32;

// Words without information about the computation.
const std::set<std::string_view> generic = {
    "kernel",    "cuda",     "triton",    "gpu",      "impl",       "fn",      "func", "function", "op",
    "launch",    "run",      "device",    "host",     "wrapper",    "inner",   "main", "generic",  "naive",
    "ref",       "torch",    "native",    "eager",    "pytorch",    "fused",   "call", "default",  "base",
    "helper",    "compute",  "apply",     "custom",   "vectorized", "vec",     "the",  "of",       "and",
    "with",      "for",      "to",        "in",       "out",        "forward", "get",  "do",       "dispatch",
    "reference", "launcher", "optimized", "baseline", "fallback",   "version"};

// One spelling for each word.
const std::unordered_map<std::string_view, std::string_view> spellings = {{"bwd", "backward"},
                                                                          {"grad", "backward"},
                                                                          {"fwd", "forward"},
                                                                          {"attn", "attention"},
                                                                          {"quant", "quantize"},
                                                                          {"quantization", "quantize"},
                                                                          {"quantized", "quantize"},
                                                                          {"dequant", "dequantize"},
                                                                          {"dequantization", "dequantize"},
                                                                          {"idx", "index"},
                                                                          {"indices", "index"},
                                                                          {"sampling", "sample"},
                                                                          {"matmul", "gemm"},
                                                                          {"mm", "gemm"},
                                                                          {"lin", "linear"},
                                                                          {"cumulative", "cum"},
                                                                          {"conv2d", "conv"},
                                                                          {"rotary", "rope"},
                                                                          {"embed", "embedding"},
                                                                          {"emb", "embedding"},
                                                                          {"normalization", "norm"},
                                                                          {"normalize", "norm"},
                                                                          {"act", "activation"},
                                                                          {"penalties", "penalty"},
                                                                          {"permutation", "permute"},
                                                                          {"unpermutation", "unpermute"},
                                                                          {"row", "row"},
                                                                          {"rowwise", "row"},
                                                                          {"columnwise", "column"},
                                                                          {"col", "column"},
                                                                          {"colwise", "column"},
                                                                          {"deq", "dequantize"},
                                                                          {"combine", "merge"},
                                                                          {"argmax", "argmax"},
                                                                          {"e4m3", "fp8"},
                                                                          {"float8", "fp8"},
                                                                          {"f8", "fp8"},
                                                                          {"s8", "int8"},
                                                                          {"i8", "int8"},
                                                                          {"kvcache", "kv"}};

// Consecutive words that form one word.
const std::vector<std::pair<std::vector<std::string_view>, std::string_view>> together = {
    {{"si", "lu"}, "silu"},
    {{"ge", "lu"}, "gelu"},
    {{"re", "lu"}, "relu"},
    {{"swi", "glu"}, "swiglu"},
    {{"swi", "g", "lu"}, "swiglu"},
    {{"ge", "glu"}, "geglu"},
    {{"ro", "pe"}, "rope"},
    {{"mo", "e"}, "moe"},
    {{"top", "k"}, "topk"},
    {{"top", "p"}, "topp"},
    {{"min", "p"}, "minp"},
    {{"soft", "max"}, "softmax"},
    {{"arg", "max"}, "argmax"},
    {{"cum", "sum"}, "cumsum"},
    {{"log", "sum", "exp"}, "logsumexp"},
    {{"mat", "mul"}, "gemm"},
    {{"drop", "out"}, "dropout"},
    {{"all", "reduce"}, "allreduce"},
    {{"leaky", "relu"}, "leakyrelu"},
    {{"d", "w"}, "dw"},
    {{"d", "x"}, "dx"},
    {{"d", "q"}, "dq"},
    {{"d", "k"}, "dk"},
    {{"d", "v"}, "dv"},
    {{"fp", "8"}, "fp8"},
    {{"int", "8"}, "int8"},
    {{"int", "4"}, "int4"}};

// Words that are split into several.
const std::unordered_map<std::string_view, std::vector<std::string_view>> apart = {
    {"rmsnorm", {"rms", "norm"}},
    {"layernorm", {"layer", "norm"}},
    {"groupnorm", {"group", "norm"}},
    {"batchnorm", {"batch", "norm"}},
    {"crossentropy", {"cross", "entropy"}},
    {"instancenorm", {"instance", "norm"}},
    {"l2norm", {"l2", "norm"}},
    {"qknorm", {"qk", "norm"}},
    {"seglen", {"segment", "len"}},
    {"rmsnormgated", {"rms", "norm", "gated"}}};

// Names with different members of one family mean different functions.
const std::vector<std::vector<std::string_view>> families = {
    {"silu", "gelu", "relu", "tanh", "sigmoid", "swiglu", "geglu", "leakyrelu", "elu", "mish", "softplus"},
    {"quantize", "dequantize"},
    {"pack", "unpack"},
    {"encode", "decode", "prefill"},
    {"rms", "layer", "group", "batch", "instance", "l2"},
    {"max", "min", "sum", "mean", "argmax", "argmin", "cumsum", "prod"},
    {"add", "mul", "sub", "div"},
    {"gather", "scatter"},
    {"row", "column"},
    {"permute", "unpermute"},
    {"int4", "int8", "fp8", "fp4", "nvfp4", "mxfp4", "mxfp8"},
    {"softmax", "logsumexp"},
    {"topk", "topp", "minp"},
    {"sin", "cos", "exp", "log", "sqrt", "rsqrt"}};

const std::unordered_map<std::string_view, std::string_view> parameter_spellings = {
    {"input", "x"},
    {"inp", "x"},
    {"in", "x"},
    {"src", "x"},
    {"output", "y"},
    {"out", "y"},
    {"o", "y"},
    {"dst", "y"},
    {"weights", "weight"},
    {"w", "weight"},
    {"epsilon", "eps"},
    {"numel", "n"},
    {"n_elements", "n"},
    {"num_elements", "n"},
    {"query", "q"},
    {"key", "k"},
    {"value", "v"},
    {"b", "bias"},
    {"sm_scale", "scale"},
    {"softmax_scale", "scale"}};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

// A capital letter begins a word after a small letter or a digit, or before a small letter.
bool begins_word(std::string_view name, std::size_t i) {
  if (i == 0 || !is_upper(name[i])) return false;
  return is_lower(name[i - 1]) || is_digit(name[i - 1]) || (i + 1 < name.size() && is_lower(name[i + 1]));
}

std::vector<std::string> split(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  auto end_word = [&] {
    if (!word.empty() && words.size() < most_name_words) words.push_back(lower(word));
    word.clear();
  };
  for (std::size_t i = 0; i < name.size() && words.size() < most_name_words; ++i) {
    char c = name[i];
    bool part = is_lower(c) || is_upper(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
    if (!part || begins_word(name, i)) end_word();
    if (part) word += c;
  }
  end_word();
  return words;
}

// The length of the compound at the start of the words, and its single word; 0 if there is none.
std::pair<std::size_t, std::string_view> compound(std::span<const std::string> words) {
  for (const auto& [parts, whole] : together)
    if (parts.size() <= words.size() && std::ranges::equal(parts, words.first(parts.size())))
      return {parts.size(), whole};
  return {0, {}};
}

std::string singular(std::string word) {
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us"))
    word.pop_back();
  return word;
}

std::string spelt(std::string word) {
  auto known = spellings.find(word);
  if (known == spellings.end()) {
    word = singular(std::move(word));
    known = spellings.find(word);
  }
  return known == spellings.end() ? word : std::string(known->second);
}

bool says_nothing(const std::string& word) {
  return generic.contains(word) || std::ranges::all_of(word, is_digit) ||
         (word[0] == 'v' && std::ranges::all_of(word.substr(1), is_digit));
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Names of backward kernels often contain only the gradient's variable.
bool is_backward(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](std::string_view word) {
    static const std::set<std::string_view> gradients = {"backward", "dw", "dx",  "dq",   "dk",  "dv",
                                                         "dkv",      "db", "dqk", "dqkv", "dwdb"};
    return gradients.contains(word);
  });
}

std::string members(const std::vector<std::string>& words, const std::vector<std::string_view>& family) {
  for (std::string_view word : family)
    if (has_word(words, word)) return std::string(word);
  return {};
}

bool share_a_member(const std::vector<std::string>& a, const std::vector<std::string>& b,
                    const std::vector<std::string_view>& family) {
  return std::ranges::any_of(family,
                             [&](std::string_view word) { return has_word(a, word) && has_word(b, word); });
}

}  // namespace

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> parts = split(name);
  std::vector<std::string> words;
  auto add = [&](std::string word) {
    if (!says_nothing(word) && !has_word(words, word)) words.push_back(std::move(word));
  };
  for (std::size_t i = 0; i < parts.size();) {
    auto [length, whole] = compound(std::span(parts).subspan(i));
    if (length > 0) {
      add(std::string(whole));
      i += length;
      continue;
    }
    auto pieces = apart.find(parts[i]);
    if (pieces == apart.end())
      add(spelt(parts[i]));
    else
      for (std::string_view piece : pieces->second) add(std::string(piece));
    ++i;
  }
  return words;
}

std::string contradiction(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (is_backward(a) != is_backward(b)) return "backward";
  for (const auto& family : families) {
    std::string of_a = members(a, family);
    std::string of_b = members(b, family);
    if (!of_a.empty() && !of_b.empty() && !share_a_member(a, b, family))
      return fmt::format("{}, {}", of_a, of_b);
  }
  return {};
}

std::string parameter_word(std::string_view name) {
  std::string word = lower(name);
  for (std::string_view end : {"_ptrs", "_ptr", "ptr", "_pointer", "_"})
    if (word.size() > end.size() && word.ends_with(end)) word.resize(word.size() - end.size());
  for (std::string_view begin : {"p_", "d_"})
    if (word.size() > begin.size() + 1 && word.starts_with(begin)) word.erase(0, begin.size());
  for (std::string_view part : {"stride", "block", "num_warps", "num_stages", "group_size_m"})
    if (word.find(part) != std::string::npos) return {};
  for (std::string_view whole : {"param", "params", "args", "arguments", "self", "ctx", "cls", "kwargs"})
    if (word == whole) return {};
  auto known = parameter_spellings.find(word);
  return known == parameter_spellings.end() ? word : std::string(known->second);
}

}  // namespace kw::pairs
