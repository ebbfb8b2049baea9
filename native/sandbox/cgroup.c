#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

// Finds the folder of this process's cgroup. The paths in /proc/self/cgroup are compared with the mounts,
// since in a container the mounted part need not begin at the hierarchy's root.

// Whether a comma-separated list contains `word`.
static bool listed(const char* list, const char* word) {
  size_t length = strlen(word);
  for (const char* at = list; (at = strstr(at, word)) != NULL; at += length) {
    bool begins = at == list || at[-1] == ',';
    if (begins && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

// This process's path in the hierarchy of `controller`; "" means version 2.
static bool own_path(const char* controller, char* out, size_t size) {
  char line[PATH_MAX + 64];
  bool found = false;
  FILE* file = fopen("/proc/self/cgroup", "re");
  if (file == NULL) return false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    char* controllers = strchr(line, ':');
    char* path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL) continue;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    found = *controller == '\0' ? controllers[1] == '\0' : listed(controllers + 1, controller);
    if (found) snprintf(out, size, "%s", path);
  }
  fclose(file);
  return found;
}

// A line of mountinfo: id parent device ROOT POINT options [tags] - TYPE source SUPER_OPTIONS
static bool parse_mount(char* line, char** root, char** point, char** type, char** options) {
  char* rest = strstr(line, " - ");
  if (rest == NULL) return false;
  *rest = '\0';
  char* state = NULL;
  char* words[5] = {0};
  for (int i = 0; i < 5; ++i) words[i] = strtok_r(i == 0 ? line : NULL, " ", &state);
  *type = strtok_r(rest + 3, " \n", &state);
  strtok_r(NULL, " \n", &state);
  *options = strtok_r(NULL, " \n", &state);
  *root = words[3];
  *point = words[4];
  return *point != NULL && *type != NULL && *options != NULL;
}

static bool mounted_at(const char* controller, char* root, char* point, size_t size) {
  char line[2 * PATH_MAX];
  bool found = false;
  FILE* file = fopen("/proc/self/mountinfo", "re");
  if (file == NULL) return false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    char *from = NULL, *to = NULL, *type = NULL, *options = NULL;
    if (strstr(line, "cgroup") == NULL || !parse_mount(line, &from, &to, &type, &options)) continue;
    if (*controller == '\0')
      found = strcmp(type, "cgroup2") == 0;
    else
      found = strcmp(type, "cgroup") == 0 && listed(options, controller);
    if (!found) continue;
    snprintf(root, size, "%s", from);
    snprintf(point, size, "%s", to);
  }
  fclose(file);
  return found;
}

