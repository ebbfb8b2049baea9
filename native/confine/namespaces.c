// Namespaces, entered by the middle. As root without a user namespace: its mounts need no second owner. As
// anyone else, and as a root that may not mount, through a user namespace.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "internal.h"

static void enter(kw_job* job, uint32_t layer, int flag) {
  if (kw_skips(job, layer)) return;
  kw_mark(job, layer, unshare(flag) == 0 ? 0 : errno);
}

static int map_self(uid_t uid, gid_t gid) {
  char line[64];
  // Not there before Linux 3.19, and without it gid_map can't be written.
  int error = kw_write_text("/proc/self/setgroups", "deny");
  if (error != 0 && error != ENOENT) return error;
  snprintf(line, sizeof line, "%u %u 1", (unsigned)uid, (unsigned)uid);
  error = kw_write_text("/proc/self/uid_map", line);
  if (error != 0) return error;
  snprintf(line, sizeof line, "%u %u 1", (unsigned)gid, (unsigned)gid);
  return kw_write_text("/proc/self/gid_map", line);
}

static void enter_user(kw_job* job) {
  if (kw_skips(job, KW_LAYER_USER_NS)) return;
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) {
    kw_mark(job, KW_LAYER_USER_NS, errno);
    return;
  }
  int error = map_self(uid, gid);
  kw_mark(job, KW_LAYER_USER_NS, error);
  // Half in: nothing we own has a name there. The probe sees this and has it left out.
  if (error != 0) kw_fail(job, "user namespace: map", error);
}

// A root that may not mount (a container's, as a rule) gives up its uid first, so that what it maps isn't
// root.
static void enter_without_root(kw_job* job) {
  if (getuid() == 0) {
    int error = kw_become(job->policy->uid);
    kw_mark(job, KW_LAYER_UID, error);
    if (error != 0) {
      kw_fail(job, "uid", error);
      return;
    }
    prctl(PR_SET_DUMPABLE, 1);  // else /proc/self/uid_map stays root's
  }
  enter_user(job);
  enter(job, KW_LAYER_MOUNT_NS, CLONE_NEWNS);
}

void kw_enter_namespaces(kw_job* job) {
  if (geteuid() == 0) enter(job, KW_LAYER_MOUNT_NS, CLONE_NEWNS);
  if (!kw_applied(job, KW_LAYER_MOUNT_NS)) enter_without_root(job);
  // Without a /proc of its own, /proc/self would lead nowhere in a new PID namespace.
  if (kw_applied(job, KW_LAYER_MOUNT_NS)) enter(job, KW_LAYER_PID_NS, CLONE_NEWPID);
  enter(job, KW_LAYER_NET_NS, CLONE_NEWNET);
  enter(job, KW_LAYER_IPC_NS, CLONE_NEWIPC);
  enter(job, KW_LAYER_UTS_NS, CLONE_NEWUTS);
}
