/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_sandbox.h - which files the daemon needs, and no others from then on.
 *
 * It may write where the store, the socket, the cursor file and the log lie. It may read what the
 * configuration names, the folders of these files (so that a file may be replaced), and what the
 * system's libraries read: /etc, /usr, the list of name servers, its own /proc. A setting that is
 * changed by a reload cannot make it reach further than that.
 *
 * Thread: the first, before there is another. */
#ifndef DAEMON_SANDBOX_H
#define DAEMON_SANDBOX_H

#include "daemon.h"

/* Goes into the box and logs what is in force. RC_REJECT: the settings ask for a box that this
 * kernel does not have. RC_RETRY: see sandbox_enter(). */
must_check enum rc daemon_enter_sandbox(const struct daemon_options *options, struct err *err);

#endif
