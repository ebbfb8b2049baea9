#include "service/options_reader.h"

#include <fmt/format.h>

#include "schema/options.h"

namespace kw::service {

Answered<JobOptions> read_options(const boost::json::value& value) {
  if (!value.is_object()) return refuse({400, "invalid", "options is no object", "options"});
  auto options = read_job_options(value.get_object());
  if (options) return std::move(*options);
  std::string field = fmt::format("options.{}", options.error().field);
  return refuse({400, "invalid", fmt::format("{} {}", field, options.error().why), field});
}

}  // namespace kw::service
