/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/dictionary.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <zdict.h>
#include <zstd.h>

#define SAMPLE_EVENTS    3000
#define DICTIONARY_BYTES 16384
#define SIZE_WRITTEN_MIN 256
#define LEVEL            3

struct dictionary {
    struct text bytes;
    ZSTD_CCtx *context;
    unsigned id;
};

struct dictionary *dictionary_train(const struct world_options *options, enum event_wire wire,
                                    unsigned id)
{
    struct dictionary *dictionary = memory_new_zeroed(1, sizeof *dictionary);
    struct world *world = world_new(options);
    struct text samples = {0};
    size_t sizes[SAMPLE_EVENTS];
    world_grow(world, SAMPLE_EVENTS);
    for (uint32_t k = 0; k < SAMPLE_EVENTS; k++) {
        size_t before = samples.len;
        if (wire == WIRE_V2)
            event_json_v2(world, k, k + 1, &samples);
        else
            event_json_v1(world, k, 0, &samples);
        sizes[k] = samples.len - before;
    }
    char *room = text_reserve(&dictionary->bytes, DICTIONARY_BYTES);
    size_t len = ZDICT_trainFromBuffer(room, DICTIONARY_BYTES, samples.data, sizes, SAMPLE_EVENTS);
    assert(ZDICT_isError(len) == 0);
    dictionary->bytes.len = len;
    dictionary->id = id;
    /* The id stands little-endian behind the magic number. */
    for (int i = 0; i < 4; i++)
        room[4 + i] = (char)(id >> (8 * i));
    dictionary->context = ZSTD_createCCtx();
    assert(dictionary->context != NULL);
    ZSTD_CCtx_setParameter(dictionary->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(dictionary->context, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(dictionary->context, ZSTD_c_dictIDFlag, 1);
    len = ZSTD_CCtx_loadDictionary(dictionary->context, room, len);
    assert(ZSTD_isError(len) == 0);
    text_free(&samples);
    world_free(world);
    return dictionary;
}

unsigned dictionary_id(const struct dictionary *dictionary)
{
    return dictionary->id;
}

void dictionary_free(struct dictionary *dictionary)
{
    if (dictionary == NULL)
        return;
    ZSTD_freeCCtx(dictionary->context);
    text_free(&dictionary->bytes);
    free(dictionary);
}

struct bytes dictionary_bytes(const struct dictionary *dictionary)
{
    return text_bytes(&dictionary->bytes);
}

void dictionary_compress(struct dictionary *dictionary, struct bytes input, struct text *out)
{
    text_clear(out);
    size_t bound = ZSTD_compressBound(input.len);
    char *room = text_reserve(out, bound);
    ZSTD_CCtx_setParameter(dictionary->context, ZSTD_c_contentSizeFlag,
                           input.len >= SIZE_WRITTEN_MIN);
    size_t len = ZSTD_compress2(dictionary->context, room, bound, input.data, input.len);
    assert(ZSTD_isError(len) == 0);
    out->len = len;
}
