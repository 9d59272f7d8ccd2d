/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/content_world.h"
#include "sim/query_string.h"

#include <string.h>

#define BLOCK_TYPE "application/vnd.ipld.raw"

static void reply_status(struct host *host, struct http_exchange *exchange, struct draw *draw,
                         int status)
{
    host_reply(host, exchange, draw, status, "text/plain", bytes_of("not here\n"));
}

/* Bytes of about the same length that are something else. */
static void reply_lie(struct host *host, struct http_exchange *exchange, struct draw *draw,
                      struct bytes truth)
{
    struct text lie = {0};
    host->counts.lied++;
    text_append(&lie, truth.data, truth.len);
    if (lie.len > 0 && draw_below(draw, 2) == 0)
        lie.data[draw_below(draw, (uint32_t)lie.len)] ^= 1;
    else
        text_append_string(&lie, "<html>");
    host_reply(host, exchange, draw, 200, BLOCK_TYPE, text_bytes(&lie));
    text_free(&lie);
}

void ipfs_gateway_answer(struct http_exchange *exchange, void *arg)
{
    struct host *host = arg;
    struct doc_stock *stock = &host->world->stock;
    const struct http_request *request = http_exchange_request(exchange);
    struct draw draw = host_draw(host);
    char format[8] = "";
    if (host_admit(host, exchange, &draw))
        return;
    size_t prefix = strlen("/ipfs/");
    const struct ipfs_block *block = ipfs_blocks_find(
        &stock->blocks, bytes_make(request->path.data + prefix, request->path.len - prefix));
    query_get(request->query, "format", format, sizeof format);
    if (block == NULL || strcmp(format, "raw") != 0) {
        reply_status(host, exchange, &draw, 400);
        return;
    }
    size_t at = (size_t)(block - stock->blocks.blocks);
    if (draw_below(&draw, 100) < host->manner.lack) {
        host->counts.lacked++;
        reply_status(host, exchange, &draw, 404);
    } else if (draw_below(&draw, 100) < host->manner.lie) {
        reply_lie(host, exchange, &draw, text_bytes(&block->bytes));
    } else if (stock->statuses[at] != 0) {
        reply_status(host, exchange, &draw, stock->statuses[at]);
    } else {
        stock->served[at]++;
        host_reply(host, exchange, &draw, 200, BLOCK_TYPE, text_bytes(&block->bytes));
    }
}
