#include "dataset/units/row.h"

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "types/struct_json.h"

namespace kw::corpus {
namespace {

// The ASCII characters that Python's str.strip() removes.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

}  // namespace

std::string normalise(std::string_view text) {
  std::string unix_text = with_line_feeds(text);
  std::size_t begin = 0;
  std::size_t end = unix_text.size();
  while (begin < end && is_space(unix_text[begin])) ++begin;
  while (end > begin && is_space(unix_text[end - 1])) --end;
  std::string out;
  out.reserve(end - begin);
  std::size_t newlines = 0;
  for (std::size_t i = begin; i < end; ++i) {
    char c = unix_text[i];
    newlines = c == '\n' ? newlines + 1 : 0;
    bool blank = c == ' ' || c == '\t';
    if (newlines > 2) continue;
    if (!blank)
      out += c;
    else if (out.empty() || out.back() != ' ')
      out += ' ';
  }
  return out;
}

std::string row_key(std::string_view prompt, std::string_view completion) {
  return sha1_hex(normalise(prompt) + "|||" + normalise(completion));
}

namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(Licence, (), (spdx, evidence))
BOOST_DESCRIBE_STRUCT(Block, (), (index, language, span, verbatim))
BOOST_DESCRIBE_STRUCT(Hole, (), (node, rendering, region, middle))
BOOST_DESCRIBE_STRUCT(PairEvidence, (), (confidence, reasons, other, other_licence))
BOOST_DESCRIBE_STRUCT(Leak, (), (relation, against, row, jaccard, containment, renamed, field, spans))
BOOST_DESCRIBE_STRUCT(Labels, (),
                      (compile, compile_reason, compiled_for, masked_loads, boundary_check, shared_memory,
                       atomics, autotune, self_contained, clear_argument_shapes))
BOOST_DESCRIBE_STRUCT(Argument, (), (name, text))
BOOST_DESCRIBE_STRUCT(Launch, (), (caller, caller_text, grid, arguments))
BOOST_DESCRIBE_STRUCT(Launcher, (), (text, context, own_imports, context_licences))
BOOST_DESCRIBE_STRUCT(Difficulty, (), (operations, lines, tokens, occurrences, autotune))
BOOST_DESCRIBE_STRUCT(Unit, (),
                      (id, kind, name, source, licence, text, signature_bytes, region, region_begin, context,
                       own_imports, context_licences, helpers, missing, decorators, parameters, launches,
                       calls, doc, launcher, generator, provenance))

}  // namespace kw::corpus

namespace kw {
template <>
inline constexpr bool struct_json::empty_text_is_null<corpus::Licence> = true;
template <>
inline constexpr bool struct_json::empty_text_is_null<corpus::Labels> = true;
}  // namespace kw

