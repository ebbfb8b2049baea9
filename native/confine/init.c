// Init: builds what the runner shall live in, starts it, waits for its end, and takes everything else with
// it.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#define KEPT_CAPABILITIES (1ull << CAP_KILL | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER)

static uint64_t microseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec;
}

// A folder to write in for a runner that must share the host's /tmp.
static int make_home(kw_job* job) {
  static const char pattern[sizeof job->home] = "/tmp/kw-XXXXXX";
  for (size_t i = 0; i < sizeof pattern; ++i) job->home[i] = pattern[i];
  if (mkdtemp(job->home) == NULL) return kw_fail(job, "private folder", errno);
  if (getuid() == 0 && chown(job->home, job->policy->uid, job->policy->uid) != 0)
    return kw_fail(job, "private folder", errno);
  return 0;
}

static int set_up(kw_job* job) {
  umask(022);
  if (!kw_applied(job, KW_LAYER_PID_NS)) prctl(PR_SET_CHILD_SUBREAPER, 1);
  int error = kw_collect_paths(job);
  if (error != 0) return kw_fail(job, "readable paths", error);
  if (kw_applied(job, KW_LAYER_MOUNT_NS)) error = kw_build_root(job);
  if (error != 0) return error;
  if (kw_applied(job, KW_LAYER_UTS_NS)) sethostname("runner", 6);
  return kw_applied(job, KW_LAYER_ROOT) ? 0 : make_home(job);
}

// Of what it inherited. The runner's output must end with the runner.
static void close_all_but(int status_fd, int sent) {
  const int keep[] = {status_fd, sent};
  kw_close_others(keep, 2);
  for (int fd = 0; fd < 3; ++fd)
    if (fd != status_fd && fd != sent) close(fd);
}

// Signals are read, not caught: nobody inside has a handler of ours to reach.
static int open_signals(void) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Reaps all that has ended. True once that was the runner.
static bool reap(pid_t runner, kw_exited* exited) {
  bool ended = false;
  int status = 0;
  struct rusage usage;
  pid_t pid = 0;
  while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
    if (pid != runner) continue;
    ended = true;
    exited->wait_status = status;
    exited->user_us = microseconds(usage.ru_utime);
    exited->system_us = microseconds(usage.ru_stime);
    exited->max_rss_kib = (uint64_t)usage.ru_maxrss;
  }
  return ended;
}

// False if the supervisor has gone.
static bool wait_for(pid_t runner, int status_fd, kw_exited* exited) {
  struct pollfd polled[2] = {{.fd = status_fd}, {.fd = open_signals(), .events = POLLIN}};
  if (polled[1].fd < 0) return false;
  while (!reap(runner, exited)) {
    struct signalfd_siginfo unused;
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return false;
    if ((polled[0].revents & (POLLHUP | POLLERR)) != 0) return false;
    while (read(polled[1].fd, &unused, sizeof unused) > 0) continue;
  }
  return true;
}

// With a PID namespace the kernel kills the rest once we are gone, and our end is seen only after theirs.
static void end_rest(const kw_job* job) {
  bool private_folder = job->home[0] != '\0';
  if (kw_applied(job, KW_LAYER_PID_NS) && !private_folder) return;
  kw_kill_descendants();
  if (private_folder) kw_remove_tree(job->home);
}

// A short-lived runner can be over before the middle has reported it: that report comes first.
static void wait_for_middle(int sent) {
  char unused = 0;
  while (read(sent, &unused, 1) < 0 && errno == EINTR) continue;
}

static _Noreturn void look_after(kw_job* job, pid_t runner) {
  kw_exited exited = {.type = KW_EXITED};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  kw_keep_capabilities(KEPT_CAPABILITIES);
  close_all_but(job->status_fd, job->sent[0]);
  bool ended = wait_for(runner, job->status_fd, &exited);
  end_rest(job);
  // A runner that was never ready is the middle's to report, which waits for our end.
  if (!ended || job->report->error != 0) _exit(1);
  wait_for_middle(job->sent[0]);
  send(job->status_fd, &exited, sizeof exited, MSG_NOSIGNAL);
  _exit(0);
}

// Returns in the runner alone.
int kw_init(kw_job* job) {
  close(job->sent[1]);
  setsid();
  prctl(PR_SET_DUMPABLE, 0);
  if (set_up(job) != 0) {
    end_rest(job);
    _exit(1);
  }
  pid_t runner = fork();
  if (runner == 0) return kw_runner(job);
  if (runner > 0) look_after(job, runner);
  kw_fail(job, "fork runner", errno);
  end_rest(job);
  _exit(1);
}
