#include "dataset/pairs/profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/core/text.h"
#include "dataset/pairs/words.h"

namespace kw::pairs {
namespace {

constexpr std::array<std::string_view, 19> operation_words = {
    "exp",  "log",     "sqrt",           "trigonometry", "tanh",           "sigmoid",
    "erf",  "atomics", "matrix product", "maximum",      "minimum",        "sum",
    "scan", "sort",    "random",         "8-bit floats", "absolute value", "rounding",
    "bits"};

const std::unordered_map<std::string_view, unsigned> known = {{"exp", 0},
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
                                                              {"ceil", 17},
                                                              {"ceilf", 17},
                                                              {"trunc", 17},
                                                              {"truncf", 17},
                                                              {"__float2int_rn", 17},
                                                              {"popc", 18},
                                                              {"__popc", 18},
                                                              {"clz", 18},
                                                              {"__clz", 18}};

constexpr unsigned atomics = 7;

Operations bit_of(std::string_view word) {
  if (word.starts_with("atomic")) return Operations{1} << atomics;
  auto found = known.find(word);
  return found == known.end() ? 0 : Operations{1} << found->second;
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
  for (std::size_t i = 0; i < operation_words.size(); ++i)
    if ((operations >> i & 1U) != 0) out.emplace_back(operation_words[i]);
  return out;
}

namespace {

using corpus::Unit;

constexpr std::size_t most_launchers = 8;
constexpr std::size_t most_profile_words = 64;

void add_words(Words& to, const Words& words) {
  for (const std::string& word : words)
    if (to.size() < most_profile_words && std::ranges::find(to, word) == to.end()) to.push_back(word);
}

void add_name(Profile& profile, std::string_view name) {
  Words words = words_of(name);
  if (words.empty() || std::ranges::find(profile.names, words) != profile.names.end()) return;
  add_words(profile.all_names, words);
  profile.names.push_back(std::move(words));
}

std::string_view last_part(std::string_view name) {
  std::size_t dot = name.find_last_of(".:");
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

void add_launchers(const Unit& unit, const Launched& launched, Profile& profile) {
  std::set<std::string_view> seen;
  for (const corpus::Launch& launch : unit.launches) {
    if (launch.caller.empty() || !seen.insert(launch.caller).second) continue;
    if (seen.size() > most_launchers) return;
    profile.launchers.push_back(launch.caller);
    auto count = launched.find({unit.source.path, launch.caller});
    if (count != launched.end() && count->second > 1) continue;
    add_name(profile, words_of(last_part(launch.caller)).empty() ? launch.caller : last_part(launch.caller));
  }
}

void add_parameter(Profile& profile, std::string_view name) {
  std::string word = parameter_word(name);
  if (!word.empty()) add_words(profile.parameters, {word});
}

// Functions of libraries and languages that most code calls.
bool is_builtin(std::string_view name) {
  static const std::set<std::string_view> builtins = {"range",
                                                      "float",
                                                      "int",
                                                      "len",
                                                      "min",
                                                      "max",
                                                      "abs",
                                                      "bool",
                                                      "exp",
                                                      "log",
                                                      "sqrt",
                                                      "sum",
                                                      "isinstance",
                                                      "getattr",
                                                      "print",
                                                      "static_cast",
                                                      "reinterpret_cast",
                                                      "size",
                                                      "data"};
  return builtins.contains(last_part(name)) || name.starts_with("tl.") || name.starts_with("triton.") ||
         name.starts_with("torch.") || name.starts_with("std::") || name.starts_with("__") ||
         name.starts_with("cute::");
}

void add_calls(const Unit& unit, Profile& profile) {
  for (const auto* names : {&unit.helpers, &unit.calls})
    for (const std::string& name : *names)
      if (!is_builtin(name) && last_part(name) != unit.name)
        add_words(profile.calls, words_of(last_part(name)));
}

void add_path(const Unit& unit, Profile& profile) {
  static const std::set<std::string_view> everywhere = {"src",  "csrc", "include", "data", "py",
                                                        "cu",   "cuh",  "ops",     "lib",  "hpp",
                                                        "init", "util", "common",  "h",    "cpp"};
  for (const std::string& word : words_of(unit.source.path))
    if (!everywhere.contains(word)) add_words(profile.path, {word});
}

}  // namespace

std::vector<std::string> parameter_names(std::string_view function) {
  std::vector<std::string> names;
  std::size_t def = function.find("def ");
  std::size_t i = def == std::string_view::npos ? def : function.find('(', def);
  if (i == std::string_view::npos) return names;
  int depth = 0;
  bool expects_name = true;
  for (; i < function.size() && names.size() < most_profile_words; ++i) {
    char c = function[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0) break;
    if (c == ',' && depth == 1) expects_name = true;
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter || depth != 1 || !expects_name) continue;
    std::size_t end = function.find_first_of(" \t\r\n:=,()", i);
    if (end == std::string_view::npos) break;
    names.emplace_back(function.substr(i, end - i));
    i = end - 1;
    expects_name = false;
  }
  return names;
}

Launched count_launched(const std::vector<Unit>& units) {
  Launched launched;
  for (const Unit& unit : units) {
    std::set<std::string_view> callers;
    for (const corpus::Launch& launch : unit.launches)
      if (callers.insert(launch.caller).second) ++launched[{unit.source.path, launch.caller}];
  }
  return launched;
}

Profile profile_of(const Unit& unit, std::size_t index, const Launched& launched) {
  Profile profile;
  profile.unit = index;
  profile.name = unit.name;
  add_name(profile, unit.name);
  add_launchers(unit, launched, profile);
  for (const corpus::Parameter& parameter : unit.parameters) add_parameter(profile, parameter.name);
  add_calls(unit, profile);
  add_path(unit, profile);
  profile.operations = operations_in(unit.text);
  for (const std::string& name : unit.calls) profile.operations |= operations_in(name);
  for (Words* words : {&profile.all_names, &profile.parameters, &profile.calls, &profile.path})
    std::ranges::sort(*words);
  return profile;
}

void Rarity::add(const Words& words) {
  ++count_;
  for (const std::string& word : words) ++lists_[word];
}

double Rarity::of(const std::string& word) const {
  auto found = lists_.find(word);
  double lists = found == lists_.end() ? 1 : static_cast<double>(found->second);
  return std::log((static_cast<double>(std::max<std::size_t>(count_, 1'000)) + 1) / lists);
}

Words common(const Words& a, const Words& b) {
  Words out;
  for (const std::string& word : a)
    if (std::ranges::find(b, word) != b.end()) out.push_back(word);
  std::ranges::sort(out);
  return out;
}

double Rarity::shared(const Words& a, const Words& b) const {
  double sum = 0;
  for (const std::string& word : common(a, b)) sum += of(word);
  return sum;
}

double Rarity::likeness(const Words& a, const Words& b) const {
  double both = shared(a, b);
  double either = shared(a, a) + shared(b, b) - both;
  return either > 0 ? both / either : 0;
}

double Rarity::overlap(const Words& a, const Words& b) const {
  double less = std::min(shared(a, a), shared(b, b));
  return less > 0 ? shared(a, b) / less : 0;
}

}  // namespace kw::pairs
