/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_purpose.h - what a stream's request that is made next, or is under way, asks for. */
#ifndef SOURCE_LEDGER_PURPOSE_H
#define SOURCE_LEDGER_PURPOSE_H

enum ledger_purpose {
    ASK_PAGE,
    ASK_LIST,
    ASK_HEAD,
    ASK_BOUND, /* the same, because of the page that has come */
    ASK_DETAIL,
    ASK_COUNT,
    ASK_REACH,
    ASK_SINCE
};

#endif
