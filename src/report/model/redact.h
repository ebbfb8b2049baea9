// Redactor: finds paths, hosts and keys in texts, counts them, and replaces them where that is asked for.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace kw::report {

struct PrivateCounts {
  std::uint64_t paths = 0;
  std::uint64_t hosts = 0;
  std::uint64_t keys = 0;
};

// Whether a field or a setting of this name holds a prompt: "system_prompt", "messages".
bool is_prompt_name(std::string_view name);

class Redactor {
 public:
  // With `replace`, texts change: "[path]", "[host]", "[key]".
  explicit Redactor(bool replace) : replace_(replace) {}

  // Makes the text valid UTF-8, and counts or replaces what is private.
  std::string text(std::string_view text);
  // Of a setting: a text with a slash is a path, also a relative one.
  std::string setting(std::string_view text);
  // The same for all texts and names in a value. With `replace`, the texts of prompts become null.
  void clean(boost::json::value& value);
  void clean(boost::json::object& object);

  bool replaces() const { return replace_; }
  const PrivateCounts& counts() const { return counts_; }

 private:
  bool replace_;
  PrivateCounts counts_;
};

}  // namespace kw::report
