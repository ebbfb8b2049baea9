#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "harvest/context.h"
#include "harvest/cuda_link.h"
#include "harvest/modules.h"

namespace kw::harvest {
namespace {

constexpr std::size_t most_launches = 16;  // of one kernel
constexpr std::size_t most_uses_followed = 8;

std::string id_of(const corpus::Unit& unit) {
  const corpus::Place& place = unit.place;
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
        if (launches.size() < most_launches) launches.push_back(pending.launch);
      }
  }

  void find(std::size_t file, const std::string& path, std::set<Key>& kernels) const {
    Found found = modules_.resolve(file, path);
    if (found.kind == Found::Kind::statement && add({found.file, found.name}, kernels)) return;
    if (found.kind == Found::Kind::statement) {
      if (add_wrapped(found, kernels)) return;
      if (found.parts != 1 || path.find('.') == path.npos) return;
    }
    // Of a class or a function of the same file.
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
};

void link_python(const Modules& modules, const Files& files, std::size_t file, const Launches& launches,
                 std::vector<corpus::Unit>& units) {
  for (std::size_t i = 0; i < files[file]->units.size(); ++i) {
    const PendingUnit& pending = files[file]->units[i];
    Context context = context_of(modules, files, file, pending);
    if (pending.only_if_torch && context.uses_kernels) continue;
    corpus::Unit unit = pending.unit;
    unit.context = std::move(context.text);
    unit.context_licences = std::move(context.licences);
    unit.helpers = std::move(context.helpers);
    unit.missing = std::move(context.missing);
    unit.launches = launches.of(file, i);
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

}  // namespace kw::harvest
