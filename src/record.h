/* SPDX-License-Identifier: Apache-2.0
 *
 * record.h - the record that flows from source to store.
 *
 * A record is one row to be: a kind and its fields, in the order the kind's table gives them. It
 * lives in a batch's arena and owns nothing. */
#ifndef RECORD_H
#define RECORD_H

#include "base/arena.h"
#include "base/err.h"
#include "record_kinds.h"

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
    uint8_t key_count;     /* the first `key_count` fields are the identity; 0: never folded */
    int8_t version_field;  /* of two with one identity the higher wins; -1: the later one */
    int8_t earliest_field; /* a time that stays at its earliest; -1: none */
    int8_t op_field;       /* whether it is put or deleted; -1: there is no delete */
    bool latest_of_equals; /* of two of one version the later one wins, else the first */
    uint8_t rank_field;    /* of two without a version the lower wins; 0: the later one */
    uint8_t fresh_field;   /* 1 in it: no earlier time of one without a version counts; 0: none */
};

extern const struct record_kind record_kinds[RECORD_ID_COUNT];

struct record {
    struct record *next, *previous; /* of the same kind, in order of arrival */
    uint16_t kind;
    uint16_t field_count;
    bool folded;  /* another record of this commit stands for it */
    bool refused; /* the store would not take it: a quarantine row stands for it */
    int64_t n;    /* ingest number, given by the writer */
    struct field fields[];
};

/* Writes the record as one JSON object, bytes as hexadecimal: for quarantine and for people. */
void record_print(const struct record *record, struct text *out);

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
