/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_fault.h - sends one event with whatever misfortune is planned for it. */
#ifndef SIM_FRAME_FAULT_H
#define SIM_FRAME_FAULT_H

#include "sim/subscriber.h"

/* Sends the event at hand, which is event k. False when it was held back or left out, so that the
 * subscriber got nothing for it. */
bool frame_fault_send(struct subscriber *subscriber, uint32_t k);

#endif
