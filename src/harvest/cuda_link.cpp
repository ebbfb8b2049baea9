#include "harvest/cuda_link.h"

#include <algorithm>
#include <deque>
#include <set>

namespace kw::harvest {
namespace {

constexpr std::size_t longest_context = 24 * 1024;
constexpr std::size_t most_launches = 4;   // of one kernel
constexpr std::size_t most_overloads = 8;  // of one name
constexpr std::size_t most_of_a_name = 2;  // kernels elsewhere that a launch may mean

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
    if (launches.size() < most_launches) launches.push_back(launch.launch);
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
        bool own = item.span.begin < unit.place.span.end && unit.place.span.begin < item.span.end;
        if (own || chosen.contains(i) || ++overloads > most_overloads) continue;
        if (bytes + (item.span.end - item.span.begin) > longest_context) {
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
  for (std::size_t i = 0; i < cuda.items.size(); ++i) items[cuda.items[i].name].push_back(i);
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
