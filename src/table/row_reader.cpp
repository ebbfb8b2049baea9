#include "table/row_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "process/helper.h"
#include "schema/json.h"

namespace kw {
namespace json = boost::json;

std::string describe(const RowError& error) {
  std::string text = error.file;
  if (error.row > 0) text += fmt::format("{}row {}", text.empty() ? "" : ", ", error.row);
  if (!text.empty()) text += ": ";
  text += error.what;
  if (!error.remedy.empty()) text += fmt::format(" ({})", error.remedy);
  return text;
}

RowOrError parse_row(const std::string& file, const Line& line) {
  if (line.too_long)
    return RowError{
        file, line.number, "the line is too long to be one row",
        fmt::format("a row has at most {} MiB; one JSON object a line", LineReader::default_max >> 20)};
  if (!is_utf8(line.text)) return RowError{file, line.number, "not UTF-8", "convert the file to UTF-8"};
  auto value = parse_json(line.text);
  if (!value) return RowError{file, line.number, value.error().what, "one JSON object a line"};
  if (!value->is_object()) return RowError{file, line.number, "not a JSON object", "one JSON object a line"};
  return Row{line.number, std::move(value->get_object())};
}

namespace {

// Some editors begin a UTF-8 file with a mark that is no part of its text.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

class JsonlReader : public RowReader {
 public:
  JsonlReader(std::string path, LineReader lines) : path_(std::move(path)), lines_(std::move(lines)) {}
  const std::string& file() const override { return path_; }

  Result<std::optional<RowOrError>> next() override {
    while (true) {
      auto line = lines_.next();
      if (!line) return std::unexpected(line.error());
      if (!*line) return std::nullopt;
      if (!(*line)->too_long && trim((*line)->text).empty()) continue;
      if ((*line)->number == 1) (*line)->text = without_mark((*line)->text);
      return parse_row(path_, **line);
    }
  }

 private:
  std::string path_;
  LineReader lines_;
};

class ListReader : public RowReader {
 public:
  ListReader(std::string path, json::array rows) : path_(std::move(path)), rows_(std::move(rows)) {}
  const std::string& file() const override { return path_; }
  std::optional<std::size_t> total() const override { return rows_.size(); }

  Result<std::optional<RowOrError>> next() override {
    if (at_ == rows_.size()) return std::nullopt;
    json::value& value = rows_[at_++];
    if (!value.is_object()) return RowError{path_, at_, "not a JSON object", "a list of objects is expected"};
    Row row{at_, std::move(value.get_object())};
    value = nullptr;
    return row;
  }

 private:
  std::string path_;
  json::array rows_;
  std::size_t at_ = 0;
};

class ParquetReader : public RowReader {
 public:
  ParquetReader(std::string path, process::Helper child, Fd out)
      : path_(std::move(path)), child_(std::move(child)), lines_(std::move(out), path_) {
    read_total();
  }
  const std::string& file() const override { return path_; }
  std::optional<std::size_t> total() const override { return total_; }

  Result<std::optional<RowOrError>> next() override {
    auto line = lines_.next();
    if (!line) return std::unexpected(line.error());
    if (*line) {
      --(*line)->number;  // the first line was the total
      return parse_row(path_, **line);
    }
    auto end = child_.finish();
    if (!end) return fail(fmt::format("cannot read {}: {}", path_, end.error().what), end.error().remedy);
    return std::nullopt;
  }

 private:
  // The helper's first line. Where there is none, next() meets the end too, and says why.
  void read_total() {
    auto line = lines_.next();
    if (!line || !*line) return;
    auto value = parse_json((*line)->text);
    const json::value* rows = value && value->is_object() ? value->get_object().if_contains("rows") : nullptr;
    if (rows && rows->is_int64()) total_ = static_cast<std::size_t>(rows->get_int64());
  }

  std::string path_;
  process::Helper child_;
  LineReader lines_;
  std::optional<std::size_t> total_;
};

}  // namespace

Result<std::unique_ptr<RowReader>> read_jsonl(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  return std::make_unique<JsonlReader>(path, std::move(*lines));
}

Result<std::unique_ptr<RowReader>> read_json_list(const std::string& path) {
  auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  auto value = parse_json(without_mark(*text));
  if (!value)
    return fail(fmt::format("{} is {}", path, value.error().what),
                "is the file whole? A JSON list is expected");
  if (!value->is_array())
    return fail(fmt::format("{} is JSON, but no list", path), "a list of recorded traces is expected");
  return std::make_unique<ListReader>(path, std::move(value->get_array()));
}

Result<std::unique_ptr<RowReader>> read_parquet(const std::string& path, const ParquetHelper& helper,
                                                const std::string& columns) {
  // A directory or a missing file is named before a process is started for it.
  if (auto file = open_lines(path); !file) return std::unexpected(file.error());
  std::vector<std::string> argv{helper.python, "-I", helper.script, path, "--count"};
  if (!columns.empty()) argv.insert(argv.end(), {"--columns", columns});
  auto started = process::start_helper(argv);
  if (!started) return std::unexpected(started.error());
  auto& [child, out] = *started;
  return std::make_unique<ParquetReader>(path, std::move(child), std::move(out));
}

std::vector<std::string> parquet_files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    bool hidden = at->path().filename().string().starts_with('.');
    if (hidden || at.depth() >= 3) at.disable_recursion_pending();
    if (!hidden && at->path().extension() == ".parquet" && at->is_regular_file(error))
      found.push_back(at->path().string());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace kw
