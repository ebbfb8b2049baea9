// native/sandbox, fact by fact, with real processes: as this host grants it, and as on hosts that refuse a
// part. Every body ends by itself and attacks only the test's own baits.
#include "sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "sandbox_world.h"

namespace kw::sandbox_test {
namespace {

constexpr std::uint32_t kAllNamespaces = KW_LAYER_USER_NS | KW_LAYER_MOUNT_NS | KW_LAYER_PID_NS |
                                         KW_LAYER_NET_NS | KW_LAYER_IPC_NS | KW_LAYER_UTS_NS;
constexpr std::size_t kMiB = 1 << 20;

class Confine : public testing::TestWithParam<Setting> {
 protected:
  Sandbox run(const Body& body, const Options& options = {}) const {
    return run(small_policy(), body, options);
  }
  Sandbox run(const kw_policy& policy, const Body& body, const Options& options = {}) const {
    return sandbox_test::run(GetParam(), policy, body, options);
  }
};

INSTANTIATE_TEST_SUITE_P(, Confine,
                         testing::Values(Setting{"Granted", 0}, Setting{"NoPidNamespace", KW_LAYER_PID_NS},
                                         Setting{"NoRoot", KW_LAYER_ROOT},
                                         Setting{"NoNamespaces", KW_LAYER_ROOT | kAllNamespaces}),
                         [](const auto& info) { return std::string(info.param.name); });

#define NEED(box, layer) \
  if (!(box).has(layer)) GTEST_SKIP() << (box).why_not(layer)

int write_text(int fd, const std::string& text) {
  return write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
}

// 0 or the errno of opening.
int open_error(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags, 0600);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

std::string own_pid_namespace() {
  char name[64] = {};
  return readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 ? name : "";
}

// ---- data that reaches the runner ---------------------------------------------------------------------

TEST_P(Confine, ExitCodeArrives) {
  for (int code : {0, 42, 255}) EXPECT_TRUE(run([=](int) { return code; }).returned(code)) << code;
}

TEST_P(Confine, SignalArrives) {
  EXPECT_TRUE(run([](int) { return raise(SIGTERM); }).killed_by(SIGTERM));
}

TEST_P(Confine, AbortArrives) {
  EXPECT_TRUE(run([](int) -> int { abort(); }).killed_by(SIGABRT));
}

TEST_P(Confine, FaultArrives) {
  const auto body = [](int) {
    void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, SIG_DFL);
    return static_cast<int>(*static_cast<volatile char*>(page));
  };
  EXPECT_TRUE(run(body).killed_by(SIGSEGV));
}

TEST_P(Confine, EndOfInitIsSeen) {
  EXPECT_TRUE(run([](int) { return 0; }).ended);
}

TEST_P(Confine, CallersStackIsKept) {
  const std::string text = "what the caller had on its stack and heap";
  EXPECT_EQ(run([&](int out) { return write_text(out, text); }).output, text);
}

TEST_P(Confine, ThreadsAndLocksWork) {
  const auto body = [](int) {
    std::recursive_mutex mutex;
    const std::scoped_lock twice(mutex, mutex);
    bool taken = true;
    std::thread([&] { taken = mutex.try_lock(); }).join();
    return taken ? 1 : 0;
  };
  EXPECT_TRUE(run(body).returned(0));
}

TEST_P(Confine, TimesAndMemoryArrive) {
  const auto body = [](int) {
    volatile char* memory = new char[32 * kMiB];
    for (std::size_t i = 0; i < 32 * kMiB; i += 4096) memory[i] = 1;
    return 0;
  };
  EXPECT_GE(run(body).exited.max_rss_kib, 32u * 1024);
}

// ---- the runner's environment -------------------------------------------------------------------------

TEST_P(Confine, StatusSocketIsNotKept) {
  const auto body = [](int out) {
    for (int fd = 0; fd < 64; ++fd) {
      struct stat status{};
      if (fd != out && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) return 1;
      }
    }
    return 0;
  };
  EXPECT_TRUE(run(body).returned(0));
}

