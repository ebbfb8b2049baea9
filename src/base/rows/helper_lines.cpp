#include "base/rows/helper_lines.h"

#include <optional>
#include <utility>

#include "base/core/json.h"
#include "base/rows/row_reader.h"

namespace kw {
namespace {

// The error in a helper's line {"error": {"what", "remedy"}}.
std::optional<Error> said(const boost::json::object& line) {
  const boost::json::value* error = line.if_contains("error");
  if (!error || !error->is_object()) return std::nullopt;
  return Error{string_at(error->get_object(), "what").value_or("it failed"),
               string_at(error->get_object(), "remedy").value_or("")};
}

}  // namespace

Result<std::vector<boost::json::object>> helper_lines(const std::vector<std::string>& argv,
                                                      process::HelperErrors errors) {
  auto started = process::start_helper(argv, errors);
  if (!started) return std::unexpected(started.error());
  auto& [child, out] = *started;
  LineReader reader(std::move(out), argv[2]);
  std::vector<boost::json::object> found;
  std::optional<Error> error;
  while (true) {
    auto line = reader.next();
    if (!line) return std::unexpected(line.error());
    if (!*line) break;
    auto value = parse_json((*line)->text);
    if (!value || !value->is_object()) continue;
    if (auto what = said(value->get_object()))
      error = std::move(what);
    else
      found.push_back(std::move(value->get_object()));
  }
  auto end = child.finish();
  if (error) return std::unexpected(*error);
  if (!end) return std::unexpected(end.error());
  return found;
}

}  // namespace kw
