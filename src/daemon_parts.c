/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_parts.h"

#include "daemon_appview.h"
#include "daemon_cards.h"
#include "daemon_circle.h"
#include "daemon_collections.h"
#include "daemon_content.h"
#include "daemon_feed_readers.h"
#include "daemon_firehose.h"
#include "daemon_gauges.h"
#include "daemon_janitor.h"
#include "daemon_ledger.h"
#include "daemon_pictures.h"
#include "daemon_standing.h"
#include "daemon_subjects.h"

#include <string.h>

/* clang-format off */
/* Each answers NULL when the configuration does not ask for it. */
static struct part *(*const makers[])(const struct part_env *env) = {
    collections_part_new,
    firehose_part_new,
    appview_part_new,
    circle_part_new,
    feed_readers_part_new,
    subjects_part_new,
    cards_part_new,
    pictures_part_new,
    content_part_new,
    standing_part_new,
    ledger_part_new,
    janitor_part_new,
    gauges_part_new,
};
/* clang-format on */
#define MAKERS (sizeof makers / sizeof makers[0])
_Static_assert(MAKERS <= PARTS_MAX, "there is room for every part");

void parts_make(struct parts *parts, const struct part_env *env)
{
    for (size_t i = 0; i < MAKERS; i++) {
        struct part *part = makers[i](env);
        if (part != NULL)
            parts->items[parts->count++] = part;
    }
}

enum rc parts_load(struct parts *parts, struct store *store, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < parts->count && rc == RC_OK; i++)
        if (parts->items[i]->ops->load != NULL)
            rc = parts->items[i]->ops->load(parts->items[i], store, err);
    return rc;
}

enum rc parts_open(struct parts *parts, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < parts->count && rc == RC_OK; i++)
        if (parts->items[i]->ops->open != NULL)
            rc = parts->items[i]->ops->open(parts->items[i], err);
    return rc;
}

void parts_start(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i]->ops->start != NULL)
            parts->items[i]->ops->start(parts->items[i]);
}

void parts_look(struct parts *parts, int64_t now_us, struct daemon_view *view)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = parts->items[i];
        if (part->ops->look != NULL)
            part->ops->look(part, now_us, view);
        if (part->ops->view != NULL)
            part->ops->view(part, view);
    }
}

void parts_heed(struct parts *parts, unsigned news)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i]->ops->heed != NULL)
            parts->items[i]->ops->heed(parts->items[i], news);
}

bool parts_hear(const struct parts *parts, struct bytes did)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i]->ops->hears != NULL)
            return parts->items[i]->ops->hears(parts->items[i], did);
    return true;
}

void parts_reload(struct parts *parts, const struct config *fresh)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i]->ops->reload != NULL)
            parts->items[i]->ops->reload(parts->items[i], fresh);
}

void parts_stop(struct parts *parts)
{
    for (size_t i = parts->count; i-- > 0;)
        if (parts->items[i]->ops->stop != NULL)
            parts->items[i]->ops->stop(parts->items[i]);
}

bool parts_stopped(const struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i]->ops->stopped != NULL &&
            !parts->items[i]->ops->stopped(parts->items[i]))
            return false;
    return true;
}

void parts_free(struct parts *parts)
{
    while (parts->count > 0) {
        struct part *part = parts->items[--parts->count];
        part->ops->free(part);
    }
}

struct part *parts_ledger(const struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (ledger_part_is(parts->items[i]))
            return parts->items[i];
    return NULL;
}

struct part *parts_pictures(const struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (pictures_part_is(parts->items[i]))
            return parts->items[i];
    return NULL;
}

struct part *parts_follower(const struct parts *parts, const char *source)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i]->ops->source != NULL &&
            strcmp(parts->items[i]->ops->source, source) == 0)
            return parts->items[i];
    return NULL;
}
