/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/batch_pool.h"
#include "sys/thread.h"

#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 4, BYTES = 4096 };

static int set_up(void **state)
{
    *state = batch_pool_new(COUNT, BYTES);
    return 0;
}

static int tear_down(void **state)
{
    batch_pool_free(*state);
    return 0;
}

static void take_all(struct batch_pool *pool, struct batch *batches[COUNT])
{
    for (unsigned i = 0; i < COUNT; i++) {
        batches[i] = batch_take(pool);
        assert_non_null(batches[i]);
        assert_int_equal(batch_pool_left(pool), COUNT - 1 - i);
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(batches[k], batches[i]);
    }
}

static void give_all(struct batch *batches[COUNT])
{
    for (unsigned i = 0; i < COUNT; i++)
        batch_give_back(batches[i]);
}

/* (I6): so many and no more; one that comes back can be taken again, in any order. */
static void when_all_are_out_there_is_none_until_one_comes_back(void **state)
{
    struct batch_pool *pool = *state;
    struct batch *batches[COUNT];
    take_all(pool, batches);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_null(batch_take(pool));
        assert_null(batch_take(pool)); /* asking costs nothing */
        assert_int_equal(batch_pool_left(pool), 0);
        batch_give_back(batches[i]);
        assert_int_equal(batch_pool_left(pool), 1);
        assert_ptr_equal(batch_take(pool), batches[i]);
    }
    give_all(batches);
    assert_int_equal(batch_pool_left(pool), COUNT);
}

static void nothing(void *arg, struct batch *batch, enum rc rc)
{
    (void)arg, (void)batch, (void)rc;
}

/* Whoever gets it next finds nothing of what was there, and as much room as ever. */
static void what_comes_back_is_empty_when_it_is_taken_again(void **state)
{
    struct batch_pool *pool = *state;
    struct batch *batch = batch_take(pool);
    size_t room = arena_left(&batch->arena);
    struct record *row = batch_add(batch, RECORD_DOCUMENT);
    assert_non_null(row);
    assert_true(batch_set_text(batch, row, DOCUMENT_URI, bytes_of("ipfs://x")));
    batch->answered = batch->committed = nothing;
    batch->owner = batch->courier = pool;
    batch->ticket = 7;
    batch->urgent = batch->together = batch->refused = true;
    assert_true(arena_left(&batch->arena) < room);
    batch_give_back(batch);
    assert_ptr_equal(batch_take(pool), batch);
    assert_int_equal(arena_left(&batch->arena), room);
    assert_int_equal(batch->record_count, 0);
    assert_null(batch->first[RECORD_DOCUMENT]);
    assert_null(batch->last[RECORD_DOCUMENT]);
    assert_true(batch->answered == NULL && batch->committed == NULL);
    assert_true(batch->owner == NULL && batch->courier == NULL && batch->next == NULL);
    assert_int_equal(batch->ticket, 0);
    assert_false(batch->urgent || batch->together || batch->refused);
    batch_give_back(batch);
}

/* A SIMD parser reads past the end: what fills a batch to its last byte is followed by as many
 * bytes of the same block as it may touch. */
static void the_end_of_a_full_batch_is_padded(void **state)
{
    struct batch_pool *pool = *state;
    struct batch *batch = batch_take(pool);
    char words[BYTES];
    memset(words, 'w', sizeof words);
    struct bytes whole = arena_copy(&batch->arena, bytes_make(words, sizeof words));
    assert_int_equal(whole.len, BYTES);
    assert_int_equal(arena_left(&batch->arena), 0);
    assert_null(arena_take(&batch->arena, 1));
    assert_null(batch_add(batch, RECORD_DOCUMENT));
    const char *end = whole.data + whole.len;
    assert_true(malloc_usable_size(batch->arena.block) >=
                (size_t)(end - batch->arena.block) + ARENA_PAD);
    for (size_t i = 0; i < ARENA_PAD; i++)
        assert_int_equal(end[i], 0);
    batch_give_back(batch);
}

struct turns {
    struct batch_pool *pool;
    struct batch *batch;
};

static void give_elsewhere(void *arg)
{
    batch_give_back(((struct turns *)arg)->batch);
}

/* The writer's thread gives back what the loop's thread took. */
static void another_thread_may_give_it_back(void **state)
{
    struct batch_pool *pool = *state;
    struct batch *batches[COUNT];
    take_all(pool, batches);
    struct turns turns[COUNT];
    struct thread *threads[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        turns[i] = (struct turns){pool, batches[i]};
        threads[i] = thread_start("giver", give_elsewhere, &turns[i]);
    }
    for (unsigned taken = 0; taken < 1000; taken++) {
        struct batch *batch = batch_take(pool);
        if (batch != NULL)
            batch_give_back(batch);
    }
    for (unsigned i = 0; i < COUNT; i++)
        thread_join(threads[i]);
    take_all(pool, batches);
    assert_null(batch_take(pool));
    give_all(batches);
}

/* ---- mistakes of its users end the program before they can do harm ---- */

static void give_twice(struct batch_pool *pool)
{
    struct batch *one = batch_take(pool), *other = batch_take(pool);
    batch_give_back(one);
    batch_give_back(one); /* while another is out, so that the number alone does not tell */
    batch_give_back(other);
}

static void give_what_was_never_out(struct batch_pool *pool)
{
    struct batch *batch = batch_take(pool);
    batch_give_back(batch);
    batch_give_back(batch);
}

static void free_with_one_out(struct batch_pool *pool)
{
    assert_non_null(batch_take(pool));
    batch_pool_free(pool);
}

static void give_a_stranger(struct batch_pool *pool)
{
    struct batch stranger = {.pool = pool};
    batch_give_back(&stranger);
}

static void a_mistake_ends_the_program(void **state)
{
    static void (*const mistakes[])(struct batch_pool *) = {give_twice, give_what_was_never_out,
                                                            free_with_one_out, give_a_stranger};
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO);
            mistakes[i](*state);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("mistake %zu was not seen", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(when_all_are_out_there_is_none_until_one_comes_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_comes_back_is_empty_when_it_is_taken_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_full_batch_is_padded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_thread_may_give_it_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mistake_ends_the_program, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
