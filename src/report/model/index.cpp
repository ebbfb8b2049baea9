#include "report/model/index.h"

#include <fmt/format.h>

#include <boost/describe/class.hpp>
#include <concepts>

#include "report/model/words.h"
#include "types/struct_json.h"

namespace kw::report {
namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(ConditionColumns, (),
                      (instrument, clock_sm_mhz, throttle, roofline_share, shapes, tolerance, dtype, torch,
                       triton, program_version))
BOOST_DESCRIBE_STRUCT(Rows, (),
                      (source, kind, key, task_id, name, task_source, level, model, sample_number, licence,
                       status, standing, counts, counts_reason, error_class, fault, stage, trust, gpu,
                       protocol, speedup, speedup_low, speedup_high, compile_speedup, call_speedup,
                       forward_speedup, backward_speedup, sanitized, other_shapes, reference_time_ms,
                       kernel_time_ms, judge_ms, generation_ms, turns, prompt_tokens, completion_tokens,
                       reasoning_tokens, stop_reason, unfinished, label, reviewers, evidence, dataset_kind,
                       split, tokens, duplicate_of, leakage, compile, chunk, offset, bytes))
BOOST_DESCRIBE_STRUCT(Turns, (),
                      (row, round, turn, status, standing, counts_reason, error_class, fault, evidence,
                       speedup, prompt_tokens, completion_tokens, reasoning_tokens, generation_ms, judge_ms))
BOOST_DESCRIBE_STRUCT(Contents::Holding, (), (what, count))
BOOST_DESCRIBE_STRUCT(Contents::LeftOut, (), (what, count, why))
BOOST_DESCRIBE_STRUCT(Contents, (), (redacted, holds, left_out))

namespace {

template <typename Table, typename Do>
void for_each_column(Do&& act) {
  struct_json::for_each_member<Table>(act);
  if constexpr (std::derived_from<Table, ConditionColumns>)
    struct_json::for_each_member<ConditionColumns>(act);
}

template <typename Table>
std::size_t add_to(Table& table) {
  for_each_column<Table>([&](std::string_view, auto column) { (table.*column).add(); });
  return table.count++;
}

template <typename Table>
void copy_to(Table& table, const Table& other, std::size_t row) {
  for_each_column<Table>(
      [&](std::string_view, auto column) { (table.*column).add_from(other.*column, row); });
  ++table.count;
}

template <typename Table>
json::object table_json(const Table& table) {
  json::object columns;
  for_each_column<Table>(
      [&](std::string_view name, auto column) { columns.emplace(name, (table.*column).to_json()); });
  return {{"count", table.count}, {"columns", std::move(columns)}};
}

}  // namespace

std::string key_prefix(std::size_t source) {
  return source == 0 ? std::string() : fmt::format("s{}/", source + 1);
}

bool is_unfinished(const SourceFacts& source) {
  return source.state == SourceState::unfinished || source.state == SourceState::interrupted;
}

std::size_t Rows::add() {
  return add_to(*this);
}

void Rows::add_from(const Rows& other, std::size_t row) {
  copy_to(*this, other, row);
}

void Rows::change_words(const std::function<std::string(std::string_view)>& changed) {
  for_each_column<Rows>([&](std::string_view, auto column) {
    if constexpr (requires { (this->*column).change(changed); }) (this->*column).change(changed);
  });
}

std::size_t Turns::add() {
  return add_to(*this);
}

void Turns::add_from(const Turns& other, std::size_t number) {
  copy_to(*this, other, number);
}

json::object to_json(const Rows& rows) {
  return table_json(rows);
}

json::object to_json(const Turns& turns) {
  return table_json(turns);
}

json::object to_json(const Index& index) {
  using struct_json::written;
  json::array sources;
  for (const SourceFacts& source : index.sources)
    sources.push_back(json::object{{"name", source.name},
                                   {"kind", to_string(source.kind)},
                                   {"state", to_string(source.state)},
                                   {"facts", source.facts},
                                   {"messages", written(source.messages)}});
  return {{"schema", report_schema},
          {"program_version", index.program_version},
          {"made_at", index.made_at},
          {"title", index.title},
          {"contents", written(index.contents)},
          {"sources", std::move(sources)},
          {"rows", to_json(index.rows)},
          {"turns", to_json(index.turns)},
          {"scores", index.scores},
          {"datasets", index.datasets},
          {"words", glossary_json()}};
}

}  // namespace kw::report
