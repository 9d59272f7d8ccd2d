/* SPDX-License-Identifier: Apache-2.0
 *
 * A failing run made smaller. What is left out is chosen by halves, then by smaller parts; every
 * candidate runs in a process of its own, since a run that fails ends its process. */
#include "sim_world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_MAX 1024 /* a seed has fewer */

static bool fails(const struct sim_plan *plan)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
            abort();
        signal(SIGABRT, SIG_DFL);
        sim_world_run(plan);
        _Exit(EXIT_SUCCESS);
    }
    if (waitpid(child, &status, 0) != child)
        abort();
    return status != 0;
}

/* Takes the candidate over when it fails, too. */
static void try_plan(struct sim_plan *plan, struct sim_plan candidate)
{
    if (fails(&candidate))
        *plan = candidate;
}

static void shrink_events(struct sim_plan *plan)
{
    if (plan->events_max == 0)
        plan->events_max = plan->days == 0 ? EVENTS_MAX : (size_t)plan->days * EVENTS_MAX;
    for (size_t less = plan->events_max / 2; less > 0; less /= 2) {
        struct sim_plan candidate = *plan;
        candidate.events_max -= less;
        if (candidate.events_max > 0)
            try_plan(plan, candidate);
    }
}

static void shrink_faults(struct sim_plan *plan)
{
    for (unsigned width = FAULT_COUNT; width > 0; width /= 2)
        for (unsigned from = 0; from < FAULT_COUNT; from += width) {
            struct sim_plan candidate = *plan;
            for (unsigned fault = from; fault < from + width && fault < FAULT_COUNT; fault++)
                candidate.without |= UINT64_C(1) << fault;
            if (candidate.without != plan->without)
                try_plan(plan, candidate);
        }
}

bool sim_shrink(struct sim_plan *plan)
{
    plan->show = false;
    if (!fails(plan))
        return false;
    struct sim_plan before;
    do { /* what fewer events need is not what more of them needed */
        before = *plan;
        shrink_events(plan);
        shrink_faults(plan);
    } while (plan->events_max != before.events_max || plan->without != before.without);
    return true;
}

unsigned sim_shrink_tell(const struct sim_plan *plan)
{
    struct sim_swarm swarm;
    unsigned left = 0;
    const char *comma = "";
    sim_swarm_init(&swarm, plan->seed, plan->without);
    printf("smallest: sim_ingest --seed %" PRIu64 " --events %zu", plan->seed, plan->events_max);
    sim_plan_tell(plan);
    printf(" --without ");
    for (enum sim_fault fault = 0; fault < FAULT_COUNT; fault++)
        if ((plan->without >> fault & 1) != 0) {
            printf("%s%s", comma, sim_fault_name(fault));
            comma = ",";
        }
    printf(" --trace\nsmallest: at most %zu events, and these faults:", plan->events_max);
    for (enum sim_fault fault = 0; fault < FAULT_COUNT; fault++)
        if (sim_has(&swarm, fault)) {
            printf(" %s", sim_fault_name(fault));
            left++;
        }
    printf("\n");
    return left;
}
