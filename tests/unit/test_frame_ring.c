/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "sys/frame_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RING = 4096, MODEL_MAX = 256 };

/* The model: a plain array of lengths; a frame's bytes follow from its number. */
struct model {
    size_t lens[MODEL_MAX];
    uint64_t first, next;
};

static char byte_of(uint64_t number, size_t at)
{
    return (char)(number * 31 + at * 7 + 1);
}

static void check_oldest(const struct frame_ring *ring, const struct model *model)
{
    struct frame frame;
    bool any = frame_ring_peek(ring, &frame);
    assert_int_equal(any, model->first != model->next);
    if (!any)
        return;
    size_t len = model->lens[model->first % MODEL_MAX];
    assert_int_equal(frame.payload.len, len);
    assert_int_equal(frame.received_us, (int64_t)model->first * 1000);
    assert_int_equal(frame.binary, model->first % 3 == 0);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(frame.payload.data[i], byte_of(model->first, i));
    for (size_t i = 0; i < ARENA_PAD; i++)
        assert_int_equal(frame.payload.data[len + i], 0);
}

static void push_and_compare(struct frame_ring *ring, struct model *model, size_t len)
{
    char data[RING];
    for (size_t i = 0; i < len; i++)
        data[i] = byte_of(model->next, i);
    size_t fill = frame_ring_fill(ring);
    enum rc rc = frame_ring_push(ring, bytes_make(data, len), model->next % 3 == 0,
                                 (int64_t)model->next * 1000);
    if (rc == RC_OK) {
        assert_true(frame_ring_fill(ring) >= fill + len + ARENA_PAD);
        model->lens[model->next++ % MODEL_MAX] = len;
    } else {
        assert_int_equal(rc, RC_AGAIN);
        assert_int_equal(frame_ring_fill(ring), fill);
        /* A refusal has a reason: twice what it asked for (a gap may be lost) is not free. */
        assert_true(fill + 2 * (len + ARENA_PAD + 32) > RING);
    }
    assert_true(frame_ring_fill(ring) <= RING);
}

static void it_behaves_like_a_plain_queue(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 50; seed++) {
        struct frame_ring ring;
        struct model model = {0};
        srand(seed);
        frame_ring_init(&ring, RING);
        for (int step = 0; step < 4000; step++) {
            /* Phases that fill and phases that empty, so that both ends are met. */
            bool filling = step / 100 % 2 == 0;
            if (rand() % 10 < (filling ? 7 : 3))
                push_and_compare(&ring, &model, (size_t)rand() % (rand() % 8 == 0 ? 2000 : 200));
            else if (model.first != model.next) {
                frame_ring_pop(&ring);
                model.first++;
            }
            check_oldest(&ring, &model);
            assert_int_equal(ring.count, model.next - model.first);
            if (model.first == model.next)
                assert_int_equal(frame_ring_fill(&ring), 0);
        }
        frame_ring_deinit(&ring);
    }
}

static void a_frame_of_the_whole_ring_fits_when_it_is_empty(void **state)
{
    (void)state;
    struct frame_ring ring;
    struct frame frame;
    static const char data[RING];
    frame_ring_init(&ring, RING);
    size_t largest = RING - 16 - ARENA_PAD;
    assert_int_equal(frame_ring_push(&ring, bytes_make(data, largest + 1), true, 1), RC_REJECT);
    assert_int_equal(frame_ring_push(&ring, bytes_make(data, SIZE_MAX), true, 1), RC_REJECT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(frame_ring_push(&ring, bytes_make(data, 100), true, 1), RC_OK);
        assert_int_equal(frame_ring_push(&ring, bytes_make(data, largest), true, 1), RC_AGAIN);
        frame_ring_pop(&ring);
        assert_int_equal(frame_ring_push(&ring, bytes_make(data, largest), true, 1), RC_OK);
        assert_int_equal(frame_ring_fill(&ring), RING);
        assert_int_equal(frame_ring_push(&ring, bytes_of(""), true, 1), RC_AGAIN);
        frame_ring_pop(&ring);
    }
    assert_false(frame_ring_peek(&ring, &frame));
    frame_ring_deinit(&ring);
}

static void a_quarter_is_free_exactly_when_it_is(void **state)
{
    (void)state;
    struct frame_ring ring;
    static const char data[RING];
    frame_ring_init(&ring, RING);
    assert_true(frame_ring_quarter_free(&ring));
    /* Each takes an eighth of the ring. */
    for (int i = 1; i <= 8; i++) {
        size_t len = RING / 8 - 16 - ARENA_PAD;
        assert_int_equal(frame_ring_push(&ring, bytes_make(data, len), false, 0), RC_OK);
        assert_int_equal(frame_ring_quarter_free(&ring), i <= 6);
    }
    frame_ring_pop(&ring);
    assert_false(frame_ring_quarter_free(&ring));
    frame_ring_pop(&ring);
    assert_true(frame_ring_quarter_free(&ring));
    frame_ring_clear(&ring);
    assert_int_equal(frame_ring_fill(&ring), 0);
    frame_ring_deinit(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_behaves_like_a_plain_queue),
        cmocka_unit_test(a_frame_of_the_whole_ring_fits_when_it_is_empty),
        cmocka_unit_test(a_quarter_is_free_exactly_when_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