TEST_P(Confine, SignalsAreDefaultAndUnblocked) {
  Options options;
  options.before = [] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signal(SIGUSR1, SIG_IGN);
  };
  EXPECT_TRUE(run([](int) { return raise(SIGUSR1); }, options).killed_by(SIGUSR1));
}

TEST_P(Confine, WorkingFolderIsWritable) {
  EXPECT_TRUE(run([](int) { return open_error("file", O_CREAT | O_WRONLY); }).returned(0));
}

TEST_P(Confine, NewFilesArePrivate) {
  EXPECT_TRUE(run([](int) { return umask(0) == 077 ? 0 : 1; }).returned(0));
}

TEST_P(Confine, OwnSessionIsGiven) {
  EXPECT_TRUE(run([](int) { return getsid(0) == getpid() ? 0 : 1; }).returned(0));
}

TEST_P(Confine, ProcSelfIsUsable) {
  const auto body = [](int) {
    return open_error("/proc/self/maps", O_RDONLY) + open_error("/proc/self/mem", O_RDWR) +
           open_error("/proc/self/comm", O_WRONLY) + open_error("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  };
  EXPECT_TRUE(run(body).returned(0));
}

TEST_P(Confine, ChildsProcSelfIsUsable) {
  const auto body = [](int) {
    const pid_t child = fork();
    if (child == 0) _exit(open_error("/proc/self/comm", O_WRONLY));
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
  };
  EXPECT_TRUE(run(body).returned(0));
}

TEST_P(Confine, HarmlessDevicesWork) {
  const auto body = [](int) {
    return open_error("/dev/null", O_RDWR) + open_error("/dev/urandom", O_RDONLY);
  };
  EXPECT_TRUE(run(body).returned(0));
}

TEST_P(Confine, ReadablePathIsShown) {
  const Folder folder;
  const std::string file = folder.write("file", "shown");
  const char* const readable[] = {folder.path().c_str(), "/nowhere/at/all", nullptr};
  kw_policy policy = small_policy();
  policy.readable = readable;
  EXPECT_EQ(run(policy, [&](int out) { return write_text(out, read_all(file)); }).output, "shown");
}

TEST_P(Confine, LinkToReadableFileIsFollowed) {
  const Folder folder;
  const std::string target = folder.write("target", "linked"), link = folder.path() + "/link";
  std::filesystem::create_symlink(target, link);
  const char* const readable[] = {link.c_str(), nullptr};
  kw_policy policy = small_policy();
  policy.readable = readable;
  EXPECT_EQ(run(policy, [&](int out) { return write_text(out, read_all(target)); }).output, "linked");
}

TEST_P(Confine, ReadablePathIsReadOnly) {
  const Folder folder;
  chmod(folder.path().c_str(), 0777);
  const char* const readable[] = {folder.path().c_str(), nullptr};
  kw_policy policy = small_policy();
  policy.readable = readable;
  const auto body = [&](int) { return open_error(folder.path() + "/new", O_CREAT | O_WRONLY) == 0 ? 1 : 0; };
  EXPECT_TRUE(run(policy, body).returned(0));
}

// ---- resources out of its reach -----------------------------------------------------------------------

TEST_P(Confine, OtherFilesAreInvisible) {
  const Folder folder;
  const std::string bait = folder.write("bait", "secret");
  const Sandbox box = run([&](int) { return open_error(bait, O_RDONLY); });
  if (!box.has_one_of(KW_LAYER_ROOT | KW_LAYER_LANDLOCK)) GTEST_SKIP() << box.why_not(KW_LAYER_LANDLOCK);
  EXPECT_TRUE(box.returned(box.has(KW_LAYER_ROOT) ? ENOENT : EACCES));
}

TEST_P(Confine, UsrIsReadOnly) {
  const std::string bait = "/usr/kw-test-bait-" + std::to_string(getpid());
  EXPECT_FALSE(run([&](int) { return open_error(bait, O_CREAT | O_WRONLY); }).returned(0));
  EXPECT_FALSE(std::filesystem::exists(bait));
}

TEST_P(Confine, RootFolderIsReadOnly) {
  EXPECT_FALSE(run([](int) { return mkdir("/kw-test-bait", 0700) == 0 ? 0 : errno; }).returned(0));
}

TEST_P(Confine, OldRootIsGone) {
  const Sandbox box = run([](int) { return open_error("/.old", O_RDONLY); });
  NEED(box, KW_LAYER_ROOT);
  EXPECT_TRUE(box.returned(ENOENT));
}

TEST_P(Confine, TmpIsPrivate) {
  const std::string bait = "/tmp/kw-test-bait-" + std::to_string(getpid());
  const Sandbox box = run([&](int) {
    if (open_error(bait, O_CREAT | O_WRONLY) != 0) return 1;
    return std::filesystem::exists(bait) ? 0 : 2;
  });
  EXPECT_FALSE(std::filesystem::exists(bait));
  NEED(box, KW_LAYER_ROOT);
  EXPECT_TRUE(box.returned(0));
}

TEST_P(Confine, TmpIsGoneAfterwards) {
  const Sandbox box = run([](int out) {
    if (mkdir("folder", 0700) != 0 || open_error("folder/file", O_CREAT | O_WRONLY) != 0) return 1;
    return write_text(out, std::filesystem::current_path().string());
  });
  ASSERT_TRUE(box.returned(0));
  EXPECT_TRUE(box.output == "/tmp" || !std::filesystem::exists(box.output)) << box.output;
}

TEST_P(Confine, TmpIsLimited) {
  const Sandbox box = run([](int) {
    const std::string block(kMiB, 'x');
    const int fd = open("/tmp/big", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 16; ++i)
      if (write(fd, block.data(), block.size()) < 0) return errno;
    return 0;
  });
  NEED(box, KW_LAYER_ROOT);
  EXPECT_TRUE(box.returned(ENOSPC));
}

TEST_P(Confine, LoopbackIsOutOfReach) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listener, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, generic, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, generic, &size), 0);
  const Sandbox box = run([&](int) {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    return client >= 0 && connect(client, generic, size) == 0 ? 1 : 0;
  });
  close(listener);
  if (!box.has_one_of(KW_LAYER_NET_NS | KW_LAYER_LANDLOCK | KW_LAYER_SECCOMP))
    GTEST_SKIP() << box.why_not(KW_LAYER_NET_NS);
  EXPECT_TRUE(box.returned(0));
}

