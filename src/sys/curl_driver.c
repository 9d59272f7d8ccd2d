/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/curl_driver.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <uv.h>

#define IDLE_CONNECTIONS_MAX 128L

struct curl_driver {
    struct loop *loop;
    CURLM *multi;
    uv_timer_t timer;
    size_t task_count;
};

struct watched_socket {
    uv_poll_t poll;
    struct curl_driver *driver;
    curl_socket_t fd;
};

static void report_finished(struct curl_driver *driver)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(driver->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode result = message->data.result;
        struct curl_task *task = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&task);
        assert(task != NULL && task->easy == message->easy_handle);
        task->fn(task->arg, result);
    }
}

static int set_timeout(CURLM *multi, long timeout_ms, void *arg);

static void on_timeout(uv_timer_t *timer)
{
    struct curl_driver *driver = timer->data;
    int running;
    curl_multi_socket_action(driver->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    /* curl announces a time only when it changes; one that passed a little early is asked again. */
    long timeout_ms = -1;
    if (!uv_is_active((uv_handle_t *)timer) &&
        curl_multi_timeout(driver->multi, &timeout_ms) == CURLM_OK && timeout_ms >= 0)
        set_timeout(driver->multi, timeout_ms, driver);
    report_finished(driver);
}

static int set_timeout(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct curl_driver *driver = arg;
    if (timeout_ms < 0)
        return uv_timer_stop(&driver->timer);
    uv_update_time(loop_uv(driver->loop));
    /* A started millisecond counts as a whole one, or curl would be woken before its time. */
    uint64_t ms = timeout_ms == 0 ? 0 : (uint64_t)timeout_ms + 1;
    return uv_timer_start(&driver->timer, on_timeout, ms, 0);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct watched_socket *socket = poll->data;
    struct curl_driver *driver = socket->driver;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0, running;
    if ((events & UV_READABLE) != 0)
        flags |= CURL_CSELECT_IN;
    if ((events & UV_WRITABLE) != 0)
        flags |= CURL_CSELECT_OUT;
    curl_multi_socket_action(driver->multi, socket->fd, flags, &running);
    report_finished(driver);
}

static void free_socket(uv_handle_t *handle)
{
    free(handle->data);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy;
    struct curl_driver *driver = arg;
    struct watched_socket *socket = socket_arg;
    if (what == CURL_POLL_REMOVE) {
        if (socket == NULL)
            return 0;
        uv_poll_stop(&socket->poll);
        uv_close((uv_handle_t *)&socket->poll, free_socket);
        curl_multi_assign(driver->multi, fd, NULL);
        return 0;
    }
    if (socket == NULL) {
        socket = memory_new_zeroed(1, sizeof *socket);
        socket->driver = driver;
        socket->fd = fd;
        if (uv_poll_init_socket(loop_uv(driver->loop), &socket->poll, fd) != 0)
            abort();
        socket->poll.data = socket;
        curl_multi_assign(driver->multi, fd, socket);
    }
    int events = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                 ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);
    return uv_poll_start(&socket->poll, events, on_ready);
}

static void init_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort();
}

struct curl_driver *curl_driver_new(struct loop *loop)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    struct curl_driver *driver = memory_new_zeroed(1, sizeof *driver);
    driver->loop = loop;
    driver->multi = curl_multi_init();
    if (driver->multi == NULL || uv_timer_init(loop_uv(loop), &driver->timer) != 0)
        abort();
    driver->timer.data = driver;
    curl_multi_setopt(driver->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
    /* One exchange at a time on a connection: with several, libcurl 7.88 (Debian 12) at times
     * forgets to wake the one whose last bytes another one read. */
    curl_multi_setopt(driver->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    curl_multi_setopt(driver->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(driver->multi, CURLMOPT_SOCKETDATA, driver);
    curl_multi_setopt(driver->multi, CURLMOPT_TIMERFUNCTION, set_timeout);
    curl_multi_setopt(driver->multi, CURLMOPT_TIMERDATA, driver);
    return driver;
}

static void free_driver(uv_handle_t *handle)
{
    free(handle->data);
}

void curl_driver_free(struct curl_driver *driver)
{
    assert(driver->task_count == 0);
    curl_multi_cleanup(driver->multi);
    uv_close((uv_handle_t *)&driver->timer, free_driver);
}

void curl_driver_add(struct curl_driver *driver, struct curl_task *task)
{
    assert(task->easy != NULL && task->fn != NULL);
    curl_easy_setopt(task->easy, CURLOPT_PRIVATE, task);
    if (curl_multi_add_handle(driver->multi, task->easy) != CURLM_OK)
        abort();
    driver->task_count++;
}

void curl_driver_remove(struct curl_driver *driver, struct curl_task *task)
{
    assert(driver->task_count > 0);
    if (curl_multi_remove_handle(driver->multi, task->easy) != CURLM_OK)
        abort();
    driver->task_count--;
}

CURL *curl_driver_easy(const char *ca_file)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        abort();
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Or giving up on a slow name server would hold the loop until that server answers. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (ca_file != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    return easy;
}

CURL *curl_driver_tunnel(const char *ca_file, const char *url)
{
    CURL *easy = curl_driver_easy(ca_file);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    return easy;
}
