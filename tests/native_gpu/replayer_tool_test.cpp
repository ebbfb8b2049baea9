// A replayer that a tool starts: a script stands for the tool. The replayer is the true one; it has no
// recording, and no driver where there is none.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "replayer_fork_world.h"

namespace kw::replayer {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

// A tool that keeps its words in its report, runs `body` in the place of its target, and sums up.
class FakeTool {
 public:
  explicit FakeTool(const std::string& body) {
    std::string pattern = "/tmp/kw-tool-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    fs::permissions(folder_, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
    std::ofstream(path()) << "#!/bin/sh\nreport=$4\necho \"words: $*\" >$report\nshift 4\n"
                          << body << "\necho \"========= ERROR SUMMARY: 0 errors\" >>$report\n";
    ::chmod(path().c_str(), 0755);
  }
  ~FakeTool() { fs::remove_all(folder_); }
  FakeTool(const FakeTool&) = delete;
  FakeTool& operator=(const FakeTool&) = delete;

  std::string path() const { return folder_ + "/compute-sanitizer"; }
  wire::SpawnT spawn() const {
    wire::SpawnT spawn = unconfined_spawn();
    spawn.tool = {path(), "--tool", "memcheck", KW_REPLAYER};
    spawn.readable = {folder_, KW_REPLAYER};
    return spawn;
  }

 private:
  std::string folder_;
};

wire::BodyUnion asked(const Spawned& child, std::string packet, std::vector<Fd>* fds = nullptr) {
  EXPECT_TRUE(send_packet(child.control.ours.get(), packet).has_value());
  auto answer = receive_packet(child.control.ours.get());
  if (!answer) return {};
  if (fds != nullptr) *fds = std::move(answer->fds);
  return wire::decode(answer->bytes).value();
}

std::string concluded(const Spawned& child) {
  std::vector<Fd> fds;
  auto answer = asked(child, wire::encode(wire::ConcludeT()), &fds);
  EXPECT_NE(answer.AsConcluded(), nullptr);
  return fds.empty() ? "no report" : read_memory_file(fds.front(), 1 << 16).value();
}

void expect_an_answer_and_a_report(const Spawned& child) {
  const auto answer = asked(child, wire::encode(wire::ReplayT()));
  ASSERT_NE(answer.AsFailed(), nullptr);
  EXPECT_THAT(answer.AsFailed()->error,
              AnyOf(HasSubstr("is missing"), HasSubstr("holds no recording"), HasSubstr("cuInit")));
  EXPECT_THAT(concluded(child), testing::AllOf(HasSubstr("words: --tool memcheck --log-file /tmp/"),
                                               HasSubstr("--connect"), HasSubstr("ERROR SUMMARY")));
}

TEST(ReplayerTool, TheReplayerAnswersAndTheReportFollows) {
  FakeTool tool("\"$@\"");
  Server server(serve_replays);
  server.receive();
  Spawned child;
  child.ask_for(server, tool.spawn());
  ASSERT_EQ(child.told<kw_spawned>().type, KW_SPAWNED);
  expect_an_answer_and_a_report(child);
  EXPECT_EQ(child.told<kw_exited>().wait_status, 0);
}

TEST(ReplayerTool, TheSandboxHoldsToolAndReplayer) {
  FakeTool tool("\"$@\"");
  Server server(serve_replays);
  server.receive();
  Spawned child;
  wire::SpawnT spawn = tool.spawn();
  spawn.unconfined = false;
  child.ask_for(server, spawn);
  const kw_spawned spawned = child.told<kw_spawned>();
  ASSERT_EQ(spawned.type, KW_SPAWNED);
  if (spawned.error != 0) GTEST_SKIP() << "no sandbox here: " << spawned.step;
  expect_an_answer_and_a_report(child);
}

TEST(ReplayerTool, AToolThatStartsNothingSaysSoInItsReport) {
  FakeTool tool("echo \"========= Error: Device not supported\" >>$report");
  Server server(serve_replays);
  server.receive();
  Spawned child;
  child.ask_for(server, tool.spawn());
  child.told<kw_spawned>();
  const auto answer = asked(child, wire::encode(wire::ReplayT()));
  ASSERT_NE(answer.AsFailed(), nullptr);
  EXPECT_EQ(answer.AsFailed()->error_class, "infrastructure");
  EXPECT_THAT(concluded(child), HasSubstr("Device not supported"));
}

TEST(ReplayerTool, AProgramThatIsNoneLeavesNoReport) {
  Server server(serve_replays);
  server.receive();
  Spawned child;
  wire::SpawnT spawn = unconfined_spawn();
  spawn.tool = {"/no/such/program", KW_REPLAYER};
  child.ask_for(server, spawn);
  child.told<kw_spawned>();
  EXPECT_NE(asked(child, wire::encode(wire::ReplayT())).AsFailed(), nullptr);
  EXPECT_EQ(concluded(child), "no report");
}

TEST(ReplayerTool, ToolAndReplayerEndWithTheSupervisor) {
  FakeTool tool("\"$@\"; sleep 1000");
  Server server(serve_replays);
  server.receive();
  Spawned child;
  child.ask_for(server, tool.spawn());
  child.told<kw_spawned>();
  asked(child, wire::encode(wire::ReplayT()));
  child.control.ours.reset();
  EXPECT_EQ(child.told<kw_exited>().type, KW_EXITED);
}

}  // namespace
}  // namespace kw::replayer
