// The system calls that the sandbox refuses, and those that must keep working. No call here does harm without
// the filter: the kernel refuses their arguments too.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>

#include "sandbox_world.h"

namespace kw::sandbox_test {
namespace {

struct Call {
  const char* name;
  long number;
};

// errno of the call with invalid arguments.
int error_of(long number) {
  return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) >= 0 ? 0 : errno;
}

Sandbox run_inside(const Body& body) {
  return run({"Granted", 0}, small_policy(), body);
}

#define NEED_SECCOMP(box) \
  if (!(box).has(KW_LAYER_SECCOMP)) GTEST_SKIP() << (box).why_not(KW_LAYER_SECCOMP)

class RefusedCall : public testing::TestWithParam<Call> {};

TEST_P(RefusedCall, FailsInside) {
  const Sandbox box = run_inside([](int) { return error_of(GetParam().number); });
  NEED_SECCOMP(box);
  EXPECT_TRUE(box.returned(EPERM)) << box.exited.wait_status;
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedCall,
    testing::Values(
        Call{"ptrace", SYS_ptrace}, Call{"process_vm_readv", SYS_process_vm_readv},
        Call{"process_vm_writev", SYS_process_vm_writev}, Call{"process_madvise", 440},
        Call{"pidfd_getfd", 438}, Call{"kcmp", SYS_kcmp}, Call{"bpf", SYS_bpf},
        Call{"userfaultfd", SYS_userfaultfd}, Call{"perf_event_open", SYS_perf_event_open},
        Call{"io_uring_setup", 425}, Call{"io_uring_enter", 426}, Call{"io_uring_register", 427},
        Call{"add_key", SYS_add_key}, Call{"request_key", SYS_request_key}, Call{"keyctl", SYS_keyctl},
        Call{"fanotify_init", SYS_fanotify_init}, Call{"mount", SYS_mount}, Call{"umount2", SYS_umount2},
        Call{"pivot_root", SYS_pivot_root}, Call{"chroot", SYS_chroot}, Call{"open_tree", 428},
        Call{"move_mount", 429}, Call{"fsopen", 430}, Call{"fsconfig", 431}, Call{"fsmount", 432},
        Call{"fspick", 433}, Call{"mount_setattr", 442}, Call{"open_tree_attr", 467},
        Call{"unshare", SYS_unshare}, Call{"setns", SYS_setns},
        Call{"open_by_handle_at", SYS_open_by_handle_at}, Call{"name_to_handle_at", SYS_name_to_handle_at},
        Call{"kexec_load", SYS_kexec_load}, Call{"init_module", SYS_init_module},
        Call{"finit_module", SYS_finit_module}, Call{"delete_module", SYS_delete_module},
        Call{"swapon", SYS_swapon}, Call{"swapoff", SYS_swapoff}, Call{"reboot", SYS_reboot},
        Call{"acct", SYS_acct}, Call{"quotactl", SYS_quotactl}, Call{"settimeofday", SYS_settimeofday},
        Call{"clock_settime", SYS_clock_settime}, Call{"clock_adjtime", SYS_clock_adjtime},
        Call{"adjtimex", SYS_adjtimex}, Call{"syslog", SYS_syslog}, Call{"personality", SYS_personality}),
    [](const auto& info) { return std::string(info.param.name); });

// errno of `body` inside; -1: the host lacks the layer.
int inside(const std::function<long()>& body) {
  const Sandbox box = run_inside([&](int) { return body() >= 0 ? 0 : errno; });
  return box.has(KW_LAYER_SECCOMP) && box.has_exited && WIFEXITED(box.exited.wait_status)
             ? WEXITSTATUS(box.exited.wait_status)
             : -1;
}

class Seccomp : public testing::Test {
 protected:
  void SetUp() override {
    const Sandbox box = run_inside([](int) { return 0; });
    NEED_SECCOMP(box);
  }
};

TEST_F(Seccomp, SocketsOfOtherFamiliesAreRefused) {
  for (int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG})
    EXPECT_EQ(inside([=] { return socket(family, SOCK_RAW, 0); }), EAFNOSUPPORT) << family;
}

// What the tools of a sandbox need: errno inside one for them.
int inside_with_tools(const std::function<long()>& body) {
  kw_policy policy = small_policy();
  policy.tools = 1;
  const Sandbox box = run({"Granted", 0}, policy, [&](int) { return body() >= 0 ? 0 : errno; });
  return box.has_exited && WIFEXITED(box.exited.wait_status) ? WEXITSTATUS(box.exited.wait_status) : -1;
}

// Binds and connects on the loopback of its own network namespace.
long reach_loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int here = socket(AF_INET, SOCK_STREAM, 0);
  const int there = socket(AF_INET, SOCK_STREAM, 0);
  auto* at = reinterpret_cast<sockaddr*>(&address);
  if (here < 0 || bind(here, at, size) != 0 || listen(here, 1) != 0 || getsockname(here, at, &size) != 0)
    return -1;
  return connect(there, at, size);
}

TEST_F(Seccomp, ToolsTalkByTheirOwnLoopback) {
  EXPECT_EQ(inside(reach_loopback), EAFNOSUPPORT);
  EXPECT_EQ(inside_with_tools(reach_loopback), 0);
}

