#include "loop/run_store/trace_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <initializer_list>
#include <string_view>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/object_cutter.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/run_store.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

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
  constexpr std::string_view magic("SQLite format 3\0", 16);
  char head[magic.size()] = {};
  return fd && ::read(fd.get(), head, sizeof head) == sizeof head &&
         std::string_view(head, sizeof head) == magic;
}

}  // namespace

Result<std::unique_ptr<TraceReader>> read_json_traces(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return fail(fmt::format("cannot read {}: {}", path.string(), errno_text(errno)),
                "name a run folder, its run.db, or exported JSON");
  return std::make_unique<JsonTraces>(path, std::move(fd));
}

FileContent content_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return FileContent::none;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FileContent::foreign;
  auto text = ObjectCutter(std::move(fd)).next();
  if (!text) return FileContent::foreign;
  if (text->empty()) return FileContent::none;
  auto value = parse_json(*text);
  if (!value) return FileContent::foreign;
  const boost::json::object& object = value->get_object();
  auto has = [&](std::initializer_list<std::string_view> keys) {
    return std::ranges::all_of(keys, [&](std::string_view key) { return object.contains(key); });
  };
  if (!has({"task_id", "sample_key", "sample_number"})) return FileContent::foreign;
  if (has({"pytorch_code", "sampling", "stop_reason"})) return FileContent::traces;
  bool row = has({"counts", "trust"}) && (has({"messages"}) || has({"prompt"}));
  return row ? FileContent::rows : FileContent::foreign;
}

Result<std::unique_ptr<TraceReader>> open_run(const fs::path& path) {
  if (!is_database(path)) return read_json_traces(path);
  auto reader = RunReader::open(path, Which::ended);
  if (!reader) return std::unexpected(reader.error());
  return std::move(*reader);
}

namespace {

namespace fs = std::filesystem;

// A JSON list with one element per line.
class ListFile {
 public:
  explicit ListFile(NewFile file) : file_(std::move(file)) {}

  Result<> add(const std::string& element) {
    if (auto begun = file_.write(count_++ == 0 ? "[\n" : ",\n"); !begun) return begun;
    return file_.write(element);
  }
  Result<> finish() {
    if (auto ended = file_.write(count_ == 0 ? "[]\n" : "\n]\n"); !ended) return ended;
    return file_.finish();
  }
  std::size_t count() const { return count_; }

 private:
  NewFile file_;
  std::size_t count_ = 0;
};

bool was_answered(const Trace& trace) {
  for (const Conversation& round : trace.rounds)
    if (!round.turns.empty()) return true;
  return false;
}

Result<> add(const Trace& trace, Form form, ListFile& all, ListFile& failed) {
  auto row = form == Form::multi ? multi_turn_json(trace) : single_turn_json(trace);
  std::string text = boost::json::serialize(row);
  if (was_answered(trace))
    if (auto added = all.add(text); !added) return added;
  return is_failed(trace) ? failed.add(text) : Result<>();
}

}  // namespace

fs::path failed_path(const fs::path& path) {
  fs::path failed = path;
  failed.replace_filename(path.stem().string() + "_failed" + path.extension().string());
  return failed;
}

Result<Written> write_traces(TraceReader& reader, const fs::path& path, Form form) {
  auto all_file = NewFile::create(path);
  if (!all_file) return std::unexpected(all_file.error());
  auto failed_file = NewFile::create(failed_path(path));
  if (!failed_file) return std::unexpected(failed_file.error());
  ListFile all(std::move(*all_file));
  ListFile failed(std::move(*failed_file));
  while (true) {
    auto trace = reader.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) break;
    if (auto added = add(**trace, form, all, failed); !added) return std::unexpected(added.error());
  }
  for (ListFile* file : {&all, &failed})
    if (auto ended = file->finish(); !ended) return std::unexpected(ended.error());
  return Written{all.count(), failed.count()};
}

async::Task<Result<>> save_traces(RunStore& store, fs::path path, Form form) {
  std::string name = path.string();
  co_return co_await store.in_background(name,
                                         [from = store.path(), to = std::move(path), form]() -> Result<> {
                                           auto reader = RunReader::open(from, Which::ended);
                                           if (!reader) return std::unexpected(reader.error());
                                           auto written = write_traces(**reader, to, form);
                                           return written ? Result<>() : std::unexpected(written.error());
                                         });
}

}  // namespace kw::store
