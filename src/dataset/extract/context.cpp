#include "dataset/extract/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "dataset/extract/modules.h"
#include "dataset/extract/source_walk.h"
#include "dataset/units/code_words.h"

namespace kw::harvest {
namespace {

constexpr std::size_t longest_context = 64 * 1024;
constexpr std::size_t longest_for_decorator = 8 * 1024;
constexpr std::size_t most_pieces = 600;
// Larger guarded statements are taken without their guard.
constexpr std::size_t longest_guarded = 8 * 1024;
constexpr std::size_t most_definitions = 4;  // of one name

// A piece of a file, or an assignment that gives a piece another name.
struct Piece {
  std::size_t file = 0;
  corpus::Span span;
  std::string text;
  std::set<std::size_t> needs;  // pieces that must precede it
};

// A path that a file uses: for a piece if `of_piece`, else for the unit.
struct Need {
  std::size_t file = 0;
  std::string path;
  std::size_t piece = 0;
  bool of_piece = false;
};

bool overlap(corpus::Span a, corpus::Span b) {
  return a.begin < b.end && b.begin < a.end;
}

std::string import_line(const Import& import, std::string_view local) {
  if (import.name == "*") return fmt::format("from {} import *", import.module);
  if (!import.name.empty())
    return import.name == local ? fmt::format("from {} import {}", import.module, local)
                                : fmt::format("from {} import {} as {}", import.module, import.name, local);
  if (!import.submodule.empty() && import.module == local) return "import " + import.submodule;
  return import.module == local ? fmt::format("import {}", local)
                                : fmt::format("import {} as {}", import.module, local);
}

// The object that an import binds: "triton.language" for `from triton import language as tl` too.
std::string meaning_of(const Import& import) {
  if (!import.submodule.empty()) return import.submodule;
  return import.name.empty() ? import.module : fmt::format("{}.{}", import.module, import.name);
}

struct Gathered {
  std::deque<Piece> pieces;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;  // file, begin → piece
  std::map<std::string, std::size_t, std::less<>> named;             // root → piece that names
  std::map<std::string, std::map<std::string, std::string>> names;   // root → path → name
  std::map<std::string, std::string> meanings;                       // name → its object, or its file
  // Local name and object → the lines that say so.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> imports;
  std::map<std::string, std::set<std::string>> own_imports;  // local name → lines
  std::set<std::string> helpers, missing;
  std::size_t bytes = 0;
  bool uses_kernels = false;
};

class ContextBuilder {
 public:
  ContextBuilder(const Modules& modules, const Files& files, std::size_t file, const PendingUnit& unit)
      : modules_(modules), files_(files), file_(file), unit_(unit) {}

  // Also satisfies what the launcher needs, and leaves it out of the context.
  void serve(const LauncherPlace& launcher) { launcher_ = launcher; }

  // These names are defined elsewhere.
  void give(const std::vector<std::string>& names) { given_.insert(names.begin(), names.end()); }

  Context build() {
    for (const std::string& path : unit_.uses) want({.file = file_, .path = path});
    if (launcher_)
      for (const std::string& path : files_[launcher_->file]->python.statements[launcher_->statement].uses)
        want({.file = launcher_->file, .path = path});
    satisfy();
    for (const Decorator& decorator : unit_.decorators) decorate(decorator);
    return write();
  }

 private:
  // A decorator of a library may need much other code. A decorator whose needs cannot all be met is left out.
  void decorate(const Decorator& decorator) {
    Gathered before = got_;
    bool triton = corpus::sets_arguments(decorator.name);
    most_bytes_ = triton ? longest_context : std::min(longest_context, got_.bytes + longest_for_decorator);
    for (const std::string& path : decorator.uses) want({.file = file_, .path = path});
    satisfy();
    auto lacking = std::ranges::find_if(
        got_.missing, [&](const std::string& name) { return !before.missing.contains(name); });
    if (lacking == got_.missing.end()) return;
    std::string note = fmt::format("{}: needs {}", decorator.name, *lacking);
    got_ = std::move(before);
    got_.missing.insert(std::move(note));
  }

