/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/subscriber.h"
#include "sim/event_json.h"

#include <stdlib.h>

struct subscriber *subscriber_new(struct sim *sim)
{
    struct subscriber *subscriber = memory_new_zeroed(1, sizeof *subscriber);
    subscriber->sim = sim;
    subscriber->next = world_count(sim->world);
    subscriber->held = WORLD_NONE;
    return subscriber;
}

void subscriber_free(struct subscriber *subscriber)
{
    if (subscriber->list_back != NULL) {
        *subscriber->list_back = subscriber->list_next;
        if (subscriber->list_next != NULL)
            subscriber->list_next->list_back = subscriber->list_back;
        subscriber->sim->connections--;
    }
    stream_filter_deinit(&subscriber->filter);
    text_free(&subscriber->line);
    text_free(&subscriber->packed);
    free(subscriber);
}

void subscriber_join(struct subscriber *subscriber)
{
    struct sim *sim = subscriber->sim;
    subscriber->list_next = sim->subscribers;
    subscriber->list_back = &sim->subscribers;
    if (subscriber->list_next != NULL)
        subscriber->list_next->list_back = &subscriber->list_next;
    sim->subscribers = subscriber;
    sim->connections++;
    sim->connections_total++;
}

bool subscriber_render(struct subscriber *subscriber, uint32_t k)
{
    text_clear(&subscriber->line);
    event_json_v1(subscriber->sim->world, k, subscriber->sim->options.v2_software,
                  &subscriber->line);
    return subscriber->filter.bytes_max == 0 ||
           subscriber->line.len <= subscriber->filter.bytes_max;
}

void subscriber_send_raw(struct subscriber *subscriber, struct bytes payload)
{
    ws_send(subscriber->ws, subscriber->compress ? WS_BINARY : WS_TEXT, payload);
    subscriber->sim->frames++;
    subscriber->sim->frame_bytes += payload.len;
}

void subscriber_send(struct subscriber *subscriber, bool wrong_dictionary)
{
    struct bytes payload = text_bytes(&subscriber->line);
    if (subscriber->compress) {
        dictionary_compress(sim_dictionary(subscriber->sim, wrong_dictionary), payload,
                            &subscriber->packed);
        payload = text_bytes(&subscriber->packed);
    }
    subscriber_send_raw(subscriber, payload);
}
