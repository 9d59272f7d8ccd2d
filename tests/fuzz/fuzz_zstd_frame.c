/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a compressed message. The first byte says how the rest is meant: as a frame, as what
 * a frame is to be made of, or as such a frame with one byte changed. What comes out is what the
 * library's stream decoder says, never over the bound; what was packed here comes out whole. */
#include "base/arena.h"
#include "decode/zstd_frame.h"

#include <assert.h>
#include <string.h>
#include <zdict.h>
#include <zstd.h>

#define DECODED_MAX ((size_t)1 << 16)
#define PACKED_MAX  ((size_t)1 << 15)
#define SAMPLES     500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct zstd_decoder *decoder;
static ZSTD_CCtx *packer;
static ZSTD_DCtx *reader;
static char dictionary[4096];

static void open_all(void)
{
    struct text samples = {0};
    size_t sizes[SAMPLES];
    for (unsigned i = 0; i < SAMPLES; i++) {
        size_t before = samples.len;
        text_appendf(&samples,
                     "{\"did\":\"did:plc:%u\",\"kind\":\"commit\",\"commit\":{\"rev\":\"3k%u\"}}",
                     i * 7919, i * i);
        sizes[i] = samples.len - before;
    }
    size_t len = ZDICT_trainFromBuffer(dictionary, sizeof dictionary, samples.data, sizes, SAMPLES);
    assert(!ZDICT_isError(len));
    text_free(&samples);
    enum rc rc = zstd_decoder_new(bytes_make(dictionary, len), DECODED_MAX, &decoder, NULL);
    assert(rc == RC_OK && zstd_decoder_id(decoder) != 0);
    packer = ZSTD_createCCtx();
    reader = ZSTD_createDCtx();
    assert(packer != NULL && reader != NULL);
    ZSTD_CCtx_loadDictionary(packer, dictionary, len);
    ZSTD_CCtx_setParameter(packer, ZSTD_c_checksumFlag, 1);
    ZSTD_DCtx_loadDictionary(reader, dictionary, len);
}

/* What the stream decoder makes of one frame: its length; SIZE_MAX: it is none or too much. */
static size_t stream_decode(struct bytes frame, char *out)
{
    ZSTD_inBuffer in = {frame.data, frame.len, 0};
    ZSTD_outBuffer to = {out, DECODED_MAX + 1, 0};
    size_t left = 1;
    ZSTD_DCtx_reset(reader, ZSTD_reset_session_only);
    while (left != 0) {
        size_t in_before = in.pos, out_before = to.pos;
        left = ZSTD_decompressStream(reader, &to, &in);
        if (ZSTD_isError(left) || (left != 0 && in.pos == in_before && to.pos == out_before))
            return SIZE_MAX;
    }
    return in.pos == in.size && to.pos <= DECODED_MAX ? to.pos : SIZE_MAX;
}

/* Whether it came out, as the other decoder says. */
static bool check_frame(struct bytes frame, struct bytes *out)
{
    static char expected[DECODED_MAX + 1];
    struct err err = {""};
    enum rc rc = zstd_decoder_decode(decoder, frame, out, &err);
    if (rc != RC_OK) {
        assert((rc == RC_REJECT || rc == RC_RETRY) && err.text[0] != '\0');
        return false;
    }
    size_t len = stream_decode(frame, expected);
    assert(out->len <= DECODED_MAX && out->len == len);
    assert(memcmp(out->data, expected, len) == 0);
    /* The padding may be read. */
    unsigned sum = 0;
    for (size_t i = 0; i < ARENA_PAD; i++)
        sum += (unsigned char)out->data[len + i];
    return sum <= ARENA_PAD * 255;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char packed[PACKED_MAX * 2];
    struct bytes out;
    if (decoder == NULL)
        open_all();
    if (size < 3 || size > PACKED_MAX)
        return 0;
    if (data[0] % 3 == 0) {
        check_frame(bytes_make(data + 1, size - 1), &out);
        return 0;
    }
    size_t len = ZSTD_compress2(packer, packed, sizeof packed, data + 3, size - 3);
    assert(!ZSTD_isError(len));
    if (data[0] % 3 == 1) {
        bool whole = check_frame(bytes_make(packed, len), &out);
        assert(whole && bytes_equal(out, bytes_make(data + 3, size - 3)));
    } else {
        packed[data[1] % len] ^= (char)data[2];
        check_frame(bytes_make(packed, len), &out);
    }
    return 0;
}
