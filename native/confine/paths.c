// What a runner may read. With a root of its own these are mounted there, without one landlock shows only
// these.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const char* const system_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/ssl/certs",
    "/sys/devices/system/cpu",  // torch's cpuinfo complains without it
};

// The CUDA driver looks for its devices and their NUMA nodes in /sys.
static const char* const gpu_paths[] = {"/sys", "/usr/local/nvidia", "/run/nvidia-persistenced"};

static const char* const devices[] = {"null", "zero", "full", "random", "urandom"};

static int add(kw_paths* paths, const char* path) {
  if (path[0] != '/') return EINVAL;
  char* real = realpath(path, NULL);
  if (real == NULL || strcmp(real, "/") == 0) return 0;  // missing; and the whole host is never shown
  if (paths->count == KW_MAX_PATHS) return E2BIG;
  paths->list[paths->count++] = (kw_path){path, real};
  return 0;
}

// While the host's root is still ours, so that links resolve as they do there.
int kw_collect_paths(kw_job* job) {
  int error = 0;
  if (job->policy->gpu != 0)
    for (size_t i = 0; error == 0 && i < sizeof gpu_paths / sizeof *gpu_paths; ++i)
      error = add(&job->paths, gpu_paths[i]);
  for (size_t i = 0; error == 0 && i < sizeof system_paths / sizeof *system_paths; ++i)
    error = add(&job->paths, system_paths[i]);
  const char* const* readable = job->policy->readable;
  for (; error == 0 && readable != NULL && *readable != NULL; ++readable) error = add(&job->paths, *readable);
  return error;
}

// A process that is shown one GPU opens no other: CUDA makes that many times cheaper where there are several.
static bool is_shown(const kw_policy* policy, const char* name) {
  if (strncmp(name, "nvidia", 6) != 0) return false;
  if (policy->gpu_node == 0 || name[6] < '0' || name[6] > '9') return true;
  return strtoul(name + 6, NULL, 10) + 1 == policy->gpu_node;
}

// Names in `folder`, a /dev: the harmless ones, and nvidia0, nvidiactl, nvidia-uvm, nvidia-caps and so on.
int kw_each_device(const char* folder, const kw_policy* policy, int (*visit)(void*, const char* name),
                   void* argument) {
  int error = 0;
  for (size_t i = 0; error == 0 && i < sizeof devices / sizeof *devices; ++i)
    error = visit(argument, devices[i]);
  DIR* dir = policy->gpu != 0 ? opendir(folder) : NULL;
  if (dir == NULL) return error;
  const struct dirent* entry = NULL;
  while (error == 0 && (entry = readdir(dir)) != NULL)
    if (is_shown(policy, entry->d_name)) error = visit(argument, entry->d_name);
  closedir(dir);
  return error;
}
