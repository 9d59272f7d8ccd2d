/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/send_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char byte_at(size_t position)
{
    return (char)(position * 7 + position / 251);
}

/* A socket that takes any number of bytes, often none. */
static void bytes_leave_once_and_in_order_whatever_the_socket_takes(void **state)
{
    (void)state;
    static struct send_queue queue;
    size_t put = 0, sent = 0;
    srand(3);
    for (int step = 0; step < 4000; step++) {
        size_t more = step < 3000 && rand() % 3 == 0 ? (size_t)rand() % 30000 : 0;
        for (size_t i = 0; i < more; i++)
            text_append_char(&queue.tail, byte_at(put++));
        assert_int_equal(send_queue_len(&queue), put - sent);
        struct bytes front = send_queue_front(&queue);
        assert_int_equal(front.len > 0, put > sent);
        if (front.len == 0)
            continue;
        /* Asked again, also after more was put: the same bytes at the same place. */
        text_append_char(&queue.tail, byte_at(put++));
        struct bytes again = send_queue_front(&queue);
        assert_ptr_equal(again.data, front.data);
        assert_int_equal(again.len, front.len);
        size_t taken = rand() % 4 == 0   ? 0
                       : rand() % 2 == 0 ? front.len
                                         : (size_t)rand() % front.len;
        for (size_t i = 0; i < taken; i++)
            assert_int_equal(front.data[i], byte_at(sent + i));
        send_queue_sent(&queue, taken);
        sent += taken;
    }
    assert_true(sent > 1000000);
    send_queue_deinit(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_leave_once_and_in_order_whatever_the_socket_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
