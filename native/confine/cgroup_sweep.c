// What a supervisor that was killed left behind: empty cgroups.
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

// PREFIX-PID-NUMBER of a process that is no more, or of ourselves: what we still use is not empty, and stays.
static bool is_orphan(const char* name, const char* prefix) {
  size_t length = strlen(prefix);
  if (strncmp(name, prefix, length) != 0 || name[length] != '-') return false;
  char* end = NULL;
  long pid = strtol(name + length + 1, &end, 10);
  if (pid <= 0 || *end != '-') return false;
  if (pid == (long)getpid()) return true;
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld", pid);
  return access(path, F_OK) != 0;
}

// Nothing is killed here: a cgroup that still has a process can't be removed, and stays.
static uint32_t sweep(const char* base, const char* prefix) {
  DIR* folder = opendir(base);
  if (folder == NULL) return 0;
  uint32_t removed = 0;
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    char path[PATH_MAX];
    if (!is_orphan(entry->d_name, prefix)) continue;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", base, entry->d_name) >= sizeof path) continue;
    if (rmdir(path) == 0) ++removed;
  }
  closedir(folder);
  return removed;
}

uint32_t kw_cgroup_sweep(const char* prefix) {
  char base[PATH_MAX];
  uint32_t removed = 0;
  if (kw_cgroup_v1("memory", base, sizeof base)) removed += sweep(base, prefix);
  if (kw_cgroup_v1("pids", base, sizeof base)) removed += sweep(base, prefix);
  if (kw_cgroup_v2(base, sizeof base)) removed += sweep(base, prefix);
  return removed;
}
