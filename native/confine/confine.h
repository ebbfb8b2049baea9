// The sandbox of runners, oracles and replayers, applied in a forked child. C ABI, mirrored in
// python/kernelwright/confine.py: whatever changes in a struct here changes there, with KW_CONFINE_VERSION.
//
//   fork server --fork--> middle --> init --> runner
//
// The middle calls kw_confine(). Init is PID 1 of the new PID namespace, or a child subreaper where the host
// refuses one; it belongs to the supervisor once the middle is gone. kw_confine() returns in the runner
// alone.
#ifndef KW_CONFINE_H
#define KW_CONFINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KW_CONFINE_API __attribute__((visibility("default")))
#define KW_CONFINE_VERSION 1u

#define KW_LAYER_USER_NS (1u << 0)  // only where we are not root: as root it isn't needed
#define KW_LAYER_MOUNT_NS (1u << 1)
#define KW_LAYER_PID_NS (1u << 2)
#define KW_LAYER_NET_NS (1u << 3)
#define KW_LAYER_IPC_NS (1u << 4)
#define KW_LAYER_UTS_NS (1u << 5)
#define KW_LAYER_ROOT (1u << 6)  // a root of its own, read-only but for /tmp and /dev/shm
#define KW_LAYER_UID (1u << 7)   // not real root and no capabilities; always demanded
#define KW_LAYER_NO_NEW_PRIVS (1u << 8)
#define KW_LAYER_LANDLOCK (1u << 9)
#define KW_LAYER_RLIMITS (1u << 10)
#define KW_LAYER_CGROUP_MEMORY (1u << 11)
#define KW_LAYER_CGROUP_PIDS (1u << 12)
#define KW_LAYER_SECCOMP (1u << 13)  // a list of system calls is refused, applied last of all
#define KW_LAYER_COUNT 14u

#define KW_ERRORS 16
#define KW_STEP_BYTES 64

typedef struct {
  uint32_t version;              // KW_CONFINE_VERSION
  uint32_t uid;                  // uid and gid to become when the real uid is 0
  uint64_t address_space_bytes;  // RLIMIT_AS; 0: none
  uint64_t memory_bytes;         // of the cgroup; 0: none
  uint64_t tmp_bytes;            // of the private /tmp, and of /dev/shm; 0: 64 MiB
  uint64_t file_bytes;           // RLIMIT_FSIZE; 0: none
  uint32_t processes;            // tasks (threads count too) at a time; 0: none
  uint32_t open_files;           // RLIMIT_NOFILE; 0: as inherited
  uint32_t cpu_s;                // RLIMIT_CPU; 0: none
  uint32_t gpu;                  // show the NVIDIA devices and /sys
  const char* const* readable;   // NULL-terminated; shown read-only at the same path, missing ones skipped
  const char* cgroup_name;       // unique on this host; NULL: no cgroup
  uint32_t require;              // layers without which nothing is run
  uint32_t gpu_node;             // 0: every GPU; N + 1: /dev/nvidiaN alone
} kw_policy;

// ---- packets to the supervisor, on the SOCK_SEQPACKET socket status_fd ---------------------------------

#define KW_SPAWNED 1u
#define KW_EXITED 2u

// The first packet. With error 0, init's pidfd comes along by SCM_RIGHTS (where the kernel has pidfds).
// Once that pidfd polls readable with the PID namespace applied, every process of the sandbox is dead.
typedef struct {
  uint32_t type;  // KW_SPAWNED
  uint32_t version;
  int32_t error;     // errno; not 0: there is no runner, and `step` names what failed
  int32_t init_pid;  // as the sender's PID namespace counts
  uint32_t applied;  // layers
  uint32_t padding;
  int32_t errors[KW_ERRORS];  // by bit number, for layers that were not applied; 0: not asked for
  char step[KW_STEP_BYTES];
} kw_spawned;

// The second and last. Missing if init itself was killed.
typedef struct {
  uint32_t type;        // KW_EXITED
  int32_t wait_status;  // of the runner, as waitpid gives it
  uint64_t user_us;     // of the runner and the children it waited for
  uint64_t system_us;
  uint64_t max_rss_kib;
} kw_exited;

// ---- in the fork server and its child ------------------------------------------------------------------

// Returns 0 in the runner and nowhere else. Its working directory is the only folder of the disk in which it
// may write. `policy` is read before the return only. The process must have a single thread.
KW_CONFINE_API int kw_confine(const kw_policy* policy, int status_fd);

// Closes every descriptor but 0, 1, 2 and these. Returns 0 or an errno.
KW_CONFINE_API int kw_close_others(const int* keep, size_t count);

// ---- anywhere ------------------------------------------------------------------------------------------

typedef struct {
  uint32_t granted;           // layers
  uint32_t skipped;           // layers this host offers in part, so that we do without
  int32_t errors[KW_ERRORS];  // by bit number, for layers not granted
  int32_t error;              // not 0: nothing can be confined here
  uint32_t spawn_us;          // from fork to runner
  char step[KW_STEP_BYTES];
} kw_probe_result;

// Confines a child that does nothing and says what this host grants. The answer is kept for kw_confine in
// this process and its later children: a fork server calls it once, or each child probes afresh. Returns 0 or
// an errno.
KW_CONFINE_API int kw_probe(kw_probe_result* result);

// A word such as "mount_ns"; NULL if `bit` isn't one of the KW_LAYER bits.
KW_CONFINE_API const char* kw_layer_name(uint32_t bit);

// ---- in the supervisor ---------------------------------------------------------------------------------

typedef struct {
  uint64_t peak_bytes;  // 0: not known
  uint64_t oom_kills;
  uint64_t forks_refused;
  uint32_t killed;   // processes that still lived
  uint32_t folders;  // cgroups found, and removed if 0 is returned
} kw_cgroup_usage;

// After the exit: reads the usage, kills what is left, removes the cgroup. The caller must be in the cgroup
// in which the fork server was. Returns 0, or an errno if a folder is still there. `usage` may be NULL.
KW_CONFINE_API int kw_cgroup_finish(const char* name, kw_cgroup_usage* usage);

// Removes the empty cgroups PREFIX-PID-* of processes that are no more, and of the caller; returns how many.
// Call it before the first runner, and after the last: not while one is being started.
KW_CONFINE_API uint32_t kw_cgroup_sweep(const char* prefix);

// For a supervisor in a delegated cgroup v2, before it has children: moves itself into a leaf, since a cgroup
// with processes of its own can't limit its children. Returns 0 where there is nothing to do.
KW_CONFINE_API int kw_cgroup_prepare(void);

#ifdef __cplusplus
}
#endif
#endif
