// Declarations that the files of this folder share.
#ifndef KW_CONFINE_INTERNAL_H
#define KW_CONFINE_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KW_MAX_PATHS 128
#define KW_OLD_ROOT "/.old"

// A path that the runner may read, and the path to which it resolves on the host.
typedef struct {
  const char* path;
  char* real;
} kw_path;

typedef struct {
  kw_path list[KW_MAX_PATHS];
  size_t count;
} kw_paths;

// One confinement. The middle and init share it; the runner has a copy.
typedef struct {
  const kw_policy* policy;
  int status_fd;
  int ready[2];        // a pipe; its write end is closed when the runner is confined or has failed
  int sent[2];         // a pipe; only the middle has its write end
  kw_spawned* report;  // shared memory
  uint32_t skip;       // layers not to try; the uid can't be skipped
  uint64_t tasks;      // existing tasks of the uid, which RLIMIT_NPROC counts too
  char home[32];       // the runner's folder if it has no private root
  kw_paths paths;
} kw_job;

// layers.c
unsigned kw_layer_index(uint32_t layer);
bool kw_skips(const kw_job* job, uint32_t layer);
bool kw_applied(const kw_job* job, uint32_t layer);
void kw_mark(kw_job* job, uint32_t layer, int error);
int kw_fail(kw_job* job, const char* step, int error);

// root.c: files
int kw_write_text(const char* path, const char* text);
int kw_write_number(const char* folder, const char* file, uint64_t number);
ssize_t kw_read_text(const char* path, char* out, size_t size);
int kw_make_parents(const char* path);
void kw_remove_tree(const char* path);

// cgroup.c
bool kw_cgroup_v1(const char* controller, char* out, size_t size);
bool kw_cgroup_v2(char* out, size_t size);
bool kw_cgroup_v2_delegates(const char* folder, const char* controller);
void kw_join_cgroups(kw_job* job);

// layers.c: namespaces and identity
void kw_enter_namespaces(kw_job* job);
void kw_raise_loopback(const kw_job* job);
int kw_become(uint32_t uid);
int kw_drop_identity(kw_job* job);
void kw_keep_capabilities(uint64_t mask);

// root.c
int kw_collect_paths(kw_job* job);
int kw_each_device(const char* folder, const kw_policy* policy, int (*visit)(void*, const char* name),
                   void* argument);
int kw_bind(const char* source, const char* target, uint64_t attributes);
int kw_build_root(kw_job* job);
int kw_mount_proc(kw_job* job);

// landlock.c, seccomp.c; layers.c: limits
int kw_landlock(kw_job* job);
int kw_seccomp(kw_job* job);
uint64_t kw_count_tasks(uid_t uid);
int kw_set_limits(kw_job* job);

// init.c, sandbox.c
int kw_runner(kw_job* job);
int kw_init(kw_job* job);
void kw_kill_descendants(void);
int kw_confine_without(const kw_policy* policy, int status_fd, uint32_t skip, const int32_t* reasons);

#ifdef __cplusplus
}
#endif
#endif
