#include "dataset/extract/harvest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "dataset/extract/context.h"
#include "dataset/extract/cuda_parse.h"
#include "dataset/extract/modules.h"
#include "dataset/extract/python_parse.h"
#include "dataset/extract/source_walk.h"
#include "dataset/extract/statements.h"

namespace kw::harvest {
namespace {

constexpr std::size_t largest_helper = 32 * 1024;

bool holds(std::string_view bytes, std::string_view what) {
  return bytes.find(what) != bytes.npos;
}

Language by_content(std::string_view code) {
  if (holds(code, "__global__") || holds(code, "__device__")) return Language::cuda;
  bool defines = holds(code, "def ") || holds(code, "class ");
  bool imports = holds(code, "import ") || holds(code, "@triton") || holds(code, "@jit");
  return defines && imports ? Language::python : Language::none;
}

// Whether it is a small module, which may define helpers and constants of units.
bool may_help(std::string_view bytes) {
  return bytes.size() <= largest_helper &&
         (holds(bytes, "import ") || holds(bytes, "def ") || holds(bytes, "class "));
}

}  // namespace

Language language_of(std::string_view path) {
  std::size_t slash = path.rfind('/');
  std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  std::size_t dot = name.rfind('.');
  if (dot == name.npos) return Language::none;
  std::string ending = lower(name.substr(dot + 1));
  if (is_one_of(ending, {"py", "pyi"})) return Language::python;
  if (is_one_of(ending, {"cu", "cuh", "h", "hpp", "cpp", "cc", "inl"})) return Language::cuda;
  return Language::none;
}

Language language_of(std::string_view block_language, std::string_view code) {
  std::string word = lower(block_language);
  if (is_one_of(word, {"python", "py", "python3", "ipython", "ipython3", "triton"})) return Language::python;
  if (is_one_of(word, {"cuda", "cu", "cuda-cpp", "cpp", "c++", "cc", "cxx", "c"})) return Language::cuda;
  return word.empty() ? by_content(code) : Language::none;
}

bool may_matter(std::string_view bytes, Language language) {
  switch (language) {
    case Language::python:
      return holds(bytes, "triton") || holds(bytes, "torch") || may_help(bytes);
    case Language::cuda:
      return holds(bytes, "__global__") || holds(bytes, "__device__");
    case Language::none:
      return false;
  }
  return false;
}

namespace {

constexpr std::size_t largest_file = std::size_t{32} << 20;

std::string refusal(std::string_view bytes) {
  if (bytes.size() > largest_file) return "too large";
  if (!is_utf8(bytes)) return "not UTF-8";
  return {};
}

// Statements in the file's head are about all of its units, others about the unit that they are in or stand
// directly before.
void state_origin(corpus::Unit& unit, const Statements& statements, std::string_view bytes) {
  constexpr std::size_t longest_gap = 400;
  unit.generator = statements.generator;
  for (const Provenance& each : statements.provenance) {
    const corpus::Span own = unit.source.span;
    bool before = each.span.end <= own.begin && own.begin - each.span.end <= longest_gap &&
                  bytes.substr(each.span.end, own.begin - each.span.end).find("\n\n\n") == bytes.npos;
    bool within = own.begin <= each.span.begin && each.span.end <= own.end;
    if (each.of_file || within || before) unit.provenance.push_back(each.text);
  }
}

// Sets the fields of a unit that depend on its file.
void complete(PendingUnit& pending, const ParsedFile& file, const std::vector<corpus::Span>& tops,
              const Options& options) {
  corpus::Unit& unit = pending.unit;
  unit.source.origin = file.source.origin;
  unit.source.path = file.source.path;
  unit.source.block = file.source.block;
  unit.licence = file.source.licence;
  corpus::Span region = region_around(file.source.bytes, unit.source.span, tops, options.region_bytes);
  unit.region_begin = region.begin;
  unit.region = file.source.bytes.substr(region.begin, region.end - region.begin);
}

// Sets uses_kernels of statements that are kernels or launch them.
void mark_kernels(ParsedFile& file) {
  auto mark = [&](corpus::Span span) {
    std::span statements(file.python.statements.data(), file.python.of_module);
    auto after = std::ranges::upper_bound(statements, span.begin, {},
                                          [](const Statement& statement) { return statement.span.begin; });
    if (after != statements.begin()) std::prev(after)->uses_kernels = true;
  };
  for (const PendingUnit& unit : file.units)
    if (unit.unit.kind == corpus::UnitKind::triton) mark(unit.unit.source.span);
  for (const PendingLaunch& launch : file.launches)
    if (!launch.launch.grid.empty()) mark(launch.span);
}

}  // namespace

ParseOutcome parse(corpus::SourceFile source, Language language, const Options& options) {
  ParseOutcome outcome;
  if (outcome.reason = refusal(source.bytes); !outcome.reason.empty()) return outcome;
  if (language == Language::none)
    return {.file = nullptr, .reason = "of no language that is read", .lost = {}};
  auto file = std::make_shared<ParsedFile>();
  file->source = std::move(source);
  file->language = language;
  bool python = language == Language::python;
  syntax::Tree tree(file->source.bytes, python ? syntax::Grammar::python : syntax::Grammar::cuda);
  if (tree.is_null()) return {.file = nullptr, .reason = "takes too long", .lost = {}};
  outcome.has_error = tree.has_error();
  std::vector<corpus::Span> tops;
  if (python) {
    survey_python(tree, *file);
    find_python_launches(tree, *file);
    find_python_units(tree, *file);
    mark_kernels(*file);
    for (const Top& top : file->python.tops) tops.push_back(top.span);
  } else {
    tops = parse_cuda(tree, *file);
    outcome.lost = lost_cuda_kernels(tree, *file);
  }
  const Statements statements = statements_of(file->source.bytes, language);
  for (PendingUnit& unit : file->units) {
    complete(unit, *file, tops, options);
    state_origin(unit.unit, statements, file->source.bytes);
  }
  outcome.file = std::move(file);
  return outcome;
}

namespace {

constexpr std::size_t most_triton_kernel_launches = 16;  // of one kernel
constexpr std::size_t most_uses_followed = 8;

std::string id_of(const corpus::Unit& unit) {
  const corpus::Place& place = unit.source;
  std::string block = place.block ? std::to_string(place.block->index) : "-";
  return sha1_hex(fmt::format("{}\n{}\n{}\n{} {}\n{}", place.origin.name, place.path, block, place.span.begin,
                              place.span.end, unit.text));
}

// Kernels by file and name, each with its launches.
class Launches {
 public:
  Launches(const Modules& modules, const Files& files) : modules_(modules), files_(files) {
    for (std::size_t file = 0; file < files.size(); ++file)
      for (std::size_t i = 0; i < files[file]->units.size(); ++i)
        if (files[file]->units[i].unit.kind == corpus::UnitKind::triton)
          kernels_[{file, files[file]->units[i].unit.name}].push_back(i);
    for (std::size_t file = 0; file < files.size(); ++file)
      if (files[file]->language == Language::python)
        for (const PendingLaunch& launch : files[file]->launches) attach(file, launch);
  }

