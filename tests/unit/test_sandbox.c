/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries to leave the box. Every attempt is made by a process of its own, once free and once boxed:
 * free it has to succeed, or to be heard at least, so that the refusal is the box's work. */
#include "fixture.h"
#include "sys/sandbox.h"
#include "sys/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOWHERE   ((char *)1) /* an address that no string lies at */
#define NO_RESULT 255

/* inside: may be written. shelf: may be read. outside: nothing was said of it. Each has a file
 * `note`; all lie in the folder that the process stands in. `listener` listens in outside. A link
 * inside leads to elsewhere, and what it leads to may be written, too. */
struct scene {
    struct fixture fixture;
    int open_note, listener; /* open before the box is entered */
};

/* ---- attempts: 0, or an errno ---- */

static int outcome(long code)
{
    return code >= 0 ? 0 : errno;
}

static int open_as(const char *path, int flags)
{
    return outcome(open(path, flags | O_CLOEXEC, 0600));
}

static int read_file(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : outcome(read(fd, &byte, 1));
}

static int use_unix_socket(const char *path, int (*use)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? errno : outcome(use(fd, (struct sockaddr *)&address, sizeof address));
}

/* clang-format off */
static int read_outside(void) { return read_file("outside/note"); }
static int read_by_link(void) { return read_file("inside/way_out"); }
static int read_by_root(void) { return read_file("/proc/self/cwd/outside/note"); }
static int write_outside(void) { return open_as("outside/note", O_WRONLY); }
static int make_outside(void) { return open_as("outside/new", O_WRONLY | O_CREAT); }
static int list_outside(void) { return open_as("outside", O_RDONLY | O_DIRECTORY); }
static int list_top(void) { return open_as("/", O_RDONLY | O_DIRECTORY); }
static int cut_outside(void) { return outcome(truncate("outside/note", 0)); }
static int unlink_outside(void) { return outcome(unlink("outside/note")); }
static int rename_out(void) { return outcome(rename("inside/note", "outside/moved")); }
static int link_in(void) { return outcome(link("outside/note", "inside/linked")); }
static int write_shelf(void) { return open_as("shelf/note", O_WRONLY); }
static int make_on_shelf(void) { return open_as("shelf/new", O_WRONLY | O_CREAT); }
static int rename_on_shelf(void) { return outcome(rename("shelf/note", "shelf/other")); }
static int make_symlink(void) { return outcome(symlink("/etc", "inside/symlink")); }
static int signal_parent(void) { return outcome(kill(getppid(), 0)); }

static int read_inside(void) { return read_file("inside/note"); }
static int write_inside(void) { return open_as("inside/note", O_WRONLY | O_TRUNC); }
static int make_inside(void) { return open_as("inside/new", O_WRONLY | O_CREAT | O_EXCL); }
static int rename_inside(void) { return outcome(rename("inside/note", "inside/other")); }
static int link_inside(void) { return outcome(link("inside/note", "inside/twice")); }
static int unlink_inside(void) { return outcome(unlink("inside/note")); }
static int make_folder(void) { return outcome(mkdir("inside/folder", 0700)); }
static int listen_inside(void) { return use_unix_socket("inside/socket", bind); }
static int read_shelf(void) { return read_file("shelf/note"); }
static int list_shelf(void) { return open_as("shelf", O_RDONLY | O_DIRECTORY); }
static int call_outside(void) { return use_unix_socket("outside/socket", connect); }
static int make_beside_far(void) { return open_as("elsewhere/note-wal", O_WRONLY | O_CREAT); }
static int signal_self(void) { return outcome(kill(getpid(), 0)); }

static int unshare_files(void) { return outcome(unshare(CLONE_FS)); }
static int join_namespace(void) { return outcome(setns(-1, 0)); }
static int become_same(void) { return outcome(setresuid(getuid(), getuid(), getuid())); }
static int become_group(void) { return outcome(setgid(getgid())); }
static int ask_personality(void) { return outcome(personality(0xffffffff)); }
static int make_pipe_file(void) { return outcome(mknod("inside/pipe", S_IFIFO | 0600, 0)); }
static int mount_nowhere(void) { return outcome(mount(NULL, NOWHERE, NULL, 0, NULL)); }
static int unmount_nowhere(void) { return outcome(umount2(NOWHERE, 0)); }
static int change_root(void) { return outcome(chroot(NOWHERE)); }
static int handle_faults(void) { return outcome(syscall(SYS_userfaultfd, -1)); }
static int use_key(void) { return outcome(syscall(SYS_keyctl, 9999)); }
static int add_key(void) { return outcome(syscall(SYS_add_key, NULL, NULL, NULL, 0L, 0)); }
static int set_clock(void) { return outcome(syscall(SYS_clock_settime, 999, NULL)); }
static int type_for_others(void) { return outcome(ioctl(-1, TIOCSTI, "x")); }
static int call_host(void) { return outcome(socket(AF_VSOCK, SOCK_STREAM, 0)); }
static int use_crypto(void) { return outcome(socket(AF_ALG, SOCK_SEQPACKET, 0)); }

