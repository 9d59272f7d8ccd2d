/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_words.h - the vocabulary of connector files as tables, and a YAML map against one.
 *
 * A block is a map with known keys; a word is one of its keys: what it takes, where it goes, what
 * it means. Reading, checking, suggesting and documenting follow from the same rows. The words of a
 * block are read in the order of its table, whatever the order of the file, so a word may rely on
 * those above it.
 *
 * Owner: the loader.  Thread: one. */
#ifndef DECODE_CONNECTOR_WORDS_H
#define DECODE_CONNECTOR_WORDS_H

#include "base/yaml_tree.h"
#include "decode/connector.h"

enum connector_word_type {
    WORD_END, /* after the last word of a block */
    WORD_TEXT,
    WORD_NAME,            /* letters, digits, _ and -, at most 63 */
    WORD_TEMPLATE,        /* a text that may name variables */
    WORD_SECRET_TEMPLATE, /* one that may name $api_key, too */
    WORD_POINTER,
    WORD_COUNT,       /* a whole number within the word's bounds */
    WORD_THOUSANDTHS, /* a number with up to three decimals, kept as thousandths */
    WORD_FLAG,
    WORD_CHOICE,
    WORD_BLOCK, /* a nested map that goes into the same struct */
    WORD_READ,  /* a function of its own */
};

struct connector_loader {
    const char *file;
    struct connector *connector;
    const struct connector_stream *stream;      /* the one being read, for its partitions */
    const struct connector_response *responses; /* of the connector itself */
    size_t response_count;
    struct err *err;
};

typedef bool connector_read_fn(struct connector_loader *loader, const struct yaml_node *node,
                               void *into);

struct connector_block;

struct connector_word {
    enum connector_word_type type;
    const char *key;
    bool required;
    size_t offset;              /* in the block's struct */
    int64_t min, max;           /* as written */
    int64_t times;              /* a number is kept this many times over; 0: once */
    const char *const *choices; /* their indexes are the values; NULL ends them */
    connector_read_fn *read;
    const struct connector_block *block; /* what a nested map may say */
    const char *takes;                   /* of WORD_READ, for the document */
    const char *about;
};

struct connector_block {
    const char *name; /* as sentences and the document call it */
    const char *about;
    const struct connector_word *words;
};

extern const struct connector_block connector_file_block, connector_stream_block,
    connector_request_block, connector_condition_block, connector_where_block,
    connector_field_block, connector_sum_block, connector_response_block, connector_list_block,
    connector_partition_block;
extern const char *const connector_field_names[];    /* by enum ledger_field */
extern const char *const connector_cast_names[];     /* by enum connector_cast */
extern const char *const connector_variable_names[]; /* by enum connector_variable */
extern const char *const connector_status_names[];

/* ---- reading; false: the sentence is in the loader's err ---- */

/* "file:line:column: ..." */
bool connector_refuse(struct connector_loader *loader, const struct yaml_node *at,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));
bool connector_read_block(struct connector_loader *loader, const struct connector_block *block,
                          const struct yaml_node *node, void *into);
/* Zeroed memory of the connector; NULL, and a refusal, when it is used up. */
void *connector_take(struct connector_loader *loader, const struct yaml_node *at, size_t size);
bool connector_read_text(struct connector_loader *loader, const struct yaml_node *node,
                         struct bytes *out);
bool connector_read_name(struct connector_loader *loader, const struct yaml_node *node,
                         const char **out);
bool connector_read_pointer(struct connector_loader *loader, const struct yaml_node *node,
                            bool *parent, const char **out);
bool connector_read_template(struct connector_loader *loader, const struct yaml_node *node,
                             bool secret, struct connector_template *out);
bool connector_read_choice(struct connector_loader *loader, const struct yaml_node *node,
                           const char *const *choices, unsigned *out);
/* A map of texts; `json`: nested maps, lists and bare values, too. */
bool connector_read_values(struct connector_loader *loader, const struct yaml_node *node, bool json,
                           const struct connector_value **out);
/* What the words of a stream say together; fills in what follows from them. */
bool connector_check_stream(struct connector_loader *loader, const struct yaml_node *node,
                            struct connector_stream *stream);
const struct yaml_node *connector_child(const struct yaml_node *map, const char *key);

/* ---- the functions of words that need one ---- */

connector_read_fn connector_read_platforms, connector_read_stream_platforms, connector_read_hosts,
    connector_read_responses, connector_read_streams, connector_read_request, connector_read_stop,
    connector_read_partitions, connector_read_where, connector_read_map, connector_read_identity,
    connector_read_headers, connector_read_query, connector_read_form, connector_read_json,
    connector_read_is, connector_read_in, connector_read_not_in, connector_read_contains,
    connector_read_lacks, connector_read_exists, connector_read_statuses, connector_read_when,
    connector_read_where_at, connector_read_all, connector_read_any, connector_read_sum_where,
    connector_read_sum, connector_read_less, connector_read_times, connector_read_at,
    connector_read_unit, connector_read_const, connector_read_var, connector_read_status_words,
    connector_read_status_else, connector_read_version;

#endif
