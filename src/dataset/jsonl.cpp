#include "dataset/jsonl.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "schema/json.h"
#include "table/line_reader.h"

namespace kw::dataset {

// Our own files: units with their contexts, never longer than this.
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
    return fail(fmt::format("{} holds a line that is no JSON object", path.string()),
                "remove the state folder and build again");
  return std::move(value->get_object());
}

}  // namespace kw::dataset
