#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

// The paths that a runner may read. They are mounted in its private root; without one, Landlock allows only
// these.

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
    "/sys/devices/system/cpu",  // torch's cpuinfo reports an error without it
};

// The CUDA driver looks for its devices and their NUMA nodes in /sys.
static const char* const gpu_paths[] = {"/sys", "/usr/local/nvidia", "/run/nvidia-persistenced"};

static const char* const devices[] = {"null", "zero", "full", "random", "urandom"};

static int add(kw_paths* paths, const char* path) {
  if (path[0] != '/') return EINVAL;
  char* real = realpath(path, NULL);
  if (real == NULL || strcmp(real, "/") == 0) return 0;  // missing, or the host's root, which is never shown
  if (paths->count == KW_MAX_PATHS) return E2BIG;
  paths->list[paths->count++] = (kw_path){path, real};
  return 0;
}

// To be called before the root changes, so that links resolve as on the host.
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

// A process that sees one GPU opens no other. On hosts with several, this makes CUDA's start many times
// cheaper.
static bool is_shown(const kw_policy* policy, const char* name) {
  if (strncmp(name, "nvidia", 6) != 0) return false;
  if (policy->gpu_node == 0 || name[6] < '0' || name[6] > '9') return true;
  return strtoul(name + 6, NULL, 10) + 1 == policy->gpu_node;
}

// Visits device names in `folder`, a /dev: the harmless ones, and nvidia0, nvidiactl, nvidia-uvm, nvidia-caps
// and so on.
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

// Bind mounts with fewer rights than their source. mount_setattr() changes a whole tree at once; before
// Linux 5.12 each mount in it is changed separately.

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

// struct mount_attr, which older headers lack
typedef struct {
  uint64_t set, clear, propagation, userns_fd;
} attributes_t;

static unsigned long old_flags(uint64_t attributes) {
  unsigned long flags = 0;
  if ((attributes & MOUNT_ATTR_RDONLY) != 0) flags |= MS_RDONLY;
  if ((attributes & MOUNT_ATTR_NOSUID) != 0) flags |= MS_NOSUID;
  if ((attributes & MOUNT_ATTR_NODEV) != 0) flags |= MS_NODEV;
  if ((attributes & MOUNT_ATTR_NOEXEC) != 0) flags |= MS_NOEXEC;
  return flags;
}

// A remount sets all flags, so it repeats those already set: some can't be cleared.
static int remount(const char* point, unsigned long flags) {
  struct statvfs status;
  if (statvfs(point, &status) != 0) return errno;
  const unsigned long kept[][2] = {{ST_RDONLY, MS_RDONLY},    {ST_NOSUID, MS_NOSUID},
                                   {ST_NODEV, MS_NODEV},      {ST_NOEXEC, MS_NOEXEC},
                                   {ST_NOATIME, MS_NOATIME},  {ST_NODIRATIME, MS_NODIRATIME},
                                   {ST_RELATIME, MS_RELATIME}};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i)
    if ((status.f_flag & kept[i][0]) != 0) flags |= kept[i][1];
  return mount(NULL, point, NULL, MS_BIND | MS_REMOUNT | flags, NULL) == 0 ? 0 : errno;
}

static int restrict_each(const char* target, uint64_t attributes) {
  char line[2 * PATH_MAX], point[PATH_MAX];
  size_t length = strlen(target);
  FILE* file = fopen("/proc/self/mountinfo", "re");
  if (file == NULL) file = fopen(KW_OLD_ROOT "/proc/self/mountinfo", "re");
  if (file == NULL) return errno;
  int error = 0;
  while (error == 0 && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%*d %*d %*s %*s %4095s", point) != 1) continue;
    bool below = strncmp(point, target, length) == 0 && (point[length] == '/' || point[length] == '\0');
    if (below) error = remount(point, old_flags(attributes));
  }
  fclose(file);
  return error;
}

static int restrict_tree(const char* target, uint64_t attributes) {
  attributes_t wanted = {.set = attributes};
  if (syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &wanted, sizeof wanted) == 0) return 0;
  return errno == ENOSYS ? restrict_each(target, attributes) : errno;
}

static int make_mount_point(const char* source, const char* target) {
  struct stat status;
  if (stat(source, &status) != 0) return errno;
  int error = kw_make_parents(target);
  if (error != 0) return error;
  if (S_ISDIR(status.st_mode)) return mkdir(target, 0755) == 0 || errno == EEXIST ? 0 : errno;
  int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int kw_bind(const char* source, const char* target, uint64_t attributes) {
  int error = make_mount_point(source, target);
  if (error != 0) return error;
  if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) != 0) return errno;
  return restrict_tree(target, attributes);
}

// Small files and folders.

int kw_write_text(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  size_t size = strlen(text);
  ssize_t done = write(fd, text, size);
  int error = done < 0 ? errno : (size_t)done == size ? 0 : EIO;
  close(fd);
  return error;
}

int kw_write_number(const char* folder, const char* file, uint64_t number) {
  char path[PATH_MAX];
  char text[24];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  snprintf(text, sizeof text, "%" PRIu64, number);
  return kw_write_text(path, text);
}

// At most size - 1 bytes and a NUL; -1 if there is no such file.
ssize_t kw_read_text(const char* path, char* out, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t length = 0;
  ssize_t got = 0;
  while (length + 1 < size && (got = read(fd, out + length, size - 1 - length)) > 0) length += (size_t)got;
  out[length] = '\0';
  close(fd);
  return (ssize_t)length;
}

int kw_make_parents(const char* path) {
  char folder[PATH_MAX];
  if ((size_t)snprintf(folder, sizeof folder, "%s", path) >= sizeof folder) return ENAMETOOLONG;
  for (char* slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) return errno;
    *slash = '/';
  }
  return 0;
}

static int remove_one(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)status, (void)kind, (void)where;
  remove(path);
  return 0;
}

// Doesn't follow symbolic links. No process may still change the tree.
void kw_remove_tree(const char* path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

// The runner's private root: an empty tmpfs with read-only binds of the paths that it may read. The old root
// moves to a folder in it, serves as the source of the binds, and is then unmounted.

#define DEFAULT_TMP_BYTES (64u << 20)
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int step(kw_job* job, const char* name, int error) {
  return error == 0 ? 0 : kw_fail(job, name, error);
}

static int old_errno(int result) {
  return result == 0 ? 0 : errno;
}

// Keeps new mounts from propagating to the host.
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

// Whether one of the first `count` paths already makes it visible.
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

// A new /proc shows the new PID namespace. Some containers refuse it, which the probe finds out.
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

// Writable folders come first, since a readable path may be below one.
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
