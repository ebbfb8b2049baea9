// Layers and how they are reported.
#include <stdio.h>

#include "internal.h"

static const char* const names[KW_LAYER_COUNT] = {
    "user_ns", "mount_ns",     "pid_ns",   "net_ns",  "ipc_ns",        "uts_ns",      "root",
    "uid",     "no_new_privs", "landlock", "rlimits", "cgroup_memory", "cgroup_pids", "seccomp",
};

unsigned kw_layer_index(uint32_t layer) {
  return (unsigned)__builtin_ctz(layer);
}

const char* kw_layer_name(uint32_t bit) {
  if (bit == 0 || (bit & (bit - 1)) != 0) return NULL;
  unsigned index = kw_layer_index(bit);
  return index < KW_LAYER_COUNT ? names[index] : NULL;
}

bool kw_skips(const kw_job* job, uint32_t layer) {
  return (job->skip & layer) != 0;
}

bool kw_applied(const kw_job* job, uint32_t layer) {
  return (job->report->applied & layer) == layer;
}

void kw_mark(kw_job* job, uint32_t layer, int error) {
  if (error == 0) job->report->applied |= layer;
  job->report->errors[kw_layer_index(layer)] = error;
}

// Keeps the first failure: later ones follow from it.
int kw_fail(kw_job* job, const char* step, int error) {
  if (job->report->error != 0) return job->report->error;
  snprintf(job->report->step, sizeof job->report->step, "%s", step);
  job->report->error = error;
  return error;
}
