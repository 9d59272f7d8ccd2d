/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_parts.h"

#include <assert.h>
#include <stdio.h>

static void finish(struct content *content, enum rc rc)
{
    struct again again = content->again;
    content->again = (struct again){0};
    again.done(again.arg, rc);
}

void content_retry(struct content *content, const char *item, const char *unit,
                   void (*done)(void *arg, enum rc rc), void *arg)
{
    struct again *again = &content->again;
    assert(again->done == NULL && done != NULL);
    *again = (struct again){.done = done, .arg = arg};
    snprintf(again->item, sizeof again->item, "%s", item);
    snprintf(again->unit, sizeof again->unit, "%s", unit);
    if (content->stopping)
        finish(content, RC_RETRY);
    else
        content_write(content);
}

bool content_again_waits(const struct content *content)
{
    return content->again.done != NULL && !content->again.sent;
}

void content_again_write(struct content *content, struct batch *batch)
{
    struct again *again = &content->again;
    uint32_t before = batch->record_count;
    if (!content_again_waits(content))
        return;
    enum rc rc = owed_retry(&content->owed, batch, bytes_of(again->item), bytes_of(again->unit),
                            content_wall(content));
    again->sent = batch->record_count > before;
    if (!again->sent && rc != RC_AGAIN) /* it is being tried, or cannot be */
        finish(content, rc);
}

void content_again_answered(struct content *content, enum rc rc)
{
    if (content->again.sent)
        finish(content, rc);
}

void content_again_drop(struct content *content)
{
    if (content_again_waits(content))
        finish(content, RC_RETRY);
}
