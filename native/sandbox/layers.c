#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

// Resource limits of the runner.

// In a user namespace, init and (until it exits) the middle have the runner's uid too.
#define OWN_TASKS 2u

static int set(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit limit;
  if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) return errno;
  if (limit.rlim_max == RLIM_INFINITY || hard < limit.rlim_max) limit.rlim_max = hard;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  return setrlimit((__rlimit_resource_t)resource, &limit) == 0 ? 0 : errno;
}

static int set_unless_zero(int resource, uint64_t value) {
  return value == 0 ? 0 : set(resource, value, value);
}

// The number of threads of `uid` on the host. RLIMIT_NPROC counts all of them, but each user namespace
// separately.
uint64_t kw_count_tasks(uid_t uid) {
  DIR* dir = opendir("/proc");
  if (dir == NULL) return 0;
  uint64_t count = 0;
  const struct dirent* entry = NULL;
  while ((entry = readdir(dir)) != NULL) {
    char path[32];
    struct stat status;
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    snprintf(path, sizeof path, "/proc/%.16s/task", entry->d_name);
    if (stat(path, &status) != 0 || status.st_uid != uid || status.st_nlink < 3) continue;
    count += status.st_nlink - 2;
  }
  closedir(dir);
  return count;
}

// If a cgroup counts tasks, RLIMIT_NPROC is not needed: it would count tasks outside the sandbox as well,
// except in a user namespace.
static int limit_tasks(const kw_job* job) {
  uint64_t processes = job->policy->processes;
  if (processes == 0) return 0;
  if (kw_applied(job, KW_LAYER_USER_NS))
    return set(RLIMIT_NPROC, processes + OWN_TASKS, processes + OWN_TASKS);
  if (kw_applied(job, KW_LAYER_CGROUP_PIDS)) return 0;
  return set(RLIMIT_NPROC, job->tasks + processes, job->tasks + processes);
}

int kw_set_limits(kw_job* job) {
  if (kw_skips(job, KW_LAYER_RLIMITS)) return 0;
  const kw_policy* policy = job->policy;
  int error = set(RLIMIT_CORE, 0, 0);
  if (error == 0) error = set_unless_zero(RLIMIT_FSIZE, policy->file_bytes);
  if (error == 0) error = set_unless_zero(RLIMIT_NOFILE, policy->open_files);
  if (error == 0) error = limit_tasks(job);
  // SIGXCPU comes first, since it gives a clear wait status; SIGKILL follows a second later.
  if (error == 0 && policy->cpu_s != 0) error = set(RLIMIT_CPU, policy->cpu_s, (uint64_t)policy->cpu_s + 1);
  if (error == 0) error = set_unless_zero(RLIMIT_AS, policy->address_space_bytes);
  kw_mark(job, KW_LAYER_RLIMITS, error);
  return error;
}

// The runner's identity: never real root, without capabilities, and without a way to gain any by exec.

int kw_become(uint32_t uid) {
  if (uid == 0) return EINVAL;
  if (setgroups(0, NULL) != 0) return errno;
  if (setresgid(uid, uid, uid) != 0) return errno;
  if (setresuid(uid, uid, uid) != 0) return errno;
  return 0;
}

static void set_capabilities(uint64_t mask) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2] = {
      {.effective = (uint32_t)mask, .permitted = (uint32_t)mask},
      {.effective = (uint32_t)(mask >> 32), .permitted = (uint32_t)(mask >> 32)}};
  syscall(SYS_capset, &header, data);
}

static uint64_t permitted_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2] = {{0}};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

void kw_keep_capabilities(uint64_t mask) {
  for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    if (cap >= 64 || (mask >> cap & 1) == 0) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  set_capabilities(permitted_capabilities() & mask);
}

int kw_drop_identity(kw_job* job) {
  if (kw_skips(job, KW_LAYER_UID)) return EPERM;
  if (!kw_skips(job, KW_LAYER_NO_NEW_PRIVS))
    kw_mark(job, KW_LAYER_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno);
  // The bounding set must shrink first, while this is permitted; setresuid needs the permitted set.
  for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  int error = getuid() == 0 || geteuid() == 0 ? kw_become(job->policy->uid) : 0;
  kw_keep_capabilities(0);
  if (error == 0 && (getuid() == 0 || geteuid() == 0 || permitted_capabilities() != 0)) error = EPERM;
  kw_mark(job, KW_LAYER_UID, error);
  return error;
}

// Namespaces, which the middle enters. Root enters them without a user namespace; any other user, and a root
// that may not mount, through one.

