/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_ingest - the real ingest code on a simulated clock, network and store.
 *
 *   sim_ingest [--seed N] [--seeds COUNT] [--steps N] [--events N] [--days N]
 *              [--only news|ledger|content,...] [--without FAULT,...]
 *              [--plant cursor|reader] [--trace]
 *
 * All pipelines run in one process with one writer and one store, unless some are named.
 * Without --seed it begins at TIDEMARK_SEED, or at a fixed seed. A long run must have seen every
 * fault and every sight; each tenth seed runs twice and must leave the same trace. The run of a
 * seed that fails is made smaller and told with its trace. --plant without a seed puts a bug into
 * the store: it must be found, and told with one fault and few events. */
#include "sim_world.h"
#include "sys/log.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEEDS_DEFAULT    300
#define SEEDS_OF_A_PROOF 200 /* from so many on, a fault that never struck is a failure */
#define PLANTED_EVENTS   200 /* of thousands; so few show the planted bug */

static char abort_words[128];
static uint64_t *running; /* the seed; shared with the process that runs it */

struct wish {
    struct sim_plan plan;
    uint64_t seeds;
    bool chosen; /* a seed was named */
};

static void on_abort(int number)
{
    (void)number;
    ssize_t written = write(STDOUT_FILENO, abort_words, strlen(abort_words));
    (void)written;
}

static void run_seed(const struct sim_plan *plan, bool twice)
{
    struct sim_plan silent = *plan;
    silent.show = false;
    snprintf(abort_words, sizeof abort_words,
             "\nFAILED seed %" PRIu64 ": an assertion\nrepeat: sim_ingest --seed %" PRIu64
             " --trace\n",
             plan->seed, plan->seed);
    uint64_t trace = sim_world_run(plan);
    if (!twice || sim_world_run(&silent) == trace)
        return;
    printf("FAILED seed %" PRIu64 ": two runs differ\n", plan->seed);
    _Exit(EXIT_FAILURE);
}

_Noreturn static void usage(void)
{
    fprintf(stderr, "usage: sim_ingest [--seed N] [--seeds COUNT] [--steps N] [--events N] "
                    "[--days N] [--only news|ledger|content,...] [--without FAULT,...] "
                    "[--plant cursor|reader] [--trace]\n");
    exit(2);
}

static const char *const pipeline_names[] = {"news", "ledger", "content"};
static const char *const plant_names[] = {[PLANT_CURSOR] = "cursor", [PLANT_READER] = "reader"};

void sim_plan_tell(const struct sim_plan *plan)
{
    const char *comma = " --only ";
    for (unsigned i = 0; i < sizeof pipeline_names / sizeof *pipeline_names; i++)
        if (plan->pipelines != 0 && plan->pipelines != SIM_ALL && (plan->pipelines >> i & 1) != 0) {
            printf("%s%s", comma, pipeline_names[i]);
            comma = ",";
        }
    if (plan->days > 0)
        printf(" --days %u", plan->days);
    if (plan->plant != PLANT_NONE)
        printf(" --plant %s", plant_names[plan->plant]);
}

static unsigned pipelines_of(const char *names)
{
    unsigned bits = 0;
    while (names != NULL && *names != '\0') {
        size_t len = strcspn(names, ","), i = 0;
        while (i < sizeof pipeline_names / sizeof *pipeline_names &&
               !bytes_equal_string(bytes_make(names, len), pipeline_names[i]))
            i++;
        if (i == sizeof pipeline_names / sizeof *pipeline_names)
            usage();
        bits |= 1U << i;
        names += len + (names[len] == ',');
    }
    return bits;
}

static enum sim_plant plant_of(const char *name)
{
    for (int i = PLANT_CURSOR; i <= PLANT_READER; i++)
        if (strcmp(name, plant_names[i]) == 0)
            return (enum sim_plant)i;
    usage();
}

static uint64_t number_of(const char *text)
{
    uint64_t number = 0;
    if (text == NULL || !bytes_to_u64(bytes_of(text), &number))
        usage();
    return number;
}

static uint64_t faults_of(const char *names)
{
    uint64_t bits = 0;
    while (names != NULL && *names != '\0') {
        size_t len = strcspn(names, ",");
        enum sim_fault fault = sim_fault_find(bytes_make(names, len));
        if (fault == FAULT_COUNT)
            usage();
        bits |= UINT64_C(1) << fault;
        names += len + (names[len] == ',');
    }
    return bits;
}

