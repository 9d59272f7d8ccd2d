/* SPDX-License-Identifier: Apache-2.0
 *
 * press.h - invented papers: what a reader of the simulated web sees when it is to look like one.
 *
 * An article has a number, and its paper, its headline and its summary follow from it and the
 * seed. No two of the first PRESS_ARTICLES have one headline. The names of the papers lie below
 * localhost, so nobody who looks one up leaves the machine.
 *
 * Pure; any thread. */
#ifndef SIM_PRESS_H
#define SIM_PRESS_H

#include "sim/seeded.h"

#define PRESS_HOST_SIZE     40
#define PRESS_HEADLINE_SIZE 96
#define PRESS_SUMMARY_SIZE  128
#define PRESS_ARTICLES      576

void press_host(uint64_t seed, uint32_t article, char out[PRESS_HOST_SIZE]);
void press_headline(uint64_t seed, uint32_t article, char out[PRESS_HEADLINE_SIZE]);
void press_summary(uint64_t seed, uint32_t article, char out[PRESS_SUMMARY_SIZE]);
/* What somebody says about an article, or about nothing in particular. */
const char *press_remark(struct draw *draw);

#endif
