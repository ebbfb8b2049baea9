// Owners of a service's keys: their names, limits and ids. The operator
// has the empty name, no limits, and sees the evaluations and conversations of all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/http/access.h"

namespace kw::service {

// An owner's table of the keys file. A limit of 0 is none.
struct OwnerRules {
  std::string name;
  std::vector<std::string> digests;       // SHA-256 of the keys, 64 hex digits each
  std::vector<std::string> tasks;         // ids; one that ends with '*' is a prefix. Empty: all
  bool own_references = true;             // may send reference_code
  std::size_t requests_per_minute = 0;    // a burst may have all of a minute's
  std::size_t evaluations_at_once = 0;    // waiting or running
  std::size_t evaluations_per_day = 0;    // a day begins at midnight UTC
  std::size_t tries_per_task = 0;         // evaluations of one task of the service, over all time
  std::size_t conversations_at_once = 0;  // open ones

  bool may_use(std::string_view task_id) const;
  bool operator==(const OwnerRules&) const = default;
};

using OwnerRulesPtr = std::shared_ptr<const OwnerRules>;

// The file of --keys: TOML with a table [keys.NAME] for each owner. An error names the place.
Result<std::vector<OwnerRules>> read_keys_file(const std::filesystem::path& path);
Result<std::vector<OwnerRules>> read_keys(std::string_view toml, std::string_view name);

// The sender of a request.
struct Caller {
  bool is_known = false;  // has a key, or needs none
  OwnerRulesPtr rules;    // null: the operator
};

// The keys of a service.
class KeyRing {
 public:
  // No key at all admits every request as the operator's.
  KeyRing(std::string_view operator_key, std::vector<OwnerRules> owners);

  // From now on these are the owners. One whose rules are equal keeps them and its rate. The operator's key
  // stays. At least one key must remain.
  void replace(std::vector<OwnerRules> owners);

  // Compares with all keys in constant time.
  Caller caller_of(const http::Headers& headers) const;
  OwnerRulesPtr rules_of(std::string_view owner) const;  // null: there is no such owner
  bool needs_key() const { return needs_key_; }
  // Seconds until this owner may send another request, or 0; counts this one.
  int seconds_to_wait(const OwnerRules& owner, http::RateLimit::Time now);
  // Whether the owner would have to wait; counts nothing.
  bool is_spent(const OwnerRules& owner, http::RateLimit::Time now) const;

 private:
  struct Member {
    OwnerRulesPtr rules;
    http::RateLimit rate;
  };
  static Member member_of(OwnerRules rules);
  // Null: there is no such owner.
  template <typename Members>
  static auto member_in(Members& members, std::string_view owner) -> decltype(members.data());

  bool needs_key_;
  http::KeyCheck operator_key_;
  bool has_operator_key_;
  std::vector<Member> members_;
};

// Ids of different owners never meet: in the store and in memory an owner's id has the owner's name in front.
// A client cannot send the separator, a control character, in an id.
std::string scoped_id(std::string_view owner, std::string_view id);
std::string_view owner_of(std::string_view scoped);  // of an id or a work; empty: the operator
std::string_view public_id(std::string_view scoped);

// The key under which equal work shares a verdict. Owners share with themselves only: a verdict that comes at
// once would tell what another one has asked. An owner's work on a hidden task is apart from work whose
// reference the owner has sent, since its verdict is coarse.
std::string scoped_work(std::string_view owner, bool names_task, std::string_view work);

}  // namespace kw::service