TEST_P(Confine, AbstractSocketIsOutOfReach) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listener, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "kw-test-" + std::to_string(getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, generic, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  const Sandbox box = run([&](int) {
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    return client >= 0 && connect(client, generic, size) == 0 ? 1 : 0;
  });
  close(listener);
  if (!box.has_one_of(KW_LAYER_NET_NS | KW_LAYER_LANDLOCK)) GTEST_SKIP() << box.why_not(KW_LAYER_NET_NS);
  EXPECT_TRUE(box.returned(0));
}

TEST_P(Confine, HostNameIsHidden) {
  const Sandbox box = run([](int out) {
    char name[64] = {};
    gethostname(name, sizeof name - 1);
    return write_text(out, name);
  });
  NEED(box, KW_LAYER_UTS_NS);
  EXPECT_EQ(box.output, "runner");
}

// ---- its identity -------------------------------------------------------------------------------------

TEST_P(Confine, UidIsNotRoot) {
  EXPECT_TRUE(run([](int) { return getuid() != 0 && geteuid() != 0 && getgid() != 0 ? 0 : 1; }).returned(0));
}

TEST_P(Confine, RootIsNotToBeHadBack) {
  EXPECT_TRUE(run([](int) { return setuid(0) != 0 && getuid() != 0 ? 0 : 1; }).returned(0));
}

TEST_P(Confine, NoCapabilityIsLeft) {
  const auto body = [](int out) { return write_text(out, read_all("/proc/self/status")); };
  const std::string status = run(body).output;
  for (const char* line : {"CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapAmb:\t"})
    EXPECT_NE(status.find(std::string(line) + "0000000000000000\n"), std::string::npos) << line;
}

TEST_P(Confine, NoNewPrivilegesIsSet) {
  EXPECT_TRUE(run([](int) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1; }).returned(0));
}

TEST_P(Confine, MountingIsRefused) {
  const auto body = [](int) { return open_error("/proc/self/ns/mnt", O_RDONLY) == 0 && chroot("/tmp") == 0; };
  EXPECT_TRUE(run(body).returned(0));
}

