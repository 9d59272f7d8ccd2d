/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_ingest - the real ingest code on a simulated clock, network and store.
 *
 *   sim_ingest [--seed N] [--seeds COUNT] [--steps N] [--trace]
 *
 * Without --seed it begins at TIDEMARK_SEED, or at a fixed seed. A long run must have seen every
 * fault and every sight; each tenth seed runs twice and must leave the same trace. */
#include "sim_world.h"
#include "sys/log.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SEEDS_DEFAULT    300
#define SEEDS_OF_A_PROOF 200 /* from so many on, a fault that never struck is a failure */

static char abort_words[128];

static void on_abort(int number)
{
    (void)number;
    ssize_t written = write(STDOUT_FILENO, abort_words, strlen(abort_words));
    (void)written;
}

static void run_seed(uint64_t seed, uint64_t steps, bool show, bool twice)
{
    snprintf(abort_words, sizeof abort_words,
             "\nFAILED seed %" PRIu64 ": an assertion\nrepeat: sim_ingest --seed %" PRIu64
             " --trace\n",
             seed, seed);
    uint64_t trace = sim_world_run(seed, steps, show);
    if (!twice || sim_world_run(seed, steps, false) == trace)
        return;
    printf("FAILED seed %" PRIu64 ": two runs differ\n", seed);
    _Exit(EXIT_FAILURE);
}

static uint64_t number_of(const char *text)
{
    uint64_t number;
    if (text != NULL && bytes_to_u64(bytes_of(text), &number))
        return number;
    fprintf(stderr, "usage: sim_ingest [--seed N] [--seeds COUNT] [--steps N] [--trace]\n");
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t seeds = 0, steps = 0, first = 0;
    bool show = false, chosen = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0) {
            first = number_of(argv[++i]);
            chosen = true;
        } else if (strcmp(argv[i], "--seeds") == 0)
            seeds = number_of(argv[++i]);
        else if (strcmp(argv[i], "--steps") == 0)
            steps = number_of(argv[++i]);
        else if (strcmp(argv[i], "--trace") == 0)
            show = true;
        else
            number_of(NULL);
    }
    if (!chosen)
        first = seeded_start("sim_ingest").state;
    if (seeds == 0)
        seeds = chosen ? 1 : SEEDS_DEFAULT;
    struct log_options quiet = {.level = LOG_DEBUG, .file = show ? "stdout" : "/dev/null"};
    struct err err;
    if (log_open(&quiet, &err) != RC_OK)
        return EXIT_FAILURE;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGABRT, on_abort);
    for (uint64_t i = 0; i < seeds; i++)
        run_seed(first + i, steps, show, i % 10 == 0);
    bool all = sim_report();
    log_close();
    printf("# %" PRIu64 " seeds from %" PRIu64 "\n", seeds, first);
    if (all || seeds < SEEDS_OF_A_PROOF)
        return EXIT_SUCCESS;
    printf("FAILED: something was never seen\n");
    return EXIT_FAILURE;
}
