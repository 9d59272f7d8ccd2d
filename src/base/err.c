/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *rc_name(enum rc rc)
{
    static const char *const names[] = {"ok", "again", "retry", "reject", "fatal"};
    assert(rc >= RC_OK && rc <= RC_FATAL);
    return names[rc];
}

enum rc err_set(struct err *err, enum rc rc, const char *format, ...)
{
    assert(rc != RC_OK);
    if (err == NULL)
        return rc;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return rc;
}

enum rc err_wrap(struct err *err, enum rc rc, const char *format, ...)
{
    assert(rc != RC_OK);
    if (err == NULL)
        return rc;
    char tail[ERR_TEXT_MAX];
    memcpy(tail, err->text, sizeof tail);
    va_list args;
    va_start(args, format);
    int head = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (head >= 0 && (size_t)head < sizeof err->text)
        snprintf(err->text + head, sizeof err->text - (size_t)head, ": %.*s", (int)sizeof tail - 1,
                 tail);
    return rc;
}