TEST_P(Confine, InitIsOpaque) {
  const auto body = [](int) {
    const std::string init = "/proc/" + std::to_string(getppid());
    return open_error(init + "/mem", O_RDONLY) != 0 && open_error(init + "/environ", O_RDONLY) != 0 ? 0 : 1;
  };
  EXPECT_TRUE(run(body).returned(0));
}

// ---- processes ----------------------------------------------------------------------------------------

// Starts a process that leaves the runner's session and parent, and holds `out` open.
void start_orphan(int seconds) {
  if (fork() != 0) return;
  setsid();
  if (fork() == 0) sleep(static_cast<unsigned>(seconds));
  _exit(0);
}

TEST_P(Confine, OrphansDieWithTheRunner) {
  const Sandbox box = run([](int) {
    start_orphan(60);
    wait(nullptr);
    return 3;
  });
  // run() reads until the last holder of the pipe has closed it, and its limit is shorter than the orphan's
  // life.
  EXPECT_TRUE(box.returned(3));
  EXPECT_TRUE(box.ended);
}

TEST_P(Confine, OrphansAreReaped) {
  const Sandbox box = run([](int) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return 1;
    if (fork() == 0) {
      const pid_t orphan = fork();
      if (orphan != 0) _exit(write(pipe_ends[1], &orphan, sizeof orphan) > 0 ? 0 : 1);
      _exit(0);
    }
    pid_t orphan = 0;
    if (read(pipe_ends[0], &orphan, sizeof orphan) != sizeof orphan) return 2;
    wait(nullptr);
    for (int i = 0; i < 200 && kill(orphan, 0) == 0; ++i) usleep(10000);
    return kill(orphan, 0) == 0 ? 3 : 0;
  });
  EXPECT_TRUE(box.returned(0));
}

TEST_P(Confine, KillingAllStaysInside) {
  const Bait bait;
  const std::string outside = own_pid_namespace();
  const Sandbox box = run([&](int) {
    const bool inside =
        !outside.empty() && own_pid_namespace() != outside && getppid() == 1 && getpid() < 100;
    if (!inside) return 1;  // outside it would reach other processes
    kill(-1, SIGKILL);
    return 0;
  });
  NEED(box, KW_LAYER_PID_NS);
  EXPECT_TRUE(box.returned(0));
  EXPECT_TRUE(bait.lives());
}

TEST_P(Confine, OthersCannotBeSignalled) {
  const Bait bait;
  const int pid = bait.pid();
  const Sandbox box = run([=](int) { return kill(pid, SIGKILL) == 0 ? 1 : 0; });
  if (!box.has_one_of(KW_LAYER_PID_NS | KW_LAYER_LANDLOCK)) GTEST_SKIP() << box.why_not(KW_LAYER_PID_NS);
  EXPECT_TRUE(box.returned(0));
  EXPECT_TRUE(bait.lives());
}

TEST_P(Confine, InitCannotBeKilled) {
  const Sandbox box = run([](int) {
    for (int signal : {SIGTERM, SIGKILL, SIGSTOP}) kill(getppid(), signal);
    usleep(20000);
    return 5;
  });
  EXPECT_TRUE(box.returned(5));
}

TEST_P(Confine, ForksAreBounded) {
  kw_policy policy = small_policy();
  policy.processes = 20;
  const Sandbox box = run(policy, [](int) {
    int children = 0;
    for (int i = 0; i < 300; ++i) {
      const pid_t child = fork();
      if (child < 0) break;
      if (child == 0) {
        sleep(10);
        _exit(0);
      }
      ++children;
    }
    return children > 250 ? 250 : children;
  });
  ASSERT_TRUE(WIFEXITED(box.exited.wait_status));
  EXPECT_GE(WEXITSTATUS(box.exited.wait_status), 15);
  EXPECT_LE(WEXITSTATUS(box.exited.wait_status), 22);
  EXPECT_TRUE(box.ended);
}

TEST_P(Confine, SupervisorsDeathEndsAll) {
  Options options;
  options.supervisor_dies = true;
  const Sandbox box = run(
      [](int) {
        start_orphan(60);
        sleep(60);
        return 0;
      },
      options);
  EXPECT_TRUE(box.ended);
}

