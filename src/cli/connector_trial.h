/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_trial.h - one page of one provider, for whoever writes a connector.
 *
 * Asks once, never again: what the provider says is the result, good or bad. Nothing is stored.
 * Keys come from the configuration and are masked wherever the request is shown.
 *
 * Owner: the command. */
#ifndef CLI_CONNECTOR_TRIAL_H
#define CLI_CONNECTOR_TRIAL_H

#include "config.h"
#include "decode/connector_page.h"

struct connector_trial {
    const struct connector *connector;
    const struct connector_stream *stream;
    const struct config *config;
    struct connector_vars vars;
    const char *base_url;
    struct text request; /* as it was sent, for people; both of them where partitions are listed */
    struct text part;    /* the listed partition that was chosen: the first */
    struct text body;    /* of the last answer */
    struct text headers, exact;
    struct json_doc *doc;
    struct connector_answer answer;
    struct connector_judgement judgement;
    struct err why; /* of a judgement that is not good */
};

/* `platform` and `account` live as long as the trial. */
void connector_trial_init(struct connector_trial *trial, const struct config *config,
                          const struct connector *connector, const struct connector_stream *stream,
                          struct bytes platform, struct bytes account);
void connector_trial_deinit(struct connector_trial *trial);
/* RC_OK: `answer` and `judgement` are what the provider said. RC_REJECT: the request cannot be
 * made. RC_RETRY: there was no answer. */
must_check enum rc connector_trial_ask(struct connector_trial *trial, struct err *err);

#endif
