#include "store/json_traces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "schema/json.h"
#include "store/run_reader.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

// Cuts a text into its outermost objects without reading what is in them.
class ObjectCutter {
 public:
  explicit ObjectCutter(Fd fd) : fd_(std::move(fd)) {}

  // The next object's text; empty at the end. An error where the file is neither list nor lines.
  Result<std::string> next() {
    std::string object;
    while (true) {
      if (at_ == chunk_.size()) {
        auto more = fill();
        if (!more) return std::unexpected(more.error());
        if (!*more) return object.empty() ? Result<std::string>(object) : fail("it ends within a trace");
      }
      char c = chunk_[at_++];
      if (depth_ == 0 && c != '{') {
        if (std::string_view(" \t\r\n,[]").find(c) == std::string_view::npos)
          return fail("it holds something else than objects");
        continue;
      }
      object += c;
      if (ends(c)) return object;
    }
  }

 private:
  // Follows strings and braces; true at the brace that closes an outermost object.
  bool ends(char c) {
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
      return false;
    }
    if (c == '"') in_string_ = true;
    if (c == '{') ++depth_;
    return c == '}' && --depth_ == 0;
  }

  Result<bool> fill() {
    chunk_.resize(1 << 16);
    ssize_t n = 0;
    do n = ::read(fd_.get(), chunk_.data(), chunk_.size());
    while (n < 0 && errno == EINTR);
    chunk_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    at_ = 0;
    if (n < 0) return fail(errno_text(errno));
    return n > 0;
  }

  Fd fd_;
  std::string chunk_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

class JsonTraces : public TraceReader {
 public:
  JsonTraces(fs::path path, Fd fd) : path_(std::move(path)), objects_(std::move(fd)) {}

  Result<std::optional<Trace>> next() override {
    auto text = objects_.next();
    if (!text) return broken(text.error());
    if (text->empty()) return std::nullopt;
    ++number_;
    auto value = parse_json(*text);
    if (!value) return broken(value.error());
    auto trace = trace_from_json(value->get_object());
    if (!trace) return broken(trace.error());
    return std::move(*trace);
  }

 private:
  std::unexpected<Error> broken(const Error& error) const {
    return fail(fmt::format("{}, trace {}: {}", path_.string(), number_, error.what), error.remedy);
  }

  fs::path path_;
  ObjectCutter objects_;
  std::size_t number_ = 0;
};

bool is_database(const fs::path& path) {
  if (fs::is_directory(path)) return true;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char head[16] = {};
  return fd && ::read(fd.get(), head, sizeof head) == sizeof head &&
         std::string_view(head) == "SQLite format 3";
}

}  // namespace

Result<std::unique_ptr<TraceReader>> read_json_traces(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return fail(fmt::format("cannot read {}: {}", path.string(), errno_text(errno)),
                "name a run folder, its run.db, or exported JSON");
  return std::make_unique<JsonTraces>(path, std::move(fd));
}

Result<std::unique_ptr<TraceReader>> open_run(const fs::path& path) {
  if (!is_database(path)) return read_json_traces(path);
  auto reader = RunReader::open(path, Which::ended);
  if (!reader) return std::unexpected(reader.error());
  return std::move(*reader);
}

}  // namespace kw::store
