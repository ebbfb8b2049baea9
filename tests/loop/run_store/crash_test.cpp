// A program that is killed during a write: acknowledged data is present, and the file is sound.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <random>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>

#include "loop/run_store/run_reader.h"
#include "store_world.h"

namespace kw::store {
namespace {

constexpr int kills = 20;
constexpr std::uint64_t writers = 4;  // at once, so that transactions hold several turns

async::Task<> write_for_ever(RunStore* store, std::uint64_t writer, std::uint64_t generation,
                             int acknowledge) {
  Trace t = trace(std::to_string(writer) + "-" + std::to_string(generation));
  if (!co_await store->begin(key_of(t), t)) ::_exit(3);
  for (std::uint64_t number = 1;; ++number) {
    Turn next = turn(number, std::string(3000, 'x'), judged(Status::correct, 1.0));
    if (!co_await store->save(key_of(t), 0, next)) ::_exit(3);
    std::uint64_t said[2] = {writer, number};
    if (::write(acknowledge, said, sizeof said) != sizeof said) ::_exit(4);
  }
}

[[noreturn]] void be_the_program(const std::string& folder, std::uint64_t generation, int acknowledge) {
  async::Loop loop;
  auto store = RunStore::open(loop, folder, {}, false);
  if (!store) ::_exit(2);
  for (std::uint64_t i = 0; i < writers; ++i)
    boost::asio::co_spawn(loop, write_for_ever(store->get(), i, generation, acknowledge),
                          boost::asio::detached);
  loop.run();
  ::_exit(0);
}

TEST(Crash, NoAcknowledgedTurnIsLostAndTheFileIsSound) {
  Folder folder;
  std::string run = folder.path("x.run");
  std::mt19937 random(7);
  std::uint64_t acknowledged = 0;
  for (std::uint64_t generation = 0; generation < kills; ++generation) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    if (child == 0) be_the_program(run, generation, ends[1]);
    ::close(ends[1]);
    std::uint64_t said[2] = {};
    ASSERT_EQ(::read(ends[0], said, sizeof said), static_cast<ssize_t>(sizeof said)) << "the writer ended";
    std::vector<std::uint64_t> last(writers, 0);
    last[said[0]] = said[1];
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    ::kill(child, SIGKILL);
    while (::read(ends[0], said, sizeof said) == static_cast<ssize_t>(sizeof said)) last[said[0]] = said[1];
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);

    auto reader = RunReader::open(run);
    ASSERT_TRUE(reader) << reader.error().what;
    std::vector<std::uint64_t> kept(writers, 0);
    std::string tail = "-" + std::to_string(generation);
    while (auto found = *(*reader)->next()) {
      std::string uuid = found->task.task_id.substr(11);
      if (!uuid.ends_with(tail) || found->rounds.empty()) continue;
      std::vector<Turn>& turns = found->rounds[0].turns;
      kept[std::stoul(uuid)] = turns.size();
      EXPECT_EQ(turns.back().turn, turns.size());  // none is missing
    }
    for (std::uint64_t i = 0; i < writers; ++i) {
      EXPECT_GE(kept[i], last[i]);
      acknowledged += last[i];
    }
  }
  EXPECT_GT(acknowledged, std::uint64_t{kills});
  SQLite::Database database(run + "/run.db", SQLite::OPEN_READWRITE);
  EXPECT_EQ(database.execAndGet("PRAGMA integrity_check").getString(), "ok");
  SQLite::Statement orphans(database, "PRAGMA foreign_key_check");
  EXPECT_FALSE(orphans.executeStep());
}

}  // namespace
}  // namespace kw::store