  void want(Need need) { needs_.push_back(std::move(need)); }

  void satisfy() {
    for (; !needs_.empty(); needs_.pop_front()) satisfy(needs_.front());
  }

  void satisfy(const Need& need) {
    std::string_view local = std::string_view(need.path).substr(0, need.path.find('.'));
    if (given_.contains(local)) return;
    Found found = modules_.resolve(need.file, need.path);
    // Code of another file may import what the unit's own file defines.
    const bool own_file = found.kind == Found::Kind::statement && found.file == file_;
    if (found.kind != Found::Kind::external && found.kind != Found::Kind::builtin && !own_file)
      own_import(need.file, local);
    switch (found.kind) {
      case Found::Kind::builtin:
        return;
      case Found::Kind::missing:
        got_.missing.emplace(known_part(need.path, found));
        return;
      case Found::Kind::module:
        got_.missing.insert(need.path);
        return;
      case Found::Kind::external:
        external(need, found, local);
        return;
      case Found::Kind::statement:
        defined(need, found);
        return;
    }
  }

  static std::string known_part(const std::string& path, const Found& found) {
    std::size_t end = 0;
    for (std::size_t part = 0; part < found.parts; ++part) {
      end = path.find('.', part == 0 ? 0 : end + 1);
      if (end == path.npos) return path;
    }
    return path.substr(0, end);
  }

  void external(const Need& need, const Found& found, std::string_view local) {
    if (is_kernel_language(found.import.module)) got_.uses_kernels = true;
    if (!is_known_module(found.import.module)) got_.missing.insert(found.import.module);
    std::string prefix = known_part(need.path, found);
    if (found.parts == 1) {
      bring(found.import, local);
      return;
    }
    std::string member = prefix.substr(prefix.rfind('.') + 1);
    bring(found.import, member);
    give_name(need, prefix, member, {});
  }

  // Notes the line that imports the name from another module of the origin. Relative ones say nothing in a
  // row.
  void own_import(std::size_t file, std::string_view local) {
    const Python& python = files_[file]->python;
    for (std::size_t i = 0; i < python.of_module; ++i)
      for (const Import& import : python.statements[i].imports)
        if (import.local == local && !import.module.starts_with('.') && is_plain(file, i))
          got_.own_imports[import.local].insert(import_line(import, local));
  }

  void bring(const Import& import, std::string_view local) {
    const std::string object = meaning_of(import);
    got_.imports[{std::string(local), object}].insert(import_line(import, local));
    if (import.submodule.empty()) meaning(std::string(local), object);
  }

  void defined(const Need& need, const Found& found) {
    std::vector<std::size_t> statements = found.statements;
    const auto& all = files_[found.file]->python.statements;
    if (statements.size() > 1 && all[statements.back()].is_definition &&
        is_plain(found.file, statements.back()))
      statements = {statements.back()};
    if (statements.size() > most_definitions)
      statements.erase(statements.begin(), statements.end() - most_definitions);
    std::set<std::size_t> pieces;
    bool own = false;
    for (std::size_t statement : statements) {
      bool is_launcher = launcher_ && found.file == launcher_->file && statement == launcher_->statement;
      if (is_launcher || (found.file == file_ && overlap(all[statement].span, unit_.unit.source.span))) {
        own = true;
        continue;
      }
      if (auto piece = piece_of(found.file, statement)) pieces.insert(*piece);
    }
    if (need.of_piece) got_.pieces[need.piece].needs.insert(pieces.begin(), pieces.end());
    if (own || pieces.empty()) return;
    meaning(found.name, fmt::format("file {}", found.file));
    std::string prefix = known_part(need.path, found);
    if (prefix != found.name) give_name(need, prefix, found.name, pieces);
  }

  // Of two definitions of one name, the later one would hide the other.
  void meaning(const std::string& name, const std::string& what) {
    auto [at, fresh] = got_.meanings.emplace(name, what);
    if (!fresh && at->second != what) got_.missing.insert(name + " (two meanings)");
  }

