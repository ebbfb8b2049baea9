// The end of a sandbox's cgroup, seen from the supervisor.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define TRIES 200
#define PAUSE_NS 1000000

// The number in `file`, or after `key` in it; 0 if there is none.
static uint64_t number(const char* folder, const char* file, const char* key) {
  char path[PATH_MAX + 64], text[1024];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  if (kw_read_text(path, text, sizeof text) < 0) return 0;
  const char* at = text;
  if (key != NULL) {
    size_t length = strlen(key);
    while (strncmp(at, key, length) != 0 || at[length] != ' ') {
      at = strchr(at, '\n');
      if (at == NULL) return 0;
      ++at;
    }
    at += length;
  }
  return strtoull(at, NULL, 10);
}

// Returns how many processes were seen.
static uint32_t kill_members(const char* folder) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/cgroup.kill", folder);
  bool at_once = kw_write_text(path, "1") == 0;
  snprintf(path, sizeof path, "%s/cgroup.procs", folder);
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  uint32_t seen = 0;
  intmax_t pid = 0;
  while (fscanf(file, "%jd", &pid) == 1) {
    ++seen;
    // 0: a process of a PID namespace that we can't see. Negative numbers would reach groups.
    if (!at_once && pid > 1 && pid != getpid()) kill((pid_t)pid, SIGKILL);
  }
  fclose(file);
  return seen;
}

// The kernel keeps a folder busy for a moment after its last process is gone.
static int remove_folder(const char* folder, uint32_t* killed) {
  const struct timespec pause = {0, PAUSE_NS};
  for (int i = 0; i < TRIES; ++i) {
    if (rmdir(folder) == 0 || errno == ENOENT) return 0;
    if (errno != EBUSY) return errno;
    uint32_t seen = kill_members(folder);
    if (seen > *killed) *killed = seen;
    nanosleep(&pause, NULL);
  }
  return EBUSY;
}

static void read_usage(const char* folder, kw_cgroup_usage* usage) {
  uint64_t peak = number(folder, "memory.max_usage_in_bytes", NULL);
  usage->peak_bytes += peak != 0 ? peak : number(folder, "memory.peak", NULL);
  usage->oom_kills +=
      number(folder, "memory.oom_control", "oom_kill") + number(folder, "memory.events", "oom_kill");
  usage->forks_refused += number(folder, "pids.events", "max");
}

static void finish_one(const char* base, const char* name, kw_cgroup_usage* usage, int* error) {
  char folder[PATH_MAX];
  if ((size_t)snprintf(folder, sizeof folder, "%s/%s", base, name) >= sizeof folder) return;
  if (access(folder, F_OK) != 0) return;
  ++usage->folders;
  read_usage(folder, usage);
  int last = remove_folder(folder, &usage->killed);
  if (last != 0) *error = last;
}

int kw_cgroup_finish(const char* name, kw_cgroup_usage* usage) {
  kw_cgroup_usage unused;
  if (usage == NULL) usage = &unused;
  *usage = (kw_cgroup_usage){0};
  if (name == NULL || *name == '\0' || strchr(name, '/') != NULL || *name == '.') return EINVAL;
  char base[PATH_MAX];
  int error = 0;
  if (kw_cgroup_v1("memory", base, sizeof base)) finish_one(base, name, usage, &error);
  // Some hosts mount the two controllers as one tree: then the folder is gone by now.
  if (kw_cgroup_v1("pids", base, sizeof base)) finish_one(base, name, usage, &error);
  if (kw_cgroup_v2(base, sizeof base)) finish_one(base, name, usage, &error);
  return error;
}
