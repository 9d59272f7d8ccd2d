/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_ledger.h"

#include "cli/connector_folder.h"
#include "daemon_account_wish.h"
#include "daemon_errand.h"
#include "daemon_view.h"
#include "source/ledger_account.h"
#include "source/source_view.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/thread.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US   INT64_C(60000000)
#define RUNNING_MAX 4
#define QUEUE_MAX   10000
#define NEVER       INT64_MAX

/* An account that is kept, or was asked for. */
struct entry {
    char *name;
    struct account_wish wish; /* of the import under way, or of the one that follows it */
    int64_t due_us;           /* monotonic */
    int64_t ended_us;         /* the last import, whatever became of it; 0: there was none */
    bool configured;
    bool failed;          /* the last time */
    int64_t succeeded_us; /* wall time; 0: never since the start */
    bool over;            /* it has ended and is to be freed */
    bool again; /* somebody asked while it was running: it may have read past what they mean */
    struct ledger_account *running;
};

struct ledger_part {
    struct part part;
    const struct part_env *env;
    struct thread *reader;              /* of the connectors; NULL: it has ended */
    int64_t made_us;                    /* monotonic */
    struct ledger_providers *providers; /* NULL: there are no connectors */
    struct err why;                     /* ... because of this */
    struct entry *entries;
    size_t count, capacity;
    unsigned running;
    uint64_t completed, failures;
    int64_t interval_us; /* 0: only when asked */
    bool stopping, opened;
    struct import_board *board;
    struct errand errand;
    char *wanted_name; /* by the errand */
    struct account_wish wanted;
};

/* ---- the list ---- */

static struct entry *add_entry(struct ledger_part *self, const char *name)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 8 : self->capacity * 2;
        self->entries = memory_resize(self->entries, self->capacity * sizeof *self->entries);
    }
    struct entry *entry = &self->entries[self->count++];
    *entry = (struct entry){.name = memory_copy_string(name), .wish.since_us = -1};
    return entry;
}

static void drop_entry(struct ledger_part *self, size_t at)
{
    free(self->entries[at].name);
    account_wish_clear(&self->entries[at].wish);
    self->entries[at] = self->entries[--self->count];
}

static struct entry *find_entry(struct ledger_part *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->entries[i].name, name) == 0)
            return &self->entries[i];
    return NULL;
}

/* ---- imports ---- */

static void on_ended(void *arg, struct ledger_account *account)
{
    struct ledger_part *self = arg;
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].running == account)
            self->entries[i].over = true; /* freed at the next look: it is in the midst of ending */
}

/* The same account may be written in several ways. NULL: it is not running. */
static struct entry *find_running(const struct ledger_part *self, const char *stored_name)
{
    struct ledger_account_view view;
    for (size_t i = 0; i < self->count; i++) {
        if (self->entries[i].running == NULL)
            continue;
        ledger_account_look(self->entries[i].running, &view);
        if (strcmp(view.name, stored_name) == 0)
            return &self->entries[i];
    }
    return NULL;
}

/* RC_OK also when it is running already: `running` is who runs it, else NULL. `view` shows it. */
static enum rc start_entry(struct ledger_part *self, struct entry *entry, struct entry **running,
                           struct ledger_account_view *view, struct err *err)
{
    struct ledger_account *account;
    const struct ledger_account_options options = {
        .only = entry->wish.provider,
        .since_us = entry->wish.since_us,
        .owed = entry->wish.owed,
        .gap_limit = (uint32_t)self->env->config->ledger.gap_limit};
    enum rc rc = ledger_account_new(&self->env->source, self->providers, bytes_of(entry->name),
                                    &options, on_ended, self, &account, err);
    if (rc != RC_OK)
        return rc;
    ledger_account_look(account, view);
    *running = find_running(self, view->name);
    if (*running != NULL) {
        ledger_account_look((*running)->running, view);
        ledger_account_free(account);
        return RC_OK;
    }
    entry->running = account;
    self->running++;
    ledger_account_start(account);
    ledger_account_look(account, view);
    return RC_OK;
}

/* What whoever follows it sees. */
static void show_entry(struct ledger_part *self, const struct entry *entry, int64_t now_us)
{
    struct import_progress progress = {0};
    import_progress_take(&progress, entry->running, now_us);
    if (!entry->over)
        progress.outcome = LEDGER_UNDECIDED; /* what is decided is not stored yet */
    import_board_put(self->board, &progress);
}

