/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_expand.h - a text of a connector with its variables filled in.
 *
 * Owner: the caller.  Pure. */
#ifndef DECODE_CONNECTOR_EXPAND_H
#define DECODE_CONNECTOR_EXPAND_H

#include "decode/connector_request.h"

struct connector_scope {
    const struct connector *connector;
    const struct connector_stream *stream;
    const struct connector_platform *platform;
    const struct connector_vars *vars;
};

/* Appends; false, and nothing appended, when a variable is absent. `encoded`: what variables bring
 * is percent-encoded. */
bool connector_expand(const struct connector_scope *scope, const struct connector_template *text,
                      bool encoded, struct text *out);
/* The same for a path: only the segments with absent variables are left out. */
void connector_expand_path(const struct connector_scope *scope,
                           const struct connector_template *text, struct text *out);
/* A JSON body; bare numbers and JSON tokens stay what they are. */
void connector_expand_json(const struct connector_scope *scope, const struct connector_value *value,
                           struct text *out);
/* Percent-encodes everything but the unreserved characters. */
void connector_percent_encode(struct bytes text, struct text *out);

#endif