static bool find(const char* controller, char* out, size_t size) {
  char path[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
  if (!own_path(controller, path, sizeof path) || !mounted_at(controller, root, point, sizeof root))
    return false;
  const char* rest = path;
  if (strcmp(root, "/") != 0) {
    size_t length = strlen(root);
    bool below = strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
    rest = below ? path + length : "";
  }
  if (strcmp(rest, "/") == 0 || strstr(rest, "/..") != NULL) rest = "";
  return (size_t)snprintf(out, size, "%s%s", point, rest) < size;
}

bool kw_cgroup_v1(const char* controller, char* out, size_t size) {
  return find(controller, out, size);
}

// The folder for new cgroups: this process's own, or its parent after kw_cgroup_prepare() moved the process
// to a leaf.
bool kw_cgroup_v2(char* out, size_t size) {
  if (!find("", out, size)) return false;
  char* name = strrchr(out, '/');
  if (name != NULL && strcmp(name, "/kw-supervisor") == 0) *name = '\0';
  return true;
}

bool kw_cgroup_v2_delegates(const char* folder, const char* controller) {
  char path[PATH_MAX], words[512];
  snprintf(path, sizeof path, "%s/cgroup.subtree_control", folder);
  if (kw_read_text(path, words, sizeof words) < 0) return false;
  for (char* at = words; *at != '\0'; ++at)
    if (*at == ' ' || *at == '\n') *at = ',';
  return listed(words, controller);
}

// A cgroup for one sandbox: version 1, where each controller has a separate tree, or version 2.

// Init and, until it exits, the middle are in the cgroup too.
#define OWN_TASKS 2u

static int create(const char* base, const char* name, char* out, size_t size) {
  if ((size_t)snprintf(out, size, "%s/%s", base, name) >= size) return ENAMETOOLONG;
  return mkdir(out, 0755) == 0 || errno == EEXIST ? 0 : errno;
}

static int limit_v1_memory(const char* folder, uint64_t bytes) {
  int error = kw_write_number(folder, "memory.limit_in_bytes", bytes);
  // Limits swap too, which the first limit alone allows without bound. Not every kernel has the file.
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

// 0 means the writing process.
static int join_v2_folder(const char* folder) {
  return kw_write_number(folder, "cgroup.procs", 0);
}

// Moves the single thread of this process: that does not take the host's lock of all forks, which costs 15
// ms.
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

static int no_limit(const char* folder, uint64_t limit) {
  (void)folder;
  (void)limit;
  return 0;
}

// Groups of equal weight share the CPUs equally, however many threads each has. In version 2 the folder of
// the limits is such a group if the controller is delegated. Without it nothing is lost but fairness.
static void share_cpu(kw_job* job) {
  if (!kw_applied(job, KW_LAYER_CGROUP_MEMORY) && !kw_applied(job, KW_LAYER_CGROUP_PIDS)) return;
  join_v1("cpu", job->policy->cgroup_name, 0, no_limit);
}

// Both controllers share a folder. It is joined after the limits are set.
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
  share_cpu(job);
}

int kw_cgroup_prepare(void) {
  char base[PATH_MAX], leaf[PATH_MAX], control[PATH_MAX];
  if (!kw_cgroup_v2(base, sizeof base)) return 0;
  if (kw_cgroup_v2_delegates(base, "memory") && kw_cgroup_v2_delegates(base, "pids")) return 0;
  // Cgroup names below such a long path would be too long as well.
  if ((size_t)snprintf(control, sizeof control, "%s/cgroup.subtree_control", base) >= sizeof control)
    return 0;
  if (access(control, W_OK) != 0) return 0;
  int error = create(base, "kw-supervisor", leaf, sizeof leaf);
  if (error == 0) error = join_v2_folder(leaf);
  if (error == 0) error = kw_write_text(control, "+memory");
  if (error == 0) error = kw_write_text(control, "+pids");
  if (error == 0) {
    kw_write_text(control, "+cpu");
    return 0;
  }
  join_v2_folder(base);
  rmdir(leaf);
  return error;
}

// Ends a sandbox's cgroup, in the supervisor.

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

// Returns the number of processes found.
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
    // 0 is a process in a PID namespace that isn't visible here. A negative number would signal a group.
    if (!at_once && pid > 1 && pid != getpid()) kill((pid_t)pid, SIGKILL);
  }
  fclose(file);
  return seen;
}

// The kernel keeps a folder busy for a moment after its last process has ended.
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
  // On hosts that mount several controllers as one tree, the folder is removed already.
  if (kw_cgroup_v1("pids", base, sizeof base)) finish_one(base, name, usage, &error);
  if (kw_cgroup_v1("cpu", base, sizeof base)) finish_one(base, name, usage, &error);
  if (kw_cgroup_v2(base, sizeof base)) finish_one(base, name, usage, &error);
  return error;
}

// Removes empty cgroups that a killed supervisor left.

// Whether the name is PREFIX-PID-NUMBER of an ended process or of this one. Cgroups in use aren't empty, so
// rmdir() keeps them.
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

// Kills nothing: rmdir() fails for a cgroup that has a process.
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
  if (kw_cgroup_v1("cpu", base, sizeof base)) removed += sweep(base, prefix);
  if (kw_cgroup_v2(base, sizeof base)) removed += sweep(base, prefix);
  return removed;
}
