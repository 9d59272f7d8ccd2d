/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/watermark.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>

enum { WORD_BITS = 64 };

/* Apart from the counters: a report about a unit of this epoch touches four bytes and one bit. */
struct watermark_note {
    uint64_t payload;
    uint32_t epoch;
};

static bool sane(const struct watermark *wm)
{
    return wm->base <= wm->staged && wm->staged <= wm->next &&
           wm->next - wm->base <= wm->capacity; /* (I1), (I6) */
}

static uint64_t slot_of(const struct watermark *wm, uint64_t ord)
{
    return ord & (wm->capacity - 1);
}

static bool holds(const struct watermark *wm, uint64_t ord)
{
    return ord - wm->base < wm->next - wm->base;
}

static bool is_done(const struct watermark *wm, uint64_t ord)
{
    uint64_t slot = slot_of(wm, ord);
    return (wm->done[slot / WORD_BITS] >> (slot % WORD_BITS) & 1) != 0;
}

static void set_done(struct watermark *wm, uint64_t ord, bool value)
{
    uint64_t slot = slot_of(wm, ord), bit = UINT64_C(1) << (slot % WORD_BITS);
    uint64_t *word = &wm->done[slot / WORD_BITS];
    *word = value ? *word | bit : *word & ~bit;
}

/* Makes the slots of [from, to) ready for other units: no bit is set outside of [base, next). */
static void clear_done(struct watermark *wm, uint64_t from, uint64_t to)
{
    uint64_t word_bits = wm->capacity < WORD_BITS ? wm->capacity : WORD_BITS;
    assert(from <= to && to - from <= wm->capacity);
    while (from < to) {
        uint64_t slot = slot_of(wm, from), at = slot % WORD_BITS;
        uint64_t run = word_bits - at < to - from ? word_bits - at : to - from;
        assert(run > 0 && run <= WORD_BITS);
        wm->done[slot / WORD_BITS] &= ~(~UINT64_C(0) >> (WORD_BITS - run) << at);
        from += run;
    }
}

/* First unfinished ordinal at or above `ord`, or next: a word of 64 units at a time. */
static uint64_t first_open(const struct watermark *wm, uint64_t ord)
{
    uint64_t word_bits = wm->capacity < WORD_BITS ? wm->capacity : WORD_BITS;
    assert(ord >= wm->base && ord <= wm->next);
    while (ord < wm->next) {
        uint64_t slot = slot_of(wm, ord), at = slot % WORD_BITS;
        uint64_t open = ~wm->done[slot / WORD_BITS] >> at;
        uint64_t run = open == 0 ? WORD_BITS : (uint64_t)__builtin_ctzll(open);
        uint64_t in_word = word_bits - at;
        if (run < in_word) {
            ord += run;
            break;
        }
        ord += in_word;
    }
    /* In a full ring the slot after the last unit is the first one's. */
    return ord < wm->next ? ord : wm->next;
}

void watermark_init(struct watermark *wm, uint64_t capacity)
{
    assert(capacity > 0 && capacity <= WATERMARK_CAPACITY_MAX);
    assert((capacity & (capacity - 1)) == 0);
    uint64_t words = (capacity + WORD_BITS - 1) / WORD_BITS;
    *wm = (struct watermark){.capacity = capacity};
    wm->done = memory_new_zeroed(words, sizeof *wm->done);
    wm->pending = memory_new_zeroed(capacity, sizeof *wm->pending);
    wm->notes = memory_new_zeroed(capacity, sizeof *wm->notes);
}

void watermark_deinit(struct watermark *wm)
{
    assert(wm->capacity > 0);
    assert(sane(wm));
    free(wm->done);
    free(wm->pending);
    free(wm->notes);
    *wm = (struct watermark){0};
}

enum rc watermark_admit(struct watermark *wm, uint32_t children, uint64_t payload,
                        struct watermark_ticket *ticket)
{
    assert(sane(wm));
    assert(wm->next < UINT64_MAX);
    if (wm->next - wm->base == wm->capacity)
        return RC_AGAIN;
    uint64_t ord = wm->next++, slot = slot_of(wm, ord);
    wm->pending[slot] = children;
    wm->notes[slot] = (struct watermark_note){payload, wm->epoch};
    if (children == 0)
        set_done(wm, ord, true);
    *ticket = (struct watermark_ticket){.ord = ord, .epoch = wm->epoch};
    return RC_OK;
}

/* Whether the unit at `ord` was admitted in `epoch`. */
static bool is_of(const struct watermark *wm, uint64_t ord, uint32_t epoch)
{
    if (ord >= wm->epoch_from)
        return epoch == wm->epoch;
    return epoch == wm->notes[slot_of(wm, ord)].epoch;
}

