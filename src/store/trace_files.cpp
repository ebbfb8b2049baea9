#include "store/trace_files.h"

#include <boost/json/serialize.hpp>

#include "base/new_file.h"
#include "store/run_reader.h"
#include "store/run_store.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

// A JSON list, one element a line.
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
  auto row = form == Form::multi_turn ? multi_turn_json(trace) : single_turn_json(trace);
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
