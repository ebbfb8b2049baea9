#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/process/child.h"
#include "base/process/pipes.h"
#include "base/process/watch.h"
#include "support/run_task.h"

namespace kw::process {
namespace {

using test::run_task;

struct Pair {
  explicit Pair(async::Loop& loop)
      : ends(*Channel::open(loop)), ours(std::move(ends.first)), theirs(loop, std::move(ends.second)) {}
  std::pair<Channel, Fd> ends;
  Channel ours;
  Channel theirs;
};

TEST(Channel, CarriesABytesAndADescriptor) {
  async::Loop loop;
  Pair pair(loop);
  Fd file = *memory_file("bait", "content");
  ASSERT_TRUE(run_task(loop, pair.ours.send("hello", {file.get()})));
  Packet packet = *run_task(loop, pair.theirs.receive());
  EXPECT_EQ(packet.bytes, "hello");
  ASSERT_EQ(packet.fds.size(), 1U);
  EXPECT_EQ(*read_memory_file(packet.fds[0], 100), "content");
}

TEST(Channel, RefusesToSendMoreThanAPacket) {
  async::Loop loop;
  Pair pair(loop);
  EXPECT_FALSE(run_task(loop, pair.ours.send(std::string(max_packet_bytes + 1, 'x'), {})));
}

TEST(Channel, RefusesAPacketOverTheLimit) {
  async::Loop loop;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  Channel ours(loop, Fd(ends[0]));
  Fd theirs(ends[1]);
  std::string large(max_packet_bytes + 100, 'x');
  ASSERT_EQ(::send(theirs.get(), large.data(), large.size(), 0), static_cast<ssize_t>(large.size()));
  EXPECT_FALSE(run_task(loop, ours.receive()));
}

TEST(Channel, SaysWhenTheOtherEndIsGone) {
  async::Loop loop;
  Pair pair(loop);
  pair.theirs.close();
  auto packet = run_task(loop, pair.ours.receive());
  ASSERT_FALSE(packet);
  EXPECT_NE(packet.error().what.find("closed"), std::string::npos);
}

Result<pid_t> shell(const std::string& script, int output = -1) {
  auto child = Child::start({.arguments = {"/bin/sh", "-c", script},
                             .environment = std::vector<std::string>{"PATH=/bin:/usr/bin"},
                             .output = output});
  if (!child) return std::unexpected(child.error());
  const pid_t pid = child->pid();
  child->release();
  return pid;
}

TEST(ExitWatch, EndsWithTheProcess) {
  async::Loop loop;
  pid_t pid = *shell("exit 7");
  ExitWatch watch = *ExitWatch::of(loop, pid);
  EXPECT_EQ(run_task(loop, watch.wait()), 7);
}

TEST(ExitWatch, KillsTheVeryProcess) {
  async::Loop loop;
  ExitWatch watch = *ExitWatch::of(loop, *shell("sleep 60"));
  watch.kill(9);
  EXPECT_EQ(run_task(loop, watch.wait()), 9);
}

TEST(OutputTail, KeepsHeadAndTailOfAFlood) {
  async::Loop loop;
  auto [tail, writer] = *OutputTail::open(loop);
  pid_t pid = *shell("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last", writer.get());
  writer.reset();
  ExitWatch watch = *ExitWatch::of(loop, pid);
  loop.run_for(std::chrono::seconds(10));
  EXPECT_EQ(tail->total_bytes(), 3'000'012U);
  std::string text = tail->text();
  EXPECT_TRUE(text.starts_with("first\n"));
  EXPECT_TRUE(text.ends_with("last\n"));
  EXPECT_NE(text.find("bytes left out"), std::string::npos);
  EXPECT_LT(text.size(), 3 * OutputTail::kept_bytes);
}

TEST(MemoryUse, CountsDescendants) {
  async::Loop loop;
  pid_t pid = *shell("sh -c 'x=$(head -c 30000000 /dev/zero | tr \"\\0\" x); sleep 60' & wait");
  ExitWatch watch = *ExitWatch::of(loop, pid);
  std::uint64_t seen = 0;
  for (int i = 0; i < 200 && seen < 30'000'000; ++i) {
    ::usleep(50'000);
    seen = tree_memory_bytes(pid);
  }
  EXPECT_GE(seen, 30'000'000U);
  ::kill(-pid, SIGKILL);  // the shell leads a separate group
  run_task(loop, watch.wait());
}

TEST(MemoryUse, OfNobodyIsNothing) {
  EXPECT_EQ(tree_memory_bytes(0x7fffffff), 0U);
}

pid_t child_that_sleeps(useconds_t us) {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::usleep(us);
    ::_exit(0);
  }
  return pid;
}

TEST(Children, AreAwaitedToTheLast) {
  child_that_sleeps(1'000);
  pid_t last = child_that_sleeps(100'000);
  await_children(std::chrono::seconds(20));
  EXPECT_EQ(::kill(last, 0), -1);
}

TEST(Children, AreNotAwaitedForLongerThanThat) {
  pid_t pid = child_that_sleeps(20'000'000);
  auto began = std::chrono::steady_clock::now();
  await_children(std::chrono::milliseconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
  await_children(std::chrono::seconds(20));
}

Child started(const std::string& script, Fd* output, Command command = {}) {
  auto pipe = *make_pipe();
  command.arguments = {"/bin/sh", "-c", script};
  command.output = pipe.second.get();
  auto child = Child::start(command);
  *output = std::move(pipe.first);
  return std::move(*child);
}

std::string read_to_end(const Fd& from) {
  std::string text;
  char bytes[4096];
  for (ssize_t n; (n = ::read(from.get(), bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(n));
  return text;
}

TEST(Child, IsWaitedForWithItsStatus) {
  Fd output;
  Child child = started("exit 7", &output);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 7);
}

TEST(Child, HasTheDescriptorsItIsGivenAndNoOther) {
  Fd given = *memory_file("bait", "given ");
  Fd ours(::fcntl(given.get(), F_DUPFD_CLOEXEC, 200));
  Fd errors = *errors_file();
  Fd output;
  Child child = started(
      fmt::format("echo said >&2; cat /proc/self/fd/3; test -e /proc/self/fd/{} || echo closed", ours.get()),
      &output, {.arguments = {}, .errors = errors.get(), .inherited = given.get()});
  EXPECT_EQ(read_to_end(output), "given closed\n");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(last_line(errors), "said");
}

TEST(Child, HasTheEnvironmentItIsGivenOrOurs) {
  ::setenv("KW_SECRET", "s", 1);
  Fd output;
  Child ours = started("echo $KW_SECRET", &output);
  EXPECT_EQ(read_to_end(output), "s\n");
  Child its_own = started("echo $KW_SECRET $KW_GIVEN", &output,
                          {.arguments = {}, .environment = std::vector<std::string>{"KW_GIVEN=g"}});
  EXPECT_EQ(read_to_end(output), "g\n");
  ::unsetenv("KW_SECRET");
}

TEST(Child, IsKilledWithItsGroupWhenItGoes) {
  Fd output;
  auto began = async::SteadyClock::now();
  {
    Child child = started("sleep 60 & sleep 60", &output);
  }
  read_to_end(output);  // all its writers have closed
  EXPECT_LT(async::ms_since(began), 10'000);
}

// While candidates are judged, orphans are reaped; a helper that reads a Parquet file may end meanwhile.
TEST(Helper, KeepsItsFailureThoughAnotherReapedIt) {
  auto [helper, output] = *start_helper({"/bin/sh", "-c", "echo broken >&2; exit 3"});
  read_to_end(output);
  ::usleep(50'000);
  reap_orphans();
  auto finished = helper.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().what, "broken");
}

TEST(Spawn, NamesAProgramThatIsNotThere) {
  auto pid = Child::start({.arguments = {"/nowhere/python"}});
  ASSERT_FALSE(pid);
  EXPECT_NE(pid.error().what.find("/nowhere/python"), std::string::npos);
}

}  // namespace
}  // namespace kw::process
