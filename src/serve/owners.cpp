#include "serve/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/core/toml.h"

namespace kw::service {
namespace {

constexpr char separator = '\x1f';
constexpr std::size_t longest_owner = 64;
constexpr std::size_t largest_keys_file = std::size_t{4} << 20;
constexpr std::int64_t highest_limit = 1'000'000'000;
constexpr double minute_s = 60;

constexpr const char* form =
    "the form is: [keys.NAME] with sha256 = \"DIGEST\"; printf %s KEY | sha256sum prints the digest";

bool is_owner_name(std::string_view name) {
  auto is_part = [](char c) { return is_word(c) || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= longest_owner && std::ranges::all_of(name, is_part);
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
         });
}

// Reads the tables of the file; the first error stays.
class KeysReader {
 public:
  explicit KeysReader(std::string_view name) : name_(name) {}

  std::optional<OwnerRules> owner(std::string_view name, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (!is_owner_name(name))
      return bad(node, fmt::format("the owner \"{}\" is not a name of 1 to {} letters, digits, _ - .",
                                   to_plain_text(shorten(name, 100)), longest_owner));
    if (!table) return bad(node, fmt::format("keys.{} is not a table", name));
    OwnerRules rules;
    rules.name = name;
    bool states_references = false;
    for (const auto& [key, value] : *table) {
      if (key == "sha256") {
        rules.digests = texts(key, value);
      } else if (key == "tasks") {
        rules.tasks = texts(key, value);
      } else if (key == "own_references") {
        states_references = true;
        rules.own_references = flag(key, value);
      } else if (std::size_t* limit = limit_of(rules, key)) {
        *limit = number(key, value);
      } else {
        return bad(value, fmt::format("keys.{} has an unknown field {}", name, key.str()));
      }
    }
    // An owner of some tasks could otherwise send any other task as its own reference.
    if (!states_references) rules.own_references = rules.tasks.empty();
    if (rules.digests.empty()) return bad(node, fmt::format("keys.{} has no sha256", name));
    for (std::string& digest : rules.digests) {
      if (!is_digest(digest))
        return bad(node, fmt::format("keys.{}: sha256 is not of 64 hexadecimal digits", name));
      digest = lower(digest);
    }
    return trouble ? std::nullopt : std::optional(std::move(rules));
  }

  std::nullopt_t bad(const toml::node& node, std::string why) {
    if (!trouble) trouble = Error{fmt::format("{}:{}: {}", name_, node.source().begin.line, why), form};
    return std::nullopt;
  }

  std::optional<Error> trouble;

 private:
  static std::size_t* limit_of(OwnerRules& rules, std::string_view key) {
    if (key == "requests_per_minute") return &rules.requests_per_minute;
    if (key == "evaluations_at_once") return &rules.evaluations_at_once;
    if (key == "evaluations_per_day") return &rules.evaluations_per_day;
    if (key == "tries_per_task") return &rules.tries_per_task;
    if (key == "conversations_at_once") return &rules.conversations_at_once;
    return nullptr;
  }

  std::vector<std::string> texts(const toml::key& key, const toml::node& node) {
    if (auto one = node.value_exact<std::string>(); one && !one->empty()) return {*one};
    std::vector<std::string> all;
    if (const toml::array* list = node.as_array())
      for (const toml::node& each : *list) {
        auto text = each.value_exact<std::string>();
        if (text && !text->empty())
          all.push_back(std::move(*text));
        else
          bad(each, fmt::format("{} has an item that is not a text", key.str()));
      }
    // An empty list of tasks would mean all of them.
    if (all.empty()) bad(node, fmt::format("{} is neither a text nor a list of texts", key.str()));
    return all;
  }

  bool flag(const toml::key& key, const toml::node& node) {
    auto value = node.value_exact<bool>();
    if (!value) bad(node, fmt::format("{} is neither true nor false", key.str()));
    return value.value_or(false);
  }

  std::size_t number(const toml::key& key, const toml::node& node) {
    auto value = node.value_exact<std::int64_t>();
    if (value && *value >= 1 && *value <= highest_limit) return static_cast<std::size_t>(*value);
    bad(node, fmt::format("{} is not a whole number from 1", key.str()));
    return 0;
  }

  std::string_view name_;
};

// Two owners with one key could not be told apart.
const std::string* shared_digest(const std::vector<OwnerRules>& owners) {
  std::vector<const std::string*> all;
  for (const OwnerRules& each : owners)
    for (const std::string& digest : each.digests) all.push_back(&digest);
  std::ranges::sort(all, {}, [](const std::string* each) { return std::string_view(*each); });
  auto twice =
      std::ranges::adjacent_find(all, {}, [](const std::string* each) { return std::string_view(*each); });
  return twice == all.end() ? nullptr : *twice;
}

}  // namespace