// ---- limits -------------------------------------------------------------------------------------------

TEST_P(Confine, AddressSpaceIsLimited) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitiser's own shadow is larger";
#endif
#endif
  kw_policy policy = small_policy();
  policy.address_space_bytes = 512 * kMiB;
  const auto body = [](int) {
    void* volatile block = malloc(1024 * kMiB);
    free(block);
    return block == nullptr ? 0 : 1;
  };
  EXPECT_TRUE(run(policy, body).returned(0));
}

TEST_P(Confine, FileSizeIsLimited) {
  kw_policy policy = small_policy();
  policy.file_bytes = kMiB;
  const Sandbox box = run(policy, [](int) {
    const std::string block(2 * kMiB, 'x');
    const int fd = open("big", O_CREAT | O_WRONLY, 0600);
    write(fd, block.data(), block.size());
    return write(fd, block.data(), block.size()) < 0 ? 1 : 2;
  });
  EXPECT_TRUE(box.killed_by(SIGXFSZ));
}

TEST_P(Confine, OpenFilesAreLimited) {
  kw_policy policy = small_policy();
  policy.open_files = 16;
  const Sandbox box = run(policy, [](int) {
    for (int i = 0; i < 32; ++i)
      if (open("/dev/null", O_RDONLY) < 0) return errno;
    return 0;
  });
  EXPECT_TRUE(box.returned(EMFILE));
}

TEST_P(Confine, CpuTimeIsLimited) {
  kw_policy policy = small_policy();
  policy.cpu_s = 1;
  const Sandbox box = run(policy, [](int) {
    const time_t end = time(nullptr) + 10;
    while (time(nullptr) < end) continue;
    return 0;
  });
  EXPECT_TRUE(box.killed_by(SIGXCPU));
  // The kernel counts the limit in ticks, which a busy virtual machine may lose.
  EXPECT_GE(box.exited.user_us + box.exited.system_us, 500000u);
}

TEST_P(Confine, CoreDumpsAreOff) {
  const auto body = [](int out) { return write_text(out, read_all("/proc/self/limits")); };
  const std::string limits = run(body).output;
  const std::size_t at = limits.find("Max core file size");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(limits.substr(at + 26, 1), "0");
}

TEST_P(Confine, MemoryKillIsCounted) {
  kw_policy policy = small_policy();
  policy.memory_bytes = 64 * kMiB;
  const Sandbox box = run(policy, [](int) {
    for (int i = 0; i < 256; ++i) {
      void* block = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (block == MAP_FAILED) return 1;
      std::memset(block, 1, kMiB);
    }
    return 0;
  });
  NEED(box, KW_LAYER_CGROUP_MEMORY);
  EXPECT_TRUE(box.killed_by(SIGKILL));
  EXPECT_GE(box.usage.oom_kills, 1u);
  EXPECT_GE(box.usage.peak_bytes, 60 * kMiB);
}

TEST_P(Confine, CgroupIsRemoved) {
  std::string name;
  kw_policy policy = small_policy();
  policy.memory_bytes = 64 * kMiB;
  const Sandbox box = run(policy, [](int out) { return write_text(out, read_all("/proc/self/cgroup")); });
  if (!box.has_one_of(KW_LAYER_CGROUP_MEMORY | KW_LAYER_CGROUP_PIDS))
    GTEST_SKIP() << box.why_not(KW_LAYER_CGROUP_PIDS);
  const std::size_t at = box.output.find("kw-test-");
  ASSERT_NE(at, std::string::npos);
  name = box.output.substr(at, box.output.find('\n', at) - at);
  EXPECT_GE(box.usage.folders, 1u);
  kw_cgroup_usage again{};
  EXPECT_EQ(kw_cgroup_finish(name.c_str(), &again), 0);
  EXPECT_EQ(again.folders, 0u);
}

