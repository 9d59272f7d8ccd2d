/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a walk is a provider's word. Where it cannot be right, or would take something away,
 * somebody else is asked; what two say is believed. */
#include "source/ledger_stream_steps.h"
#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* The source says how much there is, and something may have changed. */
static bool is_countable(const struct ledger_stream *stream)
{
    const struct connector_figure *count = &stream->shape->count;
    bool changed = !stream->was_complete || stream->view.rows + stream->id_count > 0 ||
                   (count->request == NULL && stream->view.total != stream->total_before);
    /* A total is of everything, but where it is told of what was asked for. */
    bool all = stream->view.older == 0 &&
               (!stream->skips || ledger_stream_kind(stream->shape) == CURSOR_TIMESTAMP);
    return count->given && changed && all && (count->request != NULL || stream->view.total >= 0);
}

int64_t ledger_stream_total(const struct ledger_stream *stream)
{
    bool grown = stream->total_top >= 0 && stream->total_top < stream->view.total;
    return grown ? stream->total_top : stream->view.total;
}

/* What the walk has shown and will not be stored: it is in no block, or nobody can read it (I7). Of
 * more than are remembered, fewer. */
static int64_t shown_only(const struct ledger_stream *stream)
{
    return stream->waiting + (int64_t)stream->unreadable.count;
}

/* What has to be stored of what the source counts. */
static int64_t total_of(const struct ledger_stream *stream)
{
    return ledger_stream_total(stream) - shown_only(stream);
}

const char *ledger_stream_doubt(const struct ledger_stream *stream)
{
    if (stream->believed)
        return NULL;
    if (ledger_reread_count_absent(&stream->reread) > 0)
        return "does not show rows that are known";
    bool none_counted = stream->counted && stream->view.total == 0;
    /* What another has shown in this run is not among the known. */
    bool shown = stream->view.rows > 0 && stream->shape->page.by != PAGE_RANGE;
    if (stream->walk.rows == 0 && stream->known.count == 0 && !none_counted &&
        (shown || stream->stored.cursor.total_fetched == 0))
        return "says that there is nothing";
    if (stream->shrank)
        return "counts less than it did some pages before";
    if (is_countable(stream) && !stream->counted)
        return "was not counted yet";
    if (stream->counted && stream->stored_count < total_of(stream))
        return "has given less than it counts";
    if (stream->walk.abrupt && !(stream->counted && stream->view.total >= 0))
        return "ends with an empty page";
    return NULL;
}

bool ledger_stream_left_behind(const struct ledger_stream *stream)
{
    return !stream->believed && ledger_reread_misses(&stream->reread, 0, stream->walk.complete);
}

uint32_t ledger_stream_able(const struct ledger_stream *stream)
{
    uint32_t able = 0;
    for (int i = 0; i < stream->failover.group->count; i++)
        if (!stream->failover.group->providers[i].disabled && !stream->unseated[i])
            able |= 1U << i;
    return able;
}

/* Where the next to be asked has to begin, to say something about what did not come. */
static void note_doubted(struct ledger_stream *stream)
{
    int64_t first = ledger_reread_doubt(&stream->reread);
    if (first >= 0 && (stream->doubted_from < 0 || first < stream->doubted_from))
        stream->doubted_from = first;
}

static bool is_alone(const struct ledger_stream *stream)
{
    return (stream->denied & (stream->denied - 1)) == 0;
}

/* Its total is of everything: of what was asked for only where that has a beginning. */
static bool counts_all(const struct ledger_stream *stream)
{
    const struct connector_stream *shape = stream->shape;
    return stream->counted && stream->view.total >= 0 &&
           (shape->count.request != NULL || shape->resume.kind == RESUME_NONE ||
            (shape->order != ORDER_ASC && !stream->skips));
}

/* The source counts no more than what it shows, not even with its last page. */
static bool is_counted_out(const struct ledger_stream *stream)
{
    return counts_all(stream) && stream->view.total - shown_only(stream) +
                                         (int64_t)ledger_reread_count_absent(&stream->reread) <=
                                     stream->stored_count;
}

/* It says itself that it has not come to what it does not show. */
static bool is_behind(const struct ledger_stream *stream)
{
    return stream->reach >= 0 && !ledger_reread_misses(&stream->reread, 0, stream->reach + 1);
}