bool OwnerRules::may_use(std::string_view task_id) const {
  auto covers = [&](std::string_view pattern) {
    return pattern.ends_with('*') ? task_id.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : task_id == pattern;
  };
  return tasks.empty() || std::ranges::any_of(tasks, covers);
}

Result<std::vector<OwnerRules>> read_keys(std::string_view toml, std::string_view name) {
  if (nests_too_deeply(toml)) return fail(fmt::format("{}: a key is nested too deeply", name), form);
  const toml::parse_result parsed = toml::parse(toml);
  if (!parsed)
    return fail(
        fmt::format("{}:{}: {}", name, parsed.error().source().begin.line, parsed.error().description()),
        form);
  KeysReader reader(name);
  std::vector<OwnerRules> owners;
  for (const auto& [key, node] : parsed.table()) {
    const toml::table* tables = key == "keys" ? node.as_table() : nullptr;
    if (!tables)
      reader.bad(node, fmt::format("{} is not expected here", key.str()));
    else
      for (const auto& [owner, rules] : *tables)
        if (auto read = reader.owner(owner.str(), rules)) owners.push_back(std::move(*read));
    if (reader.trouble) return std::unexpected(std::move(*reader.trouble));
  }
  if (owners.empty()) return fail(fmt::format("{} has no key", name), form);
  if (shared_digest(owners)) return fail(fmt::format("{}: two owners have the same key", name), form);
  return owners;
}

Result<std::vector<OwnerRules>> read_keys_file(const std::filesystem::path& path) {
  auto text = read_text_file(path, largest_keys_file);
  if (!text) return std::unexpected(text.error());
  return read_keys(*text, path.string());
}

template <typename Members>
auto KeyRing::member_in(Members& members, std::string_view owner) -> decltype(members.data()) {
  auto found = std::ranges::find(members, owner,
                                 [](const Member& each) { return std::string_view(each.rules->name); });
  return found == members.end() ? nullptr : &*found;
}

KeyRing::KeyRing(std::string_view operator_key, std::vector<OwnerRules> owners)
    : needs_key_(!operator_key.empty() || !owners.empty()),
      operator_key_(operator_key),
      has_operator_key_(!operator_key.empty()) {
  for (OwnerRules& each : owners) members_.push_back(member_of(std::move(each)));
}

KeyRing::Member KeyRing::member_of(OwnerRules rules) {
  const auto a_minute = static_cast<double>(rules.requests_per_minute);
  return {std::make_shared<const OwnerRules>(std::move(rules)),
          http::RateLimit(a_minute / minute_s, std::max(1.0, a_minute))};
}

void KeyRing::replace(std::vector<OwnerRules> owners) {
  std::vector<Member> members;
  for (OwnerRules& each : owners) {
    const Member* known = member_in(members_, each.name);
    const bool is_same = known != nullptr && *known->rules == each;
    members.push_back(is_same ? *known : member_of(std::move(each)));
  }
  members_ = std::move(members);
}

Caller KeyRing::caller_of(const http::Headers& headers) const {
  if (!needs_key_) return {true, nullptr};
  const std::string digest = http::given_key_digest(headers);
  Caller caller;
  // Goes through all of them, so that the time does not tell which one it was.
  for (const Member& member : members_)
    for (const std::string& known : member.rules->digests)
      if (http::equal_in_constant_time(known, digest)) caller = {true, member.rules};
  if (has_operator_key_ && operator_key_.admits(headers)) caller = {true, nullptr};
  return caller;
}

OwnerRulesPtr KeyRing::rules_of(std::string_view owner) const {
  const Member* member = member_in(members_, owner);
  return member ? member->rules : nullptr;
}

int KeyRing::seconds_to_wait(const OwnerRules& owner, http::RateLimit::Time now) {
  Member* member = member_in(members_, owner.name);
  return member ? member->rate.seconds_to_wait("", now) : 0;
}

bool KeyRing::is_spent(const OwnerRules& owner, http::RateLimit::Time now) const {
  const Member* member = member_in(members_, owner.name);
  return member != nullptr && member->rate.is_spent("", now);
}

std::string scoped_id(std::string_view owner, std::string_view id) {
  return owner.empty() ? std::string(id) : fmt::format("{}{}{}", owner, separator, id);
}

std::string_view owner_of(std::string_view scoped) {
  const std::size_t end = scoped.find(separator);
  return end == std::string_view::npos ? std::string_view() : scoped.substr(0, end);
}

std::string_view public_id(std::string_view scoped) {
  const std::size_t end = scoped.find(separator);
  return end == std::string_view::npos ? scoped : scoped.substr(end + 1);
}

std::string scoped_work(std::string_view owner, bool names_task, std::string_view work) {
  if (owner.empty() || work.empty()) return std::string(work);
  return names_task ? fmt::format("{}{}tasks{}{}", owner, separator, separator, work)
                    : fmt::format("{}{}{}", owner, separator, work);
}

}  // namespace kw::service