static int load_filter(void) { return outcome(syscall(SYS_bpf, 9999, NULL, 0)); }
static int load_kernel(void) { return outcome(syscall(SYS_kexec_load, 0, 99999UL, NULL, ~0UL)); }
static int load_module(void) { return outcome(syscall(SYS_finit_module, -1, "", 0)); }
static int restart_machine(void) { return outcome(syscall(SYS_reboot, 0, 0, 0, NULL)); }
static int swap_to_nowhere(void) { return outcome(syscall(SYS_swapon, NOWHERE, 0)); }
static int open_ring(void) { return outcome(syscall(SYS_io_uring_setup, 0, NULL)); }
static int hear_packets(void) { return outcome(socket(AF_PACKET, SOCK_RAW, 0)); }
static int write_packets(void) { return outcome(socket(AF_INET, SOCK_RAW, 1)); }
static int write_packets6(void) { return outcome(socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58)); }

static int use_internet(void) { return outcome(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
static int ask_names(void) { return outcome(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)); }
/* clang-format on */

static int write_process(void)
{
    return outcome(syscall(SYS_process_vm_writev, getpid(), NULL, 0L, NULL, 0L, 0L));
}

static int count_events(void)
{
    return outcome(syscall(SYS_perf_event_open, NULL, 0, 0, -1, ~0UL));
}

static int become_root_of_own(void)
{
    return outcome(syscall(SYS_clone, CLONE_NEWUSER | CLONE_THREAD, NULL, NULL, NULL, NULL));
}

static int hear_devices(void)
{
    return outcome(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
}

static int ask_routes(void)
{
    return outcome(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
}

static int run_program(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return errno;
}

static void *do_nothing(void *arg)
{
    return arg;
}

static int start_thread(void)
{
    pthread_t thread;
    int code = pthread_create(&thread, NULL, do_nothing, NULL);
    return code != 0 ? code : pthread_join(thread, NULL);
}

#ifndef SYSCALL_FILTER_SPARES_TRACING
static int be_traced(void)
{
    return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int make_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return outcome(child);
}
#endif

/* ---- what is expected of them ---- */

enum expectation {
    WORKS,   /* free: 0. Boxed: refused */
    HEARD,   /* free: the kernel looks at it and finds fault. Boxed: not even looked at */
    REFUSED, /* boxed alone: the machine may refuse it anyway */
    ALLOWED, /* free and boxed: the same */
};

struct attempt {
    const char *name;
    int (*make)(void);
    enum expectation expectation;
    int landlock; /* the version that refuses it; 0: the filter of calls does */
};

static const struct attempt of_files[] = {
    {"read outside", read_outside, WORKS, 1},
    {"read outside through a link inside", read_by_link, WORKS, 1},
    {"read outside through /proc", read_by_root, WORKS, 1},
    {"write outside", write_outside, WORKS, 1},
    {"make a file outside", make_outside, WORKS, 1},
    {"list outside", list_outside, WORKS, 1},
    {"list the top folder", list_top, WORKS, 1},
    {"cut a file outside", cut_outside, WORKS, 3},
    {"unlink outside", unlink_outside, WORKS, 1},
    {"rename to outside", rename_out, WORKS, 1},
    {"link from outside", link_in, WORKS, 1},
    {"write what may be read", write_shelf, WORKS, 1},
    {"make a file where files may be read", make_on_shelf, WORKS, 1},
    {"rename where files may be read", rename_on_shelf, WORKS, 1},
    {"make a symbolic link", make_symlink, WORKS, 1},
    {"signal another process", signal_parent, WORKS, 6},
    {"read inside", read_inside, ALLOWED, 0},
    {"write inside", write_inside, ALLOWED, 0},
    {"make a file inside", make_inside, ALLOWED, 0},
    {"rename inside", rename_inside, ALLOWED, 0},
    {"link inside", link_inside, ALLOWED, 0},
    {"unlink inside", unlink_inside, ALLOWED, 0},
    {"make a folder inside", make_folder, ALLOWED, 0},
    {"listen inside", listen_inside, ALLOWED, 0},
    {"read what may be read", read_shelf, ALLOWED, 0},
    {"list what may be read", list_shelf, ALLOWED, 0},
    {"call a server that listens outside", call_outside, ALLOWED, 0},
    {"make a file beside the one that a link leads to", make_beside_far, ALLOWED, 0},
    {"signal itself", signal_self, ALLOWED, 0},
};

static const struct attempt of_calls[] = {
    {"run a program", run_program, WORKS, 0},
#ifndef SYSCALL_FILTER_SPARES_TRACING
    {"be traced", be_traced, WORKS, 0},
    {"make a process", make_process, WORKS, 0},
#endif
    {"leave a namespace", unshare_files, WORKS, 0},
    {"set the user", become_same, WORKS, 0},
    {"set the group", become_group, WORKS, 0},
    {"ask for the personality", ask_personality, WORKS, 0},
    {"write a process's memory", write_process, WORKS, 0},
    {"make a named pipe", make_pipe_file, WORKS, 0},
    {"join a namespace", join_namespace, HEARD, 0},
    {"mount", mount_nowhere, HEARD, 0},
    {"unmount", unmount_nowhere, HEARD, 0},
    {"change the root", change_root, HEARD, 0},
    {"count the machine's events", count_events, HEARD, 0},
    {"handle page faults", handle_faults, HEARD, 0},
    {"use the kernel's keys", use_key, HEARD, 0},
    {"add a key", add_key, HEARD, 0},
    {"set the clock", set_clock, HEARD, 0},
    {"type for others", type_for_others, HEARD, 0},
    {"hear of devices", hear_devices, HEARD, 0},
    {"call the machine's host", call_host, HEARD, 0},
    {"use the kernel's cryptography", use_crypto, HEARD, 0},
    {"load a program into the kernel", load_filter, REFUSED, 0},
    {"load another kernel", load_kernel, REFUSED, 0},
    {"load a module", load_module, REFUSED, 0},
    {"restart the machine", restart_machine, REFUSED, 0},
    {"swap", swap_to_nowhere, REFUSED, 0},
    {"open a ring of calls", open_ring, REFUSED, 0},
    {"hear packets", hear_packets, REFUSED, 0},
    {"write packets", write_packets, REFUSED, 0},
    {"write packets of the sixth version", write_packets6, REFUSED, 0},
    {"become root of a namespace", become_root_of_own, REFUSED, 0},
    {"start a thread", start_thread, ALLOWED, 0},
    {"use the Internet", use_internet, ALLOWED, 0},
    {"ask a name server", ask_names, ALLOWED, 0},
    {"ask for routes", ask_routes, ALLOWED, 0},
};

/* ---- the scene ---- */

static void write_note(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "note\n", 5), 5);
    close(fd);
}

static int set_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "outside/socket"};
    fixture_open(&scene->fixture, FIXTURE_SQLITE);
    assert_int_equal(chdir(scene->fixture.folder), 0);
    assert_int_equal(mkdir("inside", 0700) | mkdir("shelf", 0700) | mkdir("outside", 0700), 0);
    write_note("inside/note");
    write_note("shelf/note");
    write_note("outside/note");
    assert_int_equal(symlink("../outside/note", "inside/way_out"), 0);
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    write_note("elsewhere/note");
    assert_int_equal(symlink("../elsewhere/note", "inside/far"), 0);
    scene->open_note = open("outside/note", O_RDONLY | O_CLOEXEC);
    scene->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(scene->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(scene->listener, 64), 0);
    *state = scene;
    return 0;
}

