/* SPDX-License-Identifier: Apache-2.0 */
#include "child_daemon.h"

#include "child.h"

#include <assert.h>
#include <stdio.h>

#define SETTING_SIZE 640
#define OWN          8
#define FIRST        4 /* words before the settings */

pid_t child_daemon_start(const char *program, const struct fixture *fixture, unsigned firehose_port,
                         const char *const *more)
{
    char store[SETTING_SIZE], data[SETTING_SIZE], cursor[SETTING_SIZE], log[SETTING_SIZE],
        endpoint[SETTING_SIZE];
    const char *const own[OWN] = {store,
                                  data,
                                  cursor,
                                  log,
                                  endpoint,
                                  "jetstream.fallback_endpoint=",
                                  "serve.listen=127.0.0.1:0",
                                  "serve.health_listen="};
    const char *argv[FIRST + 2 * (OWN + CHILD_DAEMON_MORE_MAX) + 1] = {program, "run", "-c",
                                                                       "/dev/null"};
    size_t at = FIRST;
    snprintf(store, sizeof store, "store.url=%s", fixture->url);
    snprintf(data, sizeof data, "store.data_dir=%s", fixture->folder);
    snprintf(cursor, sizeof cursor, "jetstream.cursor_file=%s/cursor", fixture->folder);
    snprintf(log, sizeof log, "log.file=%s/log", fixture->folder);
    snprintf(endpoint, sizeof endpoint, "jetstream.endpoint=ws://127.0.0.1:%u/subscribe",
             firehose_port);
    for (size_t i = 0; i < OWN; i++) {
        argv[at++] = "--set";
        argv[at++] = own[i];
    }
    for (size_t i = 0; more[i] != NULL; i++) {
        assert(i < CHILD_DAEMON_MORE_MAX);
        argv[at++] = "--set";
        argv[at++] = more[i];
    }
    return child_start(argv, NULL, 0);
}
