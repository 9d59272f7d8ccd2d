/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_parts.h"

#include "base/hash.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITERS_PER_NEED 4
#define NAMES_PER_ASK    (LOOKUP_PARAMS_MAX - 1)
#define CHECK_AGAIN_US   INT64_C(1000000)

static const char check_sql[] =
    "SELECT c.canonical, c.uri, CASE WHEN c.is_errored THEN coalesce(o.state, '') ELSE 'stored' "
    "END FROM ipfs_cache c LEFT JOIN owed o ON o.source = 'content' AND o.stream = ?1 "
    "AND o.item = c.uri WHERE c.canonical IN (?2, ?3, ?4, ?5, ?6, ?7, ?8)";
#define CHECK_COLUMNS 3

/* ---- lists ---- */

void content_list_put(struct content *content, struct need_list *list, uint32_t index)
{
    content->needs[index].next = CONTENT_NONE;
    if (list->count == 0)
        list->first = index;
    else
        content->needs[list->last].next = index;
    list->last = index;
    list->count++;
}

uint32_t content_list_take(struct content *content, struct need_list *list)
{
    if (list->count == 0)
        return CONTENT_NONE;
    uint32_t index = list->first;
    list->first = content->needs[index].next;
    list->count--;
    return index;
}

static void move_need(struct content *content, uint32_t index, enum need_place place,
                      struct need_list *list)
{
    content->needs[index].place = place;
    content_list_put(content, list, index);
}

void content_needs_init(struct content *content)
{
    uint32_t needs = content->settings.needs_max, waiters = WAITERS_PER_NEED * needs;
    content->needs = memory_new_zeroed(needs, sizeof *content->needs);
    content->waiters = memory_new_zeroed(waiters, sizeof *content->waiters);
    content->heads = memory_new(CONTENT_HEADS * sizeof *content->heads);
    memset(content->heads, 0xff, CONTENT_HEADS * sizeof *content->heads);
    content->free_need = content->free_waiter = 0;
    content->free_needs = needs;
    content->free_waiters = waiters;
    for (uint32_t i = 0; i < needs; i++)
        content->needs[i].next = i + 1 < needs ? i + 1 : CONTENT_NONE;
    for (uint32_t i = 0; i < waiters; i++)
        content->waiters[i].next = i + 1 < waiters ? i + 1 : CONTENT_NONE;
}

void content_needs_deinit(struct content *content)
{
    for (uint32_t i = 0; content->settings.board != NULL && i < CONTENT_NEEDS_MAX; i++)
        name_board_clear(content->settings.board, i);
    free(content->needs);
    free(content->waiters);
    free(content->heads);
}

bool content_needs_room(const struct content *content, size_t count)
{
    return content->free_needs >= count && content->free_waiters >= count;
}

/* ---- the table ---- */

/* All of a uri but what says nothing about the document: the scheme, a second one as people write
 * it, and a query or fragment for whoever shows it. */
static struct bytes name_in(const char *uri)
{
    static const char *const prefixes[] = {IPFS_URI_SCHEME, "ipfs/"};
    struct bytes name = bytes_of(uri);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t len = strlen(prefixes[i]);
        if (bytes_starts_with(name, prefixes[i]))
            name = bytes_make(name.data + len, name.len - len);
    }
    return bytes_make(name.data, strcspn(name.data, "?#"));
}

bool content_spell(const char *uri, struct cid *cid, char canonical[CONTENT_URI_SIZE],
                   struct err *err)
{
    char text[IPFS_URI_SPELLED_SIZE];
    bool is_address = ipfs_uri_spell(name_in(uri), true, cid, text, err) == RC_OK;
    snprintf(canonical, CONTENT_URI_SIZE, "%s%s", is_address ? IPFS_URI_SCHEME : "",
             is_address ? text : uri);
    return is_address;
}

/* All spellings of a document stand in one place. */
static uint32_t *head_of(struct content *content, const char *canonical)
{
    return &content->heads[hash_bytes(bytes_of(canonical), content->seed) & (CONTENT_HEADS - 1)];
}