static int64_t next_due(const struct ledger_part *self, const struct entry *entry)
{
    bool never = !entry->configured || self->interval_us == 0;
    return never ? NEVER : entry->ended_us == 0 ? 0 : entry->ended_us + self->interval_us;
}

static void end_entry(struct ledger_part *self, struct entry *entry, int64_t now_us)
{
    struct ledger_account_view view;
    ledger_account_look(entry->running, &view);
    entry->failed = view.outcome != LEDGER_COMPLETE && view.outcome != LEDGER_STOPPED;
    self->completed += view.outcome == LEDGER_COMPLETE;
    if (view.outcome == LEDGER_COMPLETE)
        entry->succeeded_us = self->env->runtime->ops->wall_us(self->env->runtime);
    self->failures += entry->failed;
    show_entry(self, entry, now_us);
    ledger_account_free(entry->running);
    entry->running = NULL;
    entry->over = false;
    entry->ended_us = now_us;
    entry->due_us = entry->again ? now_us : next_due(self, entry);
    if (!entry->again)
        account_wish_clear(&entry->wish);
    entry->again = false;
    self->running--;
}

static void show_refused(struct ledger_part *self, const struct entry *entry, const struct err *err)
{
    struct runtime *runtime = self->env->runtime;
    struct import_progress progress = {.started_us = runtime->ops->wall_us(runtime),
                                       .outcome = LEDGER_FAILED};
    snprintf(progress.account, sizeof progress.account, "%s", entry->name);
    snprintf(progress.trouble, sizeof progress.trouble, "%s", err->text);
    import_board_put(self->board, &progress);
}

static void begin_entry(struct ledger_part *self, struct entry *entry, int64_t now_us)
{
    struct err err;
    struct entry *running;
    struct ledger_account_view view;
    if (start_entry(self, entry, &running, &view, &err) == RC_OK) {
        if (running == NULL)
            return;
        entry->ended_us = now_us; /* as good: it runs under another spelling */
        entry->due_us = next_due(self, entry);
        return;
    }
    show_refused(self, entry, &err);
    entry->failed = true;
    entry->ended_us = now_us;
    entry->due_us = next_due(self, entry);
    self->failures++;
    if (entry->configured)
        (void)err_wrap(&err, RC_REJECT, "ledger.accounts");
    /* The reason names the account, unless it is spelt as a private key. */
    log_event(LOG_ERROR, "ledger", "import_refused",
              (struct log_field[]){log_string("reason", err.text), LOG_END});
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct ledger_part *self = (struct ledger_part *)part;
    (void)view;
    for (size_t i = self->count; i-- > 0;) {
        struct entry *entry = &self->entries[i];
        if (entry->over)
            end_entry(self, entry, now_us);
        else if (entry->running != NULL)
            show_entry(self, entry, now_us);
        if (entry->running == NULL && !entry->configured && entry->due_us == NEVER)
            drop_entry(self, i);
    }
    for (size_t i = 0; i < self->count && self->running < RUNNING_MAX && !self->stopping; i++)
        if (self->entries[i].running == NULL && self->entries[i].due_us <= now_us)
            begin_entry(self, &self->entries[i], now_us);
}

/* ---- asked for ---- */

/* Where one runs already, the session that is meant begins after this moment. */
static enum rc answer_wanted(struct ledger_part *self, struct entry *running,
                             const struct ledger_account_view *view)
{
    struct errand_answer *answer = &self->errand.answer;
    struct runtime *runtime = self->env->runtime;
    snprintf(answer->words, sizeof answer->words, "%s", view->name);
    answer->number = running == NULL ? view->started_us : runtime->ops->wall_us(runtime);
    if (running == NULL)
        return RC_OK;
    if (running->again && !account_wish_agrees(&running->wish, &self->wanted))
        return err_set(&self->errand.why, RC_AGAIN,
                       "another import of this account waits for the one that runs: ask again when "
                       "it has begun");
    if (!running->again || self->wanted.owed != NULL)
        account_wish_set(&running->wish, &self->wanted);
    running->again = true;
    return RC_OK;
}

