/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_account.h"

#include "source/delivery.h"
#include "source/ledger_family.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger_account {
    struct ledger_run run;
    struct text name, identifier;
    char *only, *parent, *owed;
    struct ledger_family *family; /* of a wallet: instead of streams */
    const char *status;
    enum ledger_outcome outcome;
    struct ledger_stream *streams[LEDGER_STREAMS_MAX];
    size_t stream_count, ended_count;
    struct delivery delivery;
    int64_t announced; /* the reservation of nonces that its first batch takes along; 0: none */
    bool opened, closing, stopping;
    char trouble[ERR_TEXT_MAX];
    void (*ended)(void *arg, struct ledger_account *account);
    void *arg;
};

/* ---- the session ---- */

static int64_t wall(const struct ledger_account *account)
{
    struct runtime *runtime = account->run.env->runtime;
    return runtime->ops->wall_us(runtime);
}

static bool add_account(const struct ledger_account *account, struct batch *batch)
{
    struct record *row = batch_add(batch, RECORD_LEDGER_ACCOUNT);
    bool exchange = account->identifier.len == 0;
    bool fits = row != NULL &&
                batch_set_text(batch, row, LEDGER_ACCOUNT_NAME, text_bytes(&account->name)) &&
                batch_set_text(batch, row, LEDGER_ACCOUNT_TYPE,
                               bytes_of(account->parent != NULL ? "derived"
                                        : exchange              ? "exchange"
                                                                : "blockchain")) &&
                batch_set_text(batch, row, LEDGER_ACCOUNT_PLATFORM,
                               bytes_of(account->run.platform->name)) &&
                batch_set_text(batch, row, LEDGER_ACCOUNT_IDENTIFIER,
                               bytes_of(text_string(&account->identifier)));
    if (fits && account->parent != NULL)
        fits = batch_set_text(batch, row, LEDGER_ACCOUNT_PARENT, bytes_of(account->parent));
    if (fits)
        batch_set_int(row, LEDGER_ACCOUNT_AT_US, account->run.started_us);
    return fits;
}

static bool add_session(struct ledger_account *account, struct batch *batch)
{
    struct record *row = batch_add(batch, RECORD_SESSION);
    bool fits = row != NULL &&
                batch_set_text(batch, row, SESSION_ACCOUNT, text_bytes(&account->name)) &&
                batch_set_text(batch, row, SESSION_STATUS, bytes_of(account->status));
    if (fits && account->trouble[0] != '\0')
        fits = batch_set_text(batch, row, SESSION_ERROR, bytes_of(account->trouble));
    if (!fits)
        return false;
    batch_set_int(row, SESSION_STARTED_US, account->run.started_us);
    batch_set_int(row, SESSION_AT_US, wall(account));
    if (account->family != NULL && account->closing)
        batch_set_int(row, SESSION_FAMILY, 1);
    if (!account->closing)
        account->announced = ledger_nonces_announce(account->run.nonces, wall(account) / 1000, row);
    return true;
}

/* How each provider fares, for people who ask. */
static bool add_providers(const struct ledger_account *account, struct batch *batch)
{
    const struct ledger_platform *platform = account->run.platform;
    struct runtime *runtime = account->run.env->runtime;
    int64_t now_us = runtime->ops->mono_us(runtime);
    bool fits = true;
    for (int i = 0; i < platform->group.count && fits; i++) {
        const struct provider *provider = &platform->group.providers[i];
        struct record *row = batch_add(batch, RECORD_PROVIDER);
        const char *state = platform->members[i]->keyless ? "needs a key"
                            : provider->disabled
                                ? "disabled"
                                : provider_circuit_name(provider_circuit(provider, now_us));
        fits = row != NULL &&
               batch_set_text(batch, row, PROVIDER_SOURCE, bytes_of(platform->name)) &&
               batch_set_text(batch, row, PROVIDER_NAME, bytes_of(provider->name)) &&
               batch_set_text(batch, row, PROVIDER_STATE, bytes_of(state));
        if (fits && provider->last_error[0] != '\0')
            fits = batch_set_text(batch, row, PROVIDER_REASON, bytes_of(provider->last_error));
        if (fits)
            batch_set_int(row, PROVIDER_AT_US, wall(account));
    }
    return fits;
}

