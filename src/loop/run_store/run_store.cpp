#include "loop/run_store/run_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/database/database.h"
#include "loop/run_store/database.h"
#include "loop/run_store/records.h"
#include "loop/run_store/run_reader.h"

namespace kw::store {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// Background work; callers may share it until it begins.
struct Shared {
  explicit Shared(async::Loop& loop) : done(loop) {}
  std::atomic<bool> begun = false;
  Result<> result = fail("it was given up");
  async::Event done;
};

std::optional<Error> outcome(std::move_only_function<Result<>()>& work) {
  try {
    auto result = work();
    return result ? std::nullopt : std::optional(std::move(result.error()));
  } catch (const std::exception& error) {
    return Error{error.what(), {}};
  }
}

// An error after `fresh` has renamed the earlier run says where that is.
Error naming_renamed(Error error, const fs::path& path, const fs::path& renamed) {
  if (!renamed.empty()) error.what += fmt::format("; {} was renamed to {}", path.string(), renamed.string());
  return error;
}

struct SetAtEnd {
  std::shared_ptr<Shared> shared;
  ~SetAtEnd() { shared->done.set(); }
};

}  // namespace

struct RunStore::State {
  State(async::Loop& its_loop, sqlite::FileLock held, fs::path file, std::unique_ptr<SQLite::Database> opened)
      : loop(its_loop),
        lock(std::move(held)),
        path(std::move(file)),
        database(std::move(opened)),
        records(*database),
        writer(*database,
               [this](const std::exception& cause) { return database_error(path, "write", cause); }) {}

  // Returns the work's value when its transaction is on disk.
  template <typename T>
  async::Task<Result<T>> written(std::move_only_function<T(Records&)> work) {
    auto value = std::make_shared<std::optional<T>>();
    auto failed = co_await async::elsewhere([this, value, work = std::move(work)](auto done) mutable {
      writer.push(
          {[this, value, work = std::move(work)]() mutable { *value = work(records); }, std::move(done)});
    });
    if (failed) co_return std::unexpected(std::move(*failed));
    co_return std::move(**value);
  }

  async::Task<Result<>> changed(std::move_only_function<void(Records&)> work) {
    auto failed = co_await async::elsewhere([this, work = std::move(work)](auto done) mutable {
      writer.push({[this, work = std::move(work)]() mutable { work(records); }, std::move(done)});
    });
    if (failed) co_return std::unexpected(std::move(*failed));
    co_return Result<>();
  }

  async::Loop& loop;
  sqlite::FileLock lock;  // released last
  fs::path path;
  fs::path replaced;
  std::unique_ptr<SQLite::Database> database;
  Records records;  // used on the writer's thread only
  sqlite::Writer writer;
  std::map<std::string, std::shared_ptr<Shared>> shared;  // the latest of each name
  asio::thread_pool background{1};
};

RunStore::RunStore(std::unique_ptr<State> state) : state_(std::move(state)) {}

RunStore::~RunStore() {
  state_->background.join();
}

Result<std::unique_ptr<RunStore>> RunStore::open(async::Loop& loop, const fs::path& folder,
                                                 const RunInfo& info, bool fresh) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()),
                "name another --output");
  fs::path path = folder / "run.db";
  auto lock = sqlite::FileLock::take(path, {fmt::format("run {}", folder.string()),
                                            "wait until it has ended, or write to another --output"});
  if (!lock) return std::unexpected(lock.error());
  Result<fs::path> replaced = fs::path();
  if (fresh) replaced = move_aside(path);
  if (!replaced) return std::unexpected(replaced.error());
  auto broken = [&](Error error) {
    return std::unexpected(naming_renamed(std::move(error), path, *replaced));
  };
  auto database = open_database(path);
  if (!database) return broken(database.error());
  if (auto same = settle_identity(**database, path, info); !same) return broken(same.error());
  try {
    std::unique_ptr<RunStore> store(
        new RunStore(std::make_unique<State>(loop, std::move(*lock), path, std::move(*database))));
    store->state_->replaced = std::move(*replaced);
    return store;
  } catch (const std::exception& cause) {
    return broken(database_error(path, "open", cause));
  }
}

async::Task<Result<std::optional<Trace>>> RunStore::find(const TraceKey& key) {
  return state_->written<std::optional<Trace>>([key](Records& records) { return records.find(key); });
}

async::Task<Result<>> RunStore::begin(const TraceKey& key, const Trace& trace) {
  // This call does not store rounds, so they are not copied.
  Trace head{trace.task, trace.sample_number, trace.prompt, trace.sampling, {}, {}};
  return state_->changed([key, head = std::move(head)](Records& records) { records.begin(key, head); });
}

async::Task<Result<>> RunStore::save(const TraceKey& key, std::size_t round, const Turn& turn) {
  return state_->changed([key, round, turn](Records& records) { records.save(key, round, turn); });
}

async::Task<Result<>> RunStore::save_judgement(const TraceKey& key, std::size_t round, const Turn& turn) {
  Turn judged;
  judged.turn = turn.turn;
  judged.verdict = turn.verdict;
  judged.judged_at = turn.judged_at;
  judged.feedback = turn.feedback;
  return state_->changed([key, round, judged = std::move(judged)](Records& records) {
    records.save_judgement(key, round, judged);
  });
}

async::Task<Result<>> RunStore::end(const TraceKey& key, std::size_t round, const Conversation& conversation,
                                    bool last) {
  Conversation reason{{}, conversation.stop_reason, conversation.error};
  return state_->changed([key, round, reason = std::move(reason), last](Records& records) {
    records.end(key, round, reason, last);
  });
}

async::Task<Result<std::optional<Verdict>>> RunStore::known_verdict(const std::string& work) {
  return state_->written<std::optional<Verdict>>(
      [work](Records& records) { return records.known_verdict(work); });
}

async::Task<Result<Summary>> RunStore::summary() {
  auto summary = std::make_shared<Summary>();
  // A unique name: shared work would leave this summary empty.
  std::string name = fmt::format("summary {}", static_cast<const void*>(summary.get()));
  auto read = co_await in_background(name, [summary, path = state_->path]() -> Result<> {
    auto reader = RunReader::open(path);
    if (!reader) return std::unexpected(reader.error());
    auto found = (*reader)->summary();
    if (!found) return std::unexpected(found.error());
    *summary = *found;
    return {};
  });
  if (!read) co_return std::unexpected(read.error());
  co_return *summary;
}

async::Task<Result<>> RunStore::in_background(std::string name, std::move_only_function<Result<>()> work) {
  if (auto found = state_->shared.find(name); found != state_->shared.end() && !found->second->begun) {
    auto other = found->second;
    co_await other->done.wait();
    co_return other->result;
  }
  auto shared = std::make_shared<Shared>(state_->loop);
  state_->shared[name] = shared;
  SetAtEnd at_end{shared};
  auto failed = co_await async::elsewhere([this, shared, work = std::move(work)](auto done) mutable {
    asio::post(state_->background, [shared, work = std::move(work), done = std::move(done)]() mutable {
      shared->begun = true;
      done(outcome(work));
    });
  });
  std::erase_if(state_->shared, [&](const auto& each) { return each.second == shared; });
  shared->result = failed ? Result<>(std::unexpected(std::move(*failed))) : Result<>();
  co_return shared->result;
}

const fs::path& RunStore::path() const {
  return state_->path;
}

const fs::path& RunStore::replaced() const {
  return state_->replaced;
}

}  // namespace kw::store
