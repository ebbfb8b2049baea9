#include "loop/exports/harbor_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/core/crypto.h"
#include "base/core/text.h"

namespace kw::exports {
namespace {

constexpr std::size_t longest_readable = 60;
constexpr std::size_t hash_digits = 16;
constexpr std::size_t longest_shown = 200;

struct Readable {
  std::string name;
  bool lost = false;  // more than "/" and the case of letters
};

bool is_kept(char c) {
  return is_word(c) || c == '-' || c == '.';
}

// Whether Windows reads the name as a device: "con", "nul.txt", "com1".
bool is_device(std::string_view name) {
  std::string_view stem = name.substr(0, name.find('.'));
  bool numbered =
      stem.size() == 4 && (stem.starts_with("com") || stem.starts_with("lpt")) && is_digit(stem[3]);
  return numbered || is_one_of(stem, {"con", "prn", "aux", "nul"});
}

// Whether the name ends as one with a hash does: such an id must not take the name of another.
bool ends_in_hash(std::string_view name) {
  if (name.size() <= hash_digits) return false;
  std::string_view end = name.substr(name.size() - hash_digits);
  return name[name.size() - hash_digits - 1] == '-' &&
         end.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Readable readable(std::string_view id) {
  Readable made;
  for (char c : id) {
    char kept = c == '/' ? '-' : lower(c);
    if (!is_kept(kept)) {
      kept = '-';
      made.lost = true;
    }
    bool repeats = !made.name.empty() && made.name.back() == kept && (kept == '-' || kept == '.');
    if (repeats || (made.name.empty() && !is_letter_or_digit(kept)))
      made.lost = true;
    else
      made.name += kept;
    if (made.name.size() == longest_readable) break;
  }
  made.lost |= id.size() > longest_readable;
  while (!made.name.empty() && !is_letter_or_digit(made.name.back())) {
    made.name.pop_back();
    made.lost = true;
  }
  made.lost |= made.name.empty() || is_device(made.name) || ends_in_hash(made.name);
  if (made.name.empty()) made.name = "task";
  return made;
}

}  // namespace

bool is_harbor_org(std::string_view text) {
  return !text.empty() && text.size() <= longest_readable && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text, is_kept) && !text.contains("..");
}

Result<std::vector<std::string>> harbor_names(const std::vector<std::string>& ids) {
  std::vector<Readable> readables;
  std::map<std::string, std::size_t> uses;
  for (const std::string& id : ids) {
    readables.push_back(readable(id));
    if (!readables.back().lost) ++uses[readables.back().name];
  }
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    std::string name = readables[at].name;
    if (readables[at].lost || uses[name] > 1) name += "-" + sha256_hex(ids[at]).substr(0, hash_digits);
    if (!taken.insert(name).second)
      return fail(fmt::format("two tasks get the name {}; one of them is \"{}\"", name,
                              shorten(to_plain_text(ids[at]), longest_shown)),
                  "give each task an id of its own");
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace kw::exports
