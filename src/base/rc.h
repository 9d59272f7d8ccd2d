/* SPDX-License-Identifier: Apache-2.0
 *
 * rc.h - the five things a caller can be told to do.
 *
 * A code says what to do next, never what went wrong; the sentence for people travels in the
 * caller's struct err. */
#ifndef BASE_RC_H
#define BASE_RC_H

enum rc {
    RC_OK,     /* go on */
    RC_AGAIN,  /* full or empty: wait for the loop */
    RC_RETRY,  /* the outside failed: back off, same input */
    RC_REJECT, /* the input is bad: quarantine it, go past */
    RC_FATAL,  /* our own state cannot be trusted: stop and recover */
};

#define must_check __attribute__((warn_unused_result))

/* "ok", "again", "retry", "reject" or "fatal". */
const char *rc_name(enum rc rc);

#endif
