#include "dataset/licence/licence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "dataset/licence/expression.h"
#include "dataset/licence/names.h"
#include "dataset/licence/text.h"
#include "dataset/licence/words.h"

namespace kw::licence {
namespace {

// A file may have two notices, and a long one has thirty lines.
constexpr std::size_t max_notice_lines = 100;

constexpr std::array<std::string_view, 14> of_others{
    "adapted",  "portions", "derived", "ported",   "incorporates", "borrowed", "original",
    "modified", "taken",    "copied",  "inspired", "originally",   "includes", "extends"};

// Whether the words before the mention limit it to third-party code in this file.
bool speaks_of_a_part(const Words& words, std::size_t at) {
  std::size_t begin = at;
  for (int n = 0; n < 30 && begin > 0; ++n) begin = words.text.rfind(' ', begin - 1);
  const std::string_view before = std::string_view(words.text).substr(begin, at + 1 - begin);
  return std::any_of(of_others.begin(), of_others.end(), [&](std::string_view word) {
    return before.find(fmt::format(" {} ", word)) != std::string_view::npos;
  });
}

}  // namespace

std::optional<Notice> read_notice(std::string_view bytes) {
  const Words words = words_of(head_of(bytes, max_notice_lines));
  const std::vector<Body> texts = bodies(words);
  std::vector<std::string> all;
  std::size_t first = std::string::npos;
  bool whole = false;
  const auto add = [&](const std::string& spdx, std::size_t at) {
    if (spdx.empty()) return;
    first = std::min(first, at);
    whole = whole || !speaks_of_a_part(words, at);
    all.push_back(spdx);
  };
  for (const Body& body : texts) add(body.spdx, body.begin);
  for (const Mention& mention : mentions(words)) add(mention.spdx, mention.at);
  std::string spdx = both(all);
  if (spdx.empty()) return std::nullopt;
  return Notice{.spdx = std::move(spdx), .line = line_of(words, first), .of_a_part = !whole};
}

std::optional<corpus::Licence> from_notice(std::string_view bytes) {
  auto notice = read_notice(bytes);
  if (!notice) return std::nullopt;
  return corpus::Licence{.spdx = std::move(notice->spdx),
                         .evidence = fmt::format("notice, line {}", notice->line)};
}

namespace {

constexpr std::size_t max_tag_lines = 50;
constexpr std::string_view key = "spdx-license-identifier";

std::size_t find_key(std::string_view line) {
  const auto at = std::search(line.begin(), line.end(), key.begin(), key.end(),
                              [](char a, char b) { return lower(a) == b; });
  return at == line.end() ? std::string_view::npos : static_cast<std::size_t>(at - line.begin());
}

bool may_stand_in_a_tag(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '-' || c == '+' || c == ':' || c == ' ' || c == '\t' ||
         c == '(' || c == ')' || c == ',' || c == '/' || c == ';' || c == '_';
}

// The tag's value: up to a comment's end, a quote, or a byte that no expression contains.
std::string_view value_of(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && may_stand_in_a_tag(rest[end])) {
    if (rest.substr(end).starts_with("--") || rest.substr(end).starts_with("//")) break;
    ++end;
  }
  std::string_view value = trim(rest.substr(0, end));
  while (!value.empty() && (value.back() == '.' || value.back() == ',' || value.back() == ';' ||
                            value.back() == '-' || value.back() == '/' || value.back() == ':'))
    value = trim(value.substr(0, value.size() - 1));
  return value;
}

// A LicenseRef for a value that is not an expression. The licence is then reported, and no allow list
// contains it.
std::string reference(std::string_view value) {
  std::string id = "LicenseRef-";
  for (const char c : value.substr(0, 80)) {
    const bool plain = is_letter_or_digit(c) || c == '.';
    if (plain)
      id += c;
    else if (!id.ends_with('-'))
      id += '-';
  }
  while (id.ends_with('-')) id.pop_back();
  return id == "LicenseRef" ? std::string() : id;
}

std::string read_value(std::string_view value) {
  if (auto whole = as_expression(value)) return *whole;
  // "MIT, Apache-2.0" and "MIT/Apache-2.0" are ambiguous, so both licences apply.
  std::vector<std::string> parts;
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(",;/"), rest.size());
    const std::string_view part = trim(rest.substr(0, end));
    if (!part.empty()) {
      auto one = as_expression(part);
      if (!one) return reference(value);
      parts.push_back(std::move(*one));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return both(parts);
}

}  // namespace