TEST_F(Seccomp, ToolsGetNoOtherSockets) {
  for (int family : {AF_UNSPEC, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG, AF_IPX})
    EXPECT_EQ(inside_with_tools([=] { return socket(family, SOCK_RAW, 0); }), EAFNOSUPPORT) << family;
}

TEST_F(Seccomp, ToolsReachTheirOwnProcessesOnly) {
  EXPECT_EQ(inside_with_tools([] { return syscall(SYS_ptrace, -1L, -1L, 0L, 0L); }), ESRCH);
  EXPECT_EQ(inside_with_tools([] { return syscall(SYS_bpf, -1L, 0L, 0L); }), EPERM);
}

TEST_F(Seccomp, PairsOfOtherFamiliesAreRefused) {
  int pair[2];
  EXPECT_EQ(inside([&] { return socketpair(AF_TIPC, SOCK_STREAM, 0, pair); }), EAFNOSUPPORT);
}

TEST_F(Seccomp, UnixSocketsWork) {
  EXPECT_EQ(inside([] { return socket(AF_UNIX, SOCK_STREAM, 0); }), 0);
  int pair[2];
  EXPECT_EQ(inside([&] { return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair); }), 0);
}

TEST_F(Seccomp, EachNewNamespaceIsRefused) {
  for (long flag : {CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
                    CLONE_NEWCGROUP}) {
    const auto body = [=] {
      const long child = syscall(SYS_clone, flag | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
      if (child == 0) _exit(0);
      return child;
    };
    EXPECT_EQ(inside(body), EPERM) << flag;
  }
}

TEST_F(Seccomp, Clone3IsMissing) {
  EXPECT_EQ(inside([] { return syscall(435, nullptr, 0); }), ENOSYS);
}

TEST_F(Seccomp, TypingIntoTheTerminalIsRefused) {
  char key = 'x';
  for (unsigned long request : {0x5412ul, 0x541Cul, 1ul << 32 | 0x5412ul})
    EXPECT_EQ(inside([&] { return syscall(SYS_ioctl, 0, request, &key); }), EPERM) << request;
}

TEST_F(Seccomp, OtherTerminalRequestsReachTheKernel) {
  EXPECT_EQ(inside([] {
              winsize size{};
              return ioctl(open("/dev/null", O_RDWR), TIOCGWINSZ, &size);
            }),
            ENOTTY);
}

TEST_F(Seccomp, DefaultPersonalityMayBeSet) {
  EXPECT_EQ(inside([] { return syscall(SYS_personality, 0); }), 0);
}

#ifdef __x86_64__
TEST_F(Seccomp, CallsOf32BitsKill) {
  const Sandbox box = run_inside([](int) {
    long number = 20;  // getpid
    asm volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    return 0;
  });
  // A kernel without these calls faults.
  EXPECT_TRUE(box.killed_by(SIGSYS) || box.killed_by(SIGSEGV)) << box.exited.wait_status;
}

TEST_F(Seccomp, CallsOfX32Kill) {
  const Sandbox box = run_inside([](int) { return syscall(0x40000000L | SYS_getpid) > 0 ? 0 : errno; });
  EXPECT_TRUE(box.killed_by(SIGSYS)) << box.exited.wait_status;
}
#endif

TEST_F(Seccomp, WhatCudaAsksForReachesTheKernel) {
  struct Asked {
    const char* name;
    long number;
  };
  for (const Asked& call :
       {Asked{"get_mempolicy", SYS_get_mempolicy}, Asked{"set_mempolicy", SYS_set_mempolicy},
        Asked{"mbind", SYS_mbind}, Asked{"move_pages", SYS_move_pages},
        Asked{"memfd_create", SYS_memfd_create}, Asked{"eventfd2", SYS_eventfd2}, Asked{"pidfd_open", 434},
        Asked{"sched_setscheduler", SYS_sched_setscheduler}}) {
    const int error = inside([&] { return syscall(call.number, -1L, -1L, -1L, -1L, -1L, -1L); });
    EXPECT_TRUE(error == EINVAL || error == EFAULT || error == E2BIG || error == ENODEV)
        << call.name << error;
  }
}

TEST_F(Seccomp, ThreadsRun) {
  EXPECT_EQ(inside([] {
              long answer = -1;
              std::thread([&] { answer = 0; }).join();
              return answer;
            }),
            0);
}

TEST_F(Seccomp, ProgramsRun) {
  const Sandbox box = run_inside([](int) {
    char shell[] = "sh", flag[] = "-c", script[] = "exit 7";
    char* const words[] = {shell, flag, script, nullptr};
    pid_t child = -1;
    if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, words, environ) != 0) return 1;
    int status = 0;
    return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
  });
  EXPECT_TRUE(box.returned(7));
}

TEST_F(Seccomp, ProgramsInheritIt) {
  const Sandbox box = run_inside([](int out) {
    dup2(out, 1);
    execl("/bin/cat", "cat", "/proc/self/status", nullptr);
    return 1;
  });
  EXPECT_NE(box.output.find("Seccomp:\t2\n"), std::string::npos) << box.output;
}

}  // namespace
}  // namespace kw::sandbox_test
