#include "remote/facts.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "schema/json.h"

namespace kw::remote {
namespace {

namespace json = boost::json;

// More at once would be more than any machine of ours keeps open.
constexpr double most_width = 4096;

std::size_t count_at(const json::object& object, std::string_view key, std::size_t otherwise, double most) {
  auto number = number_at(object, key);
  if (!number || !(*number >= 1)) return otherwise;
  return static_cast<std::size_t>(std::min(*number, most));
}

}  // namespace

std::optional<Facts> read_facts(const json::object& object) {
  auto protocol = string_at(object, "protocol");
  if (!protocol || protocol->empty() || !number_at(object, "width")) return {};
  Facts facts;
  facts.protocol = *protocol;
  facts.version = string_at(object, "version").value_or("");
  facts.device = string_at(object, "device").value_or("");
  facts.width = count_at(object, "width", 1, most_width);
  if (const json::value* gpus = object.if_contains("gpus"); gpus != nullptr && gpus->is_array())
    for (const json::value& gpu : gpus->get_array())
      if (gpu.is_string()) facts.gpus.emplace_back(gpu.get_string());
  if (const json::value* limits = object.if_contains("limits"); limits != nullptr && limits->is_object()) {
    facts.max_body_bytes =
        count_at(limits->get_object(), "max_body_bytes", facts.max_body_bytes, double(std::size_t{1} << 30));
    facts.max_batch = count_at(limits->get_object(), "max_batch", facts.max_batch, most_width);
  }
  return facts;
}

}  // namespace kw::remote
