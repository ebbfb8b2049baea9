// Landlock: allows writes only to the runner's folders, and reads only of known paths if there is no private
// root. Needs Linux 5.13; uses later interface versions as far as this file knows them.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

// Numbers of the kernel's interface, which older headers lack.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define VERSION_FLAG 1u
#define PATH_BENEATH 1

#define EXECUTE (1u << 0)
#define WRITE_FILE (1u << 1)
#define READ_FILE (1u << 2)
#define READ_DIR (1u << 3)
#define TRUNCATE (1u << 14)
#define IOCTL_DEV (1u << 15)
#define READ (EXECUTE | READ_FILE | READ_DIR)
#define OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV)

#define TCP (3u)     // bind, connect
#define SCOPED (3u)  // abstract UNIX sockets, signals

typedef struct {
  uint64_t files, net, scoped;
} ruleset_t;

typedef struct {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed)) beneath_t;

typedef struct {
  int fd;
  uint64_t handled;
} rules_t;

// The file rights of an interface version.
static uint64_t file_rights(long abi) {
  unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return (1ull << bits) - 1;
}

static int create(rules_t* rules, bool tools) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
  if (abi < 1) return abi < 0 ? errno : ENOSYS;
  ruleset_t ruleset = {
      .files = file_rights(abi), .net = abi >= 4 && !tools ? TCP : 0, .scoped = abi >= 6 ? SCOPED : 0};
  size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  rules->handled = ruleset.files;
  rules->fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
  return rules->fd < 0 ? errno : 0;
}

static int allow(const rules_t* rules, const char* path, uint64_t rights) {
  beneath_t rule = {.parent = open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent < 0) return errno == ENOENT || errno == EACCES ? 0 : errno;
  struct stat status;
  bool folder = fstat(rule.parent, &status) == 0 && S_ISDIR(status.st_mode);
  rule.allowed = rights & rules->handled & (folder ? ~0ull : OF_FILES);
  int error = syscall(SYS_landlock_add_rule, rules->fd, PATH_BENEATH, &rule, 0) == 0 ? 0 : errno;
  close(rule.parent);
  return error;
}

static int allow_device(void* argument, const char* name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "/dev/%s", name);
  return allow(argument, path, READ_FILE | READ_DIR | WRITE_FILE | IOCTL_DEV | TRUNCATE);
}

static int allow_reading(const kw_job* job, const rules_t* rules) {
  if (kw_applied(job, KW_LAYER_ROOT)) return allow(rules, "/", READ);
  int error = 0;
  for (size_t i = 0; error == 0 && i < job->paths.count; ++i)
    error = allow(rules, job->paths.list[i].real, READ);
  return error;
}

static int allow_writing(const kw_job* job, rules_t* rules) {
  // Excludes the creation of block and character devices.
  uint64_t scratch = rules->handled & ~((1ull << 6) | (1ull << 11) | IOCTL_DEV);
  bool own_root = kw_applied(job, KW_LAYER_ROOT);
  int error = allow(rules, own_root ? "/tmp" : job->home, scratch);
  if (error == 0 && own_root) error = allow(rules, "/dev/shm", scratch);
  // All of /proc, which ownership protects. A rule for /proc/PID would refer to an inode that the kernel may
  // drop, and would not cover children.
  if (error == 0) error = allow(rules, "/proc", READ | WRITE_FILE | TRUNCATE);
  if (error == 0) error = kw_each_device("/dev", job->policy, allow_device, rules);
  return error;
}

int kw_landlock(kw_job* job) {
  if (kw_skips(job, KW_LAYER_LANDLOCK)) return 0;
  rules_t rules = {.fd = -1};
  int error = create(&rules, job->policy->tools != 0);
  if (error == 0) {
    error = allow_reading(job, &rules);
    if (error == 0) error = allow_writing(job, &rules);
    if (error == 0 && syscall(SYS_landlock_restrict_self, rules.fd, 0) != 0) error = errno;
    close(rules.fd);
  }
  kw_mark(job, KW_LAYER_LANDLOCK, error);
  return error;
}
