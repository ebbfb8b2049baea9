// The conversations of the store: which completions a reader gets, and how turns are compared.
#include "serve/conversation_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "serve/store.h"

namespace kw::service::test {
namespace {

using testing::ElementsAre;
using Sending = ConversationRows::Sending;

constexpr std::int64_t now_ms = 1'000;

struct RowsWorld {
  RowsWorld() {
    database.exec(conversation_tables);
    database.exec("ALTER TABLE conversations ADD COLUMN owner TEXT NOT NULL DEFAULT ''");
    rows.emplace(database);
    ConversationRow row;
    row.id = "c";
    row.expires_at_ms = 10 * now_ms;
    rows->open(row, {.most_open = 1});
  }

  Sending send(std::size_t turn, const std::string& completion, const std::string& finish_reason = "stop") {
    TurnRow row;
    row.turn = turn;
    row.completion = completion;
    row.finish_reason = finish_reason;
    auto sent = rows->send("c", row, now_ms, 1'000);
    if (sent.how == Sending::sent) {
      row.verdict = "{}";
      rows->judged(sent.row.seq, row, {}, 10 * now_ms);
    }
    return sent.how;
  }

  std::vector<std::string> completions(Completions which) {
    std::vector<std::string> found;
    for (const TurnRow& turn : rows->find("c", now_ms, which)->turns) found.push_back(turn.completion);
    return found;
  }

  SQLite::Database database{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  std::optional<ConversationRows> rows;
};

TEST(ConversationRows, GiveTheCompletionsThatAreAskedFor) {
  RowsWorld world;
  for (std::size_t turn = 1; turn <= 3; ++turn) world.send(turn, "answer " + std::to_string(turn));
  EXPECT_THAT(world.completions(Completions::none), ElementsAre("", "", ""));
  EXPECT_THAT(world.completions(Completions::last), ElementsAre("", "", "answer 3"));
  EXPECT_THAT(world.completions(Completions::all), ElementsAre("answer 1", "answer 2", "answer 3"));
}

TEST(ConversationRows, ATurnIsTheSameOnlyWithItsCompletionAndItsEnd) {
  RowsWorld world;
  const std::string with_nul{"a\0b", 3};
  EXPECT_EQ(world.send(1, with_nul), Sending::sent);
  EXPECT_EQ(world.send(2, ""), Sending::sent);
  EXPECT_EQ(world.send(1, with_nul), Sending::repeated);
  EXPECT_EQ(world.send(1, "a"), Sending::conflict);
  EXPECT_EQ(world.send(1, std::string("a\0c", 3)), Sending::conflict);
  EXPECT_EQ(world.send(1, with_nul, "length"), Sending::conflict);
  EXPECT_EQ(world.send(2, ""), Sending::repeated);
  EXPECT_EQ(world.send(2, " "), Sending::conflict);
}

}  // namespace
}  // namespace kw::service::test
