// A root of its own for the runner: an empty tmpfs with read-only binds of what it may read. The old root
// moves to a folder in it, is bound from, and goes.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define DEFAULT_TMP_BYTES (64u << 20)
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int step(kw_job* job, const char* name, int error) {
  return error == 0 ? 0 : kw_fail(job, name, error);
}

static int old_errno(int result) {
  return result == 0 ? 0 : errno;
}

// Nothing we mount may travel back to the host.
static int make_private(kw_job* job) {
  return step(job, "root: private mounts", old_errno(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)));
}

static int move_root(kw_job* job) {
  unsigned long flags = MS_NOSUID | MS_NODEV;
  if (mount("tmpfs", "/tmp", "tmpfs", flags, "mode=0755,size=1m") != 0)
    return step(job, "root: tmpfs", errno);
  if (mkdir("/tmp" KW_OLD_ROOT, 0700) != 0) return step(job, "root: old root", errno);
  if (syscall(SYS_pivot_root, "/tmp", "/tmp" KW_OLD_ROOT) != 0) return step(job, "root: pivot_root", errno);
  return step(job, "root: chdir", old_errno(chdir("/")));
}

static bool below(const char* path, const char* folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// Is it visible already, through one of the first `count` paths?
static bool covered(const kw_paths* paths, size_t count, const char* path) {
  for (size_t i = 0; i < count; ++i)
    if (below(path, paths->list[i].real) || below(path, paths->list[i].path)) return true;
  return false;
}

static int show(const kw_paths* paths, size_t index) {
  const kw_path* it = &paths->list[index];
  char source[PATH_MAX];
  if ((size_t)snprintf(source, sizeof source, KW_OLD_ROOT "%s", it->real) >= sizeof source)
    return ENAMETOOLONG;
  int error = covered(paths, index, it->real) ? 0 : kw_bind(source, it->real, READ_ONLY);
  if (error != 0 || strcmp(it->path, it->real) == 0 || covered(paths, index, it->path)) return error;
  error = kw_make_parents(it->path);
  if (error != 0) return error;
  return symlink(it->real, it->path) == 0 || errno == EEXIST ? 0 : errno;
}

static int show_paths(kw_job* job) {
  for (size_t i = 0; i < job->paths.count; ++i) {
    int error = show(&job->paths, i);
    if (error == 0) continue;
    char name[KW_STEP_BYTES];
    snprintf(name, sizeof name, "root: bind %.48s", job->paths.list[i].path);
    return kw_fail(job, name, error);
  }
  return 0;
}

static int show_device(void* argument, const char* name) {
  (void)argument;
  char source[PATH_MAX], target[PATH_MAX];
  snprintf(source, sizeof source, KW_OLD_ROOT "/dev/%s", name);
  snprintf(target, sizeof target, "/dev/%s", name);
  int error = kw_bind(source, target, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  return error == ENOENT ? 0 : error;
}

static int make_dev(kw_job* job) {
  if (mkdir("/dev", 0755) != 0) return step(job, "root: /dev", errno);
  int error = kw_each_device(KW_OLD_ROOT "/dev", job->policy, show_device, NULL);
  if (error != 0) return step(job, "root: devices", error);
  symlink("/proc/self/fd", "/dev/fd");
  symlink("/proc/self/fd/0", "/dev/stdin");
  symlink("/proc/self/fd/1", "/dev/stdout");
  symlink("/proc/self/fd/2", "/dev/stderr");
  return 0;
}

static int make_scratch(kw_job* job, const char* path) {
  char options[96];
  uint64_t bytes = job->policy->tmp_bytes != 0 ? job->policy->tmp_bytes : DEFAULT_TMP_BYTES;
  snprintf(options, sizeof options, "mode=1777,nr_inodes=65536,size=%" PRIu64, bytes);
  if (mkdir(path, 0755) != 0 && errno != EEXIST) return step(job, path, errno);
  return step(job, path, old_errno(mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options)));
}

// A fresh one shows the new PID namespace. Some containers refuse it: the probe finds out.
int kw_mount_proc(kw_job* job) {
  if (kw_applied(job, KW_LAYER_PID_NS))
    return step(job, "proc",
                old_errno(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)));
  if (!kw_applied(job, KW_LAYER_ROOT)) return 0;
  return step(job, "proc", kw_bind(KW_OLD_ROOT "/proc", "/proc", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
}

static int drop_old_root(kw_job* job) {
  if (umount2(KW_OLD_ROOT, MNT_DETACH) != 0) return step(job, "root: old root", errno);
  rmdir(KW_OLD_ROOT);
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
  return step(job, "root: read-only", old_errno(mount(NULL, "/", NULL, flags, NULL)));
}

// What is writable first: a readable path may lie below it.
static int fill_root(kw_job* job) {
  int error = make_scratch(job, "/tmp");
  if (error == 0) error = make_dev(job);
  if (error == 0) error = make_scratch(job, "/dev/shm");
  if (error == 0) error = show_paths(job);
  if (error == 0 && mkdir("/proc", 0755) != 0 && errno != EEXIST) error = step(job, "proc", errno);
  return error == 0 ? kw_mount_proc(job) : error;
}

int kw_build_root(kw_job* job) {
  int error = make_private(job);
  if (error != 0) return error;
  if (kw_skips(job, KW_LAYER_ROOT)) return kw_mount_proc(job);
  error = move_root(job);
  if (error != 0) return error;
  kw_mark(job, KW_LAYER_ROOT, 0);
  error = fill_root(job);
  return error == 0 ? drop_old_root(job) : error;
}
