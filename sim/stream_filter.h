/* SPDX-License-Identifier: Apache-2.0
 *
 * stream_filter.h - which events a subscriber asked for.
 *
 * Collections are names or "prefix.*"; DIDs are repositories. A list nobody added to lets
 * everything pass. Identity and account events pass every list of collections. Adding checks the
 * spelling and the limits of the real server; a DID of nobody in this world is counted, but matches
 * nothing. */
#ifndef SIM_STREAM_FILTER_H
#define SIM_STREAM_FILTER_H

#include "base/err.h"
#include "sim/world.h"

#define FILTER_COLLECTIONS_MAX 100
#define FILTER_DIDS_MAX        10000

struct stream_filter {
    unsigned collection_count, did_count;
    unsigned collections;  /* bit per collection */
    unsigned hidden_kinds; /* bit per event kind that is not wanted at all */
    bool *accounts;        /* flag per account; NULL without DIDs */
    uint64_t bytes_max;    /* bigger events are skipped; 0: no limit */
};

void stream_filter_deinit(struct stream_filter *filter);
must_check enum rc stream_filter_add_collection(struct stream_filter *filter, struct bytes name,
                                                struct err *err);
must_check enum rc stream_filter_add_did(struct stream_filter *filter, const struct world *world,
                                         struct bytes did, struct err *err);
bool stream_filter_wants(const struct stream_filter *filter, const struct world_event *event);

#endif
