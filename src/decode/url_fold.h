/* SPDX-License-Identifier: Apache-2.0
 *
 * url_fold.h - an address on its way to its identity: one spelling per meaning, nothing left out.
 *
 * The parts point into the struct itself, so it is never copied. */
#ifndef DECODE_URL_FOLD_H
#define DECODE_URL_FOLD_H

#include "decode/url_rules.h"
#include "decode/url_text.h"

struct url_fold {
    bool https;
    uint16_t port;
    enum url_host_kind host_kind;
    struct bytes host, domain, path, query, fragment;
    const struct url_host_rule *rule; /* of `host`; NULL: none */
    char room[URL_BYTES_MAX];
};

/* RC_REJECT: too long once it is folded. */
must_check enum rc url_fold_make(const struct url *url, struct url_fold *fold, struct err *err);
/* Takes the endings off the path that do not matter. */
void url_fold_path(struct url_fold *fold);

/* The address that this one carries inside, if its host is one that does so. `archive` says whether
 * the host keeps copies. */
bool url_unwrap(const struct url_fold *fold, struct url_text *inner, bool *archive);

/* For sites that number what they show: puts the one path and query of that number, and corrects
 * the host. False: nothing is numbered here. */
bool url_site_put(struct url_fold *fold, struct url_text *out);

#endif
