/* SPDX-License-Identifier: Apache-2.0
 *
 * floor_writer.h - the least that storing a stock of posts costs.
 *
 * A bare loop over hand-written prepared statements that knows all rows beforehand: nothing is
 * looked up, judged or copied. It writes the rows the product writes, in the same transactions,
 * under the same settings, into a store that was migrated and claimed. */
#ifndef BENCH_FLOOR_WRITER_H
#define BENCH_FLOOR_WRITER_H

#include "post_stock.h"

/* took[i] is the seconds of commit i, the first one's with the preparing; aborts on failure. */
void floor_sqlite(const char *path, const struct post_stock *stock, double *took);
/* Without `plain` it may meet a row again, as who resumes from a cursor does; a plain INSERT would
 * fail there. Answers the server's processor time. */
double floor_postgres(const char *url, const struct post_stock *stock, bool plain, double *took);
double server_cpu(int pid);

#endif
