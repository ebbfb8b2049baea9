#include <fmt/format.h>

#include "corpus/names.h"
#include "dataset/analysis_words.h"
#include "schema/card.h"

namespace kw::dataset {
namespace {

std::string item(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("- {}: {}\n", name, table_cell(value));
}

std::string origin(const SourceFacts& source) {
  const corpus::Origin& o = source.origin;
  return fmt::format("\n## {}\n\n", table_cell(source_name(o))) +
         item("kind", std::string(corpus::to_string(o.kind))) + item("version", o.version) +
         item("commit", o.commit) + item("SHA-256 of the archive", o.sha256) + item("published at", o.url) +
         (o.stars ? fmt::format("- stars: {}\n", *o.stars) : std::string());
}

std::string files(const SourceFacts& source) {
  const collect::Tally& tally = source.tally;
  std::string text = fmt::format(
      "- files: {} of {} were taken ({} of {} bytes); {} of them have parts that are no valid code\n"
      "- units: {}\n",
      grouped(tally.files_taken), grouped(tally.files_seen), grouped(tally.bytes_taken),
      grouped(tally.bytes_seen), grouped(source.files_with_errors), in_words(source.units));
  if (!tally.skipped.empty()) text += fmt::format("- files passed over: {}\n", in_words(tally.skipped, 20));
  if (!source.licence_refused.empty())
    text += fmt::format("- units left out for their licence: {}\n", in_words(source.licence_refused, 20));
  return text;
}

std::string licences(const SourceFacts& source) {
  Table table{.heads = {"licence", "files with units", "what says so"}, .all_text = true};
  for (const auto& [licence, count] : source.licences) {
    auto evidence = source.licence_evidence.find(licence);
    table.rows.push_back({table_cell(licence), grouped(count),
                          evidence == source.licence_evidence.end() ? "" : in_words(evidence->second)});
  }
  return markdown(table);
}

}  // namespace

std::string provenance_markdown(const Facts& facts) {
  std::string text = fmt::format(
      "# Where this data set comes from\n\n{} sources. Every row names its source, path, bytes and licence "
      "in "
      "its metadata. Nothing of a source was imported or run to find it.\n",
      facts.sources.size());
  for (const SourceFacts& source : facts.sources) text += origin(source) + files(source) + licences(source);
  return text;
}

}  // namespace kw::dataset
