/* SPDX-License-Identifier: Apache-2.0
 *
 * child.h - a program that runs beside a benchmark, from its first words to its end.
 *
 * What it says after them is not read; what it complains about is the benchmark's own complaint. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* Starts it and waits for the first line it prints; `words` NULL: for nothing. -1: it cannot be
 * started, or it ended without a word. */
pid_t child_start(const char *const *argv, char *words, size_t size);
/* Starts it and waits until it has ended by itself; its exit code, or -1. `peak_mib` is the most of
 * its memory that was resident, and never less than what the benchmark itself has had; NULL: that
 * is of no interest. */
int child_run(const char *const *argv, double *peak_mib);
/* Asks it to end, and waits until it has. */
void child_end(pid_t pid);
/* Its memory that is resident, in MiB. */
double child_rss_mib(pid_t pid);
/* How long it has worked so far, on all threads and in the kernel. */
double child_cpu_seconds(pid_t pid);

#endif