static uint32_t find_need(struct content *content, const char *canonical, const char *uri)
{
    uint32_t at = *head_of(content, canonical);
    while (at != CONTENT_NONE && strcmp(content->needs[at].uri, uri) != 0)
        at = content->needs[at].next_of_hash;
    return at;
}

/* Whether the document is being fetched or written in another spelling. */
static bool is_under_way(struct content *content, uint32_t index)
{
    const struct need *need = &content->needs[index];
    uint32_t at = *head_of(content, need->canonical);
    for (; at != CONTENT_NONE; at = content->needs[at].next_of_hash) {
        const struct need *other = &content->needs[at];
        if (at != index && strcmp(other->canonical, need->canonical) == 0 &&
            (other->place == NEED_WAITING || other->place == NEED_FETCHING ||
             other->place == NEED_WRITTEN))
            return true;
    }
    return false;
}

static void free_need(struct content *content, uint32_t index)
{
    struct need *need = &content->needs[index];
    uint32_t *link = head_of(content, need->canonical);
    assert(need->waiters == CONTENT_NONE);
    while (*link != index)
        link = &content->needs[*link].next_of_hash;
    *link = need->next_of_hash;
    need->place = NEED_FREE;
    if (content->settings.board != NULL)
        name_board_clear(content->settings.board, index);
    need->next = content->free_need;
    content->free_need = index;
    content->free_needs++;
}

/* What stands behind the scheme, in the one spelling. */
static struct bytes name_of(const struct need *need)
{
    return bytes_of(need->canonical + sizeof IPFS_URI_SCHEME - 1);
}

/* `filled` says which document it is. */
static uint32_t add_need(struct content *content, const struct need *filled,
                         const struct content_ref *ref)
{
    uint32_t index = content->free_need, *head = head_of(content, filled->canonical);
    struct need *need = &content->needs[index];
    assert(index != CONTENT_NONE);
    content->free_need = need->next;
    content->free_needs--;
    *need = *filled;
    need->place = NEED_CHECKING;
    need->next_of_hash = *head;
    need->waiters = CONTENT_NONE;
    *head = index;
    snprintf(need->space, sizeof need->space, "%.*s", (int)ref->space.len,
             ref->space.len > 0 ? ref->space.data : "");
    if (content->settings.board != NULL)
        name_board_put(content->settings.board, index, name_of(need));
    content_list_put(content, &content->checking, index);
    return index;
}

/* ---- those who wait ---- */

static void free_waiter(struct content *content, uint32_t index)
{
    content->waiters[index].next = content->free_waiter;
    content->free_waiter = index;
    content->free_waiters++;
}

static void finish_waiters(struct content *content, struct need *need)
{
    while (need->waiters != CONTENT_NONE) {
        uint32_t index = need->waiters;
        struct waiter *waiter = &content->waiters[index];
        need->waiters = waiter->next;
        watermark_finish_once(&content->watermark, &waiter->ticket);
        free_waiter(content, index);
    }
}

void content_needs_forget(struct content *content, uint64_t ord)
{
    for (uint32_t i = 0; i < content->settings.needs_max; i++) {
        uint32_t *link = &content->needs[i].waiters;
        while (content->needs[i].place != NEED_FREE && *link != CONTENT_NONE) {
            uint32_t index = *link;
            if (content->waiters[index].ticket.ord < ord) {
                link = &content->waiters[index].next;
                continue;
            }
            *link = content->waiters[index].next;
            free_waiter(content, index);
        }
    }
}

void content_need(struct content *content, const struct content_ref *ref, uint64_t block,
                  const struct watermark_ticket *ticket)
{
    struct need filled = {.block = block};
    snprintf(filled.uri, sizeof filled.uri, IPFS_URI_SCHEME "%.*s", (int)ref->name.len,
             ref->name.data);
    filled.is_address = content_spell(filled.uri, &filled.cid, filled.canonical, NULL);
    uint32_t index = find_need(content, filled.canonical, filled.uri);
    uint32_t waiter = content->free_waiter;
    if (index == CONTENT_NONE)
        index = add_need(content, &filled, ref);
    struct need *need = &content->needs[index];
    assert(waiter != CONTENT_NONE);
    content->free_waiter = content->waiters[waiter].next;
    content->free_waiters--;
    content->waiters[waiter] = (struct waiter){*ticket, need->waiters};
    need->waiters = waiter;
    if (need->place == NEED_WRITTEN) /* the position travels with that batch or a later one */
        finish_waiters(content, need);
}

