/* SPDX-License-Identifier: Apache-2.0
 *
 * truth_people.h - what a perfect client would know about people: who follows whom, and who is who.
 *
 * Every answer is lines of JSON sorted by DID: a summary, then the rows. */
#ifndef SIM_TRUTH_PEOPLE_H
#define SIM_TRUTH_PEOPLE_H

#include "sim/world.h"

/* Whom `account` follows, without those who are not active. */
void truth_follows_write(const struct world *world, uint32_t account, struct text *out);
/* Everybody of whom the flag is set; NULL: all. */
void truth_profiles_write(const struct world *world, const bool *accounts, struct text *out);
/* One flag per account: those whom `account` follows and, for degree 2, those whom at least
 * `min_sources` of these follow. The caller frees it. */
bool *truth_network(const struct world *world, uint32_t account, unsigned degree,
                    unsigned min_sources);

#endif
