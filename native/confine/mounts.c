// Bind mounts with fewer rights than their source. mount_setattr() does a whole tree at once; before
// Linux 5.12 each mount below is done by itself.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

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

// A remount sets all flags, so those already there are given again: some can't be taken away.
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