// Else a candidate with many threads would get a CPU share for each of them.
TEST_P(Confine, SharesTheCpuAsOne) {
  if (::access("/sys/fs/cgroup/cpu", W_OK) != 0) GTEST_SKIP() << "no CPU controller of version 1";
  kw_policy policy = small_policy();
  policy.memory_bytes = 64 * kMiB;
  const Sandbox box = run(policy, [](int out) { return write_text(out, read_all("/proc/self/cgroup")); });
  if (!box.has_one_of(KW_LAYER_CGROUP_MEMORY | KW_LAYER_CGROUP_PIDS))
    GTEST_SKIP() << box.why_not(KW_LAYER_CGROUP_PIDS);
  std::istringstream lines(box.output);
  for (std::string line; std::getline(lines, line);)
    if (line.find(":cpu:") != std::string::npos || line.find(":cpu,") != std::string::npos)
      EXPECT_NE(line.find("kw-test-"), std::string::npos) << line;
}

// ---- refusals and the host ----------------------------------------------------------------------------

TEST_P(Confine, UnknownLayerThatIsRequiredFails) {
  kw_policy policy = small_policy();
  policy.require = 1u << KW_LAYER_COUNT;
  const Sandbox box = run(policy, [](int out) { return write_text(out, "ran"); });
  EXPECT_EQ(box.spawned.error, ENOTSUP);
  EXPECT_STREQ(box.spawned.step, "required: unknown layer");
  EXPECT_EQ(box.output, "");
}

TEST_P(Confine, RootAsUidIsRefused) {
  kw_policy policy = small_policy();
  policy.uid = 0;
  const Sandbox box = run(policy, [](int out) { return write_text(out, "ran"); });
  EXPECT_EQ(box.spawned.error, EINVAL);
  EXPECT_EQ(box.output, "");
}

TEST_P(Confine, HostsMountsStayAsTheyAre) {
  const std::string before = read_all("/proc/self/mountinfo");
  run([](int) { return 0; });
  EXPECT_EQ(read_all("/proc/self/mountinfo"), before);
}

TEST_P(Confine, NoProcessIsLeft) {
  run([](int) {
    start_orphan(60);
    return 0;
  });
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ConfineHost, ProbeGrantsTheLeast) {
  kw_probe_result result{};
  ASSERT_EQ(kw_probe(&result), 0);
  EXPECT_EQ(result.error, 0) << result.step;
  const std::uint32_t least = KW_LAYER_UID | KW_LAYER_NO_NEW_PRIVS | KW_LAYER_RLIMITS;
  EXPECT_EQ(result.granted & least, least);
  for (unsigned i = 0; i < KW_LAYER_COUNT; ++i) {
    const bool granted = (result.granted >> i & 1u) != 0;
    RecordProperty(kw_layer_name(1u << i), granted ? "granted" : std::strerror(result.errors[i]));
  }
}

TEST(ConfineHost, ProbeLeavesNothing) {
  kw_probe(nullptr);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  kw_cgroup_usage usage{};
  const std::string name = "kw-probe-" + std::to_string(getpid()) + "-0";
  EXPECT_EQ(kw_cgroup_finish(name.c_str(), &usage), 0);
  EXPECT_EQ(usage.folders, 0u);
}

TEST(ConfineHost, LayersHaveNames) {
  EXPECT_STREQ(kw_layer_name(KW_LAYER_USER_NS), "user_ns");
  EXPECT_STREQ(kw_layer_name(KW_LAYER_SECCOMP), "seccomp");
  EXPECT_EQ(kw_layer_name(3), nullptr);
  EXPECT_EQ(kw_layer_name(1u << KW_LAYER_COUNT), nullptr);
}

TEST(ConfineHost, CgroupNamesThatLeaveAreRefused) {
  for (const char* name : {"", "..", "a/b", "../a"})
    EXPECT_EQ(kw_cgroup_finish(name, nullptr), EINVAL) << name;
}

TEST(ConfineHost, OthersAreClosed) {
  const pid_t child = fork();
  if (child == 0) {
    const int first = dup(0), kept = dup(0), last = dup(0);
    if (kw_close_others(&kept, 1) != 0) _exit(1);
    const bool right = fcntl(first, F_GETFD) < 0 && fcntl(kept, F_GETFD) >= 0 && fcntl(last, F_GETFD) < 0;
    _exit(right && fcntl(0, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0 ? 0 : 2);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kw::sandbox_test
