// libarchive takes these from glibc 2.36. With ours the program starts with glibc 2.35 (Ubuntu 22.04) too.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void* bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t got = getrandom((char*)bytes + done, count - done, 0);
    if (got < 0) abort();
    done += (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}