  // Whether the statement is not inside an if or try.
  bool is_plain(std::size_t file, std::size_t statement) const {
    const Python& python = files_[file]->python;
    return python.tops[python.statements[statement].top].span == python.statements[statement].span;
  }

  // Keeps a guard unless it contains the unit, or imports that are replaced by the imported code.
  bool with_guard(std::size_t file, std::size_t statement) const {
    const Python& python = files_[file]->python;
    const Top& top = python.tops[python.statements[statement].top];
    if (statement >= python.of_module || top.span == python.statements[statement].span) return false;
    if (top.span.end - top.span.begin > longest_guarded) return false;
    if (file == file_ && overlap(top.span, unit_.unit.source.span)) return false;
    for (std::size_t i = top.first; i < top.last; ++i)
      for (const Import& import : python.statements[i].imports)
        if (!import.local.empty() && modules_.resolve(file, import.local).kind == Found::Kind::statement &&
            import.module.starts_with('.'))
          return false;
    return true;
  }

  std::optional<std::size_t> piece_of(std::size_t file, std::size_t statement) {
    const Python& python = files_[file]->python;
    const Top& top = python.tops[python.statements[statement].top];
    bool guarded = with_guard(file, statement);
    corpus::Span span = guarded ? top.span : python.statements[statement].span;
    auto known = got_.known.find({file, span.begin});
    if (known != got_.known.end()) return known->second;

    std::size_t first = guarded ? top.first : statement, last = guarded ? top.last : statement + 1;
    for (std::size_t i = first; i < last; ++i)
      got_.uses_kernels = got_.uses_kernels || python.statements[i].uses_kernels;
    std::size_t bytes = span.end - span.begin;
    if (got_.bytes + bytes > most_bytes_ || got_.pieces.size() >= most_pieces) {
      got_.missing.insert(python.statements[statement].defines.front() + ": context too long");
      return {};
    }
    got_.bytes += bytes;
    std::size_t piece = got_.pieces.size();
    got_.known[{file, span.begin}] = piece;
    got_.pieces.push_back({file, span, dedented(files_[file]->source.bytes, span), {}});
    for (std::size_t i = first; i < last; ++i) take(file, python.statements[i], piece);
    if (guarded)
      for (const std::string& path : top.uses) want({file, path, piece, true});
    return piece;
  }

  void take(std::size_t file, const Statement& statement, std::size_t piece) {
    for (const std::string& path : statement.uses) want({file, path, piece, true});
    if (statement.is_definition) got_.helpers.insert(statement.defines.begin(), statement.defines.end());
  }

  // Adds the assignment `prefix` (a name, or a path through modules) = `name` after the pieces.
  void give_name(const Need& need, const std::string& prefix, const std::string& name,
                 const std::set<std::size_t>& pieces) {
    std::string root = prefix.substr(0, prefix.find('.'));
    auto [at, fresh] = got_.named.emplace(root, got_.pieces.size());
    if (fresh) got_.pieces.push_back({files_.size(), {at->second, at->second}, {}, {}});
    Piece& piece = got_.pieces[at->second];
    piece.needs.insert(pieces.begin(), pieces.end());
    if (need.of_piece && need.piece != at->second) got_.pieces[need.piece].needs.insert(at->second);
    got_.names[root][prefix] = name;
  }

  std::string naming(const std::string& root) {
    std::string text;
    std::set<std::string> modules;
    for (const auto& [prefix, name] : got_.names[root]) {
      for (std::size_t dot = prefix.find('.'); dot != prefix.npos; dot = prefix.find('.', dot + 1)) {
        std::string module = prefix.substr(0, dot);
        if (!modules.insert(module).second) continue;
        got_.imports[{"types", "types"}].insert("import types");
        text += fmt::format("{0} = types.ModuleType(\"{0}\")\n", module);
      }
      text += fmt::format("{} = {}\n", prefix, name);
    }
    text.pop_back();
    return text;
  }

