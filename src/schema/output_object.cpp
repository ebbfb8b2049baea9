#include "schema/output_object.h"

namespace kw {
namespace json = boost::json;

json::object output_object(const Verdict& verdict, const json::object& carried) {
  json::object line = to_json(verdict);
  json::object collided;
  for (const auto& [key, value] : carried) {
    if (key == "carried" || line.contains(key))
      collided[key] = value;
    else
      line[key] = value;
  }
  if (!collided.empty()) line["carried"] = std::move(collided);
  return line;
}

}  // namespace kw
