/* SPDX-License-Identifier: Apache-2.0
 *
 * curl_driver.h - libcurl's transfers, driven by an event loop.
 *
 * One driver is one set of connections: what must never share a connection with something else gets
 * a driver of its own. A transfer's function is called once, when curl is done with it, never from
 * inside the call that added it and never from inside curl, so it may add and remove transfers. The
 * easy handle stays in the driver until it is removed: a connect-only connection lives there.
 *
 * Owner: one client.  Thread: the loop's. */
#ifndef SYS_CURL_DRIVER_H
#define SYS_CURL_DRIVER_H

#include "sys/loop.h"

#include <curl/curl.h>

struct curl_driver;

typedef void curl_done_fn(void *arg, CURLcode result);

/* Owned by the caller, who keeps it in place while the transfer is in the driver. */
struct curl_task {
    CURL *easy;
    curl_done_fn *fn;
    void *arg;
};

struct curl_driver *curl_driver_new(struct loop *loop);
/* All transfers are removed before. */
void curl_driver_free(struct curl_driver *driver);
void curl_driver_add(struct curl_driver *driver, struct curl_task *task);
void curl_driver_remove(struct curl_driver *driver, struct curl_task *task);

/* A fresh easy handle with what every transfer of this program shares: HTTP only, TLS 1.2 or newer,
 * certificates checked (against `ca_file` when not NULL), no signals, no cookies. */
CURL *curl_driver_easy(const char *ca_file);
/* One that only connects, through a proxy where there is one; the caller does the talking. */
CURL *curl_driver_tunnel(const char *ca_file, const char *url);

#endif
