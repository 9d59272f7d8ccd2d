/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/zstd_frame.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define FIRST_BYTES ((size_t)16 << 10)
#define GROWTH      4

struct zstd_decoder {
    ZSTD_DCtx *context;
    ZSTD_DDict *dictionary;
    uint32_t id;
    size_t bytes_max;
    char *out;
    size_t out_size; /* without the padding */
};

enum rc zstd_decoder_new(struct bytes dictionary, size_t decoded_bytes_max,
                         struct zstd_decoder **decoder, struct err *err)
{
    assert(decoded_bytes_max > 0 && decoder != NULL);
    uint32_t id = ZSTD_getDictID_fromDict(dictionary.data, dictionary.len);
    if (id == 0)
        return err_set(err, RC_REJECT, "%zu bytes that are no zstd dictionary with a number",
                       dictionary.len);
    ZSTD_DDict *digested = ZSTD_createDDict(dictionary.data, dictionary.len);
    if (digested == NULL)
        return err_set(err, RC_REJECT, "the zstd dictionary %u is damaged", id);
    struct zstd_decoder *made = memory_new_zeroed(1, sizeof *made);
    made->context = ZSTD_createDCtx();
    if (made->context == NULL)
        abort();
    made->dictionary = digested;
    made->id = id;
    made->bytes_max = decoded_bytes_max;
    made->out_size = FIRST_BYTES < decoded_bytes_max ? FIRST_BYTES : decoded_bytes_max;
    made->out = memory_new_zeroed(1, made->out_size + ARENA_PAD);
    *decoder = made;
    return RC_OK;
}

void zstd_decoder_free(struct zstd_decoder *decoder)
{
    if (decoder == NULL)
        return;
    ZSTD_freeDCtx(decoder->context);
    ZSTD_freeDDict(decoder->dictionary);
    free(decoder->out);
    free(decoder);
}

uint32_t zstd_decoder_id(const struct zstd_decoder *decoder)
{
    return decoder->id;
}

static enum rc check_frame(const struct zstd_decoder *decoder, struct bytes frame, struct err *err)
{
    size_t whole = ZSTD_findFrameCompressedSize(frame.data, frame.len);
    if (ZSTD_isError(whole))
        return err_set(err, RC_REJECT, "a binary message is no whole zstd frame: %s",
                       ZSTD_getErrorName(whole));
    if (whole != frame.len)
        return err_set(err, RC_REJECT, "a message holds more than one zstd frame");
    uint32_t id = ZSTD_getDictID_fromFrame(frame.data, frame.len);
    if (id != decoder->id)
        return err_set(err, RC_RETRY, "a frame was made with dictionary %u, not with %u", id,
                       decoder->id);
    return RC_OK;
}

static void grow(struct zstd_decoder *decoder)
{
    size_t size = decoder->out_size * GROWTH;
    decoder->out_size = size < decoder->bytes_max ? size : decoder->bytes_max;
    decoder->out = memory_resize(decoder->out, decoder->out_size + ARENA_PAD);
}

enum rc zstd_decoder_decode(struct zstd_decoder *decoder, struct bytes frame, struct bytes *out,
                            struct err *err)
{
    enum rc rc = check_frame(decoder, frame, err);
    if (rc != RC_OK)
        return rc;
    for (;;) {
        size_t len = ZSTD_decompress_usingDDict(decoder->context, decoder->out, decoder->out_size,
                                                frame.data, frame.len, decoder->dictionary);
        if (!ZSTD_isError(len)) {
            *out = bytes_make(decoder->out, len);
            return RC_OK;
        }
        if (ZSTD_getErrorCode(len) != ZSTD_error_dstSize_tooSmall)
            return err_set(err, RC_RETRY, "a zstd frame or the dictionary %u is damaged: %s",
                           decoder->id, ZSTD_getErrorName(len));
        if (decoder->out_size == decoder->bytes_max)
            return err_set(err, RC_REJECT, "a zstd frame holds more than %zu bytes",
                           decoder->bytes_max);
        grow(decoder);
    }
}
