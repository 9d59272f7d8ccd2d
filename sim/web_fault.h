/* SPDX-License-Identifier: Apache-2.0
 *
 * web_fault.h - what a request for a web page meets in place of the page, or on the way to it.
 *
 * Owner: the simulator.  Thread: loop. */
#ifndef SIM_WEB_FAULT_H
#define SIM_WEB_FAULT_H

#include "sim/http_server.h"
#include "sim/sim.h"

/* Lets the faults that are due for a page of this kind happen. True when the request was answered;
 * otherwise the page is still to be sent, over a line that may be stalled or slow by now. */
bool web_fault_answers(struct http_exchange *exchange, struct sim *sim, const char *kind);

#endif
