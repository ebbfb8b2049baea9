// Who the runner is: never real root, no capabilities, none to be had by exec.
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

int kw_become(uint32_t uid) {
  if (uid == 0) return EINVAL;
  if (setgroups(0, NULL) != 0) return errno;
  if (setresgid(uid, uid, uid) != 0) return errno;
  if (setresuid(uid, uid, uid) != 0) return errno;
  return 0;
}

static void set_capabilities(uint64_t mask) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2] = {
      {.effective = (uint32_t)mask, .permitted = (uint32_t)mask},
      {.effective = (uint32_t)(mask >> 32), .permitted = (uint32_t)(mask >> 32)}};
  syscall(SYS_capset, &header, data);
}

static uint64_t permitted_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2] = {{0}};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

void kw_keep_capabilities(uint64_t mask) {
  for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    if (cap >= 64 || (mask >> cap & 1) == 0) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  set_capabilities(permitted_capabilities() & mask);
}

int kw_drop_identity(kw_job* job) {
  if (kw_skips(job, KW_LAYER_UID)) return EPERM;
  if (!kw_skips(job, KW_LAYER_NO_NEW_PRIVS))
    kw_mark(job, KW_LAYER_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno);
  // The bounding set shrinks while we still may; setresuid then needs what is left in the permitted set.
  for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  int error = getuid() == 0 || geteuid() == 0 ? kw_become(job->policy->uid) : 0;
  kw_keep_capabilities(0);
  if (error == 0 && (getuid() == 0 || geteuid() == 0 || permitted_capabilities() != 0)) error = EPERM;
  kw_mark(job, KW_LAYER_UID, error);
  return error;
}