static int clear_scene(void **state)
{
    struct scene *scene = *state;
    close(scene->open_note);
    close(scene->listener);
    assert_int_equal(chdir("/"), 0);
    fixture_close(&scene->fixture);
    free(scene);
    return 0;
}

static struct sandbox_state enter(void)
{
    struct sandbox_state in_force;
    struct err err;
    struct sandbox *sandbox = sandbox_new();
    sandbox_allow(sandbox, "inside", SANDBOX_WRITE);
    sandbox_allow_folder_of(sandbox, "inside/far", SANDBOX_WRITE);
    sandbox_allow_folder_of(sandbox, "shelf/note", SANDBOX_READ);
    sandbox_allow(sandbox, "/usr", SANDBOX_READ);
    sandbox_allow(sandbox, "not/there", SANDBOX_WRITE);
    if (sandbox_enter(sandbox, &in_force, &err) != RC_OK) {
        fprintf(stderr, "%s\n", err.text);
        _exit(NO_RESULT);
    }
    sandbox_free(sandbox);
    return in_force;
}

/* What the attempt comes to in a process of its own. */
static int make_apart(const struct attempt *attempt, bool boxed)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (boxed)
            enter();
        _exit(attempt->make());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), NO_RESULT);
    return WEXITSTATUS(status);
}

