#include "service/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <stdexcept>

#include "async/elsewhere.h"
#include "service/tables.h"
#include "sqlite/file_lock.h"
#include "sqlite/open.h"
#include "sqlite/writer.h"

namespace kw::service {
namespace {

namespace fs = std::filesystem;

constexpr sqlite::Kind store_kind{
    .application_id = 0x4B575356,
    .format = 1,
    .page_bytes = 8192,  // of verdicts of two kilobytes a page of 4096 bytes often holds but one
    .tables = tables,
    .when_full = "make sure that the disk is sound and has space: nothing that was accepted is lost",
    .when_damaged =
        "`sqlite3 FILE .recover` may save what is in it; or move it away, and start with an empty one",
    .when_foreign = "name another file with --store",
    .when_newer = "use the version that made it, or name another file with --store"};

}  // namespace

struct Store::State {
  State(sqlite::FileLock held, fs::path file, std::unique_ptr<SQLite::Database> opened)
      : lock(std::move(held)),
        path(std::move(file)),
        database(std::move(opened)),
        rows(std::in_place, *database),
        writer(std::in_place, *database, [this](const std::exception& cause) {
          return sqlite::error_of(path, store_kind, "write", cause);
        }) {}

  // The work's value, once its transaction is on disk.
  template <typename T>
  async::Task<Result<T>> written(std::move_only_function<T(Rows&)> work) {
    if (!writer) co_return fail("the store is closed");
    auto value = std::make_shared<std::optional<T>>();
    auto failed = co_await async::elsewhere([this, value, work = std::move(work)](auto done) mutable {
      writer->push(
          {[this, value, work = std::move(work)]() mutable { *value = work(*rows); }, std::move(done)});
    });
    if (failed) co_return std::unexpected(std::move(*failed));
    co_return std::move(**value);
  }

  std::optional<sqlite::FileLock> lock;  // let go last
  fs::path path;
  std::unique_ptr<SQLite::Database> database;
  std::optional<Rows> rows;  // the writer's thread's
  std::optional<sqlite::Writer> writer;
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::~Store() = default;

void Store::close() {
  state_->writer.reset();
  state_->rows.reset();
  state_->database.reset();
  state_->lock.reset();
}

Result<std::unique_ptr<Store>> Store::open(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error)
    return fail(fmt::format("cannot make the folder {}: {}", path.parent_path().string(), error.message()),
                "name another file with --store");
  auto lock = sqlite::FileLock::take(path, {fmt::format("the store {}", path.string()),
                                            "end the other service, or name another file with --store"});
  if (!lock) return std::unexpected(lock.error());
  auto database = sqlite::open(path, store_kind);
  if (!database) return std::unexpected(database.error());
  try {
    return std::unique_ptr<Store>(
        new Store(std::make_unique<State>(std::move(*lock), path, std::move(*database))));
  } catch (const std::exception& cause) {
    return std::unexpected(sqlite::error_of(path, store_kind, "open", cause));
  }
}

Result<std::vector<OpenRow>> Store::open_ones() {
  try {
    return state_->rows->open_ones();
  } catch (const std::exception& cause) {
    return std::unexpected(sqlite::error_of(state_->path, store_kind, "read", cause));
  }
}

async::Task<Result<Store::Inserted>> Store::insert(std::vector<NewRow> rows) {
  auto inserted = std::make_shared<Inserted>();
  auto kept = co_await state_->written<bool>([inserted, rows = std::move(rows)](Rows& into) {
    for (const NewRow& row : rows) {
      auto one = into.insert(row);
      if (!one) {
        inserted->conflict = inserted->rows.size();
        throw std::runtime_error("a conflict of ids");  // takes back those before it
      }
      inserted->rows.push_back(std::move(*one));
    }
    return true;
  });
  if (!kept && !inserted->conflict) co_return std::unexpected(std::move(kept.error()));
  co_return std::move(*inserted);
}

async::Task<Result<>> Store::end(std::vector<EndRow> rows) {
  auto ended = co_await state_->written<bool>([rows = std::move(rows)](Rows& in) {
    for (const EndRow& row : rows) in.end(row);
    return true;
  });
  if (!ended) co_return std::unexpected(std::move(ended.error()));
  co_return Result<>();
}

async::Task<Result<std::vector<std::optional<Record>>>> Store::find(std::vector<std::string> ids) {
  return state_->written<std::vector<std::optional<Record>>>([ids = std::move(ids)](Rows& in) {
    std::vector<std::optional<Record>> found;
    for (const std::string& id : ids) found.push_back(in.find(id));
    return found;
  });
}

async::Task<Result<std::vector<std::optional<std::string>>>> Store::known_verdicts(
    std::vector<std::string> works) {
  return state_->written<std::vector<std::optional<std::string>>>([works = std::move(works)](Rows& in) {
    std::vector<std::optional<std::string>> found;
    for (const std::string& work : works) found.push_back(in.known_verdict(work));
    return found;
  });
}

async::Task<Result<std::size_t>> Store::purge(std::int64_t finished_before_ms, std::size_t most) {
  return state_->written<std::size_t>([=](Rows& in) { return in.purge(finished_before_ms, most); });
}

}  // namespace kw::service
