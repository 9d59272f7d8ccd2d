/* SPDX-License-Identifier: Apache-2.0
 *
 * openapi.h - the description of the API, as it was when the program was built.
 *
 * It is a file for people to write and read; a test compares it with the routes, the codes and the
 * answers of the running program, in both directions. */
#ifndef SERVE_OPENAPI_H
#define SERVE_OPENAPI_H

#include <stddef.h>

struct embedded {
    const unsigned char *content;
    size_t len;
    const char *tag; /* with its quotes; changes with the content */
};

extern const struct embedded openapi;

#endif
