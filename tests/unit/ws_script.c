/* SPDX-License-Identifier: Apache-2.0 */
#include "ws_script.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

void ws_script_put(struct text *out, bool fin, int opcode, struct bytes payload)
{
    text_append_char(out, (char)((fin ? 0x80 : 0) | opcode));
    if (payload.len < 126) {
        text_append_char(out, (char)payload.len);
    } else if (payload.len < 65536) {
        text_append_char(out, 126);
        text_append_char(out, (char)(payload.len >> 8));
        text_append_char(out, (char)payload.len);
    } else {
        text_append_char(out, 127);
        for (int shift = 56; shift >= 0; shift -= 8)
            text_append_char(out, (char)((uint64_t)payload.len >> shift));
    }
    text_append(out, payload.data, payload.len);
}

void ws_script_send(struct script_conn *conn, int opcode, struct bytes payload)
{
    struct text frame = {0};
    ws_script_put(&frame, true, opcode, payload);
    script_send(conn, text_bytes(&frame));
    text_free(&frame);
}

bool ws_script_take(struct script_conn *conn, int *opcode, struct text *payload)
{
    const unsigned char *data = (const unsigned char *)conn->received.data;
    size_t len = conn->received.len, head = 2;
    if (len < 2)
        return false;
    assert((data[1] & 0x80) != 0);
    uint64_t size = data[1] & 0x7f;
    if (size >= 126) {
        size_t wide = size == 126 ? 2 : 8;
        if (len < 2 + wide)
            return false;
        size = 0;
        for (size_t i = 0; i < wide; i++)
            size = size << 8 | data[2 + i];
        head += wide;
    }
    if (len < head + 4 + size)
        return false;
    *opcode = data[0] & 0x0f;
    text_clear(payload);
    for (size_t i = 0; i < size; i++)
        text_append_char(payload, (char)(data[head + 4 + i] ^ data[head + i % 4]));
    script_take(conn, head + 4 + (size_t)size);
    return true;
}

void ws_script_put_accept(struct text *out, const struct script_conn *conn)
{
    static const char name[] = "Sec-WebSocket-Key: ";
    char joined[128], accept[64];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len;
    const char *key = memmem(conn->received.data, conn->received.len, name, sizeof name - 1);
    assert(key != NULL);
    snprintf(joined, sizeof joined, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
             key + sizeof name - 1);
    EVP_Digest(joined, strlen(joined), digest, &len, EVP_sha1(), NULL);
    EVP_EncodeBlock((unsigned char *)accept, digest, (int)len);
    text_append_string(out, accept);
}