  std::vector<corpus::Launch> of(std::size_t file, std::size_t unit) const {
    auto found = found_.find({file, unit});
    return found == found_.end() ? std::vector<corpus::Launch>{} : found->second;
  }

  // The first function at module level that launches the unit.
  std::optional<LauncherPlace> launcher_of(std::size_t file, std::size_t unit) const {
    auto found = launchers_.find({file, unit});
    return found == launchers_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  using Key = std::pair<std::size_t, std::string>;

  void attach(std::size_t file, const PendingLaunch& pending) {
    std::set<Key> kernels;
    find(file, pending.callee, kernels);
    if (kernels.empty())
      for (const std::string& alias : pending.aliases) find(file, alias, kernels);
    for (const Key& key : kernels)
      for (std::size_t unit : kernels_.at(key)) {
        auto& launches = found_[{key.first, unit}];
        if (launches.size() < most_triton_kernel_launches) launches.push_back(pending.launch);
        if (auto place = launcher_at(file, pending.span)) launchers_.try_emplace({key.first, unit}, *place);
      }
  }

  // The function at module level around the launch.
  std::optional<LauncherPlace> launcher_at(std::size_t file, corpus::Span launch) const {
    const Python& python = files_[file]->python;
    std::span statements(python.statements.data(), python.of_module);
    auto after = std::ranges::upper_bound(statements, launch.begin, {},
                                          [](const Statement& statement) { return statement.span.begin; });
    if (after == statements.begin()) return {};
    const Statement& around = *std::prev(after);
    if (!around.is_definition || around.span.end < launch.end) return {};
    std::string_view text = files_[file]->source.bytes;
    text = text.substr(around.span.begin, around.span.end - around.span.begin);
    if (text.starts_with("class ") || text.find("\nclass ") != text.npos) return {};
    return LauncherPlace{file, static_cast<std::size_t>(std::distance(statements.begin(), after)) - 1};
  }

  void find(std::size_t file, const std::string& path, std::set<Key>& kernels) const {
    Found found = modules_.resolve(file, path);
    if (found.kind == Found::Kind::statement && add({found.file, found.name}, kernels)) return;
    if (found.kind == Found::Kind::statement) {
      if (add_wrapped(found, kernels)) return;
      if (found.parts != 1 || path.find('.') == path.npos) return;
    }
    // A kernel inside a class or a function of the same file.
    if (found.kind != Found::Kind::external) add({file, path.substr(path.rfind('.') + 1)}, kernels);
  }

  bool add(const Key& key, std::set<Key>& kernels) const {
    if (!kernels_.contains(key)) return false;
    kernels.insert(key);
    return true;
  }

  // forward = autotune(...)(kernel)
  bool add_wrapped(const Found& found, std::set<Key>& kernels) const {
    bool any = false;
    for (std::size_t i : found.statements) {
      const Statement& statement = files_[found.file]->python.statements[i];
      if (statement.is_definition) continue;
      std::size_t followed = 0;
      for (const std::string& use : statement.uses) {
        if (++followed > most_uses_followed) break;
        Found inner = modules_.resolve(found.file, use);
        if (inner.kind == Found::Kind::statement) any = add({inner.file, inner.name}, kernels) || any;
      }
    }
    return any;
  }

  const Modules& modules_;
  const Files& files_;
  std::map<Key, std::vector<std::size_t>> kernels_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<corpus::Launch>> found_;
  std::map<std::pair<std::size_t, std::size_t>, LauncherPlace> launchers_;
};

corpus::Launcher launcher(const Modules& modules, const Files& files, std::size_t file,
                          const PendingUnit& unit, const LauncherPlace& place) {
  Context context = context_with_launcher(modules, files, file, unit, place);
  const Statement& statement = files[place.file]->python.statements[place.statement];
  std::set<std::string> licences(context.licences.begin(), context.licences.end());
  if (place.file != file) licences.insert(files[place.file]->source.licence.spdx);
  return {.text = dedented(files[place.file]->source.bytes, statement.span),
          .context = std::move(context.text),
          .own_imports = std::move(context.own_imports),
          .context_licences = {licences.begin(), licences.end()}};
}

void link_python(const Modules& modules, const Files& files, std::size_t file, const Launches& launches,
                 std::vector<corpus::Unit>& units) {
  for (std::size_t i = 0; i < files[file]->units.size(); ++i) {
    const PendingUnit& pending = files[file]->units[i];
    Context context = context_of(modules, files, file, pending);
    if (pending.only_if_torch && context.uses_kernels) continue;
    corpus::Unit unit = pending.unit;
    unit.context = std::move(context.text);
    unit.own_imports = std::move(context.own_imports);
    unit.context_licences = std::move(context.licences);
    unit.helpers = std::move(context.helpers);
    unit.missing = std::move(context.missing);
    unit.launches = launches.of(file, i);
    if (auto place = launches.launcher_of(file, i))
      unit.launcher = launcher(modules, files, file, pending, *place);
    units.push_back(std::move(unit));
  }
}

}  // namespace

std::vector<corpus::Unit> link(const std::vector<std::shared_ptr<const ParsedFile>>& files) {
  Modules modules(files);
  Launches launches(modules, files);
  CudaOrigin cuda(files);
  std::vector<corpus::Unit> units;
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (files[file]->language == Language::python)
      link_python(modules, files, file, launches, units);
    else
      cuda.link(file, units);
  }
  for (corpus::Unit& unit : units) unit.id = id_of(unit);
  return units;
}

namespace {

constexpr std::size_t fewest_for_runs = 3;  // statements of a block
constexpr std::string_view wrapper = "if 1:\n";

// The text to parse: the function's lines, after an added statement if they are indented.
struct FunctionText {
  std::string code;
  std::size_t region_begin = 0;  // offset of the function's lines in the region
  std::size_t own = 0;           // bytes of the added statement
};

FunctionText piece_of(std::string_view region, corpus::Span function, Language language) {
  std::size_t begin = function.begin;
  if (language == Language::python)
    while (begin > 0 && (region[begin - 1] == ' ' || region[begin - 1] == '\t')) --begin;
  FunctionText piece{.code = {}, .region_begin = begin, .own = 0};
  if (begin < function.begin) {
    piece.code = wrapper;
    piece.own = wrapper.size();
  }
  piece.code += region.substr(begin, function.end - begin);
  return piece;
}

class Holes {
 public:
  explicit Holes(const FunctionText& piece) : piece_(piece) {}