static void begin_wanted(void *arg)
{
    struct ledger_part *self = arg;
    struct entry *entry = find_entry(self, self->wanted_name), *running;
    struct ledger_account_view view;
    enum rc rc = RC_OK;
    if (self->stopping)
        rc = err_set(&self->errand.why, RC_RETRY, "the daemon is stopping");
    else if (self->providers == NULL)
        rc = err_set(&self->errand.why, RC_REJECT, "nothing can be imported: %s", self->why.text);
    else if (entry == NULL && self->count == QUEUE_MAX)
        rc = err_set(&self->errand.why, RC_AGAIN, "too many accounts are waiting");
    if (rc == RC_OK && entry == NULL)
        entry = add_entry(self, self->wanted_name);
    if (rc == RC_OK) {
        if (entry->running == NULL)
            account_wish_set(&entry->wish, &self->wanted);
        rc = start_entry(self, entry, &running, &view, &self->errand.why);
        if (rc == RC_OK)
            rc = answer_wanted(self, running, &view);
        if (entry->running != NULL)
            show_entry(self, entry, clock_mono_us());
        else if (entry->configured)
            account_wish_clear(&entry->wish);
        else
            drop_entry(self, (size_t)(entry - self->entries));
    }
    errand_finish(&self->errand, rc);
}

static enum rc ask(struct ledger_part *self, char account[LEDGER_NAME_MAX],
                   const struct account_wish *wish, int64_t wait_us, int64_t *started_us,
                   struct err *err)
{
    enum rc rc = errand_take(&self->errand, err);
    if (rc != RC_OK)
        return rc;
    free(self->wanted_name);
    self->wanted_name = memory_copy_string(account);
    account_wish_set(&self->wanted, wish);
    struct errand_answer answer = {"", 0};
    rc = errand_run(&self->errand, wait_us, &answer, err);
    if (rc == RC_OK)
        snprintf(account, LEDGER_NAME_MAX, "%s", answer.words);
    *started_us = answer.number;
    return rc;
}

enum rc ledger_part_import(struct part *part, char account[LEDGER_NAME_MAX], const char *provider,
                           int64_t since_us, int64_t wait_us, int64_t *started_us, struct err *err)
{
    struct account_wish wish = account_wish_make(provider, NULL, since_us);
    enum rc rc = ask((struct ledger_part *)part, account, &wish, wait_us, started_us, err);
    account_wish_clear(&wish);
    return rc;
}

enum rc ledger_part_retry(struct part *part, char account[LEDGER_NAME_MAX], const char *item,
                          int64_t wait_us, struct err *err)
{
    struct account_wish wish = account_wish_make(NULL, item, -1);
    int64_t started_us;
    enum rc rc = ask((struct ledger_part *)part, account, &wish, wait_us, &started_us, err);
    account_wish_clear(&wish);
    return rc;
}

struct import_board *ledger_part_board(struct part *part)
{
    return ((struct ledger_part *)part)->board;
}

void ledger_part_abandon(struct part *part)
{
    struct ledger_part *self = (struct ledger_part *)part;
    if (self->opened)
        errand_abandon(&self->errand);
}

/* ---- the connectors ---- */

/* There are many, and the store is opened meanwhile: until the reader has ended, what it fills in
 * is its own. */
static void read_connectors(void *arg)
{
    struct ledger_part *self = arg;
    self->providers = ledger_providers_new();
    if (connector_folder_read(self->env->config, self->providers, self->made_us, &self->why) ==
        RC_OK)
        return;
    ledger_providers_free(self->providers);
    self->providers = NULL;
}

static void end_reader(struct ledger_part *self)
{
    if (self->reader != NULL)
        thread_join(self->reader);
    self->reader = NULL;
}

/* ---- life ---- */

static enum rc open_part(struct part *part, struct err *err)
{
    struct ledger_part *self = (struct ledger_part *)part;
    const struct config *config = self->env->config;
    end_reader(self);
    if (self->providers == NULL && config->ledger.accounts.count > 0) {
        *err = self->why;
        return RC_REJECT;
    }
    errand_init(&self->errand, self->env->loop, "import", begin_wanted, self);
    self->opened = true;
    self->interval_us = config->ledger.interval_minutes * MINUTE_US;
    for (size_t i = 0; i < config->ledger.accounts.count; i++) {
        struct entry *entry = add_entry(self, config->ledger.accounts.items[i]);
        entry->configured = true;
        entry->due_us = next_due(self, entry);
    }
    return RC_OK;
}

