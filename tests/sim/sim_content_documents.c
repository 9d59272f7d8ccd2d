/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents, how they are spelt, and the two gateways that have them. */
#include "sim_world.h"

#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

#define DOCUMENTS_MAX 40
#define BYTES_MAX     2500
#define SECOND_US     INT64_C(1000000)
#define OK            200
#define NOT_FOUND     404
#define GONE          410

/* The bytes of the address: version 1, plain bytes, SHA-256. */
static const uint8_t cid_head[] = {0x01, 0x55, 0x12, 0x20};
#define CID_SIZE (sizeof cid_head + DIGEST_SIZE)

static void put_base32(const uint8_t cid[CID_SIZE], char *out)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned held = 0, bits = 0;
    for (size_t i = 0; i < CID_SIZE; i++) {
        held = (held << 8 | cid[i]) & 0xffff;
        for (bits += 8; bits >= 5; bits -= 5)
            *out++ = digits[held >> (bits - 5) & 31];
    }
    if (bits > 0)
        *out++ = digits[held << (5 - bits) & 31];
    *out = '\0';
}

static void spell(struct sim_document *document, size_t number)
{
    uint8_t cid[CID_SIZE];
    char *first = document->uris[0], *second = document->uris[1];
    memcpy(cid, cid_head, sizeof cid_head);
    digest_sha256(text_bytes(&document->bytes), cid + sizeof cid_head);
    if (document->no_address) {
        snprintf(first, SIM_URI_SIZE, "ipfs://nonsense%zu", number);
        snprintf(second, SIM_URI_SIZE, "ipfs://nonsense%zu", number);
        return;
    }
    snprintf(first, SIM_URI_SIZE, "ipfs://b");
    put_base32(cid, first + strlen(first));
    snprintf(second, SIM_URI_SIZE, "ipfs://f");
    for (size_t i = 0; i < CID_SIZE; i++)
        snprintf(second + strlen(second), 3, "%02x", cid[i]);
}

static void fill(struct text *bytes, size_t more)
{
    char *at = text_reserve(bytes, more + 1);
    memset(at, 'x', more);
    at[more] = '\0';
    bytes->len += more;
}

static void put_hex(const char *words, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (; *words != '\0'; words++) {
        *out++ = digits[(unsigned char)*words >> 4];
        *out++ = digits[(unsigned char)*words & 15];
    }
    *out = '\0';
}

void sim_documents_init(struct sim_world *world)
{
    struct sim_content *content = world->content;
    struct sim_swarm *swarm = &world->swarm;
    content->document_count = (size_t)sim_between(swarm, 1, DOCUMENTS_MAX);
    content->documents = memory_new_zeroed(content->document_count, sizeof *content->documents);
    for (size_t i = 0; i < content->document_count; i++) {
        struct sim_document *document = &content->documents[i];
        text_appendf(&document->bytes, "document %zu ", i);
        fill(&document->bytes, (size_t)sim_between(swarm, 0, BYTES_MAX));
        document->no_address = sim_between(swarm, 0, 19) == 0;
        document->hopeless = sim_strikes(swarm, FAULT_DOCUMENT_GONE);
        spell(document, i);
        for (unsigned s = 0; s < SIM_SPELLINGS; s++)
            put_hex(document->uris[s], document->hex[s]);
        for (int g = 0; g < SIM_GATEWAYS; g++)
            if (sim_strikes(swarm, FAULT_DOCUMENT_LATE))
                document->there_us[g] = world->now_us + sim_between(swarm, 1, 900) * SECOND_US;
    }
}

void sim_documents_deinit(struct sim_content *content)
{
    for (size_t i = 0; i < content->document_count; i++) {
        text_free(&content->documents[i].bytes);
        for (unsigned s = 0; s < SIM_SPELLINGS; s++) {
            text_free(&content->documents[i].stored[s].unit);
            text_free(&content->documents[i].stored[s].refused_by);
        }
    }
    free(content->documents);
}

struct sim_ref sim_document_choose(struct sim_world *world)
{
    struct sim_swarm *swarm = &world->swarm;
    struct sim_ref ref = {
        .document = (uint16_t)sim_between(swarm, 0, (int64_t)world->content->document_count - 1)};
    if (!world->content->documents[ref.document].no_address)
        ref.spelling = (uint16_t)(sim_between(swarm, 0, 4) == 0);
    return ref;
}

bool sim_document_find(const struct sim_content *content, struct bytes uri, struct sim_ref *ref)
{
    for (size_t i = 0; i < content->document_count; i++)
        for (unsigned s = 0; s < SIM_SPELLINGS; s++)
            if (bytes_equal_string(uri, content->documents[i].uris[s])) {
                *ref = (struct sim_ref){(uint16_t)i, (uint16_t)s};
                return true;
            }
    return false;
}

int sim_gateway_say(struct sim_world *world, int gateway, const char *path, struct text *body)
{
    struct sim_swarm *swarm = &world->swarm;
    struct text uri = {0};
    struct sim_ref ref;
    if (strncmp(path, "ipfs/", 5) != 0)
        sim_fail(world, "no gateway has %s", path);
    text_appendf(&uri, "ipfs://%.*s", (int)strcspn(path + 5, "?"), path + 5);
    bool found = sim_document_find(world->content, text_bytes(&uri), &ref);
    text_free(&uri);
    if (!found)
        sim_fail(world, "nobody named %s", path);
    const struct sim_document *document = &world->content->documents[ref.document];
    if (document->hopeless)
        return GONE;
    if (world->now_us < document->there_us[gateway] && !swarm->healed)
        return NOT_FOUND;
    text_append(body, document->bytes.data, document->bytes.len);
    if (sim_strikes(swarm, FAULT_WRONG_BYTES))
        body->data[sim_between(swarm, 0, (int64_t)body->len - 1)] ^= 1;
    return OK;
}