static void enter(kw_job* job, uint32_t layer, int flag) {
  if (kw_skips(job, layer)) return;
  kw_mark(job, layer, unshare(flag) == 0 ? 0 : errno);
}

static int map_self(uid_t uid, gid_t gid) {
  char line[64];
  // The file is missing before Linux 3.19; since then gid_map can be written only after it.
  int error = kw_write_text("/proc/self/setgroups", "deny");
  if (error != 0 && error != ENOENT) return error;
  snprintf(line, sizeof line, "%u %u 1", (unsigned)uid, (unsigned)uid);
  error = kw_write_text("/proc/self/uid_map", line);
  if (error != 0) return error;
  snprintf(line, sizeof line, "%u %u 1", (unsigned)gid, (unsigned)gid);
  return kw_write_text("/proc/self/gid_map", line);
}

static void enter_user(kw_job* job) {
  if (kw_skips(job, KW_LAYER_USER_NS)) return;
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) {
    kw_mark(job, KW_LAYER_USER_NS, errno);
    return;
  }
  int error = map_self(uid, gid);
  kw_mark(job, KW_LAYER_USER_NS, error);
  // The process is in a namespace without its uid, which is unusable. The probe then leaves this layer out.
  if (error != 0) kw_fail(job, "user namespace: map", error);
}

// A root that may not mount (usually in a container) gives up its uid first, so that the mapped uid isn't
// root.
static void enter_without_root(kw_job* job) {
  if (getuid() == 0) {
    int error = kw_become(job->policy->uid);
    kw_mark(job, KW_LAYER_UID, error);
    if (error != 0) {
      kw_fail(job, "uid", error);
      return;
    }
    prctl(PR_SET_DUMPABLE, 1);  // else root keeps owning /proc/self/uid_map
  }
  enter_user(job);
  enter(job, KW_LAYER_MOUNT_NS, CLONE_NEWNS);
}

void kw_enter_namespaces(kw_job* job) {
  if (geteuid() == 0) enter(job, KW_LAYER_MOUNT_NS, CLONE_NEWNS);
  if (!kw_applied(job, KW_LAYER_MOUNT_NS)) enter_without_root(job);
  // A new PID namespace needs a new /proc, and so the mount namespace: /proc/self would not resolve
  // otherwise.
  if (kw_applied(job, KW_LAYER_MOUNT_NS)) enter(job, KW_LAYER_PID_NS, CLONE_NEWPID);
  enter(job, KW_LAYER_NET_NS, CLONE_NEWNET);
  enter(job, KW_LAYER_IPC_NS, CLONE_NEWIPC);
  enter(job, KW_LAYER_UTS_NS, CLONE_NEWUTS);
}

// A new network namespace has a loopback device that is down. Without it a tool finds no way to its target,
// and says so.
void kw_raise_loopback(const kw_job* job) {
  if (job->policy->tools == 0 || !kw_applied(job, KW_LAYER_NET_NS)) return;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  struct ifreq request = {.ifr_name = "lo"};
  if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
    request.ifr_flags |= IFF_UP;
    ioctl(fd, SIOCSIFFLAGS, &request);
  }
  close(fd);
}

// Names of layers, and the report of their results.

static const char* const names[KW_LAYER_COUNT] = {
    "user_ns", "mount_ns",     "pid_ns",   "net_ns",  "ipc_ns",        "uts_ns",      "root",
    "uid",     "no_new_privs", "landlock", "rlimits", "cgroup_memory", "cgroup_pids", "seccomp",
};

unsigned kw_layer_index(uint32_t layer) {
  return (unsigned)__builtin_ctz(layer);
}

const char* kw_layer_name(uint32_t bit) {
  if (bit == 0 || (bit & (bit - 1)) != 0) return NULL;
  unsigned index = kw_layer_index(bit);
  return index < KW_LAYER_COUNT ? names[index] : NULL;
}

bool kw_skips(const kw_job* job, uint32_t layer) {
  return (job->skip & layer) != 0;
}

bool kw_applied(const kw_job* job, uint32_t layer) {
  return (job->report->applied & layer) == layer;
}

void kw_mark(kw_job* job, uint32_t layer, int error) {
  if (error == 0) job->report->applied |= layer;
  job->report->errors[kw_layer_index(layer)] = error;
}

// Keeps the first failure, which causes the later ones.
int kw_fail(kw_job* job, const char* step, int error) {
  if (job->report->error != 0) return job->report->error;
  snprintf(job->report->step, sizeof job->report->step, "%s", step);
  job->report->error = error;
  return error;
}
