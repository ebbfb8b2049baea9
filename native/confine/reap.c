// Ending everything below us where no PID namespace does it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define ROUNDS 2000
#define PAUSE_NS 1000000

// The kernel lists our direct children; deeper ones become direct as their parents die, since we are a
// subreaper.
static unsigned kill_children(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  unsigned count = 0;
  int pid = 0;
  while (fscanf(file, "%d", &pid) == 1) {
    ++count;
    if (pid > 1) kill(pid, SIGKILL);
  }
  fclose(file);
  return count;
}

// Bounded: a process stuck in the kernel is the supervisor's to wait for.
void kw_kill_descendants(void) {
  const struct timespec moment = {0, PAUSE_NS};
  for (int i = 0; i < ROUNDS; ++i) {
    kill_children();
    pid_t ended = 0;
    while ((ended = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) continue;
    if (ended < 0 && errno == ECHILD) return;
    nanosleep(&moment, NULL);
  }
}