static void store_session(void *arg)
{
    struct ledger_account *account = arg;
    struct batch *batch = delivery_take(&account->delivery);
    if (batch == NULL)
        return; /* comes back when there is one */
    bool fits = (account->opened || add_account(account, batch)) && add_session(account, batch) &&
                (!account->closing || add_providers(account, batch));
    assert(fits);
    delivery_send(&account->delivery);
    crashpoint(CRASH_IMPORT_SENT);
}

/* ---- its end ---- */

/* The worst of its streams counts, or of its addresses. */
static void sum_up(struct ledger_account *account)
{
    struct ledger_stream_view view;
    if (account->family != NULL) {
        struct ledger_family_view family;
        ledger_family_look(account->family, &family);
        account->outcome = family.outcome;
        snprintf(account->trouble, sizeof account->trouble, "%s", family.trouble);
        return;
    }
    account->outcome = account->stream_count > 0 ? LEDGER_COMPLETE : LEDGER_FAILED;
    if (account->stream_count == 0)
        snprintf(account->trouble, sizeof account->trouble, "there is no stream to be read");
    for (size_t i = 0; i < account->stream_count; i++) {
        ledger_stream_look(account->streams[i], &view);
        if (view.outcome <= account->outcome)
            continue;
        account->outcome = view.outcome;
        snprintf(account->trouble, sizeof account->trouble, "%s%s%s", view.name,
                 view.trouble[0] != '\0' ? ": " : "", view.trouble);
    }
}

static void decide(struct ledger_account *account)
{
    sum_up(account);
    if (account->stopping && account->outcome != LEDGER_COMPLETE)
        account->outcome = LEDGER_STOPPED;
    if (account->outcome == LEDGER_STOPPED)
        account->trouble[0] = '\0';
    account->status = account->outcome == LEDGER_COMPLETE  ? "completed"
                      : account->outcome == LEDGER_STOPPED ? "cancelled"
                                                           : "failed";
}

static void close_session(struct ledger_account *account)
{
    account->closing = true;
    decide(account);
    log_event(account->outcome <= LEDGER_COMPLETE ? LOG_INFO : LOG_WARN, "ledger", "import_ended",
              (struct log_field[]){log_string("account", text_string(&account->name)),
                                   log_string("status", account->status),
                                   log_string("reason", account->trouble), LOG_END});
    store_session(account);
}

static void on_stream_ended(void *arg)
{
    struct ledger_account *account = arg;
    assert(account->ended_count < account->stream_count);
    if (++account->ended_count == account->stream_count)
        close_session(account);
}

static void on_family_ended(void *arg)
{
    close_session(arg);
}

/* What a file says is no word on what the source itself would say: it has a stream of its own. */
static void make_file_stream(struct ledger_account *account)
{
    char name[FAILOVER_STREAM_MAX];
    snprintf(name, sizeof name, "csv:%s", account->run.file->shape->name);
    account->streams[account->stream_count++] =
        ledger_stream_new(&account->run, name, on_stream_ended, account);
}

static void start_streams(struct ledger_account *account)
{
    const struct ledger_platform *platform = account->run.platform;
    if (account->family != NULL) {
        ledger_family_start(account->family);
        return;
    }
    if (account->run.file != NULL)
        make_file_stream(account);
    for (size_t i = 0; account->run.file == NULL && i < platform->stream_count; i++)
        if (ledger_platform_serves(platform, account->run.only, platform->streams[i]))
            account->streams[account->stream_count++] =
                ledger_stream_new(&account->run, platform->streams[i], on_stream_ended, account);
    if (account->stream_count == 0)
        close_session(account);
    for (size_t i = 0; i < account->stream_count; i++)
        ledger_stream_start(account->streams[i]);
}

static void on_stored(void *arg, enum rc rc)
{
    struct ledger_account *account = arg;
    crashpoint(account->closing ? CRASH_IMPORT_CLOSED : CRASH_IMPORT_OPENED);
    account->opened = true;
    if (rc != RC_OK) {
        account->outcome = LEDGER_INCOMPLETE;
        snprintf(account->trouble, sizeof account->trouble, "the store took no more");
    }
    if (rc == RC_OK)
        ledger_nonces_reserve(account->run.nonces, account->announced);
    if (account->closing || rc != RC_OK)
        account->ended(account->arg, account);
    else if (account->stopping)
        close_session(account);
    else
        start_streams(account);
}

/* ---- life ---- */

