/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/stream_filter.h"

#include <stdlib.h>
#include <string.h>

void stream_filter_deinit(struct stream_filter *filter)
{
    free(filter->accounts);
    *filter = (struct stream_filter){0};
}

enum rc stream_filter_add_collection(struct stream_filter *filter, struct bytes name,
                                     struct err *err)
{
    bool prefix = name.len > 2 && memcmp(name.data + name.len - 2, ".*", 2) == 0;
    struct bytes head = prefix ? bytes_make(name.data, name.len - 1) : name;
    if (!prefix && !nsid_is_valid(name))
        return err_set(err, RC_REJECT, "invalid collection: %.*s", (int)name.len, name.data);
    if (prefix && memchr(head.data, '*', head.len) != NULL)
        return err_set(err, RC_REJECT, "invalid collection: %.*s", (int)name.len, name.data);
    if (++filter->collection_count > FILTER_COLLECTIONS_MAX)
        return err_set(err, RC_REJECT, "too many wanted collections: max %d",
                       FILTER_COLLECTIONS_MAX);
    for (unsigned i = 0; i < COLLECTION_COUNT; i++) {
        const char *known = world_collection_name(i);
        if (prefix ? strncmp(known, head.data, head.len) == 0 : bytes_equal_string(name, known))
            filter->collections |= 1u << i;
    }
    return RC_OK;
}

enum rc stream_filter_add_did(struct stream_filter *filter, const struct world *world,
                              struct bytes did, struct err *err)
{
    if (!did_is_valid(did))
        return err_set(err, RC_REJECT, "invalid DID: %.*s", (int)did.len, did.data);
    uint32_t account = world_find_did(world, did);
    if (filter->accounts == NULL)
        filter->accounts = memory_new_zeroed(world_settings(world)->accounts, sizeof(bool));
    if (account != WORLD_NONE && filter->accounts[account])
        return RC_OK;
    if (++filter->did_count > FILTER_DIDS_MAX)
        return err_set(err, RC_REJECT, "too many wanted DIDs: max %d", FILTER_DIDS_MAX);
    if (account != WORLD_NONE)
        filter->accounts[account] = true;
    return RC_OK;
}

bool stream_filter_wants(const struct stream_filter *filter, const struct world_event *event)
{
    if ((filter->hidden_kinds >> event->kind & 1) != 0)
        return false;
    if (filter->accounts != NULL && !filter->accounts[event->account])
        return false;
    if (filter->collection_count == 0 || event->kind == EVENT_IDENTITY ||
        event->kind == EVENT_ACCOUNT)
        return true;
    return (filter->collections >> event->collection & 1) != 0;
}