/* Gone is what two deny, or what the only one to be asked denies and looks beyond: a provider that
 * lags takes nothing away. */
static bool is_gone(const struct ledger_stream *stream, const struct ledger_known_row *row)
{
    if (!is_alone(stream))
        return row->doubted;
    int64_t reach = stream->reach > stream->shown ? stream->reach : stream->shown;
    return row->position <= reach || stream->counted_out;
}

/* Less was stored than is counted, and what is missing lies where nobody looked again; or it lies
 * between two pages. */
static bool sweep_again(struct ledger_stream *stream)
{
    if (stream->resweeping || (stream->reread.from < 0 && !stream->shrank))
        return false;
    stream->resweeping = true;
    stream->denied = 0;
    ledger_stream_begin_walk(stream);
    ledger_stream_choose(stream);
    return true;
}

/* ---- counts ---- */

static void ask_count(struct ledger_stream *stream)
{
    stream->foretold = false;
    stream->purpose = ASK_COUNT;
    ledger_stream_choose(stream);
}

static void on_counted(void *arg, const struct lookup_answer *answer)
{
    struct ledger_stream *stream = arg;
    if (stream->stopping || answer->rc != RC_OK) {
        ledger_stream_end(stream, stream->stopping ? LEDGER_STOPPED : LEDGER_INCOMPLETE,
                          answer->rc == RC_OK ? "" : answer->err.text);
        return;
    }
    stream->stored_count = 0;
    for (size_t i = 0; i < answer->rows; i++)
        stream->stored_count += answer->fields[i].i;
    if (stream->foretold && stream->stored_count < total_of(stream)) {
        ask_count(stream); /* it may have become less since */
        return;
    }
    stream->counted = true;
    ledger_stream_settle(stream);
}

static void count_stored(struct ledger_stream *stream)
{
    const struct source_env *env = stream->run->env;
    const struct field params[] = {field_text(bytes_of(stream->run->account)),
                                   field_text(bytes_of(stream->name))};
    const struct lookup_question question = {
        .sql = ledger_known_count_sql, .params = params, .param_count = 2, .in_pieces = true};
    assert(!stream->storing); /* the pieces would not be of one state */
    stream->view.state = LEDGER_LOADING;
    if (env->ask_steadily(env->ask_arg, &question, on_counted, stream) != RC_OK)
        ledger_stream_end(stream, LEDGER_INCOMPLETE, "the store cannot be asked now");
}

void ledger_stream_foretell(struct ledger_stream *stream)
{
    stream->foretelling = stream->shape->count.request != NULL && !stream->was_complete &&
                          !stream->skips && !stream->resweeping;
    if (stream->foretelling)
        stream->purpose = ASK_COUNT;
}

void ledger_stream_take_count(struct ledger_stream *stream)
{
    bool told =
        connector_figure_read(&stream->shape->count, stream->side.root, &stream->view.total);
    stream->purpose = ASK_PAGE;
    if (stream->foretelling) {
        stream->foretelling = false;
        stream->foretold = told;
        ledger_stream_choose(stream);
        return;
    }
    if (told) {
        count_stored(stream);
        return;
    }
    stream->view.total = stream->stored_count = -1;
    stream->counted = true;
    ledger_stream_settle(stream);
}

void ledger_stream_take_reach(struct ledger_stream *stream)
{
    stream->purpose = ASK_PAGE;
    stream->reached = true;
    if (!connector_figure_read(&stream->shape->head, stream->side.root, &stream->reach))
        stream->reach = -1;
    ledger_stream_settle(stream);
}

static void count(struct ledger_stream *stream)
{
    if (stream->shape->count.request == NULL || stream->foretold)
        count_stored(stream);
    else
        ask_count(stream);
}

/* ---- the end ---- */

/* The only one to be asked denies what is known: what else it says may tell why. */
static bool ask_further(struct ledger_stream *stream)
{
    const struct connector_figure *total = &stream->shape->count;
    if (!stream->counted && total->given && (total->request != NULL || stream->view.total >= 0)) {
        stream->foretold = false; /* what has come since must not stand for what did not */
        count(stream);
        return true;
    }
    if (stream->reached || !stream->shape->head.given)
        return false;
    stream->purpose = ASK_REACH;
    ledger_stream_choose(stream);
    return true;
}