static void read_arguments(char **argv, struct wish *wish)
{
    struct sim_plan *plan = &wish->plan;
    for (char **at = argv + 1; *at != NULL; at++) {
        if (strcmp(*at, "--trace") == 0)
            plan->show = true;
        else if (at[1] == NULL)
            usage();
        else if (strcmp(*at, "--plant") == 0)
            plan->plant = plant_of(*++at);
        else if (strcmp(*at, "--only") == 0)
            plan->pipelines = pipelines_of(*++at);
        else if (strcmp(*at, "--without") == 0)
            plan->without = faults_of(*++at);
        else if (strcmp(*at, "--seed") == 0) {
            plan->seed = number_of(*++at);
            wish->chosen = true;
        } else if (strcmp(*at, "--seeds") == 0)
            wish->seeds = number_of(*++at);
        else if (strcmp(*at, "--steps") == 0)
            plan->steps = number_of(*++at);
        else if (strcmp(*at, "--events") == 0)
            plan->events_max = (size_t)number_of(*++at);
        else if (strcmp(*at, "--days") == 0)
            plan->days = (unsigned)number_of(*++at);
        else
            usage();
    }
    if (!wish->chosen)
        plan->seed = seeded_start("sim_ingest").state;
    if (wish->seeds == 0)
        wish->seeds = wish->chosen ? 1 : SEEDS_DEFAULT;
}

/* In one line, for those who collect figures. */
static void tell_figure(const struct wish *wish)
{
    unsigned pipelines = wish->plan.pipelines == 0 ? SIM_ALL : wish->plan.pipelines;
    double seconds = (double)clock() / CLOCKS_PER_SEC;
    const char *and = "";
    if (wish->plan.show)
        return;
    if (wish->plan.days > 0)
        printf("sim_month: %u days of ", wish->plan.days);
    else
        printf("sim_seeds: %" PRIu64 " seeds of ", wish->seeds);
    for (unsigned i = 0; i < sizeof pipeline_names / sizeof *pipeline_names; i++)
        if ((pipelines >> i & 1) != 0) {
            printf("%s%s", and, pipeline_names[i]);
            and = ", ";
        }
    printf(" in %.1f s of one processor\n", seconds);
}

/* All seeds, one after the other; ends the process. */
static void run_all(const struct wish *wish)
{
    struct sim_plan plan = wish->plan;
    uint64_t first = plan.seed;
    signal(SIGABRT, on_abort);
    for (uint64_t i = 0; i < wish->seeds; i++) {
        plan.seed = *running = first + i;
        run_seed(&plan, i % 10 == 0);
    }
    bool all = sim_report(plan.pipelines == 0 ? SIM_ALL : plan.pipelines);
    printf("# %" PRIu64 " seeds from %" PRIu64 "\n", wish->seeds, first);
    if (!all && wish->seeds >= SEEDS_OF_A_PROOF) {
        printf("FAILED: something was never seen\n");
        *running = 0;
        exit(EXIT_FAILURE);
    }
    tell_figure(wish);
    exit(EXIT_SUCCESS);
}

static int run_apart(void (*run)(const struct wish *wish), const struct wish *wish)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        run(wish);
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return status;
}

/* What is left of the failing seed, with its trace; whether it is as small as a planted bug is. */
static bool tell_smallest(const struct wish *wish)
{
    struct wish small = {.plan = wish->plan, .seeds = 1};
    small.plan.seed = *running;
    if (!sim_shrink(&small.plan)) {
        printf("it does not fail by itself\n");
        return false;
    }
    unsigned faults = sim_shrink_tell(&small.plan);
    small.plan.show = true;
    run_apart(run_all, &small);
    return faults == 1 && small.plan.events_max <= PLANTED_EVENTS;
}

int main(int argc, char **argv)
{
    struct wish wish = {.seeds = 0};
    struct err err;
    (void)argc;
    read_arguments(argv, &wish);
    struct log_options quiet = {.level = wish.plan.show ? LOG_DEBUG : LOG_ERROR,
                                .file = wish.plan.show ? "stdout" : "/dev/null"};
    running =
        mmap(NULL, sizeof *running, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (running == MAP_FAILED || log_open(&quiet, &err) != RC_OK)
        return EXIT_FAILURE;
    setvbuf(stdout, NULL, _IOLBF, 0);
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* large tables come zeroed, and most are hardly used */
    bool failed = run_apart(run_all, &wish) != 0;
    bool small = failed && *running != 0 && !wish.plan.show && tell_smallest(&wish);
    log_close();
    if (wish.plan.plant == PLANT_NONE || wish.chosen)
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;
    printf(small ? "caught=1\n" : "FAILED: the planted bug was not found, or not made small\n");
    return small ? EXIT_SUCCESS : EXIT_FAILURE;
}
