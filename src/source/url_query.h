/* SPDX-License-Identifier: Apache-2.0
 *
 * url_query.h - values in the query of an address that we ask for. Pure; any thread. */
#ifndef SOURCE_URL_QUERY_H
#define SOURCE_URL_QUERY_H

#include "base/bytes.h"

/* Appends the value with all but letters, digits and -._~: as %XX; DIDs stay readable. */
void url_query_append(struct text *out, struct bytes value);

#endif