static enum rc read_name(struct ledger_account *account, struct ledger_providers *providers,
                         struct bytes name, int64_t now_us, struct err *err)
{
    const char *colon = memchr(name.data, ':', name.len);
    size_t platform_len = colon == NULL ? name.len : (size_t)(colon - name.data);
    struct bytes platform = bytes_make(name.data, platform_len);
    struct bytes rest =
        colon == NULL ? BYTES_ABSENT : bytes_make(colon + 1, name.len - platform_len - 1);
    enum rc rc =
        ledger_providers_platform(providers, platform, now_us, &account->run.platform, err);
    if (rc != RC_OK)
        return rc;
    rc = ledger_platform_identifier(account->run.platform, rest, &account->identifier, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "%.*s", (int)name.len, name.data);
    if (ledger_platform_keyless(account->run.platform))
        return err_set(err, RC_FATAL,
                       "%.*s: every provider needs a key; set providers.%s.api_key%s or another's",
                       (int)name.len, name.data,
                       account->run.platform->members[0]->connector->provider,
                       ledger_provider_more_keys(account->run.platform->members[0]));
    if (account->run.platform->stream_count == 0)
        return err_set(err, RC_REJECT, "%.*s: every provider is disabled", (int)name.len,
                       name.data);
    text_append(&account->name, platform.data, platform.len);
    if (account->identifier.len > 0)
        text_appendf(&account->name, ":%s", text_string(&account->identifier));
    return RC_OK;
}

static void finish_making(struct ledger_account *account,
                          void (*ended)(void *arg, struct ledger_account *account), void *arg)
{
    account->run.account = text_string(&account->name);
    account->run.identifier = bytes_of(text_string(&account->identifier));
    account->run.nonces = account->run.file == NULL ? account->run.platform->nonces : NULL;
    account->ended = ended;
    account->arg = arg;
    account->status = "started";
    delivery_init(&account->delivery, account->run.env, store_session, on_stored, account);
}

static enum rc check_only(const struct ledger_platform *platform, const char *only, struct err *err)
{
    int number = failover_find(&platform->group, only);
    if (number == PROVIDER_NONE)
        return err_set(err, RC_REJECT, "%s does not serve %s", only, platform->name);
    if (platform->members[number]->keyless)
        return err_set(err, RC_FATAL, "%s needs a key: set providers.%s.api_key", only, only);
    return RC_OK;
}

/* The key appears in no sentence: it may be a private one. */
static enum rc read_key(const struct ledger_account *account, bool *is_key,
                        struct extended_key *key, struct err *err)
{
    const struct ledger_platform *platform = account->run.platform;
    struct bytes identifier = bytes_of(text_string(&account->identifier));
    *is_key = platform->members[0]->connector->identifier == IDENTIFIER_BITCOIN_ADDRESS &&
              extended_key_is(identifier);
    if (!*is_key)
        return RC_OK;
    enum rc rc = extended_key_read(identifier, key, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "%s", platform->name);
    if (strcmp(platform->name, EXTENDED_KEY_PLATFORM) != 0)
        return err_set(err, RC_REJECT, "%s: extended public keys are read for %s only",
                       platform->name, EXTENDED_KEY_PLATFORM);
    return RC_OK;
}

/* An extended public key has a family. */
static enum rc make_family(struct ledger_account *account, struct ledger_providers *providers,
                           uint32_t gap, struct err *err)
{
    struct extended_key key;
    bool is_key;
    enum rc rc = read_key(account, &is_key, &key, err);
    if (rc == RC_OK && is_key)
        account->family =
            ledger_family_new(&account->run, providers, &key, gap, on_family_ended, account);
    return rc;
}

enum rc ledger_account_check(struct ledger_providers *providers, struct bytes name, int64_t now_us,
                             struct err *err)
{
    struct ledger_account account = {0};
    struct extended_key key;
    bool is_key;
    enum rc rc = read_name(&account, providers, name, now_us, err);
    if (rc == RC_OK)
        rc = read_key(&account, &is_key, &key, err);
    text_free(&account.name);
    text_free(&account.identifier);
    return rc;
}

