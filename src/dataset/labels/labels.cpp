#include "dataset/labels/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace kw::labels {
namespace {

constexpr std::size_t longest_call = 4'000;  // longer argument lists are ignored

}  // namespace

bool has_word(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if ((at == 0 || !is_word(code[at - 1])) && (end == code.size() || !is_word(code[end]))) return true;
  }
  return false;
}

std::vector<std::vector<std::string_view>> calls_of(std::string_view code, std::string_view name) {
  std::vector<std::vector<std::string_view>> calls;
  std::string opening = "." + std::string(name) + "(";
  for (std::size_t at = code.find(opening); at != std::string_view::npos; at = code.find(opening, at + 1)) {
    std::size_t begin = at + opening.size();
    std::size_t last = std::min(code.size(), begin + longest_call);
    std::vector<std::string_view> arguments;
    int depth = 0;
    for (std::size_t i = begin; i < last; ++i) {
      char c = code[i];
      bool closes = c == ')' || c == ']' || c == '}';
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (closes && depth-- == 0) last = i;
      if ((c == ',' && depth == 0) || i == last) {
        std::string_view argument = trim(code.substr(begin, i - begin));
        if (!argument.empty()) arguments.push_back(argument);
        begin = i + 1;
      }
    }
    calls.push_back(std::move(arguments));
  }
  return calls;
}

namespace {

using corpus::Unit;
using corpus::UnitKind;

// Modules of Python, PyTorch and Triton, which are installed wherever a kernel runs.
constexpr auto known_modules = std::to_array<std::string_view>(
    {"__future__",  "abc",        "argparse", "ast",        "bisect",      "builtins",
     "collections", "contextlib", "copy",     "ctypes",     "dataclasses", "datetime",
     "enum",        "functools",  "gc",       "hashlib",    "importlib",   "inspect",
     "io",          "itertools",  "json",     "logging",    "math",        "numbers",
     "numpy",       "operator",   "os",       "packaging",  "pathlib",     "platform",
     "random",      "re",         "shutil",   "statistics", "string",      "struct",
     "subprocess",  "sys",        "tempfile", "textwrap",   "threading",   "time",
     "torch",       "traceback",  "triton",   "types",      "typing",      "typing_extensions",
     "unittest",    "uuid",       "warnings", "weakref"});

bool is_cuda(const Unit& unit) {
  return unit.kind == UnitKind::cuda_kernel || unit.kind == UnitKind::cuda_device;
}

bool known_module(std::string_view path) {
  path = trim(path);
  std::string_view root = path.substr(0, path.find_first_of(". \t"));
  return !path.starts_with('.') && std::ranges::find(known_modules, root) != known_modules.end();
}

// Whether each "import a, b as c" and "from a import b" names known modules.
bool imports_are_known(std::string_view code) {
  for (std::size_t begin = 0; begin < code.size();) {
    std::size_t end = std::min(code.find('\n', begin), code.size());
    std::string_view line = trim(code.substr(begin, end - begin));
    begin = end + 1;
    if (line.starts_with("from ")) {
      std::string_view module = line.substr(5);
      std::size_t import = module.find(" import");
      if (import != std::string_view::npos && !known_module(module.substr(0, import))) return false;
    } else if (line.starts_with("import ")) {
      std::string_view rest = line.substr(7);
      while (!rest.empty()) {
        std::size_t comma = std::min(rest.find(','), rest.size());
        if (!known_module(rest.substr(0, comma))) return false;
        rest.remove_prefix(std::min(comma + 1, rest.size()));
      }
    }
  }
  return true;
}

// Headers in angle brackets without a folder, or of CUDA, PyTorch and similar libraries, are not files of the
// tree.
bool includes_are_known(std::string_view text) {
  for (std::size_t at = text.find("#include"); at != std::string_view::npos;
       at = text.find("#include", at + 1)) {
    std::string_view what = trim(text.substr(at + 8, text.find('\n', at) - at - 8));
    if (!what.starts_with('<')) return false;
    std::string_view header = what.substr(1, what.find('>') - 1);
    bool public_folder = header.starts_with("cuda/") || header.starts_with("torch/") ||
                         header.starts_with("ATen/") || header.starts_with("c10/") ||
                         header.starts_with("cub/") || header.starts_with("thrust/") ||
                         header.starts_with("cooperative_groups/");
    if (header.contains('/') && !public_folder) return false;
  }
  return true;
}

bool is_keyword(std::string_view argument, std::string_view name) {
  if (!argument.starts_with(name)) return false;
  std::string_view rest = trim(argument.substr(name.size()));
  return rest.starts_with('=') && !rest.starts_with("==");
}

// Calls are tl.load(pointer, mask, other) and tl.store(pointer, value, mask).
void read_memory_calls(std::string_view code, corpus::Labels& labels) {
  for (auto [name, mask_at] : {std::pair{"load", std::size_t{1}}, std::pair{"store", std::size_t{2}}}) {
    for (const auto& arguments : calls_of(code, name)) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        bool named = arguments[i].contains('=') && is_keyword(arguments[i], "mask");
        bool placed = i == mask_at && is_word(arguments[i].front()) && !arguments[i].contains('=');
        if ((named && !arguments[i].ends_with("None")) || placed) labels.masked_loads = true;
        if (is_keyword(arguments[i], "boundary_check")) labels.boundary_check = true;
      }
    }
  }
}

