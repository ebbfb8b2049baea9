#include "dataset/build/jsonl.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/core/json.h"
#include "base/rows/row_reader.h"

namespace kw::dataset {

// Longer than any line of this program's files: units with their contexts.
constexpr std::size_t longest_line = std::size_t{256} << 20;

Result<JsonlWriter> JsonlWriter::create(const std::filesystem::path& path) {
  auto file = NewFile::create(path);
  if (!file) return std::unexpected(file.error());
  return JsonlWriter(std::move(*file));
}

Result<> JsonlWriter::write(const boost::json::object& row) {
  std::string line = boost::json::serialize(row);
  line += '\n';
  return file_.write(line);
}

Result<> each_line(const std::filesystem::path& path, const EachLine& each) {
  auto lines = open_lines(path.string(), longest_line);
  if (!lines) return std::unexpected(lines.error());
  std::uint64_t begin = 0;
  while (true) {
    auto line = lines->next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return {};
    std::uint64_t length = (*line)->text.size();
    if (auto done = each(std::move((*line)->text), begin); !done) return done;
    begin += length + 1;
  }
}

Result<boost::json::object> object_of(std::string_view line, const std::filesystem::path& path) {
  auto value = parse_json(line);
  if (!value || !value->is_object())
    return fail(fmt::format("{} has a line that is not a JSON object", path.string()),
                "remove the state folder and build again");
  return std::move(value->get_object());
}

}  // namespace kw::dataset
