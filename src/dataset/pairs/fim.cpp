#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/core/text.h"
#include "code/similarity/code_tokens.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"

namespace kw::pairs {
namespace {

using corpus::Row;
using corpus::Span;
using corpus::Unit;

constexpr std::string_view prefix_token = "<|fim_prefix|>";
constexpr std::string_view suffix_token = "<|fim_suffix|>";
constexpr std::string_view middle_token = "<|fim_middle|>";
constexpr std::size_t token_bytes = prefix_token.size() + suffix_token.size() + middle_token.size();

[[noreturn]] void end_for_mismatch(const Unit& unit, std::string_view rendering) {
  fmt::print(stderr,
             "bug: the {} row of unit {} ({} in {}, bytes {} to {}) does not give back the file's bytes\n",
             rendering, unit.id, unit.name, unit.source.path, unit.source.span.begin, unit.source.span.end);
  std::abort();
}

Row fim_row(const Unit& unit, corpus::Hole hole, std::string prompt, std::string completion) {
  Row row;
  row.id = corpus::row_key(prompt, completion);
  row.kind = corpus::RowKind::fim;
  row.renamed_sha1 = near::renamed_sha1(prompt + completion);
  row.prompt = std::move(prompt);
  row.completion = std::move(completion);
  row.unit = unit.id;
  row.source = unit.source;
  row.licence = unit.licence;
  row.hole = std::move(hole);
  return row;
}

void add_body_row(const Unit& unit, const FimOptions& options, FimTally& tally, std::vector<Row>& rows) {
  std::string_view text = unit.text;
  if (unit.signature_bytes > text.size()) return void(++tally.torn);
  std::string_view body = text.substr(unit.signature_bytes);
  if (trim(body).size() < options.least_middle_bytes || !holds_code(body, language_of(unit.kind)))
    return void(++tally.no_code);
  if (unit.context.size() + text.size() + 2 > options.longest_row_bytes) return void(++tally.too_long);
  if (holds_special_token(unit.context) || holds_special_token(text)) return void(++tally.special_tokens);
  std::string prompt = joined({unit.context, text.substr(0, unit.signature_bytes)});
  Span span = unit.source.span;
  corpus::Hole hole{.node = "body",
                    .rendering = "plain",
                    .region = span,
                    .middle = {span.begin + unit.signature_bytes, span.end}};
  Row row = fim_row(unit, std::move(hole), std::move(prompt), std::string(body));
  std::string_view signature = row.prompt;
  signature.remove_prefix(signature.size() - unit.signature_bytes);
  if (std::string(signature) + row.completion != unit.text) end_for_mismatch(unit, "plain");
  rows.push_back(std::move(row));
  ++tally.rows;
}

// The region's text, reconstructed from the row's prompt and completion.
std::string restored(const Row& row) {
  auto parts = parse_fim_prompt(row.prompt);
  if (!parts || parts->prefix_first != (row.hole->rendering == "psm")) return {};
  return fmt::format("{}{}{}", parts->prefix, row.completion, parts->suffix);
}

Row hole_row(const Unit& unit, const Cut& cut, Span region, bool prefix_first) {
  std::string_view text = unit.region;
  std::string_view prefix = text.substr(region.begin, cut.middle.begin - region.begin);
  std::string_view middle = text.substr(cut.middle.begin, cut.middle.end - cut.middle.begin);
  std::string_view suffix = text.substr(cut.middle.end, region.end - cut.middle.end);
  std::string prompt =
      prefix_first ? fmt::format("{}{}{}{}{}", prefix_token, prefix, suffix_token, suffix, middle_token)
                   : fmt::format("{}{}{}{}{}", suffix_token, suffix, prefix_token, prefix, middle_token);
  auto in_file = [&](Span span) {
    return Span{span.begin + unit.region_begin, span.end + unit.region_begin};
  };
  corpus::Hole hole{.node = cut.node,
                    .rendering = prefix_first ? "psm" : "spm",
                    .region = in_file(region),
                    .middle = in_file(cut.middle)};
  Row row = fim_row(unit, std::move(hole), std::move(prompt), std::string(middle));
  if (restored(row) != text.substr(region.begin, region.end - region.begin))
    end_for_mismatch(unit, row.hole->rendering);
  return row;
}

void add_rows_of(const Unit& unit, const Cut& cut, const FimOptions& options, FimTally& tally,
                 std::vector<Row>& rows) {
  std::optional<Span> region;
  if (options.longest_row_bytes > token_bytes)
    region = fit_region(unit.region, cut.middle, options.longest_row_bytes - token_bytes);
  if (!region) return void(++tally.too_long);
  std::string_view text = std::string_view(unit.region).substr(region->begin, region->end - region->begin);
  if (holds_special_token(text)) return void(++tally.special_tokens);
  bool psm = options.rendering == Rendering::psm || options.rendering == Rendering::both;
  bool spm = options.rendering == Rendering::spm || options.rendering == Rendering::both;
  if (options.rendering == Rendering::mixed) (cut.hash % 2 == 0 ? psm : spm) = true;
  for (bool prefix_first : {true, false}) {
    if (!(prefix_first ? psm : spm)) continue;
    rows.push_back(hole_row(unit, cut, *region, prefix_first));
    ++tally.rows;
  }
}

// The span of the unit's text in its region; empty if the region does not contain it.
std::optional<Span> function_in_region(const Unit& unit) {
  if (unit.source.span.begin < unit.region_begin) return {};
  std::size_t begin = unit.source.span.begin - unit.region_begin;
  if (begin > unit.region.size() ||
      std::string_view(unit.region).substr(begin, unit.text.size()) != unit.text)
    return {};
  return Span{begin, begin + unit.text.size()};
}

}  // namespace

std::optional<FimPrompt> parse_fim_prompt(std::string_view prompt) {
  FimPrompt parts;
  parts.prefix_first = prompt.starts_with(prefix_token);
  std::string_view first_token = parts.prefix_first ? prefix_token : suffix_token;
  std::string_view second_token = parts.prefix_first ? suffix_token : prefix_token;
  std::size_t second_at = prompt.find(second_token);
  std::size_t middle_at = prompt.find(middle_token);
  if (!prompt.starts_with(first_token) || second_at == prompt.npos || middle_at < second_at) return {};
  if (middle_at + middle_token.size() != prompt.size()) return {};
  std::string_view first = prompt.substr(first_token.size(), second_at - first_token.size());
  std::size_t second_begin = second_at + second_token.size();
  std::string_view second = prompt.substr(second_begin, middle_at - second_begin);
  parts.prefix = parts.prefix_first ? first : second;
  parts.suffix = parts.prefix_first ? second : first;
  return parts;
}

std::vector<Row> fim_rows(const Unit& unit, const FimOptions& options, FimTally* tally) {
  std::vector<Row> rows;
  if (unit.kind == corpus::UnitKind::torch) return rows;
  FimTally unread;
  FimTally& counted = tally != nullptr ? *tally : unread;
  add_body_row(unit, options, counted, rows);
  std::optional<Span> function = function_in_region(unit);
  if (!function) {
    ++counted.torn;
    return rows;
  }
  for (const Cut& cut : choose_cuts(unit, *function, options)) add_rows_of(unit, cut, options, counted, rows);
  return rows;
}

}  // namespace kw::pairs
