#include "base/process/cpu_use.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace kw::process {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// ---- a folder in the form of /proc

class ProcFolder {
 public:
  ProcFolder() {
    std::string name = (fs::temp_directory_path() / "kw-proc-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ProcFolder() { fs::remove_all(path_); }
  ProcFolder(const ProcFolder&) = delete;
  ProcFolder& operator=(const ProcFolder&) = delete;

  void process(pid_t pid, const std::string& times) {
    write(std::to_string(pid) + "/stat",
          fmt::format("{} (a) b) R 1 1 1 0 -1 0 0 0 0 0 {} 20 0\n", pid, times));
  }
  struct Thread {
    std::string schedstat = "0 0 0";
    std::string cpus = "0";
    std::string children = "";
  };
  void thread(pid_t pid, pid_t id, const Thread& of) {
    const std::string folder = fmt::format("{}/task/{}/", pid, id);
    write(folder + "schedstat", of.schedstat + "\n");
    write(folder + "status", "Name:\ta\nCpus_allowed_list:\t" + of.cpus + "\nMems_allowed:\t1\n");
    write(folder + "children", of.children);
  }
  const fs::path& path() const { return path_; }

 private:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  fs::path path_;
};

TEST(CpuUse, IsOfAllProcessesBelowARootAndTheirThreads) {
  ProcFolder proc;
  proc.process(10, "100 50 7 3");
  proc.thread(10, 10, {.schedstat = "1 2000000 3", .cpus = "0-3,8"});
  proc.thread(10, 11, {.schedstat = "1 5000000 3", .cpus = "2", .children = "20 "});
  proc.process(20, "40 0 0 0");
  proc.thread(20, 20, {});
  const CpuUse use = cpu_use(10, proc.path());
  EXPECT_DOUBLE_EQ(use.ran_ms, 200 * 1000.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(use.threads.size(), 3U);
  EXPECT_DOUBLE_EQ(use.threads.at(11).waited_ms, 5);
  EXPECT_EQ(use.threads.at(10).cpus, 5U);
}

TEST(CpuUse, OfAnEndedProcessIsNone) {
  ProcFolder proc;
  EXPECT_TRUE(tree_of(10, proc.path()).empty());
  EXPECT_EQ(cpu_use(10, proc.path()).ran_ms, 0);
}

TEST(CpuUse, WithoutSchedstatNoThreadWaits) {
  ProcFolder proc;
  proc.process(10, "1 1 0 0");
  fs::create_directories(proc.path() / "10/task/10");
  EXPECT_TRUE(cpu_use(10, proc.path()).threads.empty());
}

// ---- the rule

CpuUse use(double ran_ms, std::vector<ThreadWait> threads) {
  CpuUse made{.ran_ms = ran_ms, .threads = {}};
  for (const ThreadWait& each : threads) made.threads[static_cast<pid_t>(made.threads.size() + 1)] = each;
  return made;
}

TEST(Starved, IsAThreadThatWaitedForTheCpuMostOfTheTime) {
  EXPECT_TRUE(is_starved(use(500, {{100, 2}}), use(700, {{900, 2}}), 1000));
}

TEST(Starved, IsNotOneThatSlept) {
  EXPECT_FALSE(is_starved(use(0, {{0, 2}}), use(5, {{3, 2}}), 1000));
}

TEST(Starved, IsNotOneThatRan) {
  EXPECT_FALSE(is_starved(use(0, {{0, 1}}), use(1000, {{20, 1}}), 1000));
}

TEST(Starved, IsNotATreeWhoseOwnThreadsTakeTheCpuFromOneAnother) {
  EXPECT_FALSE(is_starved(use(0, {{0, 2}}), use(1950, {{900, 2}, {950, 2}, {930, 2}}), 1000));
  EXPECT_FALSE(is_starved(use(0, {{0, 1}}), use(990, {{660, 1}, {670, 1}, {660, 1}}), 1000));
}

TEST(Starved, CountsAThreadThatStartedLater) {
  EXPECT_TRUE(is_starved(use(0, {}), use(10, {{800, 1}}), 1000));
  EXPECT_FALSE(is_starved(use(0, {{900, 1}}), use(10, {{900, 1}}), 1000));
}

TEST(Starved, IsNobodyWithoutAnElapsedTime) {
  EXPECT_FALSE(is_starved(use(0, {}), use(0, {{0, 1}}), 0));
}

// ---- processes of this machine, all on one CPU

void pin_to_one_cpu() {
  cpu_set_t all;
  cpu_set_t one;
  ::sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &one);
      break;
    }
  ::sched_setaffinity(0, sizeof one, &one);
}

class Processes {
 public:
  enum class Does { burns, sleeps };
  ~Processes() {
    for (pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  pid_t add(Does what, int niceness = 0) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(20);
      pin_to_one_cpu();
      if (::nice(niceness) < 0) ::_exit(1);
      for (volatile unsigned long count = 0;; count = count + 1)
        if (what == Does::sleeps) ::pause();
    }
    pids_.push_back(pid);
    return pid;
  }

 private:
  std::vector<pid_t> pids_;
};

bool is_starved_for(pid_t pid, std::chrono::milliseconds time) {
  const auto began = std::chrono::steady_clock::now();
  const CpuUse before = cpu_use(pid);
  std::this_thread::sleep_for(time);
  const CpuUse after = cpu_use(pid);
  const auto elapsed = std::chrono::steady_clock::now() - began;
  return is_starved(before, after, std::chrono::duration<double, std::milli>(elapsed).count());
}

TEST(Starved, IsAProcessBesideTwoThatBurnItsCpu) {
  if (!fs::exists("/proc/self/schedstat")) GTEST_SKIP() << "this kernel counts no waits";
  Processes processes;
  const pid_t victim = processes.add(Processes::Does::burns, 5);
  const pid_t sleeper = processes.add(Processes::Does::sleeps);
  processes.add(Processes::Does::burns);
  processes.add(Processes::Does::burns);
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(is_starved_for(victim, 800ms));
  EXPECT_FALSE(is_starved_for(sleeper, 300ms));
}

}  // namespace
}  // namespace kw::process