void content_need_written(struct content *content, uint32_t index)
{
    struct need *need = &content->needs[index];
    need->place = NEED_WRITTEN;
    finish_waiters(content, need);
    content_list_put(content, &content->done, index);
}

void content_needs_answered(struct content *content)
{
    for (uint32_t index; (index = content_list_take(content, &content->done)) != CONTENT_NONE;)
        free_need(content, index);
    for (uint32_t index; (index = content_list_take(content, &content->aside)) != CONTENT_NONE;)
        move_need(content, index, NEED_CHECKING, &content->checking);
}

/* ---- what the store has ---- */

struct known {
    bool stored, owed;      /* the document, in any spelling */
    bool own_row, own_done; /* this one */
};

static struct known look_up(const struct lookup_answer *answer, const struct need *need)
{
    struct known known = {0};
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *row = answer->fields + i * CHECK_COLUMNS;
        if (!bytes_equal_string(row[0].b, need->canonical))
            continue;
        bool own = bytes_equal_string(row[1].b, need->uri);
        bool stored = bytes_equal_string(row[2].b, "stored");
        known.stored |= stored;
        known.owed |= bytes_equal_string(row[2].b, "owed");
        known.own_row |= own;
        known.own_done |= own && stored;
    }
    return known;
}

/* A dead one that is named again gets another chance, unless it never was an address. */
static void sort_need(struct content *content, uint32_t index, const struct known *known)
{
    struct need *need = &content->needs[index];
    if (known->own_done || (known->own_row && !known->stored && known->owed) ||
        (known->own_row && !need->is_address)) {
        finish_waiters(content, need);
        free_need(content, index);
    } else if (!need->is_address) {
        move_need(content, index, NEED_HOPELESS, &content->hopeless);
    } else if (known->stored || known->owed) {
        move_need(content, index, NEED_ECHO, &content->echoes);
    } else if (is_under_way(content, index)) {
        move_need(content, index, NEED_ASIDE, &content->aside);
    } else {
        move_need(content, index, NEED_WAITING, &content->waiting);
    }
}

static void take_answer(void *arg, const struct lookup_answer *answer)
{
    struct content *content = arg;
    content->checking_now = false;
    for (size_t i = 0; i < content->checked_count; i++) {
        uint32_t index = content->checked[i];
        if (answer->rc == RC_OK) {
            struct known known = look_up(answer, &content->needs[index]);
            sort_need(content, index, &known);
        } else {
            content_list_put(content, &content->checking, index);
        }
    }
    content->checked_count = 0;
    if (content->stopping)
        return;
    if (answer->rc == RC_OK) {
        content_pump(content);
        return;
    }
    content->env.runtime->ops->timer_arm(content->env.runtime, &content->check_again,
                                         CHECK_AGAIN_US);
}

void content_needs_check(struct content *content)
{
    struct field params[LOOKUP_PARAMS_MAX];
    if (content->checking_now || content->checking.count == 0)
        return;
    params[0] = field_text(bytes_of(content->settings.stream));
    for (size_t i = 0; i < NAMES_PER_ASK; i++) {
        uint32_t index = content_list_take(content, &content->checking);
        params[1 + i] = index == CONTENT_NONE
                            ? field_null(FIELD_TEXT)
                            : field_text(bytes_of(content->needs[index].canonical));
        if (index != CONTENT_NONE)
            content->checked[content->checked_count++] = index;
    }
    content->checking_now = content->env.ask(content->env.ask_arg, check_sql, params,
                                             1 + NAMES_PER_ASK, take_answer, content) == RC_OK;
    if (!content->checking_now)
        take_answer(content, &(struct lookup_answer){.rc = RC_AGAIN});
}
