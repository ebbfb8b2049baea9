#include "dataset/synth/mined_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/core/toml.h"
#include "dataset/synth/draft.h"

namespace kw::synth {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sha256_digits = 64;

// Reads one pair; the first problem stays.
class PairReader {
 public:
  explicit PairReader(std::string_view name) : name_(name) {}

  MinedPair pair(const toml::table& table) {
    allow(table, {"family", "reference", "cuda", "triton"}, "");
    MinedPair pair;
    pair.name = name_;
    pair.family = text(table, "family", "");
    pair.reference = text(table, "reference", "");
    if (const auto* cuda = part(table, "cuda")) {
      allow(*cuda, {"from", "files", "names", "prelude", "entry", "launchers", "scope"}, "cuda.");
      pair.cuda = side(*cuda, "cuda.");
      pair.launchers = list(*cuda, "launchers");
      pair.scope = text(*cuda, "scope", "cuda.", false);
      pair.cuda.entry = text(*cuda, "entry", "cuda.", false);
    }
    if (const auto* triton = part(table, "triton")) {
      allow(*triton, {"from", "files", "names", "prelude", "entry"}, "triton.");
      pair.triton = side(*triton, "triton.");
      pair.triton.entry = text(*triton, "entry", "triton.");
    }
    const auto& known = families_of(Source::mined);
    if (std::ranges::find(known, pair.family) == known.end())
      problem(fmt::format("family \"{}\" is not one of {}", pair.family, fmt::join(known, ", ")));
    if (!pair.reference.contains(fmt::format("def {}(", name_)))
      problem(fmt::format("reference does not define {}", name_));
    return pair;
  }

  const std::string& problem() const { return problem_; }

 private:
  void problem(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  void allow(const toml::table& table, std::initializer_list<std::string_view> keys, std::string_view above) {
    for (const auto& [key, node] : table)
      if (std::ranges::find(keys, key.str()) == keys.end())
        problem(fmt::format("{}{} is no key of a mined pair", above, key.str()));
  }

  const toml::table* part(const toml::table& table, std::string_view key) {
    const auto* below = table[key].as_table();
    if (below == nullptr) problem(fmt::format("[{}] is missing", key));
    return below;
  }

  std::string text(const toml::table& table, std::string_view key, std::string_view above,
                   bool needed = true) {
    const auto* value = table[key].as_string();
    if (value != nullptr) return value->get();
    if (needed || table.contains(key)) problem(fmt::format("{}{} is not a text", above, key));
    return {};
  }

  std::vector<std::string> list(const toml::table& table, std::string_view key) {
    std::vector<std::string> texts;
    const auto* array = table[key].as_array();
    if (array == nullptr) return texts;
    for (const auto& item : *array)
      if (const auto* value = item.as_string()) texts.push_back(value->get());
    return texts;
  }

  MinedSide side(const toml::table& table, std::string_view above) {
    MinedSide side;
    side.from = text(table, "from", above);
    side.names = list(table, "names");
    side.prelude = text(table, "prelude", above, false);
    for (const std::string& line : list(table, "files")) side.files.push_back(pinned(line));
    if (side.names.empty()) problem(fmt::format("{}names is empty", above));
    if (side.files.empty()) problem(fmt::format("{}files is empty", above));
    return side;
  }

  // A line as sha256sum prints it.
  PinnedFile pinned(const std::string& line) {
    if (line.size() <= sha256_digits || line[sha256_digits] != ' ') {
      problem(fmt::format("\"{}\" is not \"SHA256  path\"", shorten(line, 80)));
      return {};
    }
    return {.path = std::string(trim(std::string_view(line).substr(sha256_digits))),
            .sha256 = line.substr(0, sha256_digits)};
  }

  std::string_view name_;
  std::string problem_;
};

}  // namespace

Result<MinedPair> read_mined_pair(std::string_view name, std::string_view toml) {
  toml::parse_result parsed = toml::parse(toml);
  if (!parsed)
    return fail(fmt::format("{}.toml, line {}: {}", name, parsed.error().source().begin.line,
                            parsed.error().description()),
                "see \"Mined pairs\" in docs/dataset_synth.md");
  PairReader reader(name);
  MinedPair pair = reader.pair(parsed.table());
  if (reader.problem().empty()) return pair;
  return fail(fmt::format("{}.toml: {}", name, reader.problem()),
              "see \"Mined pairs\" in docs/dataset_synth.md");
}

namespace {

struct OwnedText {
  std::string name;
  std::string toml;
};

Result<std::vector<OwnedText>> texts_of(const std::string& folder) {
  std::vector<OwnedText> texts;
  if (folder.empty()) {
    for (const ManifestText& each : mined_manifest())
      texts.push_back({std::string(each.name), std::string(each.toml)});
    return texts;
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".toml") continue;
    auto text = read_file(entry.path());
    if (!text) return std::unexpected(text.error());
    texts.push_back({entry.path().stem().string(), std::move(*text)});
  }
  if (error) return fail(fmt::format("cannot read {}: {}", folder, error.message()));
  std::ranges::sort(texts, {}, &OwnedText::name);
  if (texts.empty())
    return fail(fmt::format("{} has no *.toml", folder), "give a folder with one file for each pair");
  return texts;
}

}  // namespace

Result<std::vector<MinedPair>> read_mined_pairs(const std::string& folder) {
  auto texts = texts_of(folder);
  if (!texts) return std::unexpected(texts.error());
  std::vector<MinedPair> pairs;
  for (const OwnedText& each : *texts) {
    auto pair = read_mined_pair(each.name, each.toml);
    if (!pair) return std::unexpected(pair.error());
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

}  // namespace kw::synth
