/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/frame_ring.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RING       8192
#define OPERATIONS 1000000
#define LARGE      (64 << 20)

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

/* `size` of the ring; most frames are shorter than `usual`. */
static void check_against_model(size_t size, size_t usual, int operations, uint64_t refused_min)
{
    static size_t lengths[OPERATIONS];
    char *bytes = malloc(size), *expected = malloc(size);
    uint64_t pushed = 0, popped = 0, refused = 0;
    struct seeded random = seeded_start("frame ring");
    struct frame_ring *ring = frame_ring_new(size);
    for (int i = 0; i < operations; i++) {
        uint64_t chance = seeded_next(&random);
        if (chance % 5 < 3) {
            size_t len = chance % 64 == 0 ? (chance >> 8) % size : (chance >> 8) % usual;
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
        assert_true(frame_ring_used(ring) <= size);
    }
    assert_true(refused > refused_min && popped > (uint64_t)operations / 10);
    frame_ring_free(ring);
    free(bytes);
    free(expected);
}

static void frames_come_out_whole_and_in_order(void **state)
{
    (void)state;
    check_against_model(RING, 700, OPERATIONS, 1000);
}

/* Of a large one what was read goes back to the system; what waits must not. */
static void frames_of_a_large_ring_come_out_whole_and_in_order(void **state)
{
    (void)state;
    check_against_model(3u << 20, 200000, OPERATIONS / 100, 100);
}

static size_t resident_bytes(void)
{
    long pages[2] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages[0], &pages[1]), 2);
    fclose(file);
    return (size_t)pages[1] * (size_t)sysconf(_SC_PAGESIZE);
}

/* R001-153: sixteen times as much goes through as ever waits, and it never runs empty. */
static void memory_is_taken_for_what_waits(void **state)
{
    (void)state;
    static char bytes[1000];
    struct frame_ring *ring = frame_ring_new(LARGE);
    struct frame frame;
    size_t before = resident_bytes();
    for (int i = 0; i < 4 * LARGE / 1000; i++) {
        assert_int_equal(push(ring, bytes_make(bytes, sizeof bytes), false, i), RC_OK);
        if (frame_ring_used(ring) > LARGE / 16) {
            assert_true(frame_ring_front(ring, &frame));
            frame_ring_pop(ring);
        }
    }
    size_t after = resident_bytes();
    assert_in_range(frame_ring_used(ring), LARGE / 32, LARGE / 8);
    assert_true(after < before + LARGE / 4);
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
        cmocka_unit_test(frames_of_a_large_ring_come_out_whole_and_in_order),
        cmocka_unit_test(memory_is_taken_for_what_waits),
        cmocka_unit_test(an_empty_ring_takes_its_largest_frame_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
