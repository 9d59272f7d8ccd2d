/* SPDX-License-Identifier: Apache-2.0
 *
 * err.h - the sentence for people that goes with a result code.
 *
 * The caller owns a fixed struct err and lends it; whoever fails fills it once. A NULL err is
 * allowed everywhere: the sentence is then dropped. Nothing here allocates or logs. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/rc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ERR_TEXT_MAX 512

struct err {
    char text[ERR_TEXT_MAX]; /* always NUL-terminated; a longer sentence is cut */
};

/* Fills the sentence and returns `rc`, so that a failure is one line:
 * `return err_set(err, RC_REJECT, "line %d: ...", line);` */
enum rc err_set(struct err *err, enum rc rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts words in front of the sentence already there ("while opening X: ..."); returns `rc`. */
enum rc err_wrap(struct err *err, enum rc rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
