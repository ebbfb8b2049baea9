// The middle: enters cgroup and namespaces, starts init, reports to the supervisor, and exits.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KW_ASAN 1
#endif
#endif

#define INIT_STACK (1u << 20)

static kw_job job;
static jmp_buf home;

static void send_report(int pidfd) {
  char control[CMSG_SPACE(sizeof pidfd)] = {0};
  struct iovec part = {job.report, sizeof *job.report};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (pidfd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof pidfd);
    memcpy(CMSG_DATA(header), &pidfd, sizeof pidfd);
  }
  sendmsg(job.status_fd, &message, MSG_NOSIGNAL);
}

static _Noreturn void give_up(void) {
  job.report->applied = 0;
  send_report(-1);
  _exit(1);
}

static void wait_until_ready(void) {
  char unused = 0;
  close(job.ready[1]);
  close(job.sent[0]);
  while (read(job.ready[0], &unused, 1) < 0 && errno == EINTR) continue;
}

static bool still_runs(pid_t init) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)init, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid == 0;
}

static _Noreturn void hand_over(pid_t init) {
  wait_until_ready();
  if (job.report->error == 0 && !still_runs(init)) kw_fail(&job, "init died", ECHILD);
  if (job.report->error != 0) {
    waitpid(init, NULL, __WALL);
    give_up();
  }
  job.report->init_pid = init;
  send_report((int)syscall(SYS_pidfd_open, init, 0));
  _exit(0);
}

#ifdef KW_ASAN
// The sanitiser supports one stack per thread.
static pid_t start_init(void) {
  pid_t init = fork();
  if (init == 0 && kw_init(&job) == 0) longjmp(home, 1);
  return init;
}
#else
static int init_main(void* argument) {
  if (kw_init(argument) == 0) longjmp(home, 1);
  return 1;
}

// Init shares the middle's memory, since a copy would be the greatest cost in a process that has imported
// torch. Until it exits, the middle only waits in system calls, while init uses a separate stack. The runner
// is a true fork of init, and returns to the stack of kw_confine()'s caller.
static pid_t start_init(void) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;
  char* stack = mmap(NULL, INIT_STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stack == MAP_FAILED) return -1;
  return clone(init_main, stack + INIT_STACK, CLONE_VM | SIGCHLD, &job);
}
#endif

static int share_report(void) {
  void* page = mmap(NULL, sizeof(kw_spawned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno;
  job.report = page;
  job.report->type = KW_SPAWNED;
  job.report->version = KW_CONFINE_VERSION;
  return 0;
}

static int check(const kw_policy* policy) {
  if (policy->version != KW_CONFINE_VERSION) return kw_fail(&job, "policy: version", EINVAL);
  if (policy->uid == 0) return kw_fail(&job, "policy: uid 0", EINVAL);
  const char* name = policy->cgroup_name;
  bool bad_name = name != NULL && (*name == '\0' || *name == '.' || strchr(name, '/') != NULL);
  return bad_name ? kw_fail(&job, "policy: cgroup name", EINVAL) : 0;
}

static void enter(const int32_t* reasons) {
  memcpy(job.report->errors, reasons, sizeof job.report->errors);
  kw_join_cgroups(&job);
  kw_enter_namespaces(&job);
  if (!kw_applied(&job, KW_LAYER_USER_NS) && !kw_applied(&job, KW_LAYER_CGROUP_PIDS))
    job.tasks = kw_count_tasks(getuid() == 0 ? job.policy->uid : getuid());
}

// No signal may interrupt the middle while init uses its memory.
static void block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGCHLD, SIG_DFL);
}

int kw_confine_without(const kw_policy* policy, int status_fd, uint32_t skip, const int32_t* reasons) {
  job = (kw_job){.policy = policy, .status_fd = status_fd, .skip = skip};
  if (share_report() != 0 || job.report == NULL) _exit(1);
  if (check(policy) != 0) give_up();
  block_signals();
  enter(reasons);
  if (job.report->error != 0) give_up();
  if (pipe2(job.ready, O_CLOEXEC) != 0 || pipe2(job.sent, O_CLOEXEC) != 0) {
    kw_fail(&job, "pipe", errno);
    give_up();
  }
  if (setjmp(home) != 0) return 0;
  pid_t init = start_init();
  if (init > 0) hand_over(init);
  kw_fail(&job, "start init", errno);
  give_up();
}
