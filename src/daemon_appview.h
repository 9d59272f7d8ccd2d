/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_appview.h - the one client through which every part asks the AppViews, so that they keep
 * one pace together; and the part that looks after it.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_APPVIEW_H
#define DAEMON_APPVIEW_H

#include "daemon_part.h"
#include "source/appview.h"

/* RC_REJECT: what is configured cannot be asked. */
must_check enum rc daemon_appview_make(const struct config *config, struct runtime *runtime,
                                       struct appview **appview, struct err *err);
struct part *appview_part_new(const struct part_env *env);

#endif