  // `import a.b as c` rather than `from a import b as c`.
  static std::string plainest(const std::set<std::string>& lines) {
    auto plain =
        std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("import "); });
    return plain == lines.end() ? *lines.begin() : *plain;
  }

  Context write() {
    for (const auto& [root, piece] : got_.named) got_.pieces[piece].text = naming(root);
    Context context;
    std::set<std::string> imports;
    for (const auto& [name, lines] : got_.imports) imports.insert(plainest(lines));
    for (const std::string& line : imports) context.text += line + "\n";
    for (const auto& [name, lines] : got_.own_imports)
      if (lines.size() == 1) context.own_imports += *lines.begin() + "\n";
    std::set<std::string> licences;
    for (std::size_t piece : ordered()) {
      std::size_t file = got_.pieces[piece].file;
      if (file != file_ && file < files_.size()) licences.insert(files_[file]->source.licence.spdx);
      if (!context.text.empty()) context.text += '\n';
      context.text += got_.pieces[piece].text + "\n";
    }
    context.licences.assign(licences.begin(), licences.end());
    context.helpers.assign(got_.helpers.begin(), got_.helpers.end());
    context.missing.assign(got_.missing.begin(), got_.missing.end());
    context.uses_kernels = got_.uses_kernels;
    return context;
  }

  // Each piece after its needs; within circles, in the order of the source.
  std::vector<std::size_t> ordered() const {
    std::vector<std::size_t> by_place(got_.pieces.size());
    for (std::size_t i = 0; i < by_place.size(); ++i) by_place[i] = i;
    auto place = [&](std::size_t i) { return std::tuple(got_.pieces[i].file, got_.pieces[i].span.begin); };
    std::ranges::sort(by_place, {}, place);
    std::vector<std::size_t> order;
    std::vector<bool> seen(got_.pieces.size(), false);
    std::vector<std::pair<std::size_t, bool>> open;  // a piece, and whether its needs were visited
    for (std::size_t first : by_place) {
      open.emplace_back(first, false);
      while (!open.empty()) {
        auto [piece, ready] = open.back();
        open.pop_back();
        if (ready) order.push_back(piece);
        if (ready || seen[piece]) continue;
        seen[piece] = true;
        open.emplace_back(piece, true);
        std::vector<std::size_t> needs(got_.pieces[piece].needs.begin(), got_.pieces[piece].needs.end());
        std::ranges::sort(needs, std::ranges::greater{}, place);
        for (std::size_t need : needs)
          if (!seen[need]) open.emplace_back(need, false);
      }
    }
    return order;
  }

  const Modules& modules_;
  const Files& files_;
  std::size_t file_;
  const PendingUnit& unit_;
  std::optional<LauncherPlace> launcher_;
  std::set<std::string, std::less<>> given_;
  std::deque<Need> needs_;
  Gathered got_;
  std::size_t most_bytes_ = longest_context;
};

}  // namespace

Context context_of(const Modules& modules, const Files& files, std::size_t file, const PendingUnit& unit) {
  return ContextBuilder(modules, files, file, unit).build();
}

Context context_with_launcher(const Modules& modules, const Files& files, std::size_t file,
                              const PendingUnit& unit, const LauncherPlace& launcher) {
  ContextBuilder builder(modules, files, file, unit);
  builder.serve(launcher);
  return builder.build();
}

Context context_of_names(const Modules& modules, const Files& files, const std::vector<std::string>& names,
                         const std::vector<std::string>& given) {
  PendingUnit wanted;
  wanted.uses = names;
  ContextBuilder builder(modules, files, 0, wanted);
  builder.give(given);
  return builder.build();
}

namespace {

constexpr std::size_t longest_cuda_context = 24 * 1024;
constexpr std::size_t most_cuda_kernel_launches = 4;  // of one kernel
constexpr std::size_t most_overloads = 8;             // of one name
constexpr std::size_t most_of_a_name = 2;             // candidate kernels of other files for one launch

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// The file's name of #include "folder/name.cuh"; empty for <...>.
std::string included(std::string_view line) {
  std::size_t open = line.find('"');
  if (open == line.npos) return {};
  std::size_t close = line.find('"', open + 1);
  if (close == line.npos) return {};
  return file_name(line.substr(open + 1, close - open - 1));
}

}  // namespace

