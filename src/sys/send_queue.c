/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/send_queue.h"

#include <assert.h>
#include <string.h>

void send_queue_deinit(struct send_queue *queue)
{
    text_free(&queue->tail);
}

size_t send_queue_len(const struct send_queue *queue)
{
    return queue->tail.len - queue->tail_at + queue->front_len - queue->front_at;
}

struct bytes send_queue_front(struct send_queue *queue)
{
    if (send_queue_len(queue) == 0)
        return BYTES_ABSENT;
    if (queue->front_at == queue->front_len) {
        size_t left = queue->tail.len - queue->tail_at;
        queue->front_len = left < SEND_QUEUE_PIECE ? left : SEND_QUEUE_PIECE;
        queue->front_at = 0;
        memcpy(queue->front, queue->tail.data + queue->tail_at, queue->front_len);
        queue->tail_at += queue->front_len;
        if (queue->tail_at == queue->tail.len) {
            text_clear(&queue->tail);
            queue->tail_at = 0;
        }
    }
    return bytes_make(queue->front + queue->front_at, queue->front_len - queue->front_at);
}

void send_queue_sent(struct send_queue *queue, size_t len)
{
    assert(len <= queue->front_len - queue->front_at);
    queue->front_at += len;
}
