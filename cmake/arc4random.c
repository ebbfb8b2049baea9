// libarchive takes arc4random from glibc 2.36. With this one the program starts with glibc 2.35 (Ubuntu 22.04) too.
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();
  return value;
}
