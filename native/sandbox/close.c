// Closes the descriptors that a child must not keep.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void close_each(unsigned first, unsigned last) {
  struct rlimit limit = {.rlim_cur = 1024};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (last >= limit.rlim_cur) last = (unsigned)limit.rlim_cur;
  for (unsigned fd = first; fd <= last; ++fd) close((int)fd);
}

static int close_between(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return 0;
  if (errno != ENOSYS) return errno;
  close_each(first, last);
  return 0;
}

// The smallest kept descriptor that isn't below `from`.
static unsigned next_kept(const int* keep, size_t count, unsigned from) {
  unsigned best = UINT_MAX;
  for (size_t i = 0; i < count; ++i)
    if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < best) best = (unsigned)keep[i];
  return best;
}

int kw_close_others(const int* keep, size_t count) {
  unsigned from = 3;
  for (;;) {
    unsigned kept = next_kept(keep, count, from);
    int error = close_between(from, kept == UINT_MAX ? UINT_MAX : kept - 1);
    if (error != 0 || kept == UINT_MAX) return error;
    from = kept + 1;
  }
}