static int make_in_fresh_scene(const struct attempt *attempt, bool boxed)
{
    void *scene;
    set_scene(&scene);
    int code = make_apart(attempt, boxed);
    clear_scene(&scene);
    return code;
}

/* Somebody else's filter may refuse what the kernel would have looked at. */
static bool is_free_here(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) <= 0;
}

static void check_attempt(const struct attempt *attempt)
{
    struct sandbox_state offered = sandbox_offered();
    bool closed = attempt->landlock > 0 ? offered.landlock >= attempt->landlock : offered.syscalls;
    int freely = attempt->expectation == REFUSED ? 0 : make_in_fresh_scene(attempt, false);
    int boxed = make_in_fresh_scene(attempt, true);
    bool refused = boxed == EACCES || boxed == EPERM || boxed == EXDEV;
    bool good = true;
    if (attempt->expectation == ALLOWED || !closed)
        good = attempt->expectation == REFUSED || boxed == freely;
    else if (attempt->expectation == WORKS)
        good = refused && (freely == 0 || !is_free_here());
    else
        good = boxed == EPERM && (freely != EPERM || !is_free_here());
    if (!good)
        fail_msg("%s: %s free, %s boxed", attempt->name, strerror(freely), strerror(boxed));
}

/* ---- tests ---- */

static void files_that_were_not_allowed_are_out_of_reach(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_files / sizeof of_files[0]; i++)
        check_attempt(&of_files[i]);
}

static void calls_that_a_daemon_does_not_need_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_calls / sizeof of_calls[0]; i++)
        check_attempt(&of_calls[i]);
}

static int say_what_holds(void)
{
    struct sandbox_state offered = sandbox_offered(), in_force = enter();
    bool told = in_force.landlock == offered.landlock && in_force.syscalls == offered.syscalls;
    bool filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
    bool kept = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    return told && kept && filtered == in_force.syscalls ? 0 : 1;
}

static void what_is_in_force_is_told(void **state)
{
    (void)state;
    const struct attempt attempt = {"say what holds", say_what_holds, ALLOWED, 0};
    assert_int_equal(make_in_fresh_scene(&attempt, false), 0);
}

/* A file that was replaced, as editors and package managers do it, is read as the old one was. */
static void a_file_may_be_replaced_by_another_of_its_name(void **state)
{
    int told[2], status;
    char byte;
    assert_int_equal(pipe(told), 0);
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        close(told[1]);
        enter();
        _exit(read(told[0], &byte, 1) == 1 ? read_shelf() : NO_RESULT);
    }
    write_note("outside/fresh");
    assert_int_equal(rename("outside/fresh", "shelf/note"), 0);
    assert_int_equal(write(told[1], "x", 1), 1);
    close(told[0]);
    close(told[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_is_open_stays_open(void **state)
{
    const struct scene *scene = *state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        enter();
        _exit(read(scene->open_note, &byte, 1) == 1 ? 0 : NO_RESULT);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A box with a place less than it was given would only show hours later. */
static void a_place_that_cannot_be_looked_at_is_not_forgotten(void **state)
{
    (void)state;
    struct sandbox_state in_force;
    struct err err;
    struct rlimit before, none = {.rlim_cur = 0};
    struct sandbox *sandbox = sandbox_new();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    sandbox_allow(sandbox, "/usr", SANDBOX_READ);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (sandbox_offered().landlock > 0) {
        assert_int_equal(sandbox_enter(sandbox, &in_force, &err), RC_RETRY);
        assert_int_equal(in_force.landlock, 0);
        assert_false(in_force.syscalls);
    }
    sandbox_free(sandbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_were_not_allowed_are_out_of_reach),
        cmocka_unit_test(calls_that_a_daemon_does_not_need_are_refused),
        cmocka_unit_test(what_is_in_force_is_told),
        cmocka_unit_test(a_place_that_cannot_be_looked_at_is_not_forgotten),
        cmocka_unit_test_setup_teardown(a_file_may_be_replaced_by_another_of_its_name, set_scene,
                                        clear_scene),
        cmocka_unit_test_setup_teardown(what_is_open_stays_open, set_scene, clear_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
