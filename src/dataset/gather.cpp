#include "dataset/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "corpus/json.h"
#include "corpus/names.h"
#include "dataset/jsonl.h"
#include "dataset/ordered.h"
#include "documents/documents.h"
#include "harvest/harvest.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What one file of a source became.
struct Read {
  std::vector<harvest::ParseOutcome> outcomes;
  std::vector<collect::Skipped> skipped;
};

collect::Skipped skipped(const corpus::SourceFile& file, std::string reason, std::string detail) {
  return {file.origin.name, file.path, std::move(reason), std::move(detail)};
}

Read read_document(const corpus::SourceFile& file, documents::Form form) {
  Read read;
  auto blocks = documents::code_blocks(form, file.bytes);
  if (!blocks) {
    read.skipped.push_back(skipped(file, "unreadable document", blocks.error().what));
    return read;
  }
  for (documents::CodeBlock& block : *blocks) {
    auto language = harvest::language_of(block.block.language, block.code);
    if (language == harvest::Language::none || !harvest::may_matter(block.code, language)) continue;
    corpus::SourceFile piece{file.origin, file.path, std::move(block.block), std::move(block.code),
                             file.licence};
    read.outcomes.push_back(harvest::parse(std::move(piece), language, {}));
  }
  return read;
}

Read read_file(corpus::SourceFile file) {
  if (auto form = documents::form_of(file.path)) return read_document(file, *form);
  auto language = harvest::language_of(file.path);
  Read read;
  if (!harvest::may_matter(file.bytes, language)) return read;
  corpus::SourceFile head{file.origin, file.path, {}, {}, {}};
  auto outcome = harvest::parse(std::move(file), language, {});
  if (!outcome.file) read.skipped.push_back(skipped(head, "unparsable", outcome.reason));
  read.outcomes.push_back(std::move(outcome));
  return read;
}

class Gatherer {
 public:
  Gatherer(const BuildSettings& settings, const Watch& watch, Gathered& gathered)
      : settings_(settings), watch_(watch), gathered_(gathered) {}

  Result<> read(const std::string& path) {
    auto begin = Clock::now();
    auto skipped_file = JsonlWriter::create(gathered_.files.skipped);
    if (!skipped_file) return std::unexpected(skipped_file.error());
    skipped_.emplace(std::move(*skipped_file));
    Ordered<corpus::SourceFile, Read> pool(settings_.threads, read_file, [this](Read read) { keep(read); });
    auto tally = collect::collect(path, settings_.limits, sink(pool));
    if (!tally) return std::unexpected(tally.error());
    pool.finish();
    if (watch_.stop && watch_.stop()) return fail("interrupted");
    auto& reasons = gathered_.facts.tally.skipped;
    for (const auto& [reason, count] : tally->skipped) reasons[reason] += count;
    std::swap(tally->skipped, reasons);
    gathered_.facts.tally = std::move(*tally);
    gathered_.collect_seconds = seconds_since(begin);
    return skipped_->finish();
  }

  Result<> link() {
    auto begin = Clock::now();
    auto file = JsonlWriter::create(gathered_.files.units);
    if (!file) return std::unexpected(file.error());
    std::set<std::string> seen;  // paths
    for (corpus::Unit& unit : harvest::link(files_)) {
      if (unit.kind == corpus::UnitKind::cuda_device && !settings_.cuda_fim) shrink(unit);
      ++gathered_.facts.units[std::string(corpus::to_string(unit.kind))];
      if (seen.insert(unit.place.path).second) add(gathered_.facts, unit.licence);
      if (auto written = file->write(corpus::to_json(unit)); !written) return written;
    }
    files_.clear();
    gathered_.link_seconds = seconds_since(begin);
    return file->finish();
  }

 private:
  collect::Sink sink(Ordered<corpus::SourceFile, Read>& pool) {
    collect::Sink sink;
    sink.wants = [](const std::string& path) {
      return harvest::language_of(path) != harvest::Language::none || documents::form_of(path);
    };
    sink.matters = [](std::string_view bytes) {
      return harvest::may_matter(bytes, harvest::Language::python) ||
             harvest::may_matter(bytes, harvest::Language::cuda);
    };
    sink.take = [this, &pool](corpus::SourceFile file) {
      if (watch_.stop && watch_.stop()) return;
      // Reading told more than the name did: that an archive is a source distribution, say.
      if (taken_ == 0) gathered_.facts.origin = file.origin;
      if (watch_.progress) watch_.progress("read " + file.origin.name, ++taken_, 0);
      pool.push(std::move(file));
    };
    sink.skip = [this](const collect::Skipped& each) { say(each); };
    return sink;
  }

  // Generated headers hold tens of thousands of device functions, of which only rows need the surroundings.
  static void shrink(corpus::Unit& unit) {
    unit.region.clear();
    unit.context.clear();
  }

  void say(const collect::Skipped& each) {
    // A write that fails shows at finish().
    std::ignore = skipped_->write(
        {{"origin", each.origin}, {"path", each.path}, {"reason", each.reason}, {"detail", each.detail}});
  }

  void keep(Read& read) {
    for (const collect::Skipped& each : read.skipped) {
      ++gathered_.facts.tally.skipped[each.reason];
      say(each);
    }
    for (harvest::ParseOutcome& outcome : read.outcomes) {
      if (outcome.has_error) ++gathered_.facts.files_with_errors;
      if (outcome.file) files_.push_back(std::move(outcome.file));
    }
  }

  const BuildSettings& settings_;
  const Watch& watch_;
  Gathered& gathered_;
  std::optional<JsonlWriter> skipped_;
  std::vector<std::shared_ptr<const harvest::ParsedFile>> files_;
  std::uint64_t taken_ = 0;
};

}  // namespace

Result<Gathered> gather(const std::string& path, const BuildSettings& settings, const Watch& watch) {
  auto origin = collect::identify(path);
  if (!origin) return std::unexpected(origin.error());
  auto key = source_key(path, *origin, settings);
  if (!key) return std::unexpected(key.error());
  Gathered gathered;
  gathered.files = source_files(settings.state, *key);
  if (auto facts = load_facts(gathered.files.facts)) {
    gathered.facts = std::move(*facts);
    return gathered;
  }
  std::error_code error;
  fs::create_directories(gathered.files.units.parent_path(), error);
  gathered.facts.origin = std::move(*origin);
  Gatherer gatherer(settings, watch, gathered);
  if (auto read = gatherer.read(path); !read) return std::unexpected(read.error());
  if (auto linked = gatherer.link(); !linked) return std::unexpected(linked.error());
  if (auto saved = save_facts(gathered.facts, gathered.files.facts); !saved)
    return std::unexpected(saved.error());
  return gathered;
}

}  // namespace kw::dataset
