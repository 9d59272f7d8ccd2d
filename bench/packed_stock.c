/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_stock.h"

#include "sim/dictionary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void pack_events(struct packed_stock *stock, struct world *world,
                        struct dictionary *dictionary)
{
    struct text line = {0}, packed = {0};
    for (uint32_t k = 0; k < stock->count; k++) {
        text_clear(&line);
        event_json_v1(world, k, 0, &line);
        dictionary_compress(dictionary, text_bytes(&line), &packed);
        stock->start[k] = stock->frames.len;
        stock->plain_start[k] = stock->plain.len;
        text_append(&stock->plain, line.data, line.len);
        text_append(&stock->frames, packed.data, packed.len);
    }
    stock->start[stock->count] = stock->frames.len;
    stock->plain_start[stock->count] = stock->plain.len;
    text_free(&line);
    text_free(&packed);
}

void packed_stock_init(struct packed_stock *stock, uint32_t events, uint32_t accounts,
                       uint32_t follows)
{
    assert(follows > 0 && follows <= accounts);
    struct world_options options = world_options_default(), few = options;
    options.accounts = accounts;
    *stock = (struct packed_stock){.count = events, .follow_count = follows};
    struct world *world = world_new(&options);
    struct dictionary *dictionary = dictionary_train(&few, WIRE_V1, 20260811);
    world_grow(world, events);
    stock->start = memory_new_zeroed(events + 1, sizeof *stock->start);
    stock->plain_start = memory_new_zeroed(events + 1, sizeof *stock->plain_start);
    pack_events(stock, world, dictionary);
    struct bytes bytes = dictionary_bytes(dictionary);
    text_append(&stock->dictionary, bytes.data, bytes.len);
    for (uint32_t i = 0; i < follows; i++) {
        const char *did = world_account(world, i * (accounts / follows))->did;
        assert(stock->did_len == 0 || stock->did_len == strlen(did));
        stock->did_len = strlen(did);
        text_append_string(&stock->follows, did);
    }
    dictionary_free(dictionary);
    world_free(world);
}

void packed_stock_deinit(struct packed_stock *stock)
{
    text_free(&stock->frames);
    text_free(&stock->dictionary);
    text_free(&stock->follows);
    text_free(&stock->plain);
    free(stock->start);
    free(stock->plain_start);
}

struct bytes packed_stock_frame(const struct packed_stock *stock, size_t number)
{
    assert(number < stock->count);
    return bytes_make(stock->frames.data + stock->start[number],
                      stock->start[number + 1] - stock->start[number]);
}
