#include "dataset/build/unit_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "code/similarity/code_tokens.h"
#include "dataset/build/jsonl.h"
#include "dataset/build/ordered.h"
#include "dataset/labels/labels.h"
#include "dataset/labels/target.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace {

struct Line {
  std::string text;
  std::uint64_t begin = 0;
};

// The functions and classes at module level.
void add_definitions(std::string_view code, std::vector<std::string>& names) {
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    std::string_view line = code.substr(0, end);
    code.remove_prefix(std::min(end + 1, code.size()));
    for (std::string_view word : {"def ", "class "})
      if (line.starts_with(word)) {
        line.remove_prefix(word.size());
        names.emplace_back(line.substr(0, line.find_first_of("(:[ ")));
        break;
      }
  }
}

UnitCard card_of(const corpus::Unit& unit) {
  UnitCard card;
  card.id = unit.id;
  card.kind = unit.kind;
  card.name = unit.name;
  card.source_name = unit.source.origin.name;
  card.path = unit.source.path;
  card.helpers = unit.helpers;
  add_definitions(unit.launcher.context, card.helpers);
  add_definitions(unit.launcher.text, card.helpers);
  std::ranges::sort(card.helpers);
  auto repeated = std::ranges::unique(card.helpers);
  card.helpers.erase(repeated.begin(), repeated.end());
  card.spdx = unit.licence.spdx;
  card.text_sha1 = sha1_hex(unit.text);
  card.key = sha1_hex(corpus::normalise(unit.text));
  card.renamed_sha1 = near::renamed_sha1(unit.text);
  card.text_bytes = static_cast<std::uint32_t>(unit.text.size());
  card.stars = unit.source.origin.stars.value_or(-1);
  card.labels = labels::read_labels(unit);
  card.target = labels::target_of(unit);
  return card;
}

}  // namespace

Result<corpus::Unit> UnitStore::unit_of(std::string_view line, const File& file) {
  auto object = object_of(line, file.path);
  if (!object) return std::unexpected(object.error());
  auto unit = corpus::unit_from_json(*object);
  if (!unit || file.licence.spdx.empty()) return unit;
  if (unit->licence.spdx.empty()) unit->licence = file.licence;
  std::ranges::replace(unit->context_licences, std::string(), file.licence.spdx);
  std::ranges::replace(unit->launcher.context_licences, std::string(), file.licence.spdx);
  return unit;
}

Result<> UnitStore::add(const std::filesystem::path& units, std::uint32_t source,
                        const corpus::Licence& licence, const Allowed& allowed, unsigned threads) {
  files_.resize(std::max<std::size_t>(files_.size(), source + std::size_t{1}));
  Fd fd(::open(units.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(fmt::format("cannot read {}: {}", units.string(), errno_text(errno)));
  files_[source] = {units, std::move(fd), licence};
  using Made = Result<UnitCard>;
  Result<> outcome;
  Ordered<Line, Made> pool(
      threads,
      [&](const Line& line) -> Made {
        auto unit = unit_of(line.text, files_[source]);
        if (!unit) return std::unexpected(unit.error());
        UnitCard card = card_of(*unit);
        card.source = source;
        card.begin = line.begin;
        card.length = static_cast<std::uint32_t>(line.text.size());
        card.allowed = allowed(*unit, card);
        return card;
      },
      [&](Made card) {
        if (card)
          cards_.push_back(std::move(*card));
        else if (outcome)
          outcome = std::unexpected(card.error());
      });
  auto read = each_line(units, [&](std::string line, std::uint64_t begin) -> Result<> {
    pool.push({std::move(line), begin});
    return outcome;
  });
  pool.finish();
  return read ? outcome : read;
}

std::pair<std::size_t, std::size_t> UnitStore::of_source(std::uint32_t source) const {
  auto range = std::ranges::equal_range(cards_, source, {}, &UnitCard::source);
  return {static_cast<std::size_t>(range.begin() - cards_.begin()),
          static_cast<std::size_t>(range.end() - cards_.begin())};
}

Result<corpus::Unit> UnitStore::at(std::size_t number) const {
  const UnitCard& card = cards_[number];
  const File& file = files_[card.source];
  std::string line(card.length, '\0');
  std::size_t have = 0;
  while (have < line.size()) {
    ssize_t got =
        ::pread(file.fd.get(), line.data() + have, line.size() - have, static_cast<off_t>(card.begin + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(fmt::format("{} was truncated while it was read", file.path.string()));
    have += static_cast<std::size_t>(got);
  }
  return unit_of(line, file);
}

Result<std::string> UnitStore::text(std::size_t number) const {
  auto unit = at(number);
  if (!unit) return std::unexpected(unit.error());
  return std::move(unit->text);
}

}  // namespace kw::dataset
