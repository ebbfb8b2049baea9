#include <algorithm>
#include <span>

#include "base/text.h"
#include "harvest/cuda_parse.h"
#include "harvest/python_parse.h"
#include "harvest/text_lines.h"

namespace kw::harvest {
namespace {

constexpr std::size_t largest_file = std::size_t{32} << 20;

std::string refusal(std::string_view bytes) {
  if (bytes.size() > largest_file) return "too large";
  if (!is_utf8(bytes)) return "not UTF-8";
  return {};
}

// What every unit has of its file.
void complete(PendingUnit& pending, const ParsedFile& file, const std::vector<corpus::Span>& tops,
              const Options& options) {
  corpus::Unit& unit = pending.unit;
  unit.place.origin = file.source.origin;
  unit.place.path = file.source.path;
  unit.place.block = file.source.block;
  unit.licence = file.source.licence;
  corpus::Span region = region_around(file.source.bytes, unit.place.span, tops, options.region_bytes);
  unit.region_begin = region.begin;
  unit.region = file.source.bytes.substr(region.begin, region.end - region.begin);
}

// Statements that are kernels or launch them.
void mark_kernels(ParsedFile& file) {
  auto mark = [&](corpus::Span span) {
    std::span statements(file.python.statements.data(), file.python.of_module);
    auto after = std::ranges::upper_bound(statements, span.begin, {},
                                          [](const Statement& statement) { return statement.span.begin; });
    if (after != statements.begin()) std::prev(after)->uses_kernels = true;
  };
  for (const PendingUnit& unit : file.units)
    if (unit.unit.kind == corpus::UnitKind::triton) mark(unit.unit.place.span);
  for (const PendingLaunch& launch : file.launches)
    if (!launch.launch.grid.empty()) mark(launch.span);
}

}  // namespace

ParseOutcome parse(corpus::SourceFile source, Language language, const Options& options) {
  ParseOutcome outcome;
  if (outcome.reason = refusal(source.bytes); !outcome.reason.empty()) return outcome;
  if (language == Language::none) return {.file = nullptr, .reason = "of no language that is read"};
  auto file = std::make_shared<ParsedFile>();
  file->source = std::move(source);
  file->language = language;
  bool python = language == Language::python;
  syntax::Tree tree(file->source.bytes, python ? syntax::Grammar::python : syntax::Grammar::cuda);
  if (tree.is_null()) return {.file = nullptr, .reason = "takes too long"};
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
  }
  for (PendingUnit& unit : file->units) complete(unit, *file, tops, options);
  outcome.file = std::move(file);
  return outcome;
}

}  // namespace kw::harvest
