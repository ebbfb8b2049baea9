#include "report/model/object_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/object_cutter.h"
#include "base/rows/rows_indexed.h"

namespace kw::report {
namespace json = boost::json;
namespace {

Result<Fd> open_to_read(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(fmt::format("cannot read {}: {}", path, errno_text(errno)), "check the path");
  return fd;
}

Result<json::object> parsed(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail("not a JSON object");
  return std::move(value->get_object());
}

// Whether the file has a complete object on its first line, and so probably on every line.
Result<bool> has_lines(const std::string& path) {
  auto fd = open_to_read(path);
  if (!fd) return std::unexpected(fd.error());
  table::RecordReader lines({.fd = fd->get(), .name = path, .max_bytes = largest_object_bytes},
                            std::make_unique<table::LineCutter>());
  while (true) {
    auto line = lines.next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return false;
    std::string_view text = trim((*line)->text);
    if ((*line)->too_long) return true;
    if (!text.empty()) return text.starts_with('{') && text.ends_with('}');
  }
}

}  // namespace

struct ObjectFile::State {
  State(Fd file, const std::string& path, bool by_lines) : fd(std::move(file)) {
    if (by_lines)
      lines.emplace(table::RecordSource{.fd = fd.get(), .name = path, .max_bytes = largest_object_bytes},
                    std::make_unique<table::LineCutter>());
    else
      objects.emplace(std::move(fd), largest_object_bytes);
  }

  Result<std::optional<PlacedObject>> next_line() {
    while (true) {
      auto line = lines->next();
      if (!line) return std::unexpected(line.error());
      if (!*line) return std::nullopt;
      ObjectPlace place{(*line)->offset, (*line)->text.size()};
      if ((*line)->too_long)
        return PlacedObject{++number, place, fail(fmt::format("over {} bytes", largest_object_bytes))};
      if (trim((*line)->text).empty()) continue;
      return PlacedObject{++number, place, parsed((*line)->text)};
    }
  }

  Result<std::optional<PlacedObject>> next_object() {
    auto text = objects->next();
    if (!text) return std::unexpected(text.error());
    if (text->empty() && objects->is_in_list()) return fail("the file ends inside its list");
    if (text->empty()) return std::nullopt;
    return PlacedObject{++number, {objects->offset(), text->size()}, parsed(*text)};
  }

  Fd fd;
  std::optional<table::RecordReader> lines;
  std::optional<ObjectCutter> objects;
  std::size_t number = 0;
};

ObjectFile::ObjectFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ObjectFile::ObjectFile(ObjectFile&&) noexcept = default;
ObjectFile& ObjectFile::operator=(ObjectFile&&) noexcept = default;
ObjectFile::~ObjectFile() = default;

Result<ObjectFile> ObjectFile::open(const std::string& path) {
  auto by_lines = has_lines(path);
  if (!by_lines) return std::unexpected(by_lines.error());
  auto fd = open_to_read(path);
  if (!fd) return std::unexpected(fd.error());
  return ObjectFile(std::make_unique<State>(std::move(*fd), path, *by_lines));
}

Result<std::optional<PlacedObject>> ObjectFile::next() {
  return state_->lines ? state_->next_line() : state_->next_object();
}

Result<> each_object(const std::string& path, const std::function<Result<>(PlacedObject)>& take,
                     const std::function<void(const Error&)>& damaged) {
  auto file = ObjectFile::open(path);
  if (!file) return damaged(file.error()), Result<>();
  while (true) {
    auto next = file->next();
    if (!next) return damaged(next.error()), Result<>();
    if (!*next) return {};
    if (auto taken = take(std::move(**next)); !taken) return taken;
  }
}

Result<json::object> read_object(const std::string& path, const ObjectPlace& place) {
  auto fd = open_to_read(path);
  if (!fd) return std::unexpected(fd.error());
  std::string text(place.bytes, '\0');
  auto filled = read_at(fd->get(), place.offset, text);
  if (filled != text.size())
    return fail(fmt::format("cannot read {} again: {}", path, filled ? "it has changed" : errno_text(errno)));
  return parsed(text);
}

}  // namespace kw::report
