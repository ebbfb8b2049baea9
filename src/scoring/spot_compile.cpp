#include "scoring/spot_compile.h"

#include <algorithm>

#include "corpus/names.h"
#include "harvest/harvest.h"
#include "score/generator.h"

namespace kw::scoring {
namespace {

using corpus::CompileLabel;

// Each output is a file of an origin of its own, so that none lends another its helpers.
std::vector<corpus::Unit> kernels_of(const Output& output) {
  corpus::SourceFile file;
  file.origin.name = output.record.target;
  file.path = "answer.py";
  file.bytes = output.code;
  auto parsed = harvest::parse(std::move(file), harvest::Language::python, {});
  if (!parsed.file) return {};
  std::vector<corpus::Unit> units = harvest::link({parsed.file});
  std::erase_if(units, [](const corpus::Unit& unit) { return unit.kind != corpus::UnitKind::triton; });
  return units;
}

std::vector<std::size_t> drawn(std::span<Output> outputs, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].record.is_scored && !outputs[i].code.empty()) numbers.push_back(i);
  score::Generator(seed).shuffle(numbers);
  if (numbers.size() > count) numbers.resize(count);
  return numbers;
}

int severity(CompileLabel label) {
  if (label == CompileLabel::fails) return 3;
  if (label == CompileLabel::signature_unknown) return 2;
  return label == CompileLabel::not_tried ? 1 : 0;
}

void take_worse(Record& record, const corpus::Labels& labels, int& worst) {
  if (severity(labels.compile) < worst) return;
  worst = severity(labels.compile);
  record.compile = corpus::to_string(labels.compile);
  record.compile_reason = labels.compile_reason;
}

}  // namespace

Result<> spot_compile(std::span<Output> outputs, std::size_t count, std::uint64_t seed,
                      const labels::CompileOptions& options) {
  std::vector<corpus::Unit> units;
  std::vector<std::size_t> owners;
  for (std::size_t number : drawn(outputs, count, seed)) {
    std::vector<corpus::Unit> found = kernels_of(outputs[number]);
    if (found.empty()) outputs[number].record.compile = "no_kernel";
    for (corpus::Unit& unit : found) {
      units.push_back(std::move(unit));
      owners.push_back(number);
    }
  }
  if (units.empty()) return {};
  auto labelled = labels::compile_labels(units, options);
  if (!labelled) return std::unexpected(labelled.error());
  std::vector<int> worst(outputs.size(), 0);
  for (std::size_t i = 0; i < units.size(); ++i)
    take_worse(outputs[owners[i]].record, (*labelled)[i], worst[owners[i]]);
  return {};
}

}  // namespace kw::scoring
