/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address_words.h"
#include "decode/connector_condition.h"

#define SCRATCH_BYTES 4096

static const char *const names[] = {
    [VERDICT_OK] = "ok",
    [VERDICT_EMPTY] = "empty",
    [VERDICT_RETRY] = "retry",
    [VERDICT_RATE_LIMITED] = "rate_limited",
    [VERDICT_AUTH] = "auth",
    [VERDICT_RESTART] = "restart",
    [VERDICT_NEXT_PROVIDER] = "next_provider",
    [VERDICT_FATAL] = "fatal",
    [VERDICT_SMALLER] = "smaller",
};

const char *connector_verdict_name(enum connector_verdict verdict)
{
    return names[verdict];
}

static enum connector_verdict judge_status(int status)
{
    if (status >= 200 && status < 300)
        return VERDICT_OK;
    if (status == 429)
        return VERDICT_RATE_LIMITED;
    if (status == 408 || status == 425 || status >= 500)
        return VERDICT_RETRY;
    return status == 401 || status == 403 ? VERDICT_AUTH : VERDICT_FATAL;
}

/* "Anything else is wrong" says less than a status that names what is wrong. */
static bool gives_way(const struct connector_response *rule, enum connector_verdict status)
{
    return rule->verdict == VERDICT_NEXT_PROVIDER && rule->when.status_count == 0 &&
           (status == VERDICT_AUTH || status == VERDICT_RETRY || status == VERDICT_RATE_LIMITED);
}

/* What the source itself says, where a rule looked at it. */
static void explain(const struct connector_response *rule, enum connector_verdict verdict,
                    const struct connector_ground *ground, struct arena *arena, struct err *why)
{
    struct connector_scalar said = {0};
    if (rule->when.pointer != NULL)
        said = connector_find(ground, rule->when.pointer, false, arena);
    bool worded = said.text.len > 0;
    int len = said.text.len > 200 ? 200 : (int)said.text.len;
    err_set(why, RC_REJECT, "HTTP %d%s%.*s%s (%s)", ground->answer->status, worded ? ", \"" : "",
            len, worded ? said.text.data : "", worded ? "\"" : "", names[verdict]);
}

/* Redirects are not followed: a key would go where the connector's author did not send it. */
static void explain_status(const struct connector_answer *answer, struct err *why)
{
    char to[ADDRESS_REDIRECT_MAX] = "";
    if (answer->status >= 300 && answer->status < 400)
        address_redirect_words(connector_header_value(answer->headers, "location"), to);
    err_set(why, RC_REJECT, "HTTP %d%s%s", answer->status, to,
            to[0] == '\0' ? ""
                          : ": redirects are not followed; put that address into the connector");
}

struct connector_judgement connector_judge(const struct connector *connector,
                                           const struct connector_stream *stream,
                                           const struct connector_vars *vars,
                                           const struct connector_answer *answer, struct err *why)
{
    struct connector_scope scope = {connector, stream,
                                    connector_platform(connector, vars->platform), vars};
    struct connector_ground ground = {.body = answer->root, .answer = answer};
    struct connector_judgement judgement = {judge_status(answer->status), 0};
    struct arena arena;
    struct text scratch = {0};
    const struct connector_response *rule = NULL;
    arena_init(&arena, SCRATCH_BYTES);
    for (size_t i = 0; rule == NULL && i < stream->response_count; i++) {
        arena_reset(&arena);
        if (connector_holds(&stream->responses[i].when, &ground, &scope, &arena, &scratch))
            rule = &stream->responses[i];
    }
    if (rule != NULL) {
        if (!gives_way(rule, judgement.verdict))
            judgement = (struct connector_judgement){rule->verdict, rule->wait_ms};
        explain(rule, judgement.verdict, &ground, &arena, why);
    } else if (judgement.verdict != VERDICT_OK) {
        explain_status(answer, why);
    } else if (json_type(answer->root) == JSON_ABSENT) {
        judgement.verdict = VERDICT_RETRY;
        err_set(why, RC_REJECT, "HTTP %d, but the body is no JSON", answer->status);
    }
    text_free(&scratch);
    arena_deinit(&arena);
    return judgement;
}
