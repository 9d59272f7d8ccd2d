/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/frame_ring.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RING       8192
#define OPERATIONS 1000000

/* A frame's bytes follow from its number, so that the model need only hold numbers and lengths. */
static void fill(char *to, size_t len, uint64_t number)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (char)(number * 31 + i * 7);
}

static enum rc push(struct frame_ring *ring, struct bytes payload, bool binary, int64_t number)
{
    struct frame frame = {.payload = payload,
                          .binary = binary,
                          .received_us = number,
                          .skipped = (uint64_t)number * 3};
    return frame_ring_push(ring, &frame);
}

static void frames_come_out_whole_and_in_order(void **state)
{
    (void)state;
    static size_t lengths[OPERATIONS];
    char bytes[RING], expected[RING];
    uint64_t pushed = 0, popped = 0, refused = 0;
    struct seeded random = seeded_start("frame ring");
    struct frame_ring *ring = frame_ring_new(RING);
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t chance = seeded_next(&random);
        if (chance % 5 < 3) {
            size_t len = chance % 64 == 0 ? (chance >> 8) % RING : (chance >> 8) % 700;
            fill(bytes, len, pushed);
            if (push(ring, bytes_make(bytes, len), chance & 1, (int64_t)pushed) == RC_OK)
                lengths[pushed++] = len;
            else
                refused++;
        } else {
            struct frame frame;
            assert_int_equal(frame_ring_front(ring, &frame), popped < pushed);
            if (popped == pushed)
                continue;
            fill(expected, lengths[popped], popped);
            assert_int_equal(frame.payload.len, lengths[popped]);
            assert_memory_equal(frame.payload.data, expected, frame.payload.len);
            assert_int_equal(frame.received_us, popped);
            assert_int_equal(frame.skipped, popped * 3);
            frame_ring_pop(ring);
            popped++;
        }
        assert_true(frame_ring_used(ring) <= RING);
    }
    assert_true(refused > 1000 && popped > 100000);
    frame_ring_free(ring);
}

static void an_empty_ring_takes_its_largest_frame_again_and_again(void **state)
{
    (void)state;
    struct frame_ring *ring = frame_ring_new(RING);
    char bytes[RING] = {0};
    struct frame frame;
    for (size_t small = 0; small < 300; small += 7) {
        assert_int_equal(push(ring, bytes_make(bytes, small), false, 0), RC_OK);
        assert_true(frame_ring_front(ring, &frame));
        frame_ring_pop(ring);
        assert_int_equal(push(ring, bytes_make(bytes, RING - 128), true, 0), RC_OK);
        assert_false(frame_ring_has_room(ring));
        assert_int_equal(push(ring, bytes_make(bytes, 200), true, 0), RC_AGAIN);
        assert_true(frame_ring_front(ring, &frame));
        assert_true(frame.binary);
        frame_ring_pop(ring);
        assert_false(frame_ring_front(ring, &frame));
        assert_true(frame_ring_has_room(ring));
    }
    frame_ring_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_whole_and_in_order),
        cmocka_unit_test(an_empty_ring_takes_its_largest_frame_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
