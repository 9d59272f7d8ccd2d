/* SPDX-License-Identifier: Apache-2.0
 *
 * answers.h - batches handed to a writer, and what it said of each.
 *
 * Thread: the test's; the writer answers on its own. */
#ifndef TESTS_FAULT_ANSWERS_H
#define TESTS_FAULT_ANSWERS_H

#include "record_batch.h"
#include "store/writer.h"

#include <pthread.h>

#define ANSWERS_MAX 512

struct answers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct batch batches[ANSWERS_MAX];
    unsigned times[ANSWERS_MAX]; /* each batch was answered */
    enum rc codes[ANSWERS_MAX];
    unsigned order[ANSWERS_MAX]; /* which batch was the i-th to be answered */
    unsigned count, fatals;
    char fatal_text[ERR_TEXT_MAX];
};

struct answers *answers_new(size_t batch_bytes);
void answers_free(struct answers *answers);
/* The i-th batch, empty, ready to be filled and handed to the writer. */
struct batch *answers_batch(struct answers *answers, unsigned i);
/* writer_options.fatal, with the answers as its argument. */
void answers_fatal(void *arg, const struct err *err);
/* Waits until `count` batches are answered; false after a minute, or after `wait_us`. */
bool answers_wait(struct answers *answers, unsigned count);
bool answers_wait_us(struct answers *answers, unsigned count, int64_t wait_us);
/* Each of the first `count` batches was answered exactly once, with `rc`, in order. */
bool answers_are(struct answers *answers, unsigned count, enum rc rc);

#endif
