#include "dataset/synth/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
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

// Values at which an operation has a rule of its own, or where its domain ends: random numbers never draw
// them.
struct Edges {
  std::span<const std::string_view> names;
  std::string_view inputs;  // in place of the form's; empty: the form's
  std::string_view lines;   // of get_inputs, after x and y are drawn
};

constexpr std::string_view signed_numbers =
    "torch.where(torch.rand(SHAPE) < 0.5, -1.0, 1.0) * (torch.rand(SHAPE) + 0.5)";
constexpr std::string_view with_signed =
    "torch.randn(SHAPE), torch.where(torch.rand(SHAPE) < 0.5, -1.0, 1.0) * (torch.rand(SHAPE) + 0.5)";
constexpr std::string_view zeros = "x.view(-1)[::5] = 0.0";
constexpr std::string_view both_ends = "x.view(-1)[::5] = 1.0\nx.view(-1)[1::5] = -1.0";
constexpr std::string_view wide = "torch.randn(SHAPE) * 4";

constexpr auto log1p_names = std::to_array<std::string_view>({"log1p"});
constexpr auto xlogy_names = std::to_array<std::string_view>({"xlogy"});
constexpr auto xlog1py_names = std::to_array<std::string_view>({"special_xlog1py"});
constexpr auto at_zero = std::to_array<std::string_view>({"sgn", "sign", "sinc", "sqrt"});
constexpr auto at_both_ends = std::to_array<std::string_view>({"acos", "arccos", "arcsin", "asin"});
constexpr auto at_one = std::to_array<std::string_view>({"acosh", "arccosh"});
constexpr auto of_both_signs = std::to_array<std::string_view>({"reciprocal"});
constexpr auto over_both_signs = std::to_array<std::string_view>({"div", "divide", "true_divide"});
constexpr auto at_halves = std::to_array<std::string_view>({"round"});
constexpr auto at_whole_numbers = std::to_array<std::string_view>({"ceil", "fix", "floor", "frac", "trunc"});
constexpr auto at_thresholds = std::to_array<std::string_view>({"hardshrink", "softshrink"});
constexpr auto at_origin = std::to_array<std::string_view>({"atan2", "hypot"});
constexpr auto at_equal =
    std::to_array<std::string_view>({"fmax", "fmin", "logaddexp", "logaddexp2", "maximum", "minimum"});

const std::array<Edges, 13>& edges() {
  static const std::array<Edges, 13> all{{
      {log1p_names, "torch.rand(SHAPE) * 4 - 0.99", "x.view(-1)[::5] = 0.0\nx.view(-1)[1::5] = -0.9999"},
      // 0 * log(0) is 0 here.
      {xlogy_names, {}, "x.view(-1)[::3] = 0.0\ny.view(-1)[::6] = 0.0"},
      {xlog1py_names, "torch.randn(SHAPE), torch.rand(SHAPE) * 4 - 0.99",
       "x.view(-1)[::3] = 0.0\ny.view(-1)[::6] = -1.0"},
      {at_zero, {}, zeros},
      {at_both_ends, {}, both_ends},
      {at_one, {}, "x.view(-1)[::5] = 1.0"},
      {of_both_signs, signed_numbers, {}},
      {over_both_signs, with_signed, {}},
      {at_halves, wide, "x.view(-1)[::3] = x.view(-1)[::3].floor() + 0.5"},
      {at_whole_numbers, wide, "x.view(-1)[::3] = x.view(-1)[::3].round()"},
      {at_thresholds, {}, "x.view(-1)[::5] = 0.5\nx.view(-1)[1::5] = -0.5"},
      {at_origin, {}, "x.view(-1)[::6] = 0.0\ny.view(-1)[::3] = 0.0"},
      {at_equal, {}, "y.view(-1)[::4] = x.view(-1)[::4]"},
  }};
  return all;
}

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

Operation with_edges(Operation operation) {
  for (const Edges& each : edges())
    if (std::ranges::find(each.names, operation.name) != each.names.end()) {
      if (!each.inputs.empty()) operation.inputs = each.inputs;
      operation.edges = each.lines;
    }
  return operation;
}

std::optional<Operation> plain_operation(std::string_view name) {
  for (const Form& form : forms())
    if (auto found = std::ranges::find(form.names, name); found != form.names.end()) {
      Operation operation = form.operation;
      operation.name = *found;
      return with_edges(operation);
    }
  auto other = std::ranges::find(others, name, &Operation::name);
  if (other == others.end()) return {};
  return with_edges(*other);
}

std::optional<Operation> in_place_form(std::string_view name) {
  auto operation = plain_operation(name);
  if (std::ranges::find(without_in_place, name) != without_in_place.end()) return {};
  if (!operation || (operation->family != "unary" && operation->family != "binary")) return {};
  operation->in_place = true;
  return operation;
}

// The body of get_inputs.
std::string body_of_inputs(const Operation& operation, const std::string& inputs) {
  if (operation.edges.empty()) return fmt::format("    return [{}]\n", inputs);
  std::string body = operation.parameters == "x" ? fmt::format("    x = {}\n", inputs) : std::string();
  if (body.empty()) {
    const std::size_t comma = inputs.find("), torch.") + 1;
    body = fmt::format("    x = {}\n    y = {}\n", inputs.substr(0, comma), inputs.substr(comma + 2));
  }
  for (const auto line : std::views::split(operation.edges, '\n'))
    body += fmt::format("    {}\n", std::string_view(line));
  return body + fmt::format("    return [{}]\n", operation.parameters);
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
  return fmt::format("import torch\n\n\ndef {}({}):\n    return {}\n\n\ndef get_inputs():\n{}", name,
                     operation.parameters, expression_of(operation), body_of_inputs(operation, inputs));
}

}  // namespace kw::synth
