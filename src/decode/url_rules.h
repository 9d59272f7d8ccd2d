/* SPDX-License-Identifier: Apache-2.0
 *
 * url_rules.h - what is known of hosts and parameters, as tables.
 *
 * Tables are sorted by memcmp order of their first column and searched by halves. Lists inside a
 * row are lower case, with a space between the names; a name that ends in * is a beginning. */
#ifndef DECODE_URL_RULES_H
#define DECODE_URL_RULES_H

#include "decode/url_identity.h"

enum url_site { URL_SITE_PLAIN, URL_SITE_AMAZON, URL_SITE_X, URL_SITE_YOUTUBE, URL_SITE_YOUTU_BE };

enum url_rule_flag {
    URL_RULE_BELOW = 1 << 0,      /* only names below this one */
    URL_RULE_AMP_WORD = 1 << 1,   /* "amp" in a path is a word like any other */
    URL_RULE_AMP_FOLDER = 1 << 2, /* /amp/x is the AMP form of /x */
    URL_RULE_KEEP_LABEL = 1 << 3, /* the first label is no mere m. or amp. */
};

/* One host, with everything below it. */
struct url_host_rule {
    const char *host;
    const char *same_as; /* for this very host: another name of the same site */
    const char *drop;    /* parameters that say nothing about the page */
    const char *gift;    /* parameters that open it */
    unsigned flags;      /* enum url_rule_flag */
    unsigned marks;      /* enum url_flag of what lies there */
    enum url_site site;
};

enum url_shell {
    URL_IN_QUERY,    /* in the parameter `name`, below the path */
    URL_IN_PATH,     /* after the path, perhaps behind a date */
    URL_IN_AMP_PATH, /* after the path, "s/" standing for https:// */
};

/* A host that carries the address of another page inside its own. */
struct url_wrapper {
    const char *host;
    const char *path; /* the beginning of the path */
    enum url_shell shell;
    const char *name;
    bool archive;
};

extern const struct url_host_rule url_host_rules[];
extern const size_t url_host_rules_count;
extern const struct url_wrapper url_wrappers[];
extern const size_t url_wrappers_count;
extern const char *const url_shorteners[];
extern const size_t url_shorteners_count;
extern const char *const url_tracking[];
extern const size_t url_tracking_count;
extern const char *const url_tracking_starts[];
extern const size_t url_tracking_starts_count;

/* The rule of the host or of the nearest name above it; NULL: none. */
const struct url_host_rule *url_host_rule_find(struct bytes host);
/* The rows of the host or of the nearest name above it; how many. */
size_t url_wrappers_find(struct bytes host, const struct url_wrapper **first);
bool url_host_shortens(struct bytes host);

enum url_parameter { URL_PARAMETER_KEPT, URL_PARAMETER_DROPPED, URL_PARAMETER_GIFT };
/* What to do with `name=value` on a host under `rule` (or NULL). */
enum url_parameter url_parameter_judge(const struct url_host_rule *rule, struct bytes name,
                                       struct bytes value);

/* Walks the parameters of a query; empty ones are passed over. */
struct url_parameters {
    struct bytes rest;
    struct bytes whole, name, value; /* the present one; `value` is absent without a = */
};
struct url_parameters url_parameters_of(struct bytes query);
bool url_parameters_next(struct url_parameters *walk);

#endif
