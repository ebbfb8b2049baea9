#include "harvest/cuda_parse.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "harvest/cuda_function.h"
#include "harvest/text_lines.h"

namespace kw::harvest {
namespace {

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

// What holds definitions of the file.
bool is_container(std::string_view type) {
  return type.starts_with("preproc_if") || type.starts_with("preproc_el") ||
         is_one_of(type, {"translation_unit", "ERROR", "namespace_definition", "declaration_list",
                          "linkage_specification", "template_declaration"});
}

// The name of what a node other than a function defines.
std::string name_of(Node node) {
  if (is_one_of(node.type(),
                {"preproc_def", "preproc_function_def", "struct_specifier", "class_specifier",
                 "enum_specifier", "union_specifier", "alias_declaration", "concept_definition"}))
    return std::string(node.field("name").text());
  Node inner = node.field("declarator");
  if (node.is("declaration") || node.is("type_definition") || node.is("init_declarator")) {
    for (std::size_t depth = 0; depth < 16 && !inner.field("declarator").is_null(); ++depth)
      inner = inner.field("declarator");
    if (inner.is("identifier") || inner.is("type_identifier")) return std::string(inner.text());
    if (inner.is_null()) return std::string(node.field("type").field("name").text());
  }
  return {};
}

class CudaFile {
 public:
  CudaFile(const syntax::Tree& tree, ParsedFile& file) : tree_(tree), file_(file), code_(file.source.bytes) {}

  std::vector<corpus::Span> run() {
    Walk walk(tree_.root(), code_);
    for (bool more = walk.next(); more;) {
      Node node = walk.node();
      if (walk.depth() == 1 && node.is_named()) tops_.push_back({node.begin(), node.end()});
      while (!heads_.empty() && heads_.back().end <= node.begin()) heads_.pop_back();
      bool into = node.is_named() && is_container(node.type());
      if (opens_head(node)) heads_.push_back({node.begin(), node.end()});
      if (!into && node.is_named()) leaf(node);
      more = walk.next(into);
    }
    return std::move(tops_);
  }

 private:
  // A template line or an extern "C" belongs to the one definition behind it.
  static bool opens_head(Node node) {
    if (node.is("template_declaration")) return true;
    return node.is("linkage_specification") && !node.field("body").is("declaration_list");
  }

  // From the outermost head, and macros that stand before it on its line.
  std::size_t begin_of(Node node) const {
    std::size_t begin = heads_.empty() ? node.begin() : std::min(heads_.front().begin, node.begin());
    std::size_t line = line_begin(code_, begin);
    std::string_view before = trim(code_.substr(line, begin - line));
    bool macro = !before.empty() && before.find_first_of("(){};#/*\"<>=,:") == before.npos;
    return macro ? line + code_.substr(line).find_first_not_of(" \t") : begin;
  }

  void leaf(Node node) {
    if (node.is("preproc_include")) {
      std::string line(trim(node.text()));
      if (includes_.insert(line).second) file_.cuda.includes.push_back(line);
      return;
    }
    bool function = node.is("function_definition");
    std::size_t begin = begin_of(node);
    std::string name = function ? cuda_function_name(node) : name_of(node);
    if (!name.empty() && !node.has_error())
      file_.cuda.items.push_back({name, {begin, node.end()}, cuda_uses(node, code_), function});
    if (!function) return;
    if (auto unit = cuda_function(node, begin, code_)) file_.units.push_back(std::move(*unit));
  }

  const syntax::Tree& tree_;
  ParsedFile& file_;
  std::string_view code_;
  std::vector<corpus::Span> heads_;  // of the template lines and the like that are open
  std::vector<corpus::Span> tops_;
  std::set<std::string> includes_;
};

}  // namespace

std::vector<corpus::Span> parse_cuda(const syntax::Tree& tree, ParsedFile& file) {
  auto tops = CudaFile(tree, file).run();
  find_cuda_launches(tree, file);
  return tops;
}

}  // namespace kw::harvest