enum rc ledger_account_new(const struct source_env *env, struct ledger_providers *providers,
                           struct bytes name, const struct ledger_account_options *options,
                           void (*ended)(void *arg, struct ledger_account *account), void *arg,
                           struct ledger_account **out, struct err *err)
{
    struct ledger_account *account = memory_new_zeroed(1, sizeof *account);
    account->run.env = env;
    enum rc rc = read_name(account, providers, name, env->runtime->ops->mono_us(env->runtime), err);
    if (rc == RC_OK && options->only != NULL)
        rc = check_only(account->run.platform, options->only, err);
    account->only = options->only == NULL ? NULL : memory_copy_string(options->only);
    account->parent = options->parent == NULL ? NULL : memory_copy_string(options->parent);
    account->owed = options->owed == NULL ? NULL : memory_copy_string(options->owed);
    account->run.only = account->only;
    account->run.owed = account->owed;
    account->run.since_us = options->since_us;
    if (rc == RC_OK && options->parent == NULL)
        rc = make_family(account, providers, options->gap_limit, err);
    if (rc != RC_OK) {
        ledger_account_free(account);
        return rc;
    }
    finish_making(account, ended, arg);
    *out = account;
    return RC_OK;
}

enum rc ledger_account_new_file(const struct source_env *env, struct ledger_providers *providers,
                                struct ledger_file *file,
                                const struct ledger_account_options *options,
                                void (*ended)(void *arg, struct ledger_account *account), void *arg,
                                struct ledger_account **out, struct err *err)
{
    struct ledger_account *account = memory_new_zeroed(1, sizeof *account);
    const struct connector *connector = file->provider->connector;
    struct bytes platform = bytes_of(connector->platforms[0].name);
    account->run.env = env;
    account->run.file = file;
    account->run.since_us = options->since_us;
    enum rc rc = ledger_providers_platform(
        providers, platform, env->runtime->ops->mono_us(env->runtime), &account->run.platform, err);
    if (rc == RC_OK && options->only != NULL && strcmp(options->only, connector->provider) != 0)
        rc = err_set(err, RC_REJECT, "the file is of %s, not of %s", connector->provider,
                     options->only);
    if (rc != RC_OK) {
        ledger_account_free(account);
        return rc;
    }
    text_append(&account->name, platform.data, platform.len);
    finish_making(account, ended, arg);
    *out = account;
    return RC_OK;
}

/* Without an answer requests that need a nonce are not sent, and say so. */
static void on_nonces(void *arg, const struct lookup_answer *answer)
{
    struct ledger_account *account = arg;
    bool stored = answer->rc == RC_OK && answer->rows > 0 && !answer->fields[0].null;
    if (answer->rc == RC_OK)
        ledger_nonces_begin(account->run.nonces, stored ? answer->fields[0].i : 0);
    store_session(account);
}

void ledger_account_start(struct ledger_account *account)
{
    static const struct lookup_question question = {.sql = ledger_nonces_sql};
    const struct source_env *env = account->run.env;
    account->run.started_us = wall(account);
    bool unknown = account->run.nonces != NULL && !account->run.nonces->known;
    if (!unknown || env->ask_steadily(env->ask_arg, &question, on_nonces, account) != RC_OK)
        store_session(account);
}

void ledger_account_stop(struct ledger_account *account)
{
    if (account->stopping || account->closing)
        return;
    account->stopping = true;
    if (account->family != NULL)
        ledger_family_stop(account->family);
    for (size_t i = 0; i < account->stream_count; i++)
        ledger_stream_stop(account->streams[i]);
}

void ledger_account_look(const struct ledger_account *account, struct ledger_account_view *view)
{
    *view = (struct ledger_account_view){.name = text_string(&account->name),
                                         .status = account->status,
                                         .outcome = account->outcome,
                                         .started_us = account->run.started_us,
                                         .stream_count = account->stream_count};
    if (account->family != NULL) {
        struct ledger_family_view family;
        ledger_family_look(account->family, &family);
        view->stream_count = family.stream_count;
    }
    snprintf(view->trouble, sizeof view->trouble, "%s", account->trouble);
}

void ledger_account_look_stream(const struct ledger_account *account, size_t number,
                                struct ledger_stream_view *view)
{
    if (account->family != NULL) {
        ledger_family_look_stream(account->family, number, view);
        return;
    }
    assert(number < account->stream_count);
    ledger_stream_look(account->streams[number], view);
}

void ledger_account_free(struct ledger_account *account)
{
    if (account->family != NULL)
        ledger_family_free(account->family);
    for (size_t i = 0; i < account->stream_count; i++)
        ledger_stream_free(account->streams[i]);
    if (account->run.env != NULL && account->ended != NULL)
        delivery_drop(&account->delivery);
    ledger_file_free(account->run.file);
    text_free(&account->name);
    text_free(&account->identifier);
    free(account->only);
    free(account->parent);
    free(account->owed);
    free(account);
}
