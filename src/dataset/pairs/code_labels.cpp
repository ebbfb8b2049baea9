#include "dataset/pairs/code_labels.h"

#include "dataset/extract/harvest.h"
#include "dataset/labels/labels.h"

namespace kw::pairs {
namespace {

void join(corpus::Labels& all, const corpus::Labels& kernel) {
  all.masked_loads = all.masked_loads || kernel.masked_loads;
  all.boundary_check = all.boundary_check || kernel.boundary_check;
  all.shared_memory = all.shared_memory || kernel.shared_memory;
  all.atomics = all.atomics || kernel.atomics;
  all.autotune = all.autotune || kernel.autotune;
  all.self_contained = all.self_contained && kernel.self_contained;
  all.clear_argument_shapes = all.clear_argument_shapes || kernel.clear_argument_shapes;
}

}  // namespace

corpus::Labels labels_of_code(const std::string& python) {
  corpus::SourceFile file;
  file.path = "completion.py";
  file.bytes = python;
  corpus::Labels labels;
  const auto parsed = harvest::parse(std::move(file), harvest::Language::python, {}).file;
  if (!parsed) return labels;
  bool any = false;
  for (const corpus::Unit& unit : harvest::link({parsed})) {
    if (unit.kind != corpus::UnitKind::triton) continue;
    labels.self_contained = labels.self_contained || !any;
    any = true;
    join(labels, labels::read_labels(unit));
  }
  return labels;
}

}  // namespace kw::pairs
