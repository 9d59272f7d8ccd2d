/* SPDX-License-Identifier: Apache-2.0
 *
 * record.h - the record and the batch that flow from source to store.
 *
 * A record is one row to be: a kind and its fields, in the order the kind's table gives them. A
 * batch is an arena full of records together with the cursors they bring forward; it is the unit
 * of ownership: who holds the pointer owns it, and it comes from a fixed pool, so that the number
 * of batches is the bound on memory (I6).
 *
 * Always holds: every byte a record points at lies in its own batch's arena; a batch's cursors
 * cover nothing but records of this batch and of batches handed over before it (I2). */
#ifndef RECORD_H
#define RECORD_H

#include "base/arena.h"
#include "base/err.h"

enum field_type { FIELD_INT, FIELD_TEXT, FIELD_BLOB, FIELD_REAL };

struct field {
    enum field_type type;
    bool null;
    union {
        int64_t i;
        double d;
        struct bytes b;
    };
};

/* What a kind's fields are called and how two records of one kind in one commit are judged. */
struct record_kind {
    const char *name;
    const char *const *field_names;
    const enum field_type *field_types;
    uint8_t field_count;
    uint8_t key_count;    /* the first `key_count` fields are the identity; 0: never folded */
    int8_t version_field; /* of two with one identity the higher wins, the later among equals; -1:
                           * the later one */
};

struct record {
    struct record *next; /* of the same kind, in order of arrival */
    uint16_t kind;
    uint16_t field_count;
    bool folded; /* another record of this commit stands for it */
    int64_t n;   /* ingest number, given by the writer */
    struct field fields[];
};

#define RECORD_KINDS_MAX 48

struct batch {
    struct batch *next; /* in a queue */
    struct arena arena;
    struct record *first[RECORD_KINDS_MAX], *last[RECORD_KINDS_MAX];
    uint32_t record_count;
    int64_t received_us; /* wall time its oldest input came off the wire */
    void (*committed)(void *arg, struct batch *batch, enum rc rc); /* on the owner's thread */
    void *owner;
    uint64_t ticket; /* the owner's mark: which unit this finishes */
};

static inline struct field field_int(int64_t value)
{
    return (struct field){.type = FIELD_INT, .i = value};
}

static inline struct field field_text(struct bytes value)
{
    return (struct field){.type = FIELD_TEXT, .null = value.data == NULL, .b = value};
}

static inline struct field field_blob(struct bytes value)
{
    return (struct field){.type = FIELD_BLOB, .null = value.data == NULL, .b = value};
}

static inline struct field field_real(double value)
{
    return (struct field){.type = FIELD_REAL, .d = value};
}

static inline struct field field_null(enum field_type type)
{
    return (struct field){.type = type, .null = true};
}

#endif
