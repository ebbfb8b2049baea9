// Refuses system calls that Python, PyTorch, Triton, the compilers that they start, and CUDA do not need, and
// that are known ways to attack the kernel or reach other processes. All others are allowed: CUDA uses many
// odd ones. Refused calls fail with an errno, so that a library that only tries one continues without it.
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "internal.h"

// Numbers of the kernel's interface, which older headers lack; the same on all architectures.
#define CALL_OPEN_TREE_ATTR 467
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

// Calls on other processes, of which tools need those of their own sandbox.
static const int refused_without_tools[] = {SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
                                            SCMP_SYS(process_vm_writev)};

static const int refused[] = {
    // other processes
    SCMP_SYS(process_madvise), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
    // large and often attacked parts of the kernel
    SCMP_SYS(bpf), SCMP_SYS(userfaultfd), SCMP_SYS(perf_event_open), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(add_key), SCMP_SYS(request_key),
    SCMP_SYS(keyctl), SCMP_SYS(fanotify_init), SCMP_SYS(fanotify_mark),
    // mounts and namespaces
    SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount),
    SCMP_SYS(fspick), SCMP_SYS(mount_setattr), CALL_OPEN_TREE_ATTR, SCMP_SYS(unshare), SCMP_SYS(setns),
    // files by handle, which bypass hidden paths
    SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at), SCMP_SYS(lookup_dcookie),
    // the host itself
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module), SCMP_SYS(finit_module),
    SCMP_SYS(delete_module), SCMP_SYS(create_module), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(reboot),
    SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(settimeofday), SCMP_SYS(stime),
    SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(syslog), SCMP_SYS(vhangup),
    SCMP_SYS(nfsservctl), SCMP_SYS(uselib), SCMP_SYS(_sysctl),
    // the processor
    SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(modify_ldt)};

static const uint64_t new_namespaces[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                          CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};

// These put characters into a terminal as if they had been typed.
static const uint64_t terminal_controls[] = {TIOCSTI, TIOCLINUX};

// Refuses `call` with `code`; keeps the first error.
static void refuse(scmp_filter_ctx filter, int call, int code, int* error) {
  int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)code), call, 0);
  if (*error == 0 && result < 0) *error = -result;
}

// The same for calls whose argument matches `when`.
static void refuse_if(scmp_filter_ctx filter, int call, int code, struct scmp_arg_cmp when, int* error) {
  int result = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint16_t)code), call, 1, &when);
  if (*error == 0 && result < 0) *error = -result;
}

static struct scmp_arg_cmp other_than(scmp_datum_t value) {
  return (struct scmp_arg_cmp){.arg = 0, .op = SCMP_CMP_NE, .datum_a = value};
}

static struct scmp_arg_cmp is(scmp_datum_t value) {
  return (struct scmp_arg_cmp){.arg = 0, .op = SCMP_CMP_EQ, .datum_a = value};
}

static struct scmp_arg_cmp above(scmp_datum_t value) {
  return (struct scmp_arg_cmp){.arg = 0, .op = SCMP_CMP_GT, .datum_a = value};
}

// Compares only the masked bits: the kernel reads 32 bits of flags and requests, but arguments have 64.
static struct scmp_arg_cmp has(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return (struct scmp_arg_cmp){.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

// The rules of one call are alternatives: any of them refuses. So with tools the families below AF_INET6 are
// refused one by one, and those above it together.
static void refuse_sockets(scmp_filter_ctx filter, bool tools, int* error) {
  if (!tools) {
    refuse_if(filter, SCMP_SYS(socket), EAFNOSUPPORT, other_than(AF_UNIX), error);
    return;
  }
  for (scmp_datum_t family = 0; family < AF_INET6; ++family)
    if (family != AF_UNIX && family != AF_INET)
      refuse_if(filter, SCMP_SYS(socket), EAFNOSUPPORT, is(family), error);
  refuse_if(filter, SCMP_SYS(socket), EAFNOSUPPORT, above(AF_INET6), error);
}

static void refuse_by_argument(scmp_filter_ctx filter, bool tools, int* error) {
  refuse_sockets(filter, tools, error);
  refuse_if(filter, SCMP_SYS(socketpair), EAFNOSUPPORT, other_than(AF_UNIX), error);
  if (!tools) refuse_if(filter, SCMP_SYS(personality), EPERM, other_than(0), error);
  for (size_t i = 0; i < sizeof new_namespaces / sizeof *new_namespaces; ++i)
    refuse_if(filter, SCMP_SYS(clone), EPERM, has(0, new_namespaces[i], new_namespaces[i]), error);
  for (size_t i = 0; i < sizeof terminal_controls / sizeof *terminal_controls; ++i)
    refuse_if(filter, SCMP_SYS(ioctl), EPERM, has(1, UINT32_MAX, terminal_controls[i]), error);
}

static int fill(scmp_filter_ctx filter, bool tools) {
  int error = 0;
  const size_t more = tools ? 0 : sizeof refused_without_tools / sizeof *refused_without_tools;
  for (size_t i = 0; i < more; ++i) refuse(filter, refused_without_tools[i], EPERM, &error);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) refuse(filter, refused[i], EPERM, &error);
  // Its flags are in memory, which filters can't read. C libraries fall back on clone().
  refuse(filter, SCMP_SYS(clone3), ENOSYS, &error);
  refuse_by_argument(filter, tools, &error);
  return error;
}

static int attribute(scmp_filter_ctx filter, enum scmp_filter_attr name, uint32_t value) {
  return -seccomp_attr_set(filter, name, value);
}

static int load(scmp_filter_ctx filter, bool tools) {
  // Calls of another architecture (i386, x32) have other numbers; no honest program here makes them.
  int error = attribute(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  // no_new_privs is a separate layer with its own report.
  if (error == 0) error = attribute(filter, SCMP_FLTATR_CTL_NNP, 0);
  // Keeps older kernels from slowing down processes with a filter. Not all kernels know the flag.
  attribute(filter, SCMP_FLTATR_CTL_SSB, 1);
  attribute(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a binary tree instead of a list
  attribute(filter, SCMP_FLTATR_API_SYSRAWRC, 1);  // returns the kernel's errno
  if (error == 0) error = fill(filter, tools);
  return error == 0 ? -seccomp_load(filter) : error;
}

int kw_seccomp(kw_job* job) {
  if (kw_skips(job, KW_LAYER_SECCOMP)) return 0;
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  int error = filter == NULL ? ENOMEM : load(filter, job->policy->tools != 0);
  if (filter != NULL) seccomp_release(filter);
  kw_mark(job, KW_LAYER_SECCOMP, error);
  return error;
}
