/* SPDX-License-Identifier: Apache-2.0
 *
 * actor_view.h - an account as AppViews show it.
 *
 * Pure; what is read is borrowed from the document. */
#ifndef DECODE_ACTOR_VIEW_H
#define DECODE_ACTOR_VIEW_H

#include "base/json.h"
#include "record_batch.h"

#define ACTOR_DID_MAX 256
/* What stands for a handle that does not lead back to its account. */
#define ACTOR_HANDLE_INVALID "handle.invalid"

struct actor_view {
    struct bytes did, handle;
    struct bytes display_name, avatar; /* absent: not said */
};

/* False: it is none, or its DID is no DID. */
bool actor_view_read(struct json json, struct actor_view *actor);
/* Puts handle, display name and avatar into consecutive fields from `first` on; false when the
 * batch is full. */
must_check bool actor_view_put(const struct actor_view *actor, struct batch *batch,
                               struct record *record, unsigned first);

#endif
