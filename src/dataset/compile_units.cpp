#include "dataset/compile_units.h"

#include <algorithm>
#include <chrono>

namespace kw::dataset {
namespace {

constexpr std::size_t at_once = 2'048;

}  // namespace

Result<> compile_units(UnitStore& units, const std::vector<UnitFate>& fates, const BuildSettings& settings,
                       const Watch& watch, std::vector<Stage>& stages) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < fates.size(); ++i)
    if (fates[i].fate == Fate::kept &&
        (settings.cuda_fim || units.cards()[i].kind == corpus::UnitKind::triton))
      numbers.push_back(i);
  Stage stage{"compile", 0, 0, numbers.size()};
  for (std::size_t first = 0; first < numbers.size(); first += at_once) {
    std::size_t last = std::min(numbers.size(), first + at_once);
    std::vector<corpus::Unit> batch;
    for (std::size_t i = first; i < last; ++i) {
      auto unit = units.at(numbers[i]);
      if (!unit) return std::unexpected(unit.error());
      unit->region.clear();
      stage.bytes += unit->text.size();
      batch.push_back(std::move(*unit));
    }
    labels::CompileOptions options = settings.labels;
    options.stop = watch.stop;
    if (watch.progress)
      options.progress = [&](std::size_t done, std::size_t) {
        watch.progress("compile", first + done, numbers.size());
      };
    auto labelled = labels::compile_labels(batch, options);
    if (!labelled) return std::unexpected(labelled.error());
    for (std::size_t i = first; i < last; ++i) {
      corpus::Labels& labels = units.cards()[numbers[i]].labels;
      corpus::Labels& found = (*labelled)[i - first];
      labels.compile = found.compile;
      labels.compile_reason = std::move(found.compile_reason);
      labels.compiled_for = std::move(found.compiled_for);
    }
  }
  stage.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  stages.push_back(stage);
  return {};
}

}  // namespace kw::dataset