std::optional<corpus::Licence> from_tag(std::string_view bytes) {
  std::string_view head = head_of(bytes, max_tag_lines);
  std::vector<std::string> all;
  std::size_t first_line = 0;
  for (std::size_t number = 1; !head.empty(); ++number) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    const std::size_t at = find_key(line);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = trim(line.substr(at + key.size()));
    if (!rest.starts_with(':')) continue;
    const std::string_view value = value_of(trim(rest.substr(1)));
    std::string read = value.empty() ? std::string() : read_value(value);
    if (read.empty()) continue;
    if (first_line == 0) first_line = number;
    all.push_back(std::move(read));
  }
  std::string spdx = both(all);
  if (spdx.empty()) return std::nullopt;
  return corpus::Licence{.spdx = std::move(spdx), .evidence = fmt::format("SPDX tag, line {}", first_line)};
}

namespace {

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::string joined(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return name.empty() ? std::string(folder) : fmt::format("{}/{}", folder, name);
}

bool is_distribution(std::string_view folder) {
  return folder.ends_with(".dist-info") || folder.ends_with(".egg-info") || folder == "EGG-INFO";
}

// The folder to which a licence or metadata applies. Those of a built package lie in a separate folder:
// "x.dist-info/licenses/a/LICENSE" applies to "a".
struct Seat {
  std::string folder;
  std::string distribution;  // "x.dist-info" in that folder; empty: the folder itself
};

Seat seat_of(std::string_view path) {
  const std::string_view rest = folder_of(path);
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find('/', begin), rest.size());
    const std::string_view part = rest.substr(begin, end - begin);
    if (is_distribution(part)) {
      const std::string_view above = begin == 0 ? std::string_view{} : rest.substr(0, begin - 1);
      std::string_view below = end < rest.size() ? rest.substr(end + 1) : std::string_view{};
      if (below == "licenses" || below == "license_files") below = {};
      if (below.starts_with("licenses/")) below.remove_prefix(std::string_view("licenses/").size());
      if (!below.empty()) return {.folder = joined(above, below), .distribution = {}};
      return {.folder = std::string(above), .distribution = std::string(part)};
    }
    begin = end + 1;
  }
  return {.folder = std::string(rest), .distribution = {}};
}

// "flash_attn" of "flash_attn-2.1.dist-info", usually the name of the package's folder beside it.
std::string package_of(std::string_view distribution) {
  std::string name = lower(distribution.substr(0, std::min(distribution.find('-'), distribution.rfind('.'))));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Whether the licence is of bundled third-party code. An unrecognised one does not make the package's licence
// unknown.
bool of_third_parties(std::string_view path) {
  const std::string name = lower(name_of(path));
  constexpr std::array<std::string_view, 6> signs{"third",    "3rd",    "bundled",
                                                  "external", "vendor", "dependen"};
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view sign) { return name.find(sign) != std::string::npos; });
}

// Such as "either of the licenses found in LICENSE.APACHE or LICENSE.BSD".
bool leaves_a_choice(std::string_view bytes) {
  if (bytes.size() > 4'000) return false;
  const Words words = words_of(bytes);
  // "At your option" may refer to a later version of one licence.
  if (find_phrase(words, "any later version") != std::string::npos) return false;
  for (const std::string_view phrase : {"either of the licenses", "either of these licenses",
                                        "either of the following", "dual licensed", "at your option"})
    if (find_phrase(words, phrase) != std::string::npos) return true;
  return false;
}

// Whether file names state a choice of two permissive licences: LICENSE-MIT beside LICENSE-APACHE.
bool names_say_or(const std::vector<std::string>& names) {
  return names.size() == 2 && std::all_of(names.begin(), names.end(), [](const std::string& name) {
           const std::string small = lower(name);
           return small.find("mit") != std::string::npos || small.find("apache") != std::string::npos ||
                  small.find("bsd") != std::string::npos;
         });
}

}  // namespace

bool is_licence_file(std::string_view path) {
  const std::string name = lower(name_of(path));
  constexpr std::array<std::string_view, 5> begins{"license", "licence", "copying", "unlicense", "unlicence"};
  const bool begin = std::any_of(begins.begin(), begins.end(),
                                 [&](std::string_view each) { return name.starts_with(each); });
  if (!begin && !name.ends_with("-license") && !name.ends_with("-licence") && !name.ends_with("-license.txt"))
    return false;
  constexpr std::array<std::string_view, 24> code{
      ".py", ".pyi", ".pyc",  ".js",  ".ts",   ".tsx",  ".jsx", ".h",   ".hpp", ".c",   ".cc",    ".cpp",
      ".cu", ".cuh", ".json", ".yml", ".yaml", ".toml", ".sh",  ".css", ".svg", ".png", ".cmake", ".in"};
  return std::none_of(code.begin(), code.end(), [&](std::string_view end) { return name.ends_with(end); });
}

bool is_metadata_file(std::string_view path) {
  const std::string_view name = name_of(path);
  return name == "METADATA" || name == "PKG-INFO" || name == "pyproject.toml" || name == "package.json";
}

