// Finds the layers that this host grants by complete attempts, since only these show refusals and their
// combinations (a namespace without its /proc).
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define PATIENCE_MS 10000
#define NAMESPACES                                                                              \
  (KW_LAYER_USER_NS | KW_LAYER_MOUNT_NS | KW_LAYER_PID_NS | KW_LAYER_NET_NS | KW_LAYER_IPC_NS | \
   KW_LAYER_UTS_NS)

// The layers to skip in each attempt; the first attempt that works is kept.
static const uint32_t attempts[] = {0, KW_LAYER_PID_NS, KW_LAYER_ROOT, KW_LAYER_ROOT | KW_LAYER_PID_NS,
                                    KW_LAYER_ROOT | NAMESPACES};

static struct {
  bool known;
  kw_probe_result result;
} host;

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

// Whether /proc has the parts that CUDA and torch need.
static bool proc_works(void) {
  char line[64], expected[64];
  if (kw_read_text("/proc/self/stat", line, sizeof line) < 0) return false;
  snprintf(expected, sizeof expected, "%d ", (int)getpid());
  return strncmp(line, expected, strlen(expected)) == 0 && access("/proc/self/maps", R_OK) == 0 &&
         access("/proc/self/mem", R_OK | W_OK) == 0;
}

static bool receive(int fd, void* packet, size_t size) {
  struct pollfd polled = {.fd = fd, .events = POLLIN};
  // The kernel drops descriptors in the packet, since there is no control buffer.
  return poll(&polled, 1, PATIENCE_MS) > 0 && recv(fd, packet, size, MSG_CMSG_CLOEXEC) == (ssize_t)size;
}

static void keep(kw_probe_result* result, uint32_t skip, const kw_spawned* spawned, uint64_t begun) {
  result->granted = spawned->applied;
  result->skipped = skip;
  result->error = spawned->error;
  result->spawn_us = (uint32_t)(now_us() - begun);
  memcpy(result->errors, spawned->errors, sizeof result->errors);
  memcpy(result->step, spawned->step, sizeof result->step);
}

static bool try_once(const kw_policy* policy, uint32_t skip, kw_probe_result* result) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
  uint64_t begun = now_us();
  pid_t middle = fork();
  if (middle == 0) {
    close(pair[0]);
    kw_confine_without(policy, pair[1], skip, result->errors);
    _exit(proc_works() ? 0 : 1);
  }
  close(pair[1]);
  kw_spawned spawned = {.error = ECHILD, .step = "start"};
  kw_exited exited = {.wait_status = -1};
  if (middle > 0) receive(pair[0], &spawned, sizeof spawned);
  keep(result, skip, &spawned, begun);
  bool fine = spawned.error == 0 && receive(pair[0], &exited, sizeof exited) && exited.wait_status == 0;
  if (spawned.error == 0 && !fine) result->error = ENOSYS, strcpy(result->step, "proc");
  close(pair[0]);  // ends init in any state
  kw_kill_descendants();
  return fine;
}

// Stores the reasons for the layers that the next attempt skips.
static void blame(kw_probe_result* result, uint32_t skip) {
  for (unsigned i = 0; i < KW_LAYER_COUNT; ++i) {
    uint32_t layer = 1u << i;
    bool skipped = (skip & layer) != 0;
    if (!skipped)
      result->errors[i] = 0;
    else if (result->errors[i] == 0)
      result->errors[i] = result->error;
  }
}

static void try_all(kw_probe_result* result) {
  char name[32];
  snprintf(name, sizeof name, "kw-probe-%d-0", (int)getpid());
  kw_policy policy = {.version = KW_CONFINE_VERSION,
                      .uid = 65534,
                      .memory_bytes = 256u << 20,
                      .tmp_bytes = 1u << 20,
                      .processes = 64,
                      .cgroup_name = name};
  const size_t count = sizeof attempts / sizeof *attempts;
  for (size_t i = 0; i < count && !try_once(&policy, attempts[i], result); ++i)
    if (i + 1 < count) blame(result, attempts[i + 1]);
  kw_cgroup_finish(name, NULL);
}

// Runs the attempts in a child, which reaps their remaining processes in place of the caller.
static int probe(kw_probe_result* shared) {
  pid_t keeper = fork();
  if (keeper < 0) return errno;
  if (keeper == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try_all(shared);
    _exit(0);
  }
  while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR) continue;
  return 0;
}

int kw_probe(kw_probe_result* result) {
  kw_probe_result* shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return errno;
  int error = probe(shared);
  host.known = error == 0;
  host.result = *shared;
  munmap(shared, sizeof *shared);
  if (result != NULL) *result = host.result;
  return error;
}

int kw_confine(const kw_policy* policy, int status_fd) {
  if (!host.known) kw_probe(NULL);
  int32_t reasons[KW_ERRORS] = {0};
  for (unsigned i = 0; i < KW_LAYER_COUNT; ++i)
    if ((host.result.skipped & 1u << i) != 0) reasons[i] = host.result.errors[i];
  return kw_confine_without(policy, status_fd, host.result.skipped, reasons);
}
