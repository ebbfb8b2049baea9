// Messages that no well-behaved client would send, and their ids.
#include "mcp/message.h"

#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>

#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;

ErrorCode refused(const std::string& text) {
  Incoming incoming = read_incoming(text);
  EXPECT_EQ(incoming.messages.size(), 1U);
  EXPECT_FALSE(incoming.messages.front()) << text;
  return incoming.messages.front() ? ErrorCode::busy : incoming.messages.front().error().error.code;
}

std::string with(const std::string& members) {
  return R"({"jsonrpc":"2.0",)" + members + "}";
}

TEST(Message, ThatIsNoJsonIsAParseError) {
  for (const std::string text : {"", "{", "nonsense", "{\"a\":\"\xff\"}", "{} {}", "{\"jsonrpc\":\"2.0\",}"})
    EXPECT_EQ(refused(text), ErrorCode::parse_error) << text;
}

TEST(Message, IsNestedWithinALimit) {
  const std::string deep = with(R"("id":1,"method":"ping","params":{"a":)" + std::string(100'000, '[') +
                                std::string(100'000, ']') + "}");
  EXPECT_EQ(refused(deep), ErrorCode::parse_error);
}

TEST(Message, OfAnotherFormIsAnInvalidRequest) {
  for (const std::string& text :
       {std::string("1"), std::string("\"ping\""), std::string("null"), std::string("{}"),
        std::string(R"({"id":1,"method":"ping"})"),
        std::string(R"({"jsonrpc":"1.0","id":1,"method":"ping"})"), with(R"("id":1)"),
        with(R"("id":1,"method":7)"), with(R"("id":1,"method":")" + std::string(300, 'x') + "\"")})
    EXPECT_EQ(refused(text), ErrorCode::invalid_request) << text;
}

TEST(Message, HasAnObjectOfParameters) {
  for (const char* params : {"[]", "1", "\"x\"", "null", "true"})
    EXPECT_EQ(refused(with(fmt::format(R"("id":1,"method":"ping","params":{})", params))),
              ErrorCode::invalid_params)
        << params;
}

TEST(Id, IsAStringOrAnInteger) {
  for (const char* id : {"0", "-7", "9007199254740993", "18446744073709551615", "\"\"", "\"a b\"", "\"7\""}) {
    Incoming incoming = read_incoming(with(fmt::format(R"("id":{},"method":"ping")", id)));
    ASSERT_TRUE(incoming.messages.front()) << id;
    EXPECT_EQ(json::serialize(incoming.messages.front()->id), id);
  }
  for (const std::string& id : {std::string("null"), std::string("1.5"), std::string("true"),
                                std::string("[1]"), std::string("{}"), "\"" + std::string(2'000, 'x') + "\""})
    EXPECT_EQ(refused(with(fmt::format(R"("id":{},"method":"ping")", id))), ErrorCode::invalid_request) << id;
}

TEST(Id, OfARefusedMessageIsRepeated) {
  Incoming incoming = read_incoming(with(R"("id":"q","method":7)"));
  EXPECT_EQ(incoming.messages.front().error().id, json::value("q"));
}

TEST(Notification, IsNotAnsweredEvenIfItIsWrong) {
  EXPECT_FALSE(read_incoming(with(R"("method":"notifications/x")")).asks());
  EXPECT_FALSE(read_incoming(with(R"("method":"notifications/x","params":[])")).asks());
}

TEST(Response, OfAClientIsIgnored) {
  for (const char* text : {R"("id":1,"result":{})", R"("id":null,"error":{"code":1,"message":"x"})"}) {
    Incoming incoming = read_incoming(with(text));
    ASSERT_TRUE(incoming.messages.front());
    EXPECT_EQ(incoming.messages.front()->kind, Message::Kind::response);
    EXPECT_FALSE(incoming.asks());
  }
}

TEST(Batch, IsLimitedAndNotEmpty) {
  EXPECT_EQ(refused("[]"), ErrorCode::invalid_request);
  std::string many = "[1";
  for (std::size_t i = 0; i < most_batched; ++i) many += ",1";
  EXPECT_EQ(refused(many + "]"), ErrorCode::invalid_request);
  EXPECT_EQ(read_incoming("[1,2]").messages.size(), 2U);
}

TEST(Answer, IsOneLine) {
  std::string text = result_text("a", {{"text", "one\ntwo\r\n"}});
  EXPECT_EQ(text.find_first_of("\r\n"), text.npos);
  EXPECT_THAT(text, HasSubstr(R"("id":"a")"));
}

}  // namespace
}  // namespace kw::mcp::test
