// The last steps, taken by the runner itself. No code of a candidate has run yet.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static void reset_signals(void) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

// After a change of uid the kernel makes /proc/self root's and forgets the death signal.
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

// A child of its own would otherwise be as likely to be chosen when memory ends.
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

// Returns 0 when all is done; else ends, as init sees.
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
