// The sandbox with each of its layers missing: the report names the layer and the reason, a caller that
// requires the layer is refused, and the effect of its absence.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "sandbox_world.h"

namespace kw::sandbox_test {
namespace {

constexpr int kReason = EXDEV;  // no step fails with it by itself
constexpr std::uint32_t kNamespaces =
    KW_LAYER_MOUNT_NS | KW_LAYER_PID_NS | KW_LAYER_NET_NS | KW_LAYER_IPC_NS | KW_LAYER_UTS_NS;
constexpr int kHeld = 0, kOpen = 1;

std::string link(const std::string& path) {
  char name[128] = {};
  return readlink(path.c_str(), name, sizeof name - 1) > 0 ? name : "";
}

// A namespace other than the test's own.
Body another_namespace(const std::string& kind) {
  const std::string path = "/proc/self/ns/" + kind, outside = link(path);
  return [=](int) { return link(path) == outside ? kOpen : kHeld; };
}

// A folder that every host has and no runner needs.
int host_files_hidden(int) {
  return access("/var", F_OK) == 0 ? kOpen : kHeld;
}

int rights_are_final(int) {
  return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? kHeld : kOpen;
}

int files_of_others_closed(int) {
  const int fd = open("/var", O_RDONLY | O_DIRECTORY);
  return fd < 0 && errno == EACCES ? kHeld : kOpen;
}

int files_are_counted(int) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max == small_policy().open_files ? kHeld : kOpen;
}

// Runs in a cgroup of its own, with version 1 or 2.
int limited_by_cgroup(int) {
  return read_all("/proc/self/cgroup").find("kw-test-") != std::string::npos ? kHeld : kOpen;
}

int tracing_refused(int) {
  const pid_t child = fork();
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? kOpen : kHeld);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kHeld;
}

struct Case {
  std::uint32_t layer;
  std::uint32_t also;    // missing too, in both runs: layers that would hold without it
  std::uint32_t follow;  // layers that depend on this one, and are missing with it
  Body holds;            // kHeld or kOpen
};

Case case_of(std::uint32_t layer) {
  switch (layer) {
    case KW_LAYER_USER_NS:
      return {layer, 0, kNamespaces | KW_LAYER_ROOT, another_namespace("user")};
    case KW_LAYER_MOUNT_NS:
      return {layer, 0, KW_LAYER_ROOT | KW_LAYER_PID_NS, another_namespace("mnt")};
    case KW_LAYER_PID_NS:
      return {layer, 0, 0, another_namespace("pid")};
    case KW_LAYER_NET_NS:
      return {layer, 0, 0, another_namespace("net")};
    case KW_LAYER_IPC_NS:
      return {layer, 0, 0, another_namespace("ipc")};
    case KW_LAYER_UTS_NS:
      return {layer, 0, 0, another_namespace("uts")};
    case KW_LAYER_ROOT:
      return {layer, KW_LAYER_LANDLOCK, 0, host_files_hidden};
    case KW_LAYER_NO_NEW_PRIVS:
      return {layer, 0, KW_LAYER_LANDLOCK | KW_LAYER_SECCOMP, rights_are_final};
    case KW_LAYER_LANDLOCK:
      return {layer, KW_LAYER_ROOT, 0, files_of_others_closed};
    case KW_LAYER_RLIMITS:
      return {layer, 0, 0, files_are_counted};
    case KW_LAYER_CGROUP_MEMORY:
      return {layer, KW_LAYER_CGROUP_PIDS, 0, limited_by_cgroup};
    case KW_LAYER_CGROUP_PIDS:
      return {layer, KW_LAYER_CGROUP_MEMORY, 0, limited_by_cgroup};
    default:
      return {layer, 0, 0, tracing_refused};
  }
}

kw_policy policy_of_layers() {
  kw_policy policy = small_policy();
  policy.memory_bytes = 256u << 20;
  return policy;
}

class EachLayer : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    if (GetParam() == KW_LAYER_UID) return;
    given = run_without(case_.also);
    if (!given.has(GetParam())) GTEST_SKIP() << given.why_not(GetParam());
  }
  Sandbox run_without(std::uint32_t layers, std::uint32_t require = 0) const {
    kw_policy policy = policy_of_layers();
    policy.require = require;
    return run({"", layers, kReason}, policy, case_.holds);
  }

  const Case case_ = case_of(GetParam());
  Sandbox given;  // with the layer
};

std::string name_of(std::uint32_t layer) {
  return kw_layer_name(layer);
}

// All but the uid, without which no candidate is run.
INSTANTIATE_TEST_SUITE_P(, EachLayer,
                         testing::Values(KW_LAYER_USER_NS, KW_LAYER_MOUNT_NS, KW_LAYER_PID_NS,
                                         KW_LAYER_NET_NS, KW_LAYER_IPC_NS, KW_LAYER_UTS_NS, KW_LAYER_ROOT,
                                         KW_LAYER_NO_NEW_PRIVS, KW_LAYER_LANDLOCK, KW_LAYER_RLIMITS,
                                         KW_LAYER_CGROUP_MEMORY, KW_LAYER_CGROUP_PIDS, KW_LAYER_SECCOMP),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(EachLayer, HoldsWhereItIs) {
  EXPECT_TRUE(given.returned(kHeld)) << given.exited.wait_status;
}

TEST_P(EachLayer, IsOpenWithoutIt) {
  EXPECT_TRUE(run_without(case_.also | GetParam()).returned(kOpen));
}

TEST_P(EachLayer, IsReportedMissingWithTheReason) {
  const Sandbox box = run_without(case_.also | GetParam());
  ASSERT_EQ(box.spawned.error, 0) << box.spawned.step;
  EXPECT_FALSE(box.has(GetParam()));
  EXPECT_EQ(box.spawned.errors[__builtin_ctz(GetParam())], kReason);
}

TEST_P(EachLayer, TakesOnlyTheLayersThatNeedIt) {
  const Sandbox box = run_without(case_.also | GetParam());
  const std::uint32_t lost = given.spawned.applied & ~box.spawned.applied & ~GetParam();
  EXPECT_EQ(lost & ~case_.follow, 0u) << lost;
}

TEST_P(EachLayer, IsRefusedWhereRequired) {
  const Sandbox box = run_without(case_.also | GetParam(), GetParam());
  EXPECT_EQ(box.spawned.error, kReason);
  EXPECT_EQ(box.spawned.step, "required: " + name_of(GetParam()));
  EXPECT_FALSE(box.has_exited);
}

TEST(WithoutUid, NothingIsRun) {
  const Sandbox box = run({"", KW_LAYER_UID, kReason}, small_policy(), [](int) { return 0; });
  EXPECT_EQ(box.spawned.error, EPERM);
  EXPECT_STREQ(box.spawned.step, "uid");
  EXPECT_FALSE(box.has_exited);
}

TEST(WithoutNoNewPrivileges, FilterIsRefusedByTheKernel) {
  const Sandbox box = run({"", KW_LAYER_NO_NEW_PRIVS, kReason}, small_policy(), [](int) { return 0; });
  EXPECT_FALSE(box.has(KW_LAYER_SECCOMP));
  EXPECT_NE(box.spawned.errors[__builtin_ctz(KW_LAYER_SECCOMP)], 0);
}

}  // namespace
}  // namespace kw::sandbox_test
