#include "corpus/json.h"

#include <boost/json/array.hpp>

#include "corpus/names.h"

namespace kw::corpus {
namespace json = boost::json;
namespace {

json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(text);
}

json::array to_json(const Span& span) {
  return {span.begin, span.end};
}

json::array texts(const std::vector<std::string>& values) {
  return json::array(values.begin(), values.end());
}

json::value to_json(const std::optional<Block>& block) {
  if (!block) return nullptr;
  return json::object{{"index", block->index},
                      {"language", block->language},
                      {"span", to_json(block->span)},
                      {"verbatim", block->verbatim}};
}

json::value to_json(const std::optional<Hole>& hole) {
  if (!hole) return nullptr;
  return json::object{{"node", hole->node},
                      {"rendering", hole->rendering},
                      {"region", to_json(hole->region)},
                      {"middle", to_json(hole->middle)}};
}

json::value to_json(const std::optional<PairEvidence>& pair) {
  if (!pair) return nullptr;
  return json::object{{"confidence", pair->confidence},
                      {"reasons", texts(pair->reasons)},
                      {"other", to_json(pair->other)},
                      {"other_licence", to_json(pair->other_licence)}};
}

json::object to_json(const Parameter& parameter) {
  return {{"name", parameter.name},
          {"annotation", parameter.annotation},
          {"preset", parameter.preset},
          {"constexpr", parameter.is_constexpr}};
}

json::object to_json(const Launch& launch) {
  json::array arguments;
  for (const Argument& argument : launch.arguments)
    arguments.push_back(json::object{{"name", argument.name}, {"text", argument.text}});
  return {{"caller", launch.caller},
          {"caller_text", launch.caller_text},
          {"grid", launch.grid},
          {"arguments", std::move(arguments)}};
}

template <typename T>
json::array objects(const std::vector<T>& values) {
  json::array list;
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

}  // namespace

json::object to_json(const Place& place) {
  const Origin& origin = place.origin;
  return {{"kind", to_string(origin.kind)},
          {"name", origin.name},
          {"version", text_or_null(origin.version)},
          {"commit", text_or_null(origin.commit)},
          {"sha256", text_or_null(origin.sha256)},
          {"url", text_or_null(origin.url)},
          {"stars", origin.stars ? json::value(*origin.stars) : json::value(nullptr)},
          {"path", place.path},
          {"span", to_json(place.span)},
          {"block", to_json(place.block)}};
}

json::object to_json(const Licence& licence) {
  return {{"spdx", text_or_null(licence.spdx)}, {"evidence", text_or_null(licence.evidence)}};
}

json::object to_json(const Leak& leak) {
  json::array spans;
  for (const Span& span : leak.spans) spans.push_back(to_json(span));
  return {{"relation", leak.relation},         {"against", leak.against},
          {"row", text_or_null(leak.row)},     {"jaccard", leak.jaccard},
          {"containment", leak.containment},   {"renamed", leak.renamed},
          {"field", text_or_null(leak.field)}, {"spans", std::move(spans)}};
}

json::object to_json(const Labels& labels) {
  return {{"compile", to_string(labels.compile)},
          {"compile_reason", text_or_null(labels.compile_reason)},
          {"compiled_for", texts(labels.compiled_for)},
          {"masked_loads", labels.masked_loads},
          {"boundary_check", labels.boundary_check},
          {"shared_memory", labels.shared_memory},
          {"atomics", labels.atomics},
          {"autotune", labels.autotune},
          {"self_contained", labels.self_contained},
          {"clear_argument_shapes", labels.clear_argument_shapes}};
}

json::object to_json(const Unit& unit) {
  return {{"id", unit.id},
          {"kind", to_string(unit.kind)},
          {"name", unit.name},
          {"source", to_json(unit.place)},
          {"licence", to_json(unit.licence)},
          {"text", unit.text},
          {"signature_bytes", unit.signature_bytes},
          {"region", unit.region},
          {"region_begin", unit.region_begin},
          {"context", unit.context},
          {"context_licences", texts(unit.context_licences)},
          {"helpers", texts(unit.helpers)},
          {"missing", texts(unit.missing)},
          {"decorators", texts(unit.decorators)},
          {"parameters", objects(unit.parameters)},
          {"launches", objects(unit.launches)},
          {"calls", texts(unit.calls)},
          {"doc", unit.doc}};
}

json::object metadata(const Row& row) {
  return {{"id", row.id},
          {"kind", to_string(row.kind)},
          {"unit", text_or_null(row.unit)},
          {"source", to_json(row.source)},
          {"licence", to_json(row.licence)},
          {"hashes", json::object{{"sha1", row.id}, {"renamed_sha1", text_or_null(row.renamed_sha1)}}},
          {"duplicate_of", text_or_null(row.duplicate_of)},
          {"cluster", text_or_null(row.cluster)},
          {"leakage", objects(row.leakage)},
          {"labels", to_json(row.labels)},
          {"tokens", row.tokens ? json::value(*row.tokens) : json::value(nullptr)},
          {"split", row.split},
          {"hole", to_json(row.hole)},
          {"pair", to_json(row.pair)},
          {"verdict", row.verdict.empty() ? json::value(nullptr) : json::value(row.verdict)}};
}

json::object to_json(const Row& row) {
  json::object object{{"prompt", row.prompt}, {"completion", row.completion}};
  for (auto& [key, value] : metadata(row)) object.emplace(key, std::move(value));
  return object;
}

}  // namespace kw::corpus
