/* SPDX-License-Identifier: Apache-2.0
 *
 * A host of the older software leaves out events, or changes their order, where it goes over from
 * replay to live; nothing on the wire shows it. So once a replay is over the connection is made
 * again from before that place. The second replay is of a few seconds; it gets no third look. */
#include "source/jetstream_parts.h"

#define TICK_US   (JETSTREAM_V1_REPLAY_US / 3) /* two of them pass after the end of a replay */
#define FAST_RATE 2                            /* a stream so much faster than time is a replay */

static void mark(struct jetstream *js)
{
    js->second.mark_mono_us = jetstream_mono(js);
    js->second.mark_time_us = js->place.stand.time_us;
    js->env.runtime->ops->timer_arm(js->env.runtime, &js->cutover, TICK_US);
}

void jetstream_cutover_begin(struct jetstream *js)
{
    bool replays = js->place.asked.wire == JETSTREAM_WIRE_V1 && js->place.asked.number > 0;
    bool second = js->second.looking;
    js->second.looking = false;
    if (replays && !second)
        mark(js);
}

void jetstream_cutover_forget(struct jetstream *js)
{
    js->second.looking = false;
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->cutover);
}

void jetstream_cutover_look(void *arg)
{
    struct jetstream *js = arg;
    int64_t passed_us = jetstream_mono(js) - js->second.mark_mono_us;
    int64_t moved_us = js->place.stand.time_us - js->second.mark_time_us;
    if (js->state != SOURCE_LIVE)
        return;
    if (moved_us > FAST_RATE * passed_us || frame_ring_used(js->intake.ring) > 0) {
        mark(js);
        return;
    }
    js->second.looking = true;
    jetstream_connection_ask_again(js, "what it left out where its replay ended");
}