CudaOrigin::CudaOrigin(const Files& files) : files_(files) {
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (files[file]->language != Language::cuda) continue;
    names_of_files_.insert(file_name(files[file]->source.path));
    for (std::size_t i = 0; i < files[file]->units.size(); ++i)
      if (files[file]->units[i].unit.kind == corpus::UnitKind::cuda_kernel)
        kernels_[files[file]->units[i].unit.name].push_back({file, i});
  }
  for (std::size_t file = 0; file < files.size(); ++file)
    if (files[file]->language == Language::cuda)
      for (const PendingLaunch& launch : files[file]->launches) attach(file, launch);
}

void CudaOrigin::attach(std::size_t file, const PendingLaunch& launch) {
  auto named = kernels_.find(launch.callee);
  if (named == kernels_.end()) return;
  bool here = std::ranges::any_of(named->second, [&](const Kernel& kernel) { return kernel.file == file; });
  if (!here && named->second.size() > most_of_a_name) return;
  for (const Kernel& kernel : named->second) {
    if (here && kernel.file != file) continue;
    auto& launches = launches_[kernel];
    if (launches.size() < most_cuda_kernel_launches) launches.push_back(launch.launch);
  }
}

void CudaOrigin::add_context(std::size_t file, const PendingUnit& pending, const Items& items,
                             corpus::Unit& unit) const {
  const Cuda& cuda = files_[file]->cuda;
  std::set<std::size_t> chosen;
  std::set<std::string> missing, helpers, looked_at;
  std::deque<const std::vector<std::string>*> open{&pending.uses};
  std::size_t bytes = 0;
  for (; !open.empty(); open.pop_front())
    for (const std::string& name : *open.front()) {
      auto named = items.find(name);
      if (named == items.end() || !looked_at.insert(name).second) continue;
      std::size_t overloads = 0;
      for (std::size_t i : named->second) {
        const CudaItem& item = cuda.items[i];
        bool own = item.span.begin < unit.source.span.end && unit.source.span.begin < item.span.end;
        if (own || chosen.contains(i) || ++overloads > most_overloads) continue;
        if (bytes + (item.span.end - item.span.begin) > longest_cuda_context) {
          missing.insert(name + ": context too long");
          continue;
        }
        bytes += item.span.end - item.span.begin;
        chosen.insert(i);
        if (item.is_function) helpers.insert(item.name);
        open.push_back(&item.uses);
      }
    }
  for (const std::string& line : cuda.includes) {
    unit.context += line + "\n";
    std::string name = included(line);
    if (!name.empty() && !names_of_files_.contains(name)) missing.insert(line);
  }
  for (std::size_t i : chosen) {
    corpus::Span span = cuda.items[i].span;
    unit.context += (unit.context.empty() ? "" : "\n") +
                    files_[file]->source.bytes.substr(span.begin, span.end - span.begin) + "\n";
  }
  unit.helpers.assign(helpers.begin(), helpers.end());
  unit.missing.assign(missing.begin(), missing.end());
}

void CudaOrigin::link(std::size_t file, std::vector<corpus::Unit>& units) const {
  Items items;
  const Cuda& cuda = files_[file]->cuda;
  for (std::size_t i = 0; i < cuda.items.size(); ++i)
    if (!cuda.items[i].has_error) items[cuda.items[i].name].push_back(i);
  for (std::size_t i = 0; i < files_[file]->units.size(); ++i) {
    const PendingUnit& pending = files_[file]->units[i];
    corpus::Unit unit = pending.unit;
    add_context(file, pending, items, unit);
    auto launches = launches_.find({file, i});
    if (launches != launches_.end()) unit.launches = launches->second;
    units.push_back(std::move(unit));
  }
}

}  // namespace kw::harvest