/* What a report about `ord` under `epoch` would meet; WATERMARK_COUNTED when the unit is open. */
static enum watermark_answer judge(const struct watermark *wm, uint64_t ord, uint32_t epoch)
{
    if (!holds(wm, ord))
        return ord >= wm->next && epoch != wm->epoch ? WATERMARK_STALE : WATERMARK_UNKNOWN;
    if (!is_of(wm, ord, epoch))
        return WATERMARK_STALE;
    return wm->pending[slot_of(wm, ord)] == 0 ? WATERMARK_ALREADY : WATERMARK_COUNTED;
}

enum watermark_answer watermark_finish(struct watermark *wm, uint64_t ord, uint32_t epoch)
{
    assert(sane(wm));
    enum watermark_answer answer = judge(wm, ord, epoch);
    if (answer != WATERMARK_COUNTED)
        return answer;
    uint32_t *pending = &wm->pending[slot_of(wm, ord)];
    assert(*pending > 0 && ord >= wm->staged);
    if (--*pending > 0)
        return WATERMARK_COUNTED;
    set_done(wm, ord, true);
    return WATERMARK_FINISHED;
}

enum watermark_answer watermark_finish_once(struct watermark *wm, struct watermark_ticket *ticket)
{
    assert(sane(wm));
    assert(ticket->epoch <= wm->epoch);
    if (ticket->used)
        return WATERMARK_ALREADY;
    ticket->used = true;
    return watermark_finish(wm, ticket->ord, ticket->epoch);
}

bool watermark_stage(struct watermark *wm)
{
    assert(sane(wm));
    if (wm->staged == wm->next || !is_done(wm, wm->staged))
        return false;
    uint64_t upto = first_open(wm, wm->staged);
    assert(upto > wm->staged && upto <= wm->next);
    wm->staged = upto;
    return true;
}

bool watermark_commit(struct watermark *wm, uint64_t upto, uint32_t epoch)
{
    assert(sane(wm));
    assert(epoch <= wm->epoch);
    if (epoch != wm->epoch)
        return false;
    assert(upto <= wm->staged); /* a position nobody staged cannot have committed (I2) */
    if (upto > wm->base) {
        clear_done(wm, wm->base, upto);
        wm->base = upto;
    }
    return true;
}

void watermark_unstage(struct watermark *wm)
{
    assert(sane(wm));
    wm->staged = wm->base;
    assert(sane(wm));
}

void watermark_undo(struct watermark *wm, uint64_t ord)
{
    assert(sane(wm));
    assert(ord <= wm->next && wm->epoch < UINT32_MAX);
    clear_done(wm, ord > wm->base ? ord : wm->base, wm->next);
    wm->epoch++;
    wm->epoch_from = ord;
    wm->next = ord;
    if (wm->base > ord)
        wm->base = ord;
    wm->staged = wm->base;
    assert(sane(wm));
}

bool watermark_oldest_unfinished(const struct watermark *wm, uint64_t *ord)
{
    assert(sane(wm));
    uint64_t open = first_open(wm, wm->staged);
    assert(open >= wm->staged && open <= wm->next);
    if (open == wm->next)
        return false;
    *ord = open;
    return true;
}

bool watermark_owe_at(const struct watermark *wm, const struct watermark_ticket *ticket,
                      int64_t since_us, const struct watermark_patience *patience, int64_t *at_us)
{
    uint64_t oldest;
    assert(sane(wm));
    assert(patience->crowded_us >= 0 && patience->crowded_us <= patience->open_us);
    if (!watermark_oldest_unfinished(wm, &oldest) || ticket->ord != oldest ||
        !is_of(wm, oldest, ticket->epoch))
        return false;
    /* Fill is what waits behind this unit: what waits for a commit is not its fault. */
    bool crowded = (wm->next - oldest) * 4 > wm->capacity * 3;
    *at_us = since_us + (crowded ? patience->crowded_us : patience->open_us);
    return true;
}

uint64_t watermark_payload(const struct watermark *wm, uint64_t ord)
{
    assert(sane(wm));
    assert(holds(wm, ord));
    return wm->notes[slot_of(wm, ord)].payload;
}

uint32_t watermark_pending(const struct watermark *wm, uint64_t ord)
{
    assert(sane(wm));
    assert(holds(wm, ord));
    return wm->pending[slot_of(wm, ord)];
}

uint32_t watermark_unit_epoch(const struct watermark *wm, uint64_t ord)
{
    assert(sane(wm));
    assert(holds(wm, ord));
    return wm->notes[slot_of(wm, ord)].epoch;
}

uint64_t watermark_lag(const struct watermark *wm)
{
    assert(sane(wm));
    assert(wm->capacity > 0);
    return wm->next - wm->base;
}
