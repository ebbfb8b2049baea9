#include "dataset/build/originals.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/core/text.h"
#include "dataset/licence/licence.h"

namespace kw::dataset {
namespace {

using corpus::CompileLabel;

constexpr std::array other_chips{"ascend",   "npu",     "kunlunxin", "xpu",        "cambricon", "mlu",
                                 "mthreads", "musa",    "hygon",     "dcu",        "metax",     "maca",
                                 "iluvatar", "corex",   "biren",     "sophgo",     "aipu",      "enflame",
                                 "gcu",      "sunrise", "spacemit",  "tsingmicro", "thead",     "hpu",
                                 "gaudi",    "rocm",    "amd",       "hip",        "intel",     "tpu"};
constexpr std::array code_of_others{"third_party", "thirdparty", "3rdparty", "3rd_party", "vendor",
                                    "vendored",    "_vendor",    "external", "extern",    "submodules"};
constexpr std::array trials{"test",    "tests",    "testing", "benchmark", "benchmarks", "bench",
                            "example", "examples", "doc",     "docs",      "tutorial",   "tutorials"};

// Below these folders a source's package is not named.
constexpr std::array without_name{"src", "python", "csrc", "lib", "ops", "kernels", "tests", "."};

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::array<const char*, Size>& words) {
  return std::ranges::find(words, word) != words.end();
}

// The folders of a path, in lower case, with '_' for '-'.
std::vector<std::string> folders_of(std::string_view path) {
  std::vector<std::string> folders;
  for (std::size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/')) {
    std::string folder = lower(path.substr(0, end));
    std::ranges::replace(folder, '-', '_');
    if (!folder.empty()) folders.push_back(std::move(folder));
    path.remove_prefix(end + 1);
  }
  return folders;
}

bool names_a_chip(std::string_view folder) {
  while (!folder.empty()) {
    std::size_t end = std::min(folder.find('_'), folder.size());
    if (is_one_of(folder.substr(0, end), other_chips)) return true;
    folder.remove_prefix(std::min(end + 1, folder.size()));
  }
  return false;
}

bool is_versioned(std::string_view folder) {
  std::size_t at = folder.find('_');
  for (; at != std::string_view::npos; at = folder.find('_', at + 1))
    if (at + 1 < folder.size() && folder[at + 1] >= '0' && folder[at + 1] <= '9') return true;
  return false;
}

// The folder that holds the package: the first one that has a name of its own.
std::string package_folder(std::string_view path) {
  for (std::string& folder : folders_of(path))
    if (!is_one_of(folder, without_name) && !is_one_of(folder, trials) && !is_versioned(folder))
      return std::move(folder);
  return {};
}

// Each source's package: the folder that holds most of its units, of equals the first by name.
std::map<std::uint32_t, std::string> packages_of(const std::vector<UnitCard>& cards) {
  std::map<std::uint32_t, std::map<std::string, std::size_t>> counts;
  for (const UnitCard& card : cards)
    if (std::string folder = package_folder(card.path); !folder.empty()) ++counts[card.source][folder];
  std::map<std::uint32_t, std::string> packages;
  for (const auto& [source, folders] : counts)
    packages[source] =
        std::ranges::max_element(folders, {}, [](const auto& each) { return each.second; })->first;
  return packages;
}

// Equal short functions need not be copies.
constexpr std::uint32_t least_copied_bytes = 200;

// By source, the number of other sources that have a unit of it.
std::map<std::uint32_t, std::uint32_t> shared_with(const std::vector<UnitCard>& cards) {
  std::map<std::string_view, std::set<std::uint32_t>> holders;
  for (const UnitCard& card : cards)
    if (card.text_bytes >= least_copied_bytes) holders[card.key].insert(card.source);
  std::map<std::uint32_t, std::set<std::uint32_t>> others;
  for (const auto& [key, sources] : holders)
    for (std::uint32_t source : sources) others[source].insert(sources.begin(), sources.end());
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const auto& [source, all] : others) counts[source] = static_cast<std::uint32_t>(all.size()) - 1;
  return counts;
}

int compile_rank(const UnitCard& card) {
  constexpr std::array best_first{CompileLabel::compilable, CompileLabel::signature_unknown,
                                  CompileLabel::not_tried, CompileLabel::fails};
  return static_cast<int>(std::ranges::find(best_first, card.labels.compile) - best_first.begin());
}

// 0 for one permissive licence; more for each further one, and most for others.
std::uint32_t licence_rank(const std::string& spdx) {
  constexpr std::uint32_t not_permissive = 1'000;
  std::uint32_t rank = licence::allowed(spdx, licence::permissive()) ? 0 : not_permissive;
  for (std::size_t at = spdx.find(" AND "); at != std::string::npos; at = spdx.find(" AND ", at + 1)) ++rank;
  return rank;
}

}  // namespace

FolderRole role_of_folders(std::string_view path) {
  FolderRole role = FolderRole::own;
  for (const std::string& folder : folders_of(path)) {
    if (names_a_chip(folder)) return FolderRole::other_chip;
    if (is_one_of(folder, code_of_others)) role = FolderRole::third_party;
    if (is_one_of(folder, trials)) role = std::max(role, FolderRole::trial);
  }
  return role;
}

void find_originals(std::vector<UnitCard>& cards) {
  auto packages = packages_of(cards);
  auto shared = shared_with(cards);
  for (UnitCard& card : cards) {
    card.folders = role_of_folders(card.path);
    card.sources_with_its_code = shared[card.source];
    card.licence_rank = licence_rank(card.spdx);
    for (const std::string& folder : folders_of(card.path))
      for (const auto& [source, package] : packages)
        if (folder == package && package != packages[card.source])
          card.folders = std::max(card.folders, FolderRole::third_party);
  }
}

bool better(const UnitCard& a, const UnitCard& b) {
  auto key = [](const UnitCard& card) {
    return std::tuple(card.spdx.empty(), card.folders, -static_cast<std::int64_t>(card.sources_with_its_code),
                      card.licence_rank, compile_rank(card), -card.stars, !card.labels.self_contained,
                      std::string_view(card.source_name), std::ranges::count(card.path, '/'),
                      std::string_view(card.path), std::string_view(card.id));
  };
  return key(a) < key(b);
}

}  // namespace kw::dataset
