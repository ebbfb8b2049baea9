// Resource limits of the runner.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "internal.h"

// Init, and the middle until it has gone, have the runner's uid in a user namespace.
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

// Threads of `uid`: RLIMIT_NPROC counts them wherever they are on the host, user namespaces apart.
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

// Where a cgroup counts tasks, the uid's count would only add what is not ours, unless it is a namespace's
// own.
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
  // SIGXCPU first, which a core-less default action turns into a clear wait status; SIGKILL a second later.
  if (error == 0 && policy->cpu_s != 0) error = set(RLIMIT_CPU, policy->cpu_s, (uint64_t)policy->cpu_s + 1);
  if (error == 0) error = set_unless_zero(RLIMIT_AS, policy->address_space_bytes);
  kw_mark(job, KW_LAYER_RLIMITS, error);
  return error;
}
