#include "serve/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "base/async/loop.h"
#include "base/database/database.h"

namespace kw::service {
namespace {

namespace fs = std::filesystem;

// Evaluations may name their tasks by id, and there are conversations.
const std::string from_format_1 =
    std::string("ALTER TABLE requests ADD COLUMN task TEXT;") + conversation_tables;
const std::array upgrades{from_format_1.c_str(), owner_tables};
const std::string all_tables = std::string(tables) + conversation_tables + owner_tables;

const sqlite::Kind store_kind{
    .application_id = 0x4B575356,
    .format = 3,
    .page_bytes = 8192,  // a page of 4096 bytes often holds only one verdict of two kilobytes
    .tables = all_tables.c_str(),
    .upgrades = upgrades,
    .when_full = "check the disk and its free space: accepted evaluations are not lost",
    .when_damaged =
        "`sqlite3 FILE .recover` may save its data; or move the file away and start with an empty one",
    .when_foreign = "name another file with --store",
    .when_newer = "use the program version that wrote it, or name another file with --store"};

}  // namespace

struct Store::State {
  State(sqlite::FileLock held, fs::path file, std::unique_ptr<SQLite::Database> opened)
      : lock(std::move(held)),
        path(std::move(file)),
        database(std::move(opened)),
        rows(std::in_place, *database),
        conversations(std::in_place, *database),
        writer(std::in_place, *database, [this](const std::exception& cause) {
          return sqlite::error_of(path, store_kind, "write", cause);
        }) {}

  // Returns the work's value when its transaction is on disk.
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

  std::optional<sqlite::FileLock> lock;  // released last
  fs::path path;
  std::unique_ptr<SQLite::Database> database;
  std::optional<Rows> rows;  // used on the writer's thread only, as are the conversations
  std::optional<ConversationRows> conversations;
  std::optional<sqlite::Writer> writer;
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::~Store() = default;

void Store::close() {
  state_->writer.reset();
  state_->rows.reset();
  state_->conversations.reset();
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
      auto one = into.insert(row, inserted->spent);
      if (inserted->spent) throw std::runtime_error("a quota is spent");  // rolls back this row as well
      if (!one) {
        inserted->conflict = inserted->rows.size();
        throw std::runtime_error("a conflict of ids");  // rolls back the earlier rows
      }
      inserted->rows.push_back(std::move(*one));
    }
    return true;
  });
  if (!kept && !inserted->conflict && !inserted->spent) co_return std::unexpected(std::move(kept.error()));
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

async::Task<Result<std::vector<std::optional<EvaluationState>>>> Store::find(std::vector<std::string> ids) {
  return state_->written<std::vector<std::optional<EvaluationState>>>([ids = std::move(ids)](Rows& in) {
    std::vector<std::optional<EvaluationState>> found;
    for (const std::string& id : ids) found.push_back(in.find(id));
    return found;
  });
}

async::Task<Result<EndedPart>> Store::ended(EndPlace after, std::size_t most,
                                            std::optional<std::string> owner) {
  return state_->written<EndedPart>(
      [after, most, owner = std::move(owner)](Rows& in) { return in.ended(after, most, owner); });
}

async::Task<Result<std::vector<std::optional<std::string>>>> Store::known_verdicts(
    std::vector<std::string> works) {
  return state_->written<std::vector<std::optional<std::string>>>([works = std::move(works)](Rows& in) {
    std::vector<std::optional<std::string>> found;
    for (const std::string& work : works) found.push_back(in.known_verdict(work));
    return found;
  });
}

async::Task<Result<>> Store::run(std::move_only_function<void(ConversationRows&)> work) {
  auto ran = co_await state_->written<bool>([this, work = std::move(work)](Rows&) mutable {
    work(*state_->conversations);
    return true;
  });
  if (!ran) co_return std::unexpected(std::move(ran.error()));
  co_return Result<>();
}

async::Task<Result<std::size_t>> Store::purge(std::int64_t finished_before_ms, std::size_t most) {
  return state_->written<std::size_t>([=](Rows& in) { return in.purge(finished_before_ms, most); });
}

}  // namespace kw::service
