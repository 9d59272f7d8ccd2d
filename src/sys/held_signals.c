/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/held_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void change_mask(int how)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGHUP);
    if (pthread_sigmask(how, &held, NULL) != 0)
        abort();
}

void held_signals_begin(void)
{
    change_mask(SIG_BLOCK);
}

bool held_signals_ask_stop(void)
{
    sigset_t waiting;
    if (sigpending(&waiting) != 0)
        abort();
    return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1;
}

void held_signals_end(void)
{
    change_mask(SIG_UNBLOCK);
}