namespace kw::corpus {

using struct_json::fields_of;
using struct_json::read_member;

// struct_json finds these conversions by argument-dependent lookup. They serve types whose JSON is not an
// object with one key per member.

static json::value written(const Span& span) {
  return json::array{span.begin, span.end};
}

static bool read(const json::value& from, Span& into) {
  const auto* pair = from.if_array();
  return pair && pair->size() == 2 && struct_json::read((*pair)[0], into.begin) &&
         struct_json::read((*pair)[1], into.end);
}

static json::value written(const Parameter& parameter) {
  return json::object{{"name", parameter.name},
                      {"annotation", parameter.annotation},
                      {"preset", parameter.preset},
                      {"constexpr", parameter.is_constexpr}};
}

static bool read(const json::value& from, Parameter& into) {
  const auto* object = from.if_object();
  if (!object) return false;
  into = {string_at(*object, "name").value_or(""), string_at(*object, "annotation").value_or(""),
          string_at(*object, "preset").value_or(""), bool_at(*object, "constexpr").value_or(false)};
  return true;
}

static json::value written(const Place& place) {
  return to_json(place);
}

static bool read(const json::value& from, Place& into) {
  const auto* object = from.if_object();
  if (!object) return false;
  read_member(*object, "kind", into.origin.kind);
  read_member(*object, "name", into.origin.name);
  read_member(*object, "version", into.origin.version);
  read_member(*object, "commit", into.origin.commit);
  read_member(*object, "sha256", into.origin.sha256);
  read_member(*object, "url", into.origin.url);
  read_member(*object, "stars", into.origin.stars);
  read_member(*object, "path", into.path);
  read_member(*object, "block", into.block);
  read_member(*object, "span", into.span);
  return true;
}

json::object to_json(const Place& place) {
  const Origin& origin = place.origin;
  return {{"kind", to_string(origin.kind)},
          {"name", origin.name},
          {"version", text_or_null(origin.version)},
          {"commit", text_or_null(origin.commit)},
          {"sha256", text_or_null(origin.sha256)},
          {"url", text_or_null(origin.url)},
          {"stars", struct_json::written(origin.stars)},
          {"path", place.path},
          {"span", written(place.span)},
          {"block", struct_json::written(place.block)}};
}

json::object to_json(const Licence& licence) {
  return fields_of(licence);
}

json::object to_json(const Leak& leak) {
  json::object object = fields_of(leak);
  object["row"] = text_or_null(leak.row);
  object["field"] = text_or_null(leak.field);
  return object;
}

json::object to_json(const Labels& labels) {
  return fields_of(labels);
}

json::object to_json(const Unit& unit) {
  return fields_of(unit);
}

json::object metadata(const Row& row) {
  json::array leakage;
  for (const Leak& leak : row.leakage) leakage.push_back(to_json(leak));
  return {{"id", row.id},
          {"kind", to_string(row.kind)},
          {"unit", text_or_null(row.unit)},
          {"source", to_json(row.source)},
          {"licence", to_json(row.licence)},
          {"hashes", json::object{{"sha1", row.id}, {"renamed_sha1", text_or_null(row.renamed_sha1)}}},
          {"duplicate_of", text_or_null(row.duplicate_of)},
          {"cluster", text_or_null(row.cluster)},
          {"leakage", std::move(leakage)},
          {"labels", to_json(row.labels)},
          {"target", to_string(row.target)},
          {"generator", text_or_null(row.generator)},
          {"provenance", struct_json::written(row.provenance)},
          {"difficulty", fields_of(row.difficulty)},
          {"tokens", struct_json::written(row.tokens)},
          {"split", row.split},
          {"hole", struct_json::written(row.hole)},
          {"pair", struct_json::written(row.pair)},
          {"verdict", row.verdict.empty() ? json::value(nullptr) : json::value(row.verdict)}};
}

json::object to_json(const Row& row) {
  json::object object{{"prompt", row.prompt}, {"completion", row.completion}};
  for (auto& [key, value] : metadata(row)) object.emplace(key, std::move(value));
  return object;
}

Place place_from_json(const json::object& object) {
  Place place;
  read(object, place);
  return place;
}

Result<Unit> unit_from_json(const json::object& object) {
  Unit unit;
  if (!read_member(object, "kind", unit.kind)) return fail("a unit has no kind that is known");
  struct_json::read_fields(object, unit);
  return unit;
}

Result<Row> row_from_json(const json::object& object) {
  Row row;
  if (!read_member(object, "kind", row.kind)) return fail("a row has no kind that is known");
  read_member(object, "id", row.id);
  read_member(object, "prompt", row.prompt);
  read_member(object, "completion", row.completion);
  read_member(object, "unit", row.unit);
  read_member(object, "source", row.source);
  read_member(object, "licence", row.licence);
  if (const json::value* hashes = object.if_contains("hashes"); hashes && hashes->is_object())
    read_member(hashes->get_object(), "renamed_sha1", row.renamed_sha1);
  read_member(object, "duplicate_of", row.duplicate_of);
  read_member(object, "cluster", row.cluster);
  read_member(object, "leakage", row.leakage);
  read_member(object, "labels", row.labels);
  read_member(object, "target", row.target);
  read_member(object, "generator", row.generator);
  read_member(object, "provenance", row.provenance);
  read_member(object, "difficulty", row.difficulty);
  read_member(object, "tokens", row.tokens);
  read_member(object, "split", row.split);
  read_member(object, "hole", row.hole);
  read_member(object, "pair", row.pair);
  if (const json::value* verdict = object.if_contains("verdict"); verdict && verdict->is_object())
    row.verdict = verdict->get_object();
  return row;
}

}  // namespace kw::corpus