// `tl.gather(...)`, or `gather(...)` after `gather = tl.gather` in the context.
bool calls_of_triton(const Unit& unit, std::string_view code, std::string_view name) {
  if (code.contains(fmt::format(".{}(", name))) return true;
  const std::string call = fmt::format("{}(", name);
  for (std::size_t at = code.find(call); at != code.npos; at = code.find(call, at + 1))
    if (at == 0 || !is_word(code[at - 1])) return unit.context.contains(fmt::format("{0} = tl.{0}", name));
  return false;
}

void read_triton(const Unit& unit, const std::string& code, corpus::Labels& labels) {
  read_memory_calls(code, labels);
  labels.atomics = code.contains(".atomic_");
  labels.shared_memory = code.contains("allocate_shared_memory(");
  for (std::string_view word :
       {"dot", "dot_scaled", "sort", "associative_scan", "cumsum", "cumprod", "histogram", "gather"})
    labels.shared_memory = labels.shared_memory || calls_of_triton(unit, code, word);
  labels.autotune = std::ranges::any_of(
      unit.decorators, [](const std::string& decorator) { return corpus::is_tuner(decorator); });
}

// Whether a condition compares an index with a bound: `if (i < n)`, `if (row >= rows) return`.
bool compares_a_bound(std::string_view code) {
  for (std::size_t at = code.find("if"); at != std::string_view::npos; at = code.find("if", at + 1)) {
    if (at > 0 && is_word(code[at - 1])) continue;
    std::string_view rest = trim(code.substr(at + 2, 300));
    if (!rest.starts_with('(')) continue;
    std::string_view condition = rest.substr(0, rest.find_first_of("{;"));
    if (condition.find_first_of("<>") != std::string_view::npos) return true;
  }
  return false;
}

void read_cuda(const std::string& code, corpus::Labels& labels) {
  labels.boundary_check = compares_a_bound(code);
  labels.shared_memory = has_word(code, "__shared__");
  for (std::size_t at = code.find("atomic"); at != std::string::npos; at = code.find("atomic", at + 1))
    if (at + 6 < code.size() && code[at + 6] >= 'A' && code[at + 6] <= 'Z') labels.atomics = true;
}

bool speaks_of_shapes(std::string_view code) {
  return code.contains(".shape") || code.contains(".size(") || code.contains(".numel(") ||
         code.contains(".sizes()");
}

// Whether the text contains at least two names or numbers in brackets: "(M, N)", "[batch, heads, d]".
bool names_a_shape(std::string_view doc) {
  for (std::size_t at = doc.find_first_of("[("); at != std::string_view::npos;
       at = doc.find_first_of("[(", at + 1)) {
    std::string_view inside = doc.substr(at + 1, doc.find_first_of("])\n", at + 1) - at - 1);
    bool plain = !inside.empty() && std::ranges::all_of(inside, [](char c) {
      return is_word(c) || std::string_view(", *+-/.").contains(c);
    });
    if (plain && inside.contains(',') && inside.size() < 80) return true;
  }
  return false;
}

bool clear_shapes(const Unit& unit, Syntax syntax) {
  for (const corpus::Launch& launch : unit.launches) {
    if (speaks_of_shapes(without_words(launch.caller_text, syntax))) return true;
    for (const corpus::Argument& argument : launch.arguments)
      if (speaks_of_shapes(argument.text)) return true;
  }
  std::string_view doc = unit.doc;
  bool says_shape = doc.contains("shape") || doc.contains("Shape");
  if (says_shape && names_a_shape(doc)) return true;
  return std::ranges::any_of(unit.parameters, [](const corpus::Parameter& parameter) {
    std::string_view annotation = parameter.annotation;
    return annotation.contains("Float[") || annotation.contains("Tensor[") || annotation.contains("Int[");
  });
}

}  // namespace

bool lacks_language_name(const corpus::Labels& labels) {
  // As python/kernelwright/_dataset/language_names.py begins its reason.
  return labels.compile == corpus::CompileLabel::fails &&
         labels.compile_reason.starts_with("triton.language has no ");
}

corpus::Labels read_labels(const Unit& unit) {
  corpus::Labels labels;
  Syntax syntax = is_cuda(unit) ? Syntax::cuda : Syntax::python;
  std::string code = without_words(unit.text, syntax);
  if (unit.kind == UnitKind::triton) read_triton(unit, code, labels);
  if (is_cuda(unit)) read_cuda(code, labels);
  std::string context = without_words(unit.context, syntax);
  bool known = is_cuda(unit) ? includes_are_known(unit.context)
                             : imports_are_known(context) && imports_are_known(code);
  labels.self_contained = unit.missing.empty() && known;
  labels.clear_argument_shapes = clear_shapes(unit, syntax);
  return labels;
}

}  // namespace kw::labels
