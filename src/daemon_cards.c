/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_cards.h"

#include "daemon_view.h"
#include "source/cards.h"

#include <stdlib.h>

struct cards_part {
    struct part part;
    const struct part_env *env;
    struct cards *cards; /* NULL before it is opened */
};

static struct cards_settings settings_of(const struct config *config)
{
    return (struct cards_settings){.per_host_ms = (uint32_t)config->cards.per_host_ms,
                                   .in_flight = (uint32_t)config->cards.in_flight};
}

static enum rc open_cards(struct part *part, struct err *err)
{
    struct cards_part *cards = (struct cards_part *)part;
    struct cards_settings settings = settings_of(cards->env->config);
    (void)err;
    cards->cards = cards_new(&cards->env->source, &settings);
    return RC_OK;
}

static void start(struct part *part)
{
    cards_start(((struct cards_part *)part)->cards);
}

static void reload(struct part *part, const struct config *fresh)
{
    struct cards_settings settings = settings_of(fresh);
    cards_tune(((struct cards_part *)part)->cards, &settings);
}

static void show(struct part *part, struct daemon_view *view)
{
    view->cards = cards_counts(((struct cards_part *)part)->cards);
}

static void stop(struct part *part)
{
    cards_stop(((struct cards_part *)part)->cards);
}

static bool stopped(const struct part *part)
{
    return cards_stopped(((const struct cards_part *)part)->cards);
}

static void free_all(struct part *part)
{
    struct cards_part *cards = (struct cards_part *)part;
    if (cards->cards != NULL)
        cards_free(cards->cards);
    free(cards);
}

static const struct part_ops cards_ops = {
    .open = open_cards,
    .start = start,
    .reload = reload,
    .view = show,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
};

struct part *cards_part_new(const struct part_env *env)
{
    if (!env->config->cards.enabled)
        return NULL;
    struct cards_part *cards = memory_new_zeroed(1, sizeof *cards);
    cards->part.ops = &cards_ops;
    cards->env = env;
    return &cards->part;
}
