// A cgroup for one sandbox: version 1, where each controller has a tree of its own, or version 2.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

// The middle, which is about to go, and init are in it too.
#define OWN_TASKS 2u

static int create(const char* base, const char* name, char* out, size_t size) {
  if ((size_t)snprintf(out, size, "%s/%s", base, name) >= size) return ENAMETOOLONG;
  return mkdir(out, 0755) == 0 || errno == EEXIST ? 0 : errno;
}

static int limit_v1_memory(const char* folder, uint64_t bytes) {
  int error = kw_write_number(folder, "memory.limit_in_bytes", bytes);
  // Without it the limit only moves pages out to swap. Not every kernel has the file.
  if (error == 0) kw_write_number(folder, "memory.memsw.limit_in_bytes", bytes);
  return error;
}

static int limit_v2_memory(const char* folder, uint64_t bytes) {
  int error = kw_write_number(folder, "memory.max", bytes);
  if (error == 0) kw_write_number(folder, "memory.swap.max", 0);
  return error;
}

static int limit_pids(const char* folder, uint64_t tasks) {
  return kw_write_number(folder, "pids.max", tasks + OWN_TASKS);
}

// 0 stands for the writer.
static int join_v2_folder(const char* folder) {
  return kw_write_number(folder, "cgroup.procs", 0);
}

// We have a single thread, and a thread moves itself without the lock of all forks on the host, which costs
// 15 ms.
static int join_v1_folder(const char* folder) {
  return kw_write_number(folder, "tasks", 0);
}

static int join_v1(const char* controller, const char* name, uint64_t limit,
                   int (*set)(const char*, uint64_t)) {
  char base[PATH_MAX], folder[PATH_MAX];
  if (!kw_cgroup_v1(controller, base, sizeof base)) return ENOENT;
  int error = create(base, name, folder, sizeof folder);
  if (error == 0) error = set(folder, limit);
  return error == 0 ? join_v1_folder(folder) : error;
}

// Both controllers share a folder, which is joined last: one that limits nothing would be of no use.
static void join_v2(kw_job* job, bool memory, bool pids) {
  char base[PATH_MAX], folder[PATH_MAX];
  if (!kw_cgroup_v2(base, sizeof base)) return;
  memory = memory && kw_cgroup_v2_delegates(base, "memory");
  pids = pids && kw_cgroup_v2_delegates(base, "pids");
  if (!memory && !pids) return;
  int error = create(base, job->policy->cgroup_name, folder, sizeof folder);
  int memory_error = error, pids_error = error;
  if (error == 0 && memory) memory_error = limit_v2_memory(folder, job->policy->memory_bytes);
  if (error == 0 && pids) pids_error = limit_pids(folder, job->policy->processes);
  if (error == 0) error = join_v2_folder(folder);
  if (memory) kw_mark(job, KW_LAYER_CGROUP_MEMORY, error != 0 ? error : memory_error);
  if (pids) kw_mark(job, KW_LAYER_CGROUP_PIDS, error != 0 ? error : pids_error);
}

void kw_join_cgroups(kw_job* job) {
  const kw_policy* policy = job->policy;
  if (policy->cgroup_name == NULL) return;
  bool memory = policy->memory_bytes != 0 && !kw_skips(job, KW_LAYER_CGROUP_MEMORY);
  bool pids = policy->processes != 0 && !kw_skips(job, KW_LAYER_CGROUP_PIDS);
  if (memory)
    kw_mark(job, KW_LAYER_CGROUP_MEMORY,
            join_v1("memory", policy->cgroup_name, policy->memory_bytes, limit_v1_memory));
  if (pids)
    kw_mark(job, KW_LAYER_CGROUP_PIDS, join_v1("pids", policy->cgroup_name, policy->processes, limit_pids));
  join_v2(job, memory && !kw_applied(job, KW_LAYER_CGROUP_MEMORY),
          pids && !kw_applied(job, KW_LAYER_CGROUP_PIDS));
}

int kw_cgroup_prepare(void) {
  char base[PATH_MAX], leaf[PATH_MAX], control[PATH_MAX];
  if (!kw_cgroup_v2(base, sizeof base)) return 0;
  if (kw_cgroup_v2_delegates(base, "memory") && kw_cgroup_v2_delegates(base, "pids")) return 0;
  // A base that long could not hold the names of ours either.
  if ((size_t)snprintf(control, sizeof control, "%s/cgroup.subtree_control", base) >= sizeof control)
    return 0;
  if (access(control, W_OK) != 0) return 0;
  int error = create(base, "kw-supervisor", leaf, sizeof leaf);
  if (error == 0) error = join_v2_folder(leaf);
  if (error == 0) error = kw_write_text(control, "+memory");
  if (error == 0) error = kw_write_text(control, "+pids");
  if (error == 0) return 0;
  join_v2_folder(base);
  rmdir(leaf);
  return error;
}