  void add(std::string_view node, std::size_t begin, std::size_t end) {
    if (begin < piece_.own || begin >= end) return;
    found_.push_back({std::string(node),
                      {begin - piece_.own + piece_.region_begin, end - piece_.own + piece_.region_begin}});
  }

  // Extends statements to complete lines if the lines contain nothing else.
  void add_statements(Node first, Node last) {
    std::size_t begin = first.begin();
    std::string_view code = piece_.code;
    while (begin > piece_.own && (code[begin - 1] == ' ' || code[begin - 1] == '\t')) --begin;
    if (begin > piece_.own && code[begin - 1] != '\n') begin = first.begin();
    std::size_t end = last.end();
    while (end > begin && (code[end - 1] == '\n' || code[end - 1] == '\r' || code[end - 1] == ' ')) --end;
    add("block", begin, end);
  }

  void add_block(Node block, bool whole) {
    auto statements = block.named_children();
    std::erase_if(statements, [](Node node) { return node.is("comment"); });
    if (statements.empty()) return;
    if (whole) add_statements(statements.front(), statements.back());
    if (statements.size() < fewest_for_runs) return;
    std::size_t run = std::max<std::size_t>(2, statements.size() / 3);
    for (std::size_t from = 0; from + run <= statements.size(); from += run)
      add_statements(statements[from], statements[from + run - 1]);
  }

