#include "report/forms/csv.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/text.h"
#include "base/rows/rows.h"
#include "report/forms/escape.h"

namespace kw::report {
namespace json = boost::json;
namespace {

// A column as `to_json` writes it: values, or words with their indices.
class Cells {
 public:
  explicit Cells(const json::value& column) : column_(column) {}

  std::string at(std::size_t row) const {
    const json::value* value = find(row);
    if (!value || value->is_null()) return {};
    if (value->is_string()) return csv_text(std::string_view(value->get_string()));
    return value->is_double() ? fmt::format("{}", value->get_double()) : json::serialize(*value);
  }

 private:
  const json::value* find(std::size_t row) const {
    if (const json::array* values = column_.if_array()) return &(*values)[row];
    const json::object& table = column_.get_object();
    std::int64_t word = table.at("at").as_array()[row].to_number<std::int64_t>();
    return word < 0 ? nullptr : &table.at("words").as_array()[static_cast<std::size_t>(word)];
  }

  const json::value& column_;
};

std::string record(const std::vector<std::string>& cells) {
  return table::csv_record({cells.begin(), cells.end()});
}

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> safe;
  safe.reserve(cells.size());
  for (const std::string& cell : cells) safe.push_back(csv_text(cell));
  return record(safe);
}

Result<> write_csv(const Index& index, const Write& write) {
  json::object table = to_json(index.rows);
  const json::object& columns = table.at("columns").as_object();
  std::vector<std::string> names;
  std::vector<Cells> cells;
  for (const auto& [name, column] : columns) {
    if (is_one_of(name, {"chunk", "offset", "bytes"})) continue;
    names.emplace_back(name);
    cells.emplace_back(column);
  }
  if (auto written = write(record(names)); !written) return written;
  for (std::size_t row = 0; row < index.rows.count; ++row) {
    std::vector<std::string> line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      auto source = index.rows.source[row];
      bool is_source =
          names[i] == "source" && source && static_cast<std::size_t>(*source) < index.sources.size();
      line.push_back(is_source ? csv_text(index.sources[static_cast<std::size_t>(*source)].name)
                               : cells[i].at(row));
    }
    if (auto written = write(record(line)); !written) return written;
  }
  return {};
}

}  // namespace kw::report
