#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

// Ends all descendants of this process if there is no PID namespace.

#define ROUNDS 2000
#define PAUSE_NS 1000000

// The kernel lists direct children. Deeper ones become direct when their parents die, since this process is a
// subreaper.
static unsigned kill_children(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  unsigned count = 0;
  int pid = 0;
  while (fscanf(file, "%d", &pid) == 1) {
    ++count;
    if (pid > 1) kill(pid, SIGKILL);
  }
  fclose(file);
  return count;
}

// Bounded: the supervisor waits for a process that is stuck in the kernel.
void kw_kill_descendants(void) {
  const struct timespec moment = {0, PAUSE_NS};
  for (int i = 0; i < ROUNDS; ++i) {
    kill_children();
    pid_t ended = 0;
    while ((ended = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) continue;
    if (ended < 0 && errno == ECHILD) return;
    nanosleep(&moment, NULL);
  }
}

// The last steps of the sandbox, in the runner itself. No code of a candidate has run yet.

static void reset_signals(void) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

// After a change of uid the kernel gives /proc/self to root and clears the death signal; this reverts both.
static void settle_after_uid(void) {
  prctl(PR_SET_DUMPABLE, 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void missing_layer(kw_job* job) {
  uint32_t missing = job->policy->require & ~job->report->applied;
  if (missing == 0) return;
  unsigned index = kw_layer_index(missing);
  int error = job->report->errors[index];
  char step[KW_STEP_BYTES];
  const char* name = kw_layer_name(1u << index);
  snprintf(step, sizeof step, "required: %s", name != NULL ? name : "unknown layer");
  kw_fail(job, step, error != 0 ? error : ENOTSUP);
}

// Out of memory, the kernel should kill the runner itself, and not another process.
static void die_first(void) {
  kw_write_text("/proc/self/oom_score_adj", "1000");
}

static void confine(kw_job* job) {
  close(job->status_fd);
  close(job->ready[0]);
  close(job->sent[0]);
  setsid();
  die_first();
  kw_set_limits(job);
  int error = kw_drop_identity(job);
  if (error != 0) kw_fail(job, "uid", error);
  settle_after_uid();
  kw_landlock(job);
  umask(077);
  const char* home = kw_applied(job, KW_LAYER_ROOT) ? "/tmp" : job->home;
  if (chdir(home) != 0) kw_fail(job, "chdir", errno);
  kw_seccomp(job);
  missing_layer(job);
}

// Returns 0 on success; else exits, which init notices.
int kw_runner(kw_job* job) {
  confine(job);
  if (job->report->error != 0) {
    _exit(1);
  }
  reset_signals();
  int ready = job->ready[1];
  munmap(job->report, sizeof *job->report);
  close(ready);
  return 0;
}

// Init: builds the runner's environment, starts the runner, waits for its end, and then ends all other
// processes.

#define KEPT_CAPABILITIES (1ull << CAP_KILL | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER)

static uint64_t microseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec;
}

// A writable folder for a runner that must share the host's /tmp.
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
  kw_raise_loopback(job);
  return kw_applied(job, KW_LAYER_ROOT) ? 0 : make_home(job);
}

// Closes the inherited descriptors, so that the runner's output ends with the runner.
static void close_all_but(int status_fd, int sent) {
  const int keep[] = {status_fd, sent};
  kw_close_others(keep, 2);
  for (int fd = 0; fd < 3; ++fd)
    if (fd != status_fd && fd != sent) close(fd);
}

// Signals are read through a descriptor, so that init has no handler that sandboxed processes could trigger.
static int open_signals(void) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Reaps all ended processes. True if the runner is among them.
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

// False if the supervisor has closed its end.
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

// With a PID namespace the kernel kills all other processes when init ends, and reports init's end after
// theirs.
static void end_rest(const kw_job* job) {
  bool private_folder = job->home[0] != '\0';
  if (kw_applied(job, KW_LAYER_PID_NS) && !private_folder) return;
  kw_kill_descendants();
  if (private_folder) kw_remove_tree(job->home);
}

// A short-lived runner can end before the middle has reported its start. That report must come first.
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
  // The middle waits for init's end and reports a runner that was never ready.
  if (!ended || job->report->error != 0) _exit(1);
  wait_for_middle(job->sent[0]);
  send(job->status_fd, &exited, sizeof exited, MSG_NOSIGNAL);
  _exit(0);
}

// Returns only in the runner.
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
