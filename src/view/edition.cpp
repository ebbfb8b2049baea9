#include "view/edition.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>

#include "base/core/crypto.h"
#include "base/core/json.h"

namespace kw::view {
namespace {

namespace json = boost::json;

// A column of a table: a list of values, or words with the index of each value in them.
class Column {
 public:
  Column(const json::object& columns, std::string_view name) {
    const json::value* column = columns.if_contains(name);
    if (!column) return;
    values_ = column->if_array();
    if (const json::object* packed = column->if_object()) {
      words_ = array_at(*packed, "words");
      values_ = array_at(*packed, "at");
    }
  }

  std::string text(std::size_t row) const {
    const json::value* value = at(row);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  }

  std::size_t number(std::size_t row) const {
    const json::value* value = at(row);
    auto number = value ? integer_of(*value) : std::nullopt;
    return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
  }

 private:
  static const json::value* element(const json::array* list, std::size_t index) {
    return list && index < list->size() ? &(*list)[index] : nullptr;
  }

  const json::value* at(std::size_t row) const {
    const json::value* value = element(values_, row);
    if (!words_ || !value) return value;
    auto index = integer_of(*value);
    return index && *index >= 0 ? element(words_, static_cast<std::size_t>(*index)) : nullptr;
  }

  const json::array* values_ = nullptr;
  const json::array* words_ = nullptr;
};

std::string state_of(const json::object& index) {
  constexpr std::array<std::string_view, 4> from_worst = {"unfinished", "interrupted", "damaged", "finished"};
  std::size_t worst = from_worst.size() - 1;
  if (const json::array* sources = array_at(index, "sources"))
    for (const json::value& source : *sources)
      for (std::size_t i = 0; i < worst; ++i)
        if (source.is_object() && string_at(source.get_object(), "state") == from_worst[i]) worst = i;
  return std::string(from_worst[worst]);
}

}  // namespace

Result<Edition> make_edition(std::string index, std::uint64_t version) {
  auto parsed = parse_json(index);
  if (!parsed) return std::unexpected(parsed.error());
  const json::object* object = parsed->if_object();
  const json::object* rows = object ? object_at(*object, "rows") : nullptr;
  const json::object* columns = rows ? object_at(*rows, "columns") : nullptr;
  if (!columns) return fail("the index has no rows");
  Edition edition;
  edition.version = version;
  edition.etag = fmt::format("\"{}\"", sha256_hex(index).substr(0, 32));
  edition.state = state_of(*object);
  Column key(*columns, "key");
  Column standing(*columns, "standing");
  Column status(*columns, "status");
  Column task_source(*columns, "task_source");
  Column source(*columns, "source");
  const auto count = static_cast<std::size_t>(count_at(*rows, "count").value_or(0));
  for (std::size_t row = 0; row < count; ++row) {
    std::string stratum = standing.text(row);
    edition.rows.push_back({key.text(row), stratum.empty() ? status.text(row) : stratum,
                            task_source.text(row), source.number(row)});
  }
  edition.index = std::move(index);
  return edition;
}

}  // namespace kw::view