Tree::Folder& Tree::seat(std::string_view path) {
  const Seat seat = seat_of(path);
  if (seat.distribution.empty()) return folders_[seat.folder];
  return distributions_[seat.folder][seat.distribution];
}

// Among several installed packages, the one that contains the path; a single one applies to the whole folder.
const Tree::Folder* Tree::distribution_of(std::string_view folder, std::string_view path) const {
  const auto found = distributions_.find(folder);
  if (found == distributions_.end()) return nullptr;
  if (found->second.size() == 1) return &found->second.begin()->second;
  std::string_view below = folder.empty() ? path : path.substr(folder.size() + 1);
  const std::string own = lower(below.substr(0, below.find('/')));
  for (const auto& [name, each] : found->second)
    if (package_of(name) == own) return &each;
  return nullptr;
}

void Tree::add(const std::string& path, std::string_view bytes) {
  if (is_licence_file(path)) {
    Folder& folder = seat(path);
    auto spdx = from_text(bytes);
    if (!spdx && leaves_a_choice(bytes)) {
      folder.choice = true;
      return;
    }
    if (!spdx && of_third_parties(path)) return;
    folder.files.push_back({path, spdx.value_or(std::string())});
  } else if (is_metadata_file(path)) {
    auto licence = from_package_metadata(bytes);
    if (!licence) return;
    licence->evidence.replace(0, licence->evidence.find(':'), path);
    auto& known = seat(path).metadata;
    if (known && known->spdx != licence->spdx) {
      licence->spdx = both({known->spdx, licence->spdx});
      licence->evidence = fmt::format("{}; {}", known->evidence, licence->evidence);
    }
    known = std::move(licence);
  }
}

corpus::Licence Tree::of_folder(const Folder& folder) {
  if (folder.files.empty()) return folder.metadata.value_or(corpus::Licence{});
  std::vector<std::string> all;
  std::vector<std::string> names;
  std::string evidence;
  for (const File& file : folder.files) {
    if (file.spdx.empty())
      return {.spdx = {}, .evidence = fmt::format("{}: the text is not a known licence", file.path)};
    all.push_back(file.spdx);
    names.emplace_back(name_of(file.path));
    evidence += evidence.empty() ? file.path : "; " + file.path;
  }
  corpus::Licence licence{.spdx = folder.choice || names_say_or(names) ? either(all) : both(all),
                          .evidence = evidence};
  if (!folder.metadata || folder.metadata->spdx == licence.spdx) return licence;
  const corpus::Licence& said = *folder.metadata;
  licence.evidence += "; " + said.evidence;
  licence.spdx = says_as_much(said.spdx, licence.spdx) ? said.spdx : both({licence.spdx, said.spdx});
  return licence;
}

corpus::Licence Tree::of_tree(std::string_view path) const {
  const auto speaks = [](const Folder& folder) { return !folder.files.empty() || folder.metadata; };
  for (std::string_view folder = folder_of(path);; folder = folder_of(folder)) {
    const auto found = folders_.find(folder);
    const bool direct = found != folders_.end() && speaks(found->second);
    const Folder* built = distribution_of(folder, path);
    if (built != nullptr && !speaks(*built)) built = nullptr;
    if (direct && built != nullptr) {
      corpus::Licence one = of_folder(found->second);
      corpus::Licence other = of_folder(*built);
      if (one.spdx.empty() || says_as_much(one.spdx, other.spdx)) return one;
      if (other.spdx.empty()) return other;
      return {.spdx = both({one.spdx, other.spdx}),
              .evidence = fmt::format("{}; {}", one.evidence, other.evidence)};
    }
    if (direct) return of_folder(found->second);
    if (built != nullptr) return of_folder(*built);
    if (folder.empty()) return {.spdx = {}, .evidence = "nothing says"};
  }
}

corpus::Licence Tree::of(const std::string& path, std::string_view bytes) const {
  const auto tag = from_tag(bytes);
  const auto notice = read_notice(bytes);
  if (tag && (!notice || says_as_much(tag->spdx, notice->spdx))) return *tag;
  if (!notice) return of_tree(path);
  const std::string seen = fmt::format("notice, line {}", notice->line);
  if (tag)
    return {.spdx = both({tag->spdx, notice->spdx}), .evidence = fmt::format("{}; {}", tag->evidence, seen)};
  if (!notice->of_a_part) return {.spdx = notice->spdx, .evidence = seen};
  const corpus::Licence rest = of_tree(path);
  return {.spdx = rest.spdx.empty() ? std::string() : both({notice->spdx, rest.spdx}),
          .evidence = fmt::format("{}, of a part; {}", seen, rest.evidence)};
}

}  // namespace kw::licence
