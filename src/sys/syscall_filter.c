/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/syscall_filter.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define FLAT_SEARCH_NO 2 /* a tree, not a list: less to do in each call */
#define NAMESPACES                                                                                 \
    (CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER |  \
     CLONE_NEWUTS)
#define SOCKET_KIND 0xf /* without the flags that may stand beside it */

/* By name, since a call that this machine or this library does not know needs no refusal. */
static const char *const refused[] = {
    /* programs */
    "execve",
    "execveat",
    "fork",
    "vfork",
    /* other processes */
    "kcmp",
    "pidfd_getfd",
    "process_madvise",
    "process_vm_writev",
    /* mounts and namespaces */
    "chroot",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "pivot_root",
    "setns",
    "umount",
    "umount2",
    "unshare",
    /* files around the permissions of their folders */
    "fanotify_init",
    "mknod",
    "mknodat",
    "name_to_handle_at",
    "open_by_handle_at",
    /* becoming somebody else */
    "capset",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setuid",
    /* keys of the kernel */
    "add_key",
    "keyctl",
    "request_key",
    /* the kernel itself; io_uring does behind the filter what is asked of it, and libuv has a way
     * without it */
    "bpf",
    "delete_module",
    "finit_module",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kexec_file_load",
    "kexec_load",
    "lookup_dcookie",
    "perf_event_open",
    "personality",
    "syslog",
    "userfaultfd",
    /* the machine */
    "acct",
    "ioperm",
    "iopl",
    "modify_ldt",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "setdomainname",
    "sethostname",
    "swapoff",
    "swapon",
    "vhangup",
    /* its clock */
    "adjtimex",
    "clock_adjtime",
    "clock_settime",
    "settimeofday",
#ifndef SYSCALL_FILTER_SPARES_TRACING
    "process_vm_readv",
    "ptrace",
#endif
};

static struct scmp_arg_cmp argument(unsigned at, enum scmp_compare compare, uint64_t value)
{
    return (struct scmp_arg_cmp){.arg = at, .op = compare, .datum_a = value, .datum_b = 0};
}

static struct scmp_arg_cmp masked(unsigned at, uint64_t mask, uint64_t value)
{
    return (struct scmp_arg_cmp){
        .arg = at, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

bool syscall_filter_offered(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 && seccomp_api_get() > 0;
}

/* Negative: an errno. */
static int refuse_names(scmp_filter_ctx filter)
{
    int code = 0;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0] && code == 0; i++) {
        int call = seccomp_syscall_resolve_name(refused[i]);
        if (call != __NR_SCMP_ERROR && call >= 0)
            code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
    }
    return code;
}

/* Threads are made as ever. clone3 hides its flags in memory, where no filter looks: the C library
 * takes "not there" for an older kernel and uses clone. */
static int refuse_processes(scmp_filter_ctx filter)
{
    int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    for (unsigned long flag = 1; flag <= NAMESPACES && code == 0; flag <<= 1)
        if ((NAMESPACES & flag) != 0)
            code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                    masked(0, flag, flag));
#ifndef SYSCALL_FILTER_SPARES_TRACING
    if (code == 0)
        code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                masked(0, CLONE_THREAD, 0));
#endif
    return code;
}

static int refuse_family(scmp_filter_ctx filter, unsigned family)
{
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                            argument(0, SCMP_CMP_EQ, family));
}

/* Of the Internet and of this machine, no raw ones; and the kernel's list of addresses and routes,
 * which the resolver asks for. */
static int refuse_sockets(scmp_filter_ctx filter)
{
    static const unsigned internet[] = {AF_INET, AF_INET6};
    int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                argument(0, SCMP_CMP_GT, AF_NETLINK));
    for (unsigned family = 0; family < AF_NETLINK && code == 0; family++)
        if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
            code = refuse_family(filter, family);
    for (size_t i = 0; i < sizeof internet / sizeof internet[0] && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2,
                                argument(0, SCMP_CMP_EQ, internet[i]),
                                masked(1, SOCKET_KIND, SOCK_RAW));
    if (code == 0)
        code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2,
                                argument(0, SCMP_CMP_EQ, AF_NETLINK),
                                argument(2, SCMP_CMP_NE, NETLINK_ROUTE));
    return code;
}

/* Characters that the next reader of the operator's terminal, a shell perhaps, would take for
 * typed. */
static int refuse_typing(scmp_filter_ctx filter)
{
    static const unsigned long requests[] = {TIOCSTI, TIOCLINUX};
    int code = 0;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0] && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                masked(1, UINT32_MAX, requests[i]));
    return code;
}

int syscall_filter_close(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL) {
        errno = ENOMEM;
        return -1;
    }
    int code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, FLAT_SEARCH_NO);
    if (code == 0)
        code = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    if (code == 0) /* also for a thread that a library started unasked */
        code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, true);
    if (code == 0)
        code = refuse_names(filter);
    if (code == 0)
        code = refuse_processes(filter);
    if (code == 0)
        code = refuse_sockets(filter);
    if (code == 0)
        code = refuse_typing(filter);
    if (code == 0)
        code = seccomp_load(filter);
    seccomp_release(filter);
    errno = -code;
    return code == 0 ? 0 : -1;
}
