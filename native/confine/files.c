// Small files and folders.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

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

// Symbolic links aren't followed. Only for a tree that nobody changes any more.
void kw_remove_tree(const char* path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
