/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_secrets.h - an answer without the keys that its request carried.
 *
 * Some upstreams say the key again, in a refusal or in a record, and both are stored and shown. So
 * it is cut out before anybody reads the answer: as it is, in capitals or small letters, as it
 * stands in a URL and in JSON, and with what it became in a header. What has less than eight bytes
 * is not looked for: it would be found in what is no secret.
 *
 * Owner: the caller.  Pure: no I/O. */
#ifndef DECODE_CONNECTOR_SECRETS_H
#define DECODE_CONNECTOR_SECRETS_H

#include "decode/connector_request.h"

/* `body` itself where nothing of the kind stands in it, else a copy in `scratch` with a mask in its
 * place, and room for a parser behind it. */
struct bytes connector_without_secrets(const struct connector *connector,
                                       const struct connector_vars *vars,
                                       const struct connector_http *http, struct bytes body,
                                       struct text *scratch);

#endif
