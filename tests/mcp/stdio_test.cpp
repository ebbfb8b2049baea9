// The transport over pipes and files.
#include "mcp/stdio.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

#include "base/core/files.h"
#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;

// A client at the other ends of two pipes.
struct Client {
  explicit Client(std::size_t longest = most_message_bytes, std::size_t most_waiting = std::size_t{1} << 20) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe(in.data()), 0);
    EXPECT_EQ(::pipe2(out.data(), O_NONBLOCK), 0);
    EXPECT_EQ(::fcntl(out[1], F_SETFL, 0), 0);
    from_us = Fd(in[1]);
    theirs_in = Fd(in[0]);
    to_us = Fd(out[0]);
    theirs_out = Fd(out[1]);
    async::spawn(world.loop,
                 serve_stdio(world.loop, world.stop, world.session,
                             {theirs_in.get(), theirs_out.get(), longest, most_waiting}),
                 [this](const std::exception_ptr&) { is_over = true; });
  }

  void send(const std::string& text) { ASSERT_TRUE(write_all(from_us.get(), text)); }
  // Lines that have arrived so far, with those before.
  std::vector<std::string>& lines() {
    world.settle();
    std::array<char, 65536> bytes;
    for (ssize_t count = 0; (count = ::read(to_us.get(), bytes.data(), bytes.size())) > 0;)
      for (auto& line : cutter.take({bytes.data(), static_cast<std::size_t>(count)}))
        seen.push_back(line.text);
    return seen;
  }
  void until_lines(std::size_t count) {
    world.until([&] { return lines().size() >= count; });
  }
  void leave() {
    from_us.reset();
    world.until([&] { return is_over; });
  }

  World world;
  Fd from_us;
  Fd to_us;
  Fd theirs_in;
  Fd theirs_out;
  LineCutter cutter{std::size_t{64} << 20};
  std::vector<std::string> seen;
  bool is_over = false;
};

TEST(LineCutter, CutsAtLineFeeds) {
  LineCutter cutter(5);
  auto first = cutter.take("ab\r\n\ncd");
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].text, "ab");
  EXPECT_EQ(first[1].text, "");
  EXPECT_EQ(cutter.take("e\n").at(0).text, "cde");
}

TEST(LineCutter, ForgetsALineThatIsTooLong) {
  LineCutter cutter(5);
  EXPECT_TRUE(cutter.take("123456").empty());
  EXPECT_TRUE(cutter.take("789").empty());
  auto lines = cutter.take("0\nok\n");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].is_too_long);
  EXPECT_EQ(lines[0].text, "");
  EXPECT_EQ(lines[1].text, "ok");
}

TEST(Stdio, AnswersALineWithALine) {
  Client client;
  client.send(std::string(initialize_text) + "\n\n  \n" +
              R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})" + "\n");
  client.until_lines(2);
  EXPECT_THAT(client.seen.at(0), HasSubstr("serverInfo"));
  EXPECT_THAT(client.seen.at(1), HasSubstr("inputSchema"));
  client.leave();
  EXPECT_EQ(client.lines().size(), 2U);
}

TEST(Stdio, RefusesAHugeLineAndGoesOn) {
  Client client(1'000);
  client.send(std::string(5'000, '[') + "\n" + initialize_text + "\n");
  client.until_lines(2);
  EXPECT_THAT(client.seen.at(0), HasSubstr("more than 1000 bytes"));
  EXPECT_THAT(client.seen.at(1), HasSubstr("serverInfo"));
}

TEST(Stdio, AnswersGarbageAndGoesOn) {
  Client client;
  client.send("garbage\n\xff\xfe\n[]\n" + std::string(initialize_text) + "\n");
  client.until_lines(4);
  EXPECT_THAT(client.seen.at(0), HasSubstr("-32700"));
  EXPECT_THAT(client.seen.at(1), HasSubstr("-32700"));
  EXPECT_THAT(client.seen.at(2), HasSubstr("-32600"));
  EXPECT_THAT(client.seen.at(3), HasSubstr("serverInfo"));
}

TEST(Stdio, AnswersOneCallWhileAnotherIsJudged) {
  Client client;
  client.world.verifier.hold();
  client.send(std::string(initialize_text) + "\n" + call_text(1) + "\n" +
              R"({"jsonrpc":"2.0","id":2,"method":"ping"})" + "\n");
  client.until_lines(2);
  EXPECT_THAT(client.seen.at(1), HasSubstr("\"id\":2"));
  client.world.verifier.release();
  client.until_lines(3);
  EXPECT_THAT(client.seen.at(2), HasSubstr("\"id\":1"));
}

TEST(EndOfInput, StopsTheJudging) {
  Client client;
  client.world.verifier.hold();
  client.send(std::string(initialize_text) + "\n" + call_text(1) + "\n");
  client.world.until([&] { return client.world.verifier.judged.size() == 1; });
  client.leave();
  EXPECT_EQ(client.world.verifier.stopped, 1);
  EXPECT_EQ(client.lines().size(), 1U);
}

TEST(EndOfInput, ComesAfterTheAnswersThatNeedNoVerifier) {
  Client client;
  client.send(std::string(initialize_text) + "\n" + R"({"jsonrpc":"2.0","id":1,"method":"ping"})" + "\n");
  client.leave();
  EXPECT_EQ(client.lines().size(), 2U);
}

TEST(ClosedOutput, EndsTheServer) {
  std::signal(SIGPIPE, SIG_IGN);
  Client client;
  client.to_us.reset();
  client.send(std::string(initialize_text) + "\n");
  client.world.until([&] { return client.is_over; });
}

TEST(SlowReader, IsWaitedForBeforeFurtherMessagesAreRead) {
  Client client(most_message_bytes, 100'000);
  json::object params{{"uri", "kernelwright://docs/verdict.md"}, {"padding", std::string(4'000, 'x')}};
  std::string text = std::string(initialize_text) + "\n";
  for (int i = 1; i <= 60; ++i)
    text += json::serialize(json::object{
                {"jsonrpc", "2.0"}, {"id", i}, {"method", "resources/read"}, {"params", params}}) +
            "\n";
  ASSERT_GE(::fcntl(client.from_us.get(), F_SETPIPE_SZ, 1 << 20), 0);
  client.send(text);
  client.world.settle();
  int unread = 0;
  ASSERT_EQ(::ioctl(client.theirs_in.get(), FIONREAD, &unread), 0);
  EXPECT_GT(unread, 0);
  client.until_lines(61);
}

TEST(Files, ServeAsInputAndOutput) {
  World world;
  Folder folder;
  Fd in(::open(folder
                   .write("in", std::string(initialize_text) + "\n" +
                                    R"({"jsonrpc":"2.0","id":1,"method":"ping"})" + "\n")
                   .c_str(),
               O_RDONLY));
  Fd out(::open(folder.path("out").c_str(), O_WRONLY | O_CREAT, 0600));
  bool is_over = false;
  async::spawn(world.loop, serve_stdio(world.loop, world.stop, world.session, {in.get(), out.get()}),
               [&](const std::exception_ptr&) { is_over = true; });
  world.until([&] { return is_over; });
  auto text = read_file(folder.path("out"));
  ASSERT_TRUE(text);
  EXPECT_EQ(std::ranges::count(*text, '\n'), 2);
}

}  // namespace
}  // namespace kw::mcp::test
