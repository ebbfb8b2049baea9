// Resources: the verdicts of a session, and the pages of the documentation that an agent needs.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "types/verdict.h"

namespace kw::mcp {

// Clients limit a message, commonly to 1 MiB.
inline constexpr std::size_t most_resource_bytes = std::size_t{768} << 10;

// The verdicts of one session, the newest last; older ones are dropped above the limits.
class VerdictShelf {
 public:
  static constexpr std::size_t most = 100;
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;

  struct Kept {
    std::string id;     // "v1", "v2", ...
    std::string title;  // "kernel: failed (out_of_bounds)"
    std::string json;
  };

  // Returns the id.
  std::string add(std::string title, std::string json);
  const Kept* find(std::string_view id) const;
  const std::deque<Kept>& all() const { return kept_; }

 private:
  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
};

// "kernelwright://verdict/v1"
std::string verdict_uri(std::string_view id);

struct DocsPage {
  std::string_view name;  // "verdict.md"
  std::string_view title;
  std::string_view text;
};

// Built into the program.
std::span<const DocsPage> docs_pages();

// The results of resources/list, resources/templates/list and resources/read.
boost::json::object list_resources(const VerdictShelf& verdicts);
boost::json::object list_resource_templates();
// The error names the resources of that kind.
Result<boost::json::object> read_resource(std::string_view uri, const VerdictShelf& verdicts);

}  // namespace kw::mcp
