/* SPDX-License-Identifier: Apache-2.0
 *
 * appview_verdict.h - what one exchange with an XRPC server came to.
 *
 * Owner: the client that made it.  Pure: no I/O, no clock, no log. */
#ifndef SOURCE_APPVIEW_VERDICT_H
#define SOURCE_APPVIEW_VERDICT_H

#include "ingest/retry.h"
#include "source/appview.h"

/* Fills rc, status, error, err, root and body of `answer`. The class tells what kind of failure it
 * was when `answer->rc` is RC_RETRY. */
enum retry_class appview_verdict(struct json_doc *doc, const struct http_response *response,
                                 struct appview_answer *answer);

#endif
