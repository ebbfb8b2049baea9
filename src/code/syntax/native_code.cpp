#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "code/syntax/passes.h"

namespace kw::syntax {
namespace {

using namespace std::string_view_literals;

constexpr std::array source_keywords{"cpp_sources"sv, "cuda_sources"sv, "sources"sv, "kernel_source"sv};
constexpr std::array builders{"load_inline"sv, "CUDAExtension"sv, "CppExtension"sv, "compile_kernel"sv,
                              "_compile_kernel"sv};

bool is_builder(std::string_view path) {
  const std::string_view last = last_part(path);
  return lists(builders, last) || (last == "load" && path.contains("cpp_extension"));
}

// "", None, and lists of nothing else. A name or a call may be a source.
bool is_nothing(Node value) {
  auto is_empty = [](Node item) {
    if (item.is("comment") || item.is("none")) return true;
    auto parts = item.named_children();
    return item.is("string") && std::ranges::none_of(parts, [](Node part) {
             return part.is("string_content") || part.is("interpolation");
           });
  };
  if (!value.is("list") && !value.is("tuple")) return is_empty(value);
  auto items = value.named_children();
  return std::ranges::all_of(items, is_empty);
}

// Positional sources follow the extension's name; torch.cuda's compilers of one kernel take the source first.
bool passes_sources(Node call, std::string_view path) {
  const std::size_t first = path.ends_with("compile_kernel") ? 0 : 1;
  constexpr std::size_t last = 2;
  std::size_t position = 0;
  for (Node argument : call.field("arguments").named_children()) {
    if (argument.is("comment")) continue;
    if (argument.is("list_splat") || argument.is("dictionary_splat")) return true;
    if (argument.is("keyword_argument")) {
      if (lists(source_keywords, argument.field("name").text()) && !is_nothing(argument.field("value")))
        return true;
      continue;
    }
    if (position >= first && position <= last && !is_nothing(argument)) return true;
    ++position;
  }
  return false;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The name before the parameters: __launch_bounds__ has parentheses too.
std::string_view declared_name(std::string_view declaration) {
  constexpr std::size_t longest = 400;
  declaration = declaration.substr(0, longest);
  std::string_view last;
  for (std::size_t at = 0; at < declaration.size();) {
    const char c = declaration[at];
    if (c == '(' && !last.empty() && last != "__launch_bounds__") return last;
    if (c == '(') {
      at = declaration.find(')', at);
      if (at == std::string_view::npos) return {};
    }
    if (c == '{' || c == ';') return {};
    std::size_t end = at;
    while (end < declaration.size() && is_word(declaration[end])) ++end;
    if (end > at) last = declaration.substr(at, end - at);
    at = std::max(end, at + 1);
  }
  return {};
}

}  // namespace

void find_native_code(const Nodes& nodes, const Aliases& aliases, StaticReport& report) {
  auto full_path = [&](Node node) {
    auto path = dotted_path(node);
    return path ? resolved(aliases, *path) : std::string();
  };
  std::set<const void*> parts;  // what a call calls, and parts of a longer path
  nodes.walk([&](const Node& node) {
    if (report.native_code || node.is("import_statement") || node.is("import_from_statement")) return false;
    if (node.is("call")) {
      parts.insert(node.field("function").raw().id);
      const std::string path = full_path(node.field("function"));
      report.native_code = is_builder(path) && passes_sources(node, path);
    } else if (node.is("attribute") || node.is("identifier")) {
      for (Node part : node.named_children()) parts.insert(part.raw().id);
      // functools.partial(load_inline, ...), getattr(cpp_extension, ...): what will be built is not known.
      const std::string path = parts.contains(node.raw().id) ? "" : full_path(node);
      report.native_code = is_builder(path) || last_part(path) == "cpp_extension";
    }
    return true;
  });
  constexpr std::string_view kernel = "__global__";
  const std::string_view code = nodes.root().text();
  for (auto at = code.find(kernel); at != code.npos; at = code.find(kernel, at + kernel.size()))
    if (auto name = declared_name(code.substr(at + kernel.size())); !name.empty())
      report.native_kernels.emplace(name);
}

}  // namespace kw::syntax
