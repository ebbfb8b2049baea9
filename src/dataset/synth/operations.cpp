#include "dataset/synth/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace kw::synth {
namespace {

constexpr std::string_view any = "torch.randn(SHAPE)";
constexpr std::string_view positive = "torch.rand(SHAPE) + 0.5";
constexpr std::string_view inside = "torch.rand(SHAPE) * 1.8 - 0.9";
constexpr std::string_view above_one = "torch.rand(SHAPE) * 3 + 1.1";
constexpr std::string_view two = "torch.randn(SHAPE), torch.randn(SHAPE)";
constexpr std::string_view with_positive = "torch.randn(SHAPE), torch.rand(SHAPE) + 0.5";
constexpr std::string_view row = "torch.randn(MATRIX), 1";

constexpr auto unary = std::to_array<std::string_view>(
    {"abs",     "absolute", "arctan",   "arcsinh", "asinh", "atan",  "ceil", "cos",     "cosh",
     "deg2rad", "erf",      "erfc",     "exp",     "exp2",  "expm1", "fix",  "floor",   "frac",
     "neg",     "negative", "positive", "rad2deg", "relu",  "round", "sgn",  "sigmoid", "sign",
     "sin",     "sinc",     "sinh",     "square",  "tan",   "tanh",  "trunc"});
constexpr auto unary_positive = std::to_array<std::string_view>(
    {"digamma", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt"});
constexpr auto unary_inside =
    std::to_array<std::string_view>({"acos", "arccos", "arcsin", "arctanh", "asin", "atanh", "erfinv"});
constexpr auto unary_above_one = std::to_array<std::string_view>({"acosh", "arccosh"});
constexpr auto activations = std::to_array<std::string_view>(
    {"celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
     "mish", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink"});
constexpr auto binary =
    std::to_array<std::string_view>({"add", "atan2", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2",
                                     "maximum", "minimum", "mul", "multiply", "sub", "subtract"});
constexpr auto binary_positive = std::to_array<std::string_view>({"div", "divide", "true_divide", "xlogy"});
constexpr auto without_in_place = std::to_array<std::string_view>(
    {"fmax", "fmin", "logaddexp", "logaddexp2", "maximum", "minimum", "positive"});
constexpr auto losses =
    std::to_array<std::string_view>({"huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"});
constexpr auto rows =
    std::to_array<std::string_view>({"cumprod", "cumsum", "log_softmax", "logcumsumexp", "softmax"});

constexpr auto others = std::to_array<Operation>({
    {"special_xlog1py", "binary", "x, y", "torch.special.xlog1py(x, y)", with_positive},
    {"bmm", "matrix", "x, y", {}, "torch.randn(3, 33, 17), torch.randn(3, 17, 40)"},
    {"diag", "matrix", "x", {}, "torch.randn(MATRIX)"},
    {"dot", "matrix", "x, y", {}, "torch.randn(777), torch.randn(777)"},
    {"mm", "matrix", "x, y", {}, "torch.randn(65, 33), torch.randn(33, 48)"},
    {"mv", "matrix", "x, y", {}, "torch.randn(65, 130), torch.randn(130)"},
    {"outer", "matrix", "x, y", {}, "torch.randn(65), torch.randn(40)"},
    {"trace", "matrix", "x", {}, "torch.randn(MATRIX)"},
    {"tril", "matrix", "x", {}, "torch.randn(MATRIX)"},
    {"triu", "matrix", "x", {}, "torch.randn(MATRIX)"},
    {"glu", "row", "x", "torch.nn.functional.glu(x)", "torch.randn(48, 130)"},
});

constexpr auto shapes =
    std::to_array<std::string_view>({"64, 48", "37, 129", "1000", "4, 33, 17", "2, 3, 5, 40", "257, 8"});
constexpr auto matrices = std::to_array<std::string_view>({"64, 48", "37, 129", "50, 50", "17, 260"});

// Operations of one form.
struct Form {
  std::span<const std::string_view> names;
  Operation operation;  // without its name
};

constexpr std::string_view in_functional = "torch.nn.functional.";

const std::array<Form, 9>& forms() {
  static const std::array<Form, 9> all{{
      {unary, {{}, "unary", "x", {}, any}},
      {unary_positive, {{}, "unary", "x", {}, positive}},
      {unary_inside, {{}, "unary", "x", {}, inside}},
      {unary_above_one, {{}, "unary", "x", {}, above_one}},
      {activations, {{}, "unary", "x", in_functional, any}},
      {binary, {{}, "binary", "x, y", {}, two}},
      {binary_positive, {{}, "binary", "x, y", {}, with_positive}},
      {losses, {{}, "loss", "x, y", in_functional, two}},
      {rows, {{}, "row", "x, dim", {}, row}},
  }};
  return all;
}

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ seed;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash ^ (hash >> 29U);
}

std::string with_shape(std::string_view inputs, std::string_view word, std::string_view shape) {
  std::string text(inputs);
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at))
    text.replace(at, word.size(), shape);
  return text;
}

std::optional<Operation> plain_operation(std::string_view name) {
  for (const Form& form : forms())
    if (auto found = std::ranges::find(form.names, name); found != form.names.end()) {
      Operation operation = form.operation;
      operation.name = *found;
      return operation;
    }
  auto other = std::ranges::find(others, name, &Operation::name);
  if (other == others.end()) return {};
  return *other;
}

std::optional<Operation> in_place_form(std::string_view name) {
  auto operation = plain_operation(name);
  if (std::ranges::find(without_in_place, name) != without_in_place.end()) return {};
  if (!operation || (operation->family != "unary" && operation->family != "binary")) return {};
  operation->in_place = true;
  return operation;
}

// `x.abs_()`. The functional module has few in-place operations, so that its results are copied.
std::string expression_of(const Operation& operation) {
  const bool is_functional = operation.expression == in_functional;
  std::string expression(operation.expression);
  if (expression.empty() || is_functional)
    expression = fmt::format("{}{}({})", is_functional ? in_functional : "torch.", operation.name,
                             operation.parameters);
  if (!operation.in_place) return expression;
  if (!operation.expression.empty()) return fmt::format("x.copy_({})", expression);
  return fmt::format("x.{}({})", operation.full_name(), operation.parameters == "x" ? "" : "y");
}

}  // namespace

std::optional<Operation> operation_of(std::string_view name) {
  if (name.ends_with('_')) return in_place_form(name.substr(0, name.size() - 1));
  return plain_operation(name);
}

std::string reference_of(const Operation& operation, std::uint64_t seed) {
  const std::string name = operation.full_name();
  const std::uint64_t hash = hash_of(name, seed);
  std::string inputs = with_shape(operation.inputs, "SHAPE", shapes[hash % shapes.size()]);
  inputs = with_shape(inputs, "MATRIX", matrices[hash % matrices.size()]);
  return fmt::format("import torch\n\n\ndef {}({}):\n    return {}\n\n\ndef get_inputs():\n    return [{}]\n",
                     name, operation.parameters, expression_of(operation), inputs);
}

}  // namespace kw::synth
