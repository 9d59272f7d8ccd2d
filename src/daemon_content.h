/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_content.h - the part that follows a contract's events, or another indexer's feed, and
 * keeps the documents they name.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_CONTENT_H
#define DAEMON_CONTENT_H

#include "base/err.h"
#include "daemon_part.h"
#include "sys/network.h"

/* NULL: neither is configured. */
struct part *content_part_new(const struct part_env *env);

/* Has an item of the table `owed` tried again at once. Any thread but the loop's; RC_OK when that
 * is durable, RC_AGAIN while another one is under way. */
must_check enum rc content_part_retry(struct part *part, const char *item, const char *unit,
                                      int64_t wait_us, struct err *err);
/* Has all that lacks fetched again, and rows made for documents that have none, or, `dry`, only
 * counts; `members` is appended what was found, as members of a JSON object. Any thread but the
 * loop's; the same as above. */
must_check enum rc content_part_reconcile(struct part *part, bool dry, int64_t wait_us,
                                          struct text *members, struct err *err);
/* Whether a block that was read names the document, and it has no row yet; `name` is what stands
 * behind ipfs://, in its one spelling. `arg` is the part. Any thread. */
bool content_part_awaits(void *arg, struct bytes name);
/* The loop has ended: whoever waits is told so. */
void content_part_abandon(struct part *part);
/* Lets as many exchanges run as the documents of a chain may need; whoever else asks has limits of
 * its own. */
void content_part_widen(const struct config *config, struct network_options *network);

#endif