/* True: what was doubted is believed. False: somebody is asked again, or the stream has ended. */
static bool overcome(struct ledger_stream *stream, const char *doubt)
{
    char words[ERR_TEXT_MAX];
    stream->denied |= 1U << stream->pick.provider;
    uint32_t others = ledger_stream_able(stream) & ~stream->denied;
    bool alone = is_alone(stream);
    bool too_few = stream->counted && stream->stored_count < total_of(stream);
    if (alone && others != 0) {
        note_doubted(stream);
        stream->resweeping |= stream->walk.abrupt || stream->shrank || too_few;
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, doubt);
        return false;
    }
    size_t absent = ledger_reread_count_absent(&stream->reread);
    if (alone && absent > 0 && ask_further(stream))
        return false;
    stream->counted_out = is_counted_out(stream);
    bool denies = alone && absent > 0 && !stream->counted_out && !is_behind(stream);
    bool denies_all = denies && stream->walk.rows == 0;
    bool contradicts = denies && counts_all(stream); /* some of what it does not show it counts */
    if (!denies_all && (too_few || contradicts || stream->shrank) && sweep_again(stream))
        return false;
    if (denies_all) {
        snprintf(words, sizeof words,
                 "%s says that there is nothing, but %zu rows are known: not believed",
                 stream->view.provider, absent);
    } else if (alone && stream->shrank) {
        snprintf(words, sizeof words, "%s counts less with every page", stream->view.provider);
    } else if (alone && (too_few || contradicts)) {
        snprintf(words, sizeof words, "%s counts %" PRId64 " rows and has given %" PRId64,
                 stream->view.provider, total_of(stream), stream->stored_count - (int64_t)absent);
    } else {
        stream->believed = true;
        return true;
    }
    ledger_stream_end(stream, LEDGER_INCOMPLETE, words);
    return false;
}

void ledger_stream_settle(struct ledger_stream *stream)
{
    const char *doubt = ledger_stream_doubt(stream);
    if (stream->storing)
        stream->view.state = LEDGER_STORING; /* comes back when it is stored */
    else if (is_countable(stream) && !stream->counted &&
             ledger_reread_count_absent(&stream->reread) == 0)
        count(stream);
    else if (doubt == NULL || overcome(stream, doubt))
        ledger_stream_mark(stream);
}

/* ---- marks ---- */

static void add_mark(struct ledger_stream *stream, struct batch *batch,
                     const struct ledger_known_row *row)
{
    struct record *record = batch_add(batch, RECORD_TRANSACTION);
    bool fits =
        record != NULL &&
        batch_set_text(batch, record, TRANSACTION_ACCOUNT, bytes_of(stream->run->account)) &&
        batch_set_text(batch, record, TRANSACTION_EVENT_ID, bytes_make(row->id, EVENT_ID_SIZE)) &&
        batch_set_text(batch, record, TRANSACTION_STREAM, bytes_of(stream->name)) &&
        batch_set_text(batch, record, TRANSACTION_PROVIDER, bytes_of(stream->view.provider)) &&
        batch_set_text(batch, record, TRANSACTION_STATUS, bytes_of("orphaned"));
    assert(fits);
    batch_set_int(record, TRANSACTION_SESSION_US, stream->run->started_us);
}

static void tell(const struct ledger_stream *stream, const char *event, unsigned rows)
{
    if (rows > 0)
        log_event(LOG_WARN, LEDGER_COMPONENT, event,
                  (struct log_field[]){log_string("account", stream->run->account),
                                       log_string("stream", stream->name),
                                       log_string("provider", stream->view.provider),
                                       log_int("rows", rows), LOG_END});
}

void ledger_stream_mark(struct ledger_stream *stream)
{
    const struct ledger_known_row *row = NULL;
    struct batch *batch = delivery_take(ledger_stream_filling(stream));
    unsigned marks = 0, kept = 0;
    stream->view.state = LEDGER_STORING;
    stream->marking = true;
    if (batch == NULL)
        return;
    while (ledger_stream_has_room(stream, batch) &&
           (row = ledger_reread_absent(&stream->reread, &stream->marked)) != NULL) {
        if (!is_gone(stream, row)) {
            kept++;
            continue;
        }
        add_mark(stream, batch, row);
        marks++;
    }
    tell(stream, "orphaned", marks);
    tell(stream, "provider_lags", kept);
    stream->view.orphaned += marks;
    stream->marking = row != NULL; /* there may be more */
    ledger_stream_send(stream);
}