static void reload(struct part *part, const struct config *fresh)
{
    struct ledger_part *self = (struct ledger_part *)part;
    int64_t now_us = self->env->runtime->ops->mono_us(self->env->runtime);
    self->interval_us = fresh->ledger.interval_minutes * MINUTE_US;
    for (size_t i = 0; i < self->count; i++) /* what is due already may have been asked for */
        if (self->entries[i].running == NULL && self->entries[i].due_us > now_us)
            self->entries[i].due_us = next_due(self, &self->entries[i]);
}

/* Whoever answered last is the one in use. */
static void show_platform(const struct ledger_platform *platform, int64_t now_us,
                          struct ledger_view *view)
{
    const struct failover *group = &platform->group;
    int last = 0;
    for (int i = 1; i < group->count; i++)
        if (group->providers[i].succeeded_us > group->providers[last].succeeded_us)
            last = i;
    for (int i = 0; i < group->count && view->provider_count < LEDGER_PROVIDERS_SHOWN_MAX; i++) {
        struct source_provider *shown = &view->providers[view->provider_count].provider;
        snprintf(view->providers[view->provider_count].platform,
                 sizeof view->providers[view->provider_count].platform, "%s", platform->name);
        source_show_provider(group, i, now_us, shown);
        shown->current = i == last && shown->successes > 0;
        if (platform->members[i]->keyless || group->providers[i].disabled)
            snprintf(shown->state, sizeof shown->state, "%s",
                     platform->members[i]->keyless ? "needs a key" : "disabled");
        view->provider_count++;
    }
}

static void show(struct part *part, struct daemon_view *out)
{
    const struct ledger_part *self = (const struct ledger_part *)part;
    struct ledger_view *view = &out->ledger;
    *view = (struct ledger_view){
        .running = self->running, .completed = self->completed, .failed = self->failures};
    for (size_t i = 0; i < self->count; i++) {
        const struct entry *entry = &self->entries[i];
        bool complete = entry->succeeded_us > 0 && !entry->failed;
        if (!entry->configured)
            continue;
        view->accounts++;
        view->failing += entry->failed;
        view->complete += complete;
        if (entry->succeeded_us > 0 &&
            (view->oldest_success_us == 0 || entry->succeeded_us < view->oldest_success_us))
            view->oldest_success_us = entry->succeeded_us;
    }
    if (self->providers == NULL)
        return;
    for (const struct ledger_platform *at = ledger_providers_first(self->providers); at != NULL;
         at = at->next)
        show_platform(at, clock_mono_us(), view);
}

static void stop(struct part *part)
{
    struct ledger_part *self = (struct ledger_part *)part;
    self->stopping = true;
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].running != NULL)
            ledger_account_stop(self->entries[i].running);
}

static bool stopped(const struct part *part)
{
    const struct ledger_part *self = (const struct ledger_part *)part;
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].running != NULL && !self->entries[i].over)
            return false;
    return true;
}

static void free_part(struct part *part)
{
    struct ledger_part *self = (struct ledger_part *)part;
    end_reader(self);
    while (self->count > 0) {
        if (self->entries[self->count - 1].running != NULL)
            ledger_account_free(self->entries[self->count - 1].running);
        drop_entry(self, self->count - 1);
    }
    ledger_providers_free(self->providers);
    if (self->opened)
        errand_deinit(&self->errand);
    free(self->wanted_name);
    account_wish_clear(&self->wanted);
    import_board_free(self->board);
    free(self->entries);
    free(self);
}

static const struct part_ops ops = {.open = open_part,
                                    .look = look,
                                    .reload = reload,
                                    .view = show,
                                    .stop = stop,
                                    .stopped = stopped,
                                    .free = free_part};

struct part *ledger_part_new(const struct part_env *env)
{
    struct ledger_part *self = memory_new_zeroed(1, sizeof *self);
    self->part.ops = &ops;
    self->env = env;
    self->board = import_board_new();
    self->made_us = env->runtime->ops->mono_us(env->runtime);
    self->reader = thread_start("connectors", read_connectors, self);
    return &self->part;
}

bool ledger_part_is(const struct part *part)
{
    return part->ops == &ops;
}
