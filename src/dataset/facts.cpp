#include "dataset/facts.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "corpus/names.h"

namespace kw::dataset {
namespace {

constexpr std::size_t commit_digits = 12;

std::string known(const std::string& spdx) {
  return spdx.empty() ? "unknown" : spdx;
}

// Code points: Python's len().
std::uint64_t characters(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

// The first 64 bits of an id that is a hash in hex; of any other id, its hash.
std::uint64_t short_key(const std::string& id) {
  std::uint64_t key = 0;
  const char* end = id.data() + std::min<std::size_t>(id.size(), 16);
  auto [stopped, error] = std::from_chars(id.data(), end, key, 16);
  return error == std::errc() && stopped == end && id.size() >= 16 ? key : std::hash<std::string>{}(id);
}

// Several rows of one kernel are one kernel here.
void count_kernel(RowFacts& facts, const corpus::Row& row) {
  if (!facts.kernels.insert(short_key(row.unit.empty() ? row.id : row.unit)).second) return;
  ++facts.compile[std::string(corpus::to_string(row.labels.compile))];
}

void count_labels(Counts& counts, const corpus::Labels& labels) {
  auto count = [&](const char* name, bool has) { counts[name] += has ? 1 : 0; };
  count("masked_loads", labels.masked_loads);
  count("boundary_check", labels.boundary_check);
  count("shared_memory", labels.shared_memory);
  count("atomics", labels.atomics);
  count("autotune", labels.autotune);
  count("self_contained", labels.self_contained);
  count("clear_argument_shapes", labels.clear_argument_shapes);
}

// A row counts once for each relation and text that it resembles, however often it does.
void count_leaks(Counts& counts, const std::vector<corpus::Leak>& leaks) {
  std::set<std::string> names;
  for (const corpus::Leak& leak : leaks)
    names.insert(leak.against.empty() ? leak.relation : leak.relation + " " + leak.against);
  for (const std::string& name : names) ++counts[name];
}

// "SPDX tag, line 3" → "SPDX tag": files that agree but for the line are one entry.
std::string without_line(const std::string& evidence) {
  std::size_t comma = evidence.find(", line ");
  return evidence.empty() ? "nothing says so" : evidence.substr(0, comma);
}

}  // namespace

std::string source_name(const corpus::Origin& origin) {
  std::string name = origin.name.empty() ? std::string(corpus::to_string(origin.kind)) : origin.name;
  if (!origin.version.empty()) return name + " " + origin.version;
  return origin.commit.empty() ? name : name + " at " + origin.commit.substr(0, commit_digits);
}

void add(SourceFacts& facts, const corpus::Licence& licence) {
  ++facts.licences[known(licence.spdx)];
  ++facts.licence_evidence[known(licence.spdx)][without_line(licence.evidence)];
}

void add(RowFacts& facts, const corpus::Row& row) {
  ++facts.rows;
  ++facts.kinds[std::string(corpus::to_string(row.kind))];
  ++facts.sources[source_name(row.source.origin)];
  ++facts.licences[known(row.licence.spdx)];
  ++facts.splits[row.split];
  if (row.hole) {
    ++facts.nodes[row.hole->node];
    ++facts.renderings[row.hole->rendering];
  }
  count_kernel(facts, row);
  count_labels(facts.labels, row.labels);
  count_leaks(facts.leaks, row.leakage);
  facts.prompt_characters.add(characters(row.prompt));
  facts.completion_characters.add(characters(row.completion));
  if (row.tokens) facts.tokens.add(static_cast<std::uint64_t>(std::max<std::int64_t>(*row.tokens, 0)));
}

}  // namespace kw::dataset