  std::vector<HoleSpan> sorted() && {
    // A call that is returned or assigned counts as an expression.
    auto order = [](const HoleSpan& hole) {
      return std::tuple(hole.middle.begin, ~hole.middle.end, hole.node == "call");
    };
    std::ranges::sort(found_, {}, order);
    auto again = std::ranges::unique(found_, {}, &HoleSpan::middle);
    found_.erase(again.begin(), again.end());
    return std::move(found_);
  }

 private:
  const FunctionText& piece_;
  std::vector<HoleSpan> found_;
};

bool is_trivial(Node node) {
  static constexpr std::string_view trivial[] = {"identifier", "integer", "float",  "true",          "false",
                                                 "none",       "null",    "string", "number_literal"};
  return std::ranges::find(trivial, node.type()) != std::end(trivial);
}

// The right side of an assignment, or the returned value; empty for other nodes.
std::optional<Node> value_of(Node node) {
  if (node.is("assignment") || node.is("augmented_assignment") || node.is("assignment_expression"))
    return node.field("right");
  if (node.is("init_declarator")) return node.field("value");
  if (node.is("return_statement")) {
    auto values = node.named_children();
    if (values.size() == 1) return values.front();
  }
  return {};
}

bool is_body(Node node) {
  return node.is("block") || node.is("compound_statement");
}
bool is_call(Node node) {
  return node.is("call") || node.is("call_expression");
}

// The body of the first function or class in the tree.
std::optional<Node> body_of(Node root, std::string_view code) {
  Walk walk(root, code);
  do {
    if (!walk.node().is("function_definition") && !walk.node().is("class_definition")) continue;
    Node body = walk.node().field("body");
    if (is_body(body)) return body;
  } while (walk.next());
  return {};
}

void collect(Node body, std::string_view code, Holes& holes) {
  Walk walk(body, code);
  bool into = true;
  do {
    Node node = walk.node();
    into = node.is_named() && !node.is("ERROR");
    if (!into || node.has_error()) continue;
    if (is_body(node)) holes.add_block(node, walk.depth() > 0);
    if (is_call(node)) holes.add("call", node.begin(), node.end());
    if (auto value = value_of(node); value && !value->is_null() && !is_trivial(*value))
      holes.add("expression", value->begin(), value->end());
  } while (walk.next(into));
}

}  // namespace

std::vector<HoleSpan> hole_spans(std::string_view region, corpus::Span function, Language language) {
  if (language == Language::none || function.begin >= function.end || function.end > region.size()) return {};
  FunctionText piece = piece_of(region, function, language);
  syntax::Tree tree(piece.code,
                    language == Language::python ? syntax::Grammar::python : syntax::Grammar::cuda);
  if (tree.is_null()) return {};
  auto body = body_of(tree.root(), piece.code);
  if (!body) return {};
  Holes holes(piece);
  collect(*body, piece.code, holes);
  return std::move(holes).sorted();
}

}  // namespace kw::harvest
