/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_turns.h"

#include "store/reader_pool.h"
#include "sys/listen_socket.h"
#include "sys/worker.h"

#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TURNS_MAX 100000 /* more for one input: it never comes to rest */
#define JOBS_MAX  1024

static int main_fd = -1;
static struct sockaddr_un main_name;
static socklen_t main_len;
static struct loop *loop;
static sem_t parked, leave;
static const char *url;
static struct store *store;
static struct reader_job *done[JOBS_MAX];
static size_t done_first, done_count;
static int64_t query_us_max;
static void (*tell)(void *arg);
static void *tell_arg;

/* ---- in place of the product's ---- */

void __real_loop_run(struct loop *given);
void __wrap_loop_run(struct loop *given);
struct reader_pool *__real_reader_pool_start(const struct reader_options *options,
                                             void (*ready)(void *arg), void *arg);
struct reader_pool *__wrap_reader_pool_start(const struct reader_options *options,
                                             void (*ready)(void *arg), void *arg);
enum rc __wrap_reader_pool_submit(struct reader_pool *pool, struct reader_job *job);
struct reader_job *__wrap_reader_pool_take(struct reader_pool *pool);
enum rc __wrap_worker_submit(struct worker_pool *pool, struct worker_job *job);
enum rc __wrap_listen_socket_tcp(const char *address, int *fd, unsigned *port, struct err *err);

/* A socket of the kernel without a network below it, which would be most of the work. */
enum rc __wrap_listen_socket_tcp(const char *address, int *fd, unsigned *port, struct err *err)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    (void)address, (void)err;
    main_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    main_len = sizeof main_name;
    /* Without a name the kernel gives one. */
    int failed = bind(main_fd, (const void *)&any, sizeof any.sun_family) != 0 ||
                 listen(main_fd, SOMAXCONN) != 0 ||
                 getsockname(main_fd, (struct sockaddr *)&main_name, &main_len) != 0;
    assert(failed == 0);
    *fd = main_fd;
    *port = 1;
    return RC_OK;
}

int fuzz_turns_dial_main(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0);
    int failed = connect(fd, (const void *)&main_name, main_len);
    assert(failed == 0);
    return fd;
}

/* In place of the C library's: who comes to the main address comes from loopback. */
int accept4(int fd, __SOCKADDR_ARG address, socklen_t *size, int flags)
{
    const struct sockaddr_in from = {
        .sin_family = AF_INET, .sin_port = 1, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd != main_fd)
        return (int)syscall(SYS_accept4, fd, address.__sockaddr__, size, flags);
    int taken = (int)syscall(SYS_accept4, fd, NULL, NULL, flags);
    if (taken >= 0 && address.__sockaddr__ != NULL && *size >= sizeof from) {
        memcpy(address.__sockaddr__, &from, sizeof from);
        *size = sizeof from;
    }
    return taken;
}

/* The serving thread. */
void __wrap_loop_run(struct loop *given)
{
    loop = given;
    sem_post(&parked);
    while (sem_wait(&leave) != 0)
        ;
    __real_loop_run(given);
}

struct reader_pool *__wrap_reader_pool_start(const struct reader_options *options,
                                             void (*ready)(void *arg), void *arg)
{
    url = options->store_url;
    query_us_max = options->query_us_max;
    tell = ready;
    tell_arg = arg;
    sem_init(&parked, 0, 0);
    sem_init(&leave, 0, 0);
    return __real_reader_pool_start(options, ready, arg);
}

static void try_job(struct reader_job *job)
{
    job->err.text[0] = '\0';
    job->begun = true;
    job->rc = store == NULL ? store_open(url, STORE_READ, &store, &job->err) : RC_OK;
    if (job->rc == RC_OK) {
        store_limit_queries(store, query_us_max);
        job->rc = job->work(job, store, &job->err);
    }
}

enum rc __wrap_reader_pool_submit(struct reader_pool *pool, struct reader_job *job)
{
    (void)pool;
    job->rc = RC_AGAIN;
    job->begun = false;
    if (done_count == JOBS_MAX)
        return RC_AGAIN;
    try_job(job);
    if (job->rc == RC_RETRY || job->rc == RC_FATAL) {
        store_close(store);
        store = NULL;
        try_job(job);
    }
    done[(done_first + done_count++) % JOBS_MAX] = job;
    tell(tell_arg);
    return RC_OK;
}

struct reader_job *__wrap_reader_pool_take(struct reader_pool *pool)
{
    (void)pool;
    if (done_count == 0)
        return NULL;
    struct reader_job *job = done[done_first];
    done_first = (done_first + 1) % JOBS_MAX;
    done_count--;
    return job;
}

static void finish_work(void *arg)
{
    struct worker_job *job = arg;
    job->done(job);
}

enum rc __wrap_worker_submit(struct worker_pool *pool, struct worker_job *job)
{
    (void)pool;
    enum rc rc = loop_post(loop, finish_work, job);
    if (rc == RC_OK)
        job->run(job, 0);
    return rc;
}

/* ---- turning ---- */

void fuzz_turns_take(void)
{
    while (sem_wait(&parked) != 0)
        ;
}

static bool has_more(uv_loop_t *uv)
{
    struct pollfd ready = {.fd = uv_backend_fd(uv), .events = POLLIN};
    return uv_backend_timeout(uv) == 0 || poll(&ready, 1, 0) > 0;
}

void fuzz_turns_run(void)
{
    uv_loop_t *uv = loop_uv(loop);
    unsigned turns = 0;
    do {
        uv_run(uv, UV_RUN_NOWAIT);
        turns++;
        assert(turns < TURNS_MAX);
    } while (has_more(uv));
}

void fuzz_turns_give_back(void)
{
    fuzz_turns_run();
    sem_post(&leave);
}

void fuzz_turns_end(void)
{
    store_close(store);
}
