/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/actor_view.h"

static struct bytes words(struct json json, const char *key)
{
    struct bytes text = json_string_or_absent(json_get(json, key));
    return text.len == 0 ? BYTES_ABSENT : text;
}

bool actor_view_read(struct json json, struct actor_view *actor)
{
    *actor = (struct actor_view){.did = words(json, "did"),
                                 .handle = words(json, "handle"),
                                 .display_name = words(json, "displayName"),
                                 .avatar = words(json, "avatar")};
    if (actor->handle.data == NULL)
        actor->handle = bytes_of(ACTOR_HANDLE_INVALID);
    return actor->did.len <= ACTOR_DID_MAX && bytes_starts_with(actor->did, "did:");
}

bool actor_view_put(const struct actor_view *actor, struct batch *batch, struct record *record,
                    unsigned first)
{
    return batch_set_text(batch, record, first, actor->handle) &&
           batch_set_text(batch, record, first + 1, actor->display_name) &&
           batch_set_text(batch, record, first + 2, actor->avatar);
}
