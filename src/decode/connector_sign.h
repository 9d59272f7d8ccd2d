/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_sign.h - the named signers of connectors.
 *
 * A signature covers the path that the connector itself writes: a configured address replaces what
 * stands before it, as a gateway would.
 *
 * Owner: the caller.  Pure. */
#ifndef DECODE_CONNECTOR_SIGN_H
#define DECODE_CONNECTOR_SIGN_H

#include "decode/connector_expand.h"

/* Adds the headers that prove the finished request. RC_REJECT: the secret cannot sign, or time or
 * nonce are missing. */
must_check enum rc connector_sign(const struct connector_scope *scope, struct bytes path,
                                  struct connector_http *http, struct err *err);
/* RC_REJECT: no room, or the value could break out of its line. */
must_check enum rc connector_add_header(struct connector_http *http, const char *name,
                                        struct bytes value, struct err *err);

#endif
