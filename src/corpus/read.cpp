#include <boost/json/array.hpp>

#include "corpus/json.h"
#include "corpus/names.h"
#include "schema/json.h"

namespace kw::corpus {
namespace json = boost::json;
namespace {

std::string text(const json::object& object, std::string_view key) {
  return string_at(object, key).value_or("");
}

std::size_t count(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_number() ? value->to_number<std::size_t>() : 0;
}

bool truth(const json::object& object, std::string_view key) {
  return bool_at(object, key).value_or(false);
}

const json::object& object_at(const json::object& object, std::string_view key) {
  static const json::object none;
  const json::value* value = object.if_contains(key);
  return value && value->is_object() ? value->get_object() : none;
}

const json::array& array_at(const json::object& object, std::string_view key) {
  static const json::array none;
  const json::value* value = object.if_contains(key);
  return value && value->is_array() ? value->get_array() : none;
}

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> values;
  for (const json::value& value : array_at(object, key))
    if (value.is_string()) values.emplace_back(value.get_string());
  return values;
}

Span span_of(const json::array& pair) {
  if (pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) return {};
  return {pair[0].to_number<std::size_t>(), pair[1].to_number<std::size_t>()};
}

Span span(const json::object& object, std::string_view key) {
  return span_of(array_at(object, key));
}

std::optional<Block> block_of(const json::object& object) {
  if (object.empty()) return std::nullopt;
  return Block{count(object, "index"), text(object, "language"), span(object, "span"),
               truth(object, "verbatim")};
}

Place place_of(const json::object& object) {
  Place place;
  place.origin.kind = origin_kind(text(object, "kind")).value_or(OriginKind::folder);
  place.origin.name = text(object, "name");
  place.origin.version = text(object, "version");
  place.origin.commit = text(object, "commit");
  place.origin.sha256 = text(object, "sha256");
  place.origin.url = text(object, "url");
  if (auto stars = number_at(object, "stars")) place.origin.stars = static_cast<std::int64_t>(*stars);
  place.path = text(object, "path");
  place.block = block_of(object_at(object, "block"));
  place.span = span(object, "span");
  return place;
}

Licence licence_of(const json::object& object) {
  return {text(object, "spdx"), text(object, "evidence")};
}

Labels labels_of(const json::object& object) {
  Labels labels;
  labels.compile = compile_label(text(object, "compile")).value_or(CompileLabel::not_tried);
  labels.compile_reason = text(object, "compile_reason");
  labels.compiled_for = texts(object, "compiled_for");
  labels.masked_loads = truth(object, "masked_loads");
  labels.boundary_check = truth(object, "boundary_check");
  labels.shared_memory = truth(object, "shared_memory");
  labels.atomics = truth(object, "atomics");
  labels.autotune = truth(object, "autotune");
  labels.self_contained = truth(object, "self_contained");
  labels.clear_argument_shapes = truth(object, "clear_argument_shapes");
  return labels;
}

std::vector<Leak> leaks_of(const json::array& list) {
  std::vector<Leak> leaks;
  for (const json::value& value : list) {
    if (!value.is_object()) continue;
    const json::object& object = value.get_object();
    Leak leak;
    leak.relation = text(object, "relation");
    leak.against = text(object, "against");
    leak.row = text(object, "row");
    leak.jaccard = number_at(object, "jaccard").value_or(0);
    leak.containment = number_at(object, "containment").value_or(0);
    leak.renamed = truth(object, "renamed");
    leak.field = text(object, "field");
    for (const json::value& each : array_at(object, "spans"))
      if (each.is_array()) leak.spans.push_back(span_of(each.get_array()));
    leaks.push_back(std::move(leak));
  }
  return leaks;
}

std::vector<Parameter> parameters_of(const json::array& list) {
  std::vector<Parameter> parameters;
  for (const json::value& value : list)
    if (value.is_object()) {
      const json::object& object = value.get_object();
      parameters.push_back({text(object, "name"), text(object, "annotation"), text(object, "preset"),
                            truth(object, "constexpr")});
    }
  return parameters;
}

std::vector<Launch> launches_of(const json::array& list) {
  std::vector<Launch> launches;
  for (const json::value& value : list) {
    if (!value.is_object()) continue;
    const json::object& object = value.get_object();
    Launch launch{text(object, "caller"), text(object, "caller_text"), text(object, "grid"), {}};
    for (const json::value& each : array_at(object, "arguments"))
      if (each.is_object())
        launch.arguments.push_back({text(each.get_object(), "name"), text(each.get_object(), "text")});
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace

Result<Unit> unit_from_json(const json::object& object) {
  auto kind = unit_kind(text(object, "kind"));
  if (!kind) return fail("a unit has no kind that is known");
  Unit unit;
  unit.id = text(object, "id");
  unit.kind = *kind;
  unit.name = text(object, "name");
  unit.place = place_of(object_at(object, "source"));
  unit.licence = licence_of(object_at(object, "licence"));
  unit.text = text(object, "text");
  unit.signature_bytes = count(object, "signature_bytes");
  unit.region = text(object, "region");
  unit.region_begin = count(object, "region_begin");
  unit.context = text(object, "context");
  unit.context_licences = texts(object, "context_licences");
  unit.helpers = texts(object, "helpers");
  unit.missing = texts(object, "missing");
  unit.decorators = texts(object, "decorators");
  unit.parameters = parameters_of(array_at(object, "parameters"));
  unit.launches = launches_of(array_at(object, "launches"));
  unit.calls = texts(object, "calls");
  unit.doc = text(object, "doc");
  return unit;
}

Result<Row> row_from_json(const json::object& object) {
  auto kind = row_kind(text(object, "kind"));
  if (!kind) return fail("a row has no kind that is known");
  Row row;
  row.id = text(object, "id");
  row.kind = *kind;
  row.prompt = text(object, "prompt");
  row.completion = text(object, "completion");
  row.unit = text(object, "unit");
  row.source = place_of(object_at(object, "source"));
  row.licence = licence_of(object_at(object, "licence"));
  row.renamed_sha1 = text(object_at(object, "hashes"), "renamed_sha1");
  row.duplicate_of = text(object, "duplicate_of");
  row.cluster = text(object, "cluster");
  row.leakage = leaks_of(array_at(object, "leakage"));
  row.labels = labels_of(object_at(object, "labels"));
  if (auto tokens = number_at(object, "tokens")) row.tokens = static_cast<std::int64_t>(*tokens);
  row.split = text(object, "split");
  if (const json::object& hole = object_at(object, "hole"); !hole.empty())
    row.hole = Hole{text(hole, "node"), text(hole, "rendering"), span(hole, "region"), span(hole, "middle")};
  if (const json::object& pair = object_at(object, "pair"); !pair.empty())
    row.pair = PairEvidence{number_at(pair, "confidence").value_or(0), texts(pair, "reasons"),
                            place_of(object_at(pair, "other")), licence_of(object_at(pair, "other_licence"))};
  row.verdict = object_at(object, "verdict");
  return row;
}

}  // namespace kw::corpus
