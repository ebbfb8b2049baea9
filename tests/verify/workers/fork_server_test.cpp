#include "verify/workers/fork_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/async/loop.h"
#include "base/process/child.h"
#include "support/run_task.h"
#include "support/world.h"
#include "verify/messages/message.h"

namespace kw::engine {
namespace {

using namespace std::chrono_literals;

// A shell that sleeps, and a process that it started.
struct Family {
  process::Child parent;
  pid_t child;

  static Family start() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    auto shell = process::Child::start(
        {.arguments = {"/bin/sh", "-c", "sleep 60 </dev/null >/dev/null 2>&1 & echo $!; wait"},
         .output = ends[1]});
    ::close(ends[1]);
    char text[32]{};
    EXPECT_GT(::read(ends[0], text, sizeof text - 1), 0);
    ::close(ends[0]);
    return {std::move(shell.value()), std::atoi(text)};
  }
};

struct Servers {
  async::Loop loop;
  async::Stop stop{loop};

  // A server whose Ready names `named`; with `pid` 0 it is one that `zygote` has forked.
  async::Task<Result<std::shared_ptr<ForkServer>>> attach(ServerMode mode, pid_t pid, pid_t named,
                                                          std::shared_ptr<ForkServer> zygote) {
    auto control = process::Channel::open(loop).value();
    auto output = process::OutputTail::open(loop).value();
    process::Channel theirs(loop, std::move(control.second));
    wire::ReadyT ready;
    ready.pid = static_cast<std::uint32_t>(named);
    co_await theirs.send(wire::encode(std::move(ready)), {});
    ForkServer::Options options;
    options.mode = mode;
    options.zygote = std::move(zygote);
    options.stop = &stop;
    co_return co_await ForkServer::attach(loop, std::move(options),
                                          {std::move(control.first), std::move(output.first), pid},
                                          async::Deadline::in(10s));
  }
  Result<std::shared_ptr<ForkServer>> attached(ServerMode mode, pid_t pid, pid_t named,
                                               std::shared_ptr<ForkServer> zygote = {}) {
    return test::run_task(loop, attach(mode, pid, named, std::move(zygote)));
  }
};

TEST(ForkServer, IsTheProcessThatItsZygoteForked) {
  Family family = Family::start();
  Servers servers;
  auto zygote = servers.attached(ServerMode::zygote, family.parent.pid(), family.parent.pid()).value();
  auto server = servers.attached(ServerMode::oracle, 0, family.child, zygote);
  ASSERT_TRUE(server) << server.error().what;
  EXPECT_TRUE((*server)->alive());
}

// The error of a server whose Python is a shell script.
std::string refusal_of(const std::string& script) {
  Folder folder;
  Servers servers;
  ForkServer::Options options;
  options.mode = ServerMode::zygote;
  options.python.path = folder.write("python", "#!/bin/sh\n" + script);
  std::filesystem::permissions(options.python.path, std::filesystem::perms::owner_all);
  options.stop = &servers.stop;
  auto server =
      test::run_task(servers.loop, ForkServer::start(servers.loop, options, async::Deadline::in(10s)));
  return server ? "it started" : server.error().what;
}

TEST(ForkServer, ThatIsNoPythonIsNamedWithAReason) {
  EXPECT_TRUE(refusal_of("exit 3\n")
                  .ends_with("/python does not start as the zygote fork server: it ended without a word"));
}

TEST(ForkServer, WithoutAPackageSaysTheErrorAndNoTraceback) {
  EXPECT_TRUE(
      refusal_of(
          "echo 'Traceback (most recent call last):\n  File x\nModuleNotFoundError: No module named y'\n")
          .ends_with("fork server: ModuleNotFoundError: No module named y"));
}

TEST(ForkServer, IsNoForeignProcessThatItNames) {
  Family family = Family::start();
  Family foreign = Family::start();
  Servers servers;
  auto zygote = servers.attached(ServerMode::zygote, family.parent.pid(), family.parent.pid()).value();
  auto server = servers.attached(ServerMode::oracle, 0, foreign.child, zygote);
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().what.find("is not the zygote's"), std::string::npos) << server.error().what;
  EXPECT_EQ(::kill(foreign.child, 0), 0) << "it was killed";
}

}  // namespace
}  // namespace kw::engine
