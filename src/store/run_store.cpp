#include "store/run_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>

#include "async/event.h"
#include "store/database.h"
#include "store/identity.h"
#include "store/run_lock.h"
#include "store/run_reader.h"
#include "store/writer.h"

namespace kw::store {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// Suspends until start(done) has called done(error), on whatever thread; resumes on the loop.
async::Task<std::optional<Error>> elsewhere(
    std::move_only_function<void(std::move_only_function<void(std::optional<Error>)>)> start) {
  auto initiate = [](auto handler, auto begin) {
    auto executor = asio::get_associated_executor(handler);
    begin([handler = std::move(handler), executor,
           busy = asio::make_work_guard(executor)](std::optional<Error> error) mutable {
      asio::post(executor, [handler = std::move(handler), error = std::move(error)]() mutable {
        std::move(handler)(std::move(error));
      });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::optional<Error>)>(
      initiate, asio::use_awaitable, std::move(start));
}

// Work in the background that others may share while it has not begun.
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

struct SetAtEnd {
  std::shared_ptr<Shared> shared;
  ~SetAtEnd() { shared->done.set(); }
};

}  // namespace

struct RunStore::State {
  State(async::Loop& its_loop, RunLock held, fs::path file, std::unique_ptr<SQLite::Database> database)
      : loop(its_loop), lock(std::move(held)), path(std::move(file)), writer(path, std::move(database)) {}

  // The work's value, once its transaction is on disk.
  template <typename T>
  async::Task<Result<T>> written(std::move_only_function<T(Records&)> work) {
    auto value = std::make_shared<std::optional<T>>();
    auto failed = co_await elsewhere([this, value, work = std::move(work)](auto done) mutable {
      writer.push({[value, work = std::move(work)](Records& records) mutable { *value = work(records); },
                   std::move(done)});
    });
    if (failed) co_return std::unexpected(std::move(*failed));
    co_return std::move(**value);
  }

  async::Task<Result<>> changed(std::move_only_function<void(Records&)> work) {
    auto failed = co_await elsewhere([this, work = std::move(work)](auto done) mutable {
      writer.push({std::move(work), std::move(done)});
    });
    if (failed) co_return std::unexpected(std::move(*failed));
    co_return Result<>();
  }

  async::Loop& loop;
  RunLock lock;  // let go last
  fs::path path;
  Writer writer;
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
  auto lock = RunLock::take(path);
  if (!lock) return std::unexpected(lock.error());
  if (fresh)
    if (auto moved = move_aside(path); !moved) return std::unexpected(moved.error());
  auto database = open_database(path);
  if (!database) return std::unexpected(database.error());
  if (auto same = settle_identity(**database, path, info); !same) return std::unexpected(same.error());
  try {
    return std::unique_ptr<RunStore>(
        new RunStore(std::make_unique<State>(loop, std::move(*lock), path, std::move(*database))));
  } catch (const std::exception& cause) {
    return std::unexpected(database_error(path, "open", cause));
  }
}

async::Task<Result<std::optional<Trace>>> RunStore::find(const TraceKey& key) {
  return state_->written<std::optional<Trace>>([key](Records& records) { return records.find(key); });
}

async::Task<Result<>> RunStore::begin(const TraceKey& key, const Trace& trace) {
  // The rounds are not kept by this call: no need to copy them.
  Trace head{trace.task, trace.sample_number, trace.prompt, trace.sampling, {}, {}};
  return state_->changed([key, head = std::move(head)](Records& records) { records.begin(key, head); });
}

async::Task<Result<>> RunStore::save(const TraceKey& key, std::size_t round, const Turn& turn) {
  return state_->changed([key, round, turn](Records& records) { records.save(key, round, turn); });
}

async::Task<Result<>> RunStore::end(const TraceKey& key, std::size_t round, const Conversation& conversation,
                                    bool last) {
  Conversation reason{{}, conversation.stop_reason, conversation.error};
  return state_->changed([key, round, reason = std::move(reason), last](Records& records) {
    records.end(key, round, reason, last);
  });
}

async::Task<Result<std::optional<Verdict>>> RunStore::known_verdict(const std::string& task_id,
                                                                    const std::string& candidate_sha256,
                                                                    const std::string& protocol) {
  return state_->written<std::optional<Verdict>>(
      [=](Records& records) { return records.known_verdict(task_id, candidate_sha256, protocol); });
}

async::Task<Result<Summary>> RunStore::summary() {
  auto summary = std::make_shared<Summary>();
  // A name of its own: what is dropped would leave its summary empty.
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
  auto failed = co_await elsewhere([this, shared, work = std::move(work)](auto done) mutable {
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

}  // namespace kw::store
