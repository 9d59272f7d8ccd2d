/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor_probe.h - one provider, asked once whether it is there and is what it should be.
 *
 * A question costs the provider next to nothing and names nobody's account or key. A firehose is
 * dialled on the wires it may speak, one after the other.
 *
 * Owner: the check, which runs the loop until every probe is over. */
#ifndef CLI_DOCTOR_PROBE_H
#define CLI_DOCTOR_PROBE_H

#include "base/err.h"
#include "cli/doctor.h"
#include "source/jetstream_host.h"
#include "sys/loop.h"

enum doctor_asks {
    DOCTOR_FIREHOSE,
    DOCTOR_APPVIEW,
    DOCTOR_PDS,
    DOCTOR_RPC,
    DOCTOR_GATEWAY,
    DOCTOR_LEDGER,
};

struct doctor_probe {
    enum doctor_asks asks;
    const char *advice; /* when it fails */
    char name[80];      /* for people: what it is, and its host */
    struct text url;
    /* The outcome. */
    bool over, good;
    struct err words;
    bool date_known;
    int64_t skew_us;
    /* On the way there. */
    struct jetstream_host host;
    struct loop *loop;
    struct ws *ws;
    size_t *left; /* probes that are not over; the last one stops the loop */
    int64_t began_us;
};

/* `root` is the configured address. */
void doctor_probe_init(struct doctor_probe *probe, enum doctor_asks asks, const char *root,
                       const char *advice);
void doctor_probe_deinit(struct doctor_probe *probe);
void doctor_probe_start(struct doctor_probe *probe, struct loop *loop, size_t *left);

#endif
