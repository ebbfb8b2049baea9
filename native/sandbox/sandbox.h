// The sandbox of runners, oracles and replayers, applied in a forked child. C ABI, mirrored in
// python/kernelwright/_engine/sandbox.py: change the structs in both files together, with KW_CONFINE_VERSION.
//
//   fork server --fork--> middle --> init --> runner
//
// The middle calls kw_confine(). Init is PID 1 of the new PID namespace, or a child subreaper if the host
// refuses one; after the middle has exited, the supervisor owns it. kw_confine() returns only in the runner.
#ifndef KW_CONFINE_H
#define KW_CONFINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KW_CONFINE_API __attribute__((visibility("default")))
#define KW_CONFINE_VERSION 2u

#define KW_LAYER_USER_NS (1u << 0)  // needed only without root
#define KW_LAYER_MOUNT_NS (1u << 1)
#define KW_LAYER_PID_NS (1u << 2)
#define KW_LAYER_NET_NS (1u << 3)
#define KW_LAYER_IPC_NS (1u << 4)
#define KW_LAYER_UTS_NS (1u << 5)
#define KW_LAYER_ROOT (1u << 6)  // a private root, read-only except /tmp and /dev/shm
#define KW_LAYER_UID (1u << 7)   // not real root and no capabilities; always required
#define KW_LAYER_NO_NEW_PRIVS (1u << 8)
#define KW_LAYER_LANDLOCK (1u << 9)
#define KW_LAYER_RLIMITS (1u << 10)
#define KW_LAYER_CGROUP_MEMORY (1u << 11)
#define KW_LAYER_CGROUP_PIDS (1u << 12)
#define KW_LAYER_SECCOMP (1u << 13)  // refuses a list of system calls; applied last
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
  uint32_t processes;            // tasks (including threads) at a time; 0: none
  uint32_t open_files;           // RLIMIT_NOFILE; 0: as inherited
  uint32_t cpu_s;                // RLIMIT_CPU; 0: none
  uint32_t gpu;                  // show the NVIDIA devices and /sys
  const char* const* readable;   // NULL-terminated; shown read-only at the same path, missing ones skipped
  const char* cgroup_name;       // unique on this host; NULL: no cgroup
  uint32_t require;              // required layers: nothing is run without them
  uint32_t gpu_node;             // 0: every GPU; N + 1: /dev/nvidiaN alone
  uint32_t tools;                // 1: its processes may trace each other and talk by a loopback of their own
  uint32_t padding;
} kw_policy;

// ---- packets to the supervisor, on the SOCK_SEQPACKET socket status_fd ---------------------------------

#define KW_SPAWNED 1u
#define KW_EXITED 2u

// The first packet. With error 0 it carries init's pidfd by SCM_RIGHTS (if the kernel has pidfds). With the
// PID namespace applied, every process of the sandbox is dead once that pidfd polls readable.
typedef struct {
  uint32_t type;  // KW_SPAWNED
  uint32_t version;
  int32_t error;     // errno; not 0: there is no runner, and `step` names the failed step
  int32_t init_pid;  // in the sender's PID namespace
  uint32_t applied;  // layers
  uint32_t padding;
  int32_t errors[KW_ERRORS];  // by bit number, for layers that were not applied; 0: not requested
  char step[KW_STEP_BYTES];
} kw_spawned;

// The second and last packet. Missing if init itself was killed.
typedef struct {
  uint32_t type;        // KW_EXITED
  int32_t wait_status;  // of the runner, as waitpid returns it
  uint64_t user_us;     // of the runner and the children it waited for
  uint64_t system_us;
  uint64_t max_rss_kib;
} kw_exited;

// ---- in the fork server and its child ------------------------------------------------------------------

// Returns 0, only in the runner. The runner's working directory is the only folder on disk where it may
// write. `policy` is not read after the return. The process must have a single thread.
KW_CONFINE_API int kw_confine(const kw_policy* policy, int status_fd);

// Closes every descriptor but 0, 1, 2 and these. Returns 0 or an errno.
KW_CONFINE_API int kw_close_others(const int* keep, size_t count);

// ---- anywhere ------------------------------------------------------------------------------------------

typedef struct {
  uint32_t granted;           // layers
  uint32_t skipped;           // layers that this host offers only in part: not used
  int32_t errors[KW_ERRORS];  // by bit number, for layers not granted
  int32_t error;              // not 0: this host cannot confine anything
  uint32_t spawn_us;          // from fork to runner
  char step[KW_STEP_BYTES];
} kw_probe_result;

// Confines a child that does nothing, to find the layers that this host grants. The result is kept for
// kw_confine in this process and its later children: a fork server calls it once, else each child probes
// again. Returns 0 or an errno.
KW_CONFINE_API int kw_probe(kw_probe_result* result);

// A name such as "mount_ns"; NULL if `bit` isn't one of the KW_LAYER bits.
KW_CONFINE_API const char* kw_layer_name(uint32_t bit);

// ---- in the supervisor ---------------------------------------------------------------------------------

typedef struct {
  uint64_t peak_bytes;  // 0: not known
  uint64_t oom_kills;
  uint64_t forks_refused;
  uint32_t killed;   // processes that were still alive
  uint32_t folders;  // cgroups found, and removed if 0 is returned
} kw_cgroup_usage;

// To be called after the exit: reads the usage, kills remaining processes, removes the cgroup. The caller
// must be in the fork server's cgroup. Returns 0, or an errno if a folder remains. `usage` may be NULL.
KW_CONFINE_API int kw_cgroup_finish(const char* name, kw_cgroup_usage* usage);

// Removes the empty cgroups PREFIX-PID-* of processes that have ended, and of the caller; returns their
// number. Call it before the first runner and after the last, not while one starts.
KW_CONFINE_API uint32_t kw_cgroup_sweep(const char* prefix);

// For a supervisor in a delegated cgroup v2, before it has children: moves it into a leaf, since a cgroup
// with processes of its own can't limit its children. Returns 0 if there is nothing to do.
KW_CONFINE_API int kw_cgroup_prepare(void);

#ifdef __cplusplus
}
#endif
#endif
