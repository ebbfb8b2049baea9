#include "base/rows/row_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cerrno>
#include <filesystem>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "base/process/child.h"

namespace kw {

// False at the end of the file.
Result<bool> LineReader::fill() {
  buffer_.resize(std::size_t{1} << 20);
  at_ = 0;
  while (true) {
    ssize_t n = ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot read {}: {}", name_, errno_text(errno)));
    buffer_.resize(static_cast<std::size_t>(n));
    return n > 0;
  }
}

void LineReader::take(std::string_view piece, Line& line) const {
  if (!line.too_long && line.text.size() + piece.size() > max_bytes_) {
    line.too_long = true;
    line.text = {};
  }
  if (!line.too_long) line.text += piece;
}

Result<std::optional<Line>> LineReader::next() {
  Line line;
  bool any = false;
  while (true) {
    if (at_ == buffer_.size()) {
      auto more = fill();
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
    }
    any = true;
    std::size_t end = buffer_.find('\n', at_);
    take(std::string_view(buffer_).substr(at_, end - at_), line);
    at_ = end == std::string::npos ? buffer_.size() : end + 1;
    if (end != std::string::npos) break;
  }
  if (!any) return std::nullopt;
  line.number = ++number_;
  return line;
}

Result<LineReader> open_lines(const std::string& path, std::size_t max_bytes) {
  if (is_standard_input(path)) {
    auto copy = standard_input();
    if (!copy) return std::unexpected(copy.error());
    return open_lines(*copy, max_bytes);
  }
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(fmt::format("cannot read {}: {}", path, errno_text(errno)), "check the path");
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot read {}: it is a directory", path), "name a file in it");
  return LineReader(std::move(fd), shown_path(path), max_bytes);
}

namespace json = boost::json;

std::string describe(const RowError& error) {
  std::string text = shown_path(error.file);
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

// Removes the byte order mark with which some editors begin a UTF-8 file.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

class JsonlReader : public RowReader {
 public:
  JsonlReader(std::string path, LineReader lines) : path_(std::move(path)), lines_(std::move(lines)) {}
  const std::string& file() const override { return path_; }
  bool rows_are_lines() const override { return true; }

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
      --(*line)->number;  // the first line is the total
      return parse_row(path_, **line);
    }
    auto end = child_.finish();
    if (!end) return fail(fmt::format("cannot read {}: {}", path_, end.error().what), end.error().remedy);
    return std::nullopt;
  }

 private:
  // Reads the helper's first line. If there is none, next() also finds the end and returns the error.
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

// Decides between a list and lines by the first non-blank character. For a file with one object over many
// lines, the first row is an error.
Result<bool> starts_a_list(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  while (true) {
    auto line = lines->next();
    if (!line) return std::unexpected(line.error());
    if (!*line || (*line)->too_long) return false;
    std::string_view text = trim((*line)->text);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (!text.empty()) return text.front() == '[';
  }
}

Result<bool> is_parquet(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  auto line = lines->next();
  if (!line) return std::unexpected(line.error());
  return path.ends_with(".parquet") || (*line && (*line)->text.starts_with("PAR1"));
}

// Reports a file without rows as an error: it is probably the wrong file.
class NotEmpty : public RowReader {
 public:
  explicit NotEmpty(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}
  const std::string& file() const override { return rows_->file(); }
  std::optional<std::size_t> total() const override { return rows_->total(); }
  bool rows_are_lines() const override { return rows_->rows_are_lines(); }

  Result<std::optional<RowOrError>> next() override {
    auto row = rows_->next();
    if (row && !*row && !any_)
      return fail(fmt::format("{} has no rows", shown_path(file())), "is it the right file?");
    any_ = true;
    return row;
  }

 private:
  std::unique_ptr<RowReader> rows_;
  bool any_ = false;
};

Result<std::unique_ptr<RowReader>> not_empty(Result<std::unique_ptr<RowReader>> rows) {
  if (!rows) return rows;
  return std::make_unique<NotEmpty>(std::move(*rows));
}

}  // namespace

Result<std::unique_ptr<RowReader>> read_jsonl(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  return std::make_unique<JsonlReader>(path, std::move(*lines));
}

Result<std::unique_ptr<RowReader>> read_json_list(const std::string& path) {
  auto file = is_standard_input(path) ? standard_input() : path;
  if (!file) return std::unexpected(file.error());
  auto text = read_text_file(*file);
  if (!text) return std::unexpected(about_standard_input(text.error(), *file));
  auto value = parse_json(*text);
  if (!value)
    return fail(fmt::format("{} is {}", shown_path(path), value.error().what),
                "is the file whole? A JSON list is expected");
  if (!value->is_array())
    return fail(fmt::format("{} is JSON, but no list", shown_path(path)),
                "a list of recorded traces is expected");
  return std::make_unique<ListReader>(path, std::move(value->get_array()));
}

Result<std::unique_ptr<RowReader>> read_parquet(const std::string& path, const ParquetHelper& helper,
                                                const std::string& columns) {
  // Reports a directory or a missing file before a process is started.
  if (auto file = open_lines(path); !file) return std::unexpected(file.error());
  std::vector<std::string> argv{helper.python, "-I", helper.script, path, "--count"};
  if (!columns.empty()) argv.insert(argv.end(), {"--columns", columns});
  auto started = process::start_helper(argv);
  if (!started) return std::unexpected(started.error());
  auto& [child, out] = *started;
  return std::make_unique<ParquetReader>(path, std::move(child), std::move(out));
}

Result<std::unique_ptr<RowReader>> open_rows(const std::string& path, const ParquetHelper& helper,
                                             const std::string& columns) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode))
    return fail(fmt::format("{} is a pipe, which can be read only once", path),
                "give it as standard input, with - as the path");
  auto parquet = is_parquet(path);
  if (!parquet) return std::unexpected(parquet.error());
  if (*parquet && is_standard_input(path))
    return fail("standard input is Parquet", "give the path of the file, or JSON lines");
  if (*parquet) return not_empty(read_parquet(path, helper, columns));
  auto list = starts_a_list(path);
  if (!list) return std::unexpected(list.error());
  return not_empty(*list ? read_json_list(path) : read_jsonl(path));
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
