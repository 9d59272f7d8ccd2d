/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include "base/suggestion.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 63
#define PIECES_MAX     16
#define POINTER_MAX    256
#define TEXT_BYTES_MAX 4096

bool connector_refuse(struct connector_loader *loader, const struct yaml_node *at,
                      const char *format, ...)
{
    char sentence[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    err_set(loader->err, RC_REJECT, "%s:%u:%u: %s", loader->file, at->line, at->column, sentence);
    return false;
}

/* With the word in quotes after it, and the nearest of the candidates. */
static bool refuse_word(struct connector_loader *loader, const struct yaml_node *at,
                        const char *what, const char *before, const struct suggestion *suggestion)
{
    struct text sentence = {0};
    text_append_string(&sentence, what);
    suggestion_quote(at->text, &sentence);
    suggestion_end(suggestion, before, &sentence);
    connector_refuse(loader, at, "%s", text_string(&sentence));
    text_free(&sentence);
    return false;
}

void *connector_take(struct connector_loader *loader, const struct yaml_node *at, size_t size)
{
    void *memory = arena_take(&loader->connector->memory, size == 0 ? 1 : size);
    if (memory == NULL)
        connector_refuse(loader, at, "the connector is too large");
    else
        memset(memory, 0, size);
    return memory;
}

const struct yaml_node *connector_child(const struct yaml_node *map, const char *key)
{
    for (const struct yaml_node *node = map->first; node != NULL; node = node->next)
        if (bytes_equal_string(node->key->text, key))
            return node;
    return NULL;
}

static struct bytes keep(struct connector_loader *loader, const struct yaml_node *at,
                         struct bytes text)
{
    char *copy = connector_take(loader, at, text.len + 1);
    if (copy == NULL)
        return BYTES_ABSENT;
    if (text.len > 0)
        memcpy(copy, text.data, text.len);
    return bytes_make(copy, text.len);
}

bool connector_read_text(struct connector_loader *loader, const struct yaml_node *node,
                         struct bytes *out)
{
    *out = BYTES_ABSENT;
    if (node->kind != YAML_TEXT)
        return connector_refuse(loader, node, "expected a text, and this is %s",
                                yaml_node_kind(node));
    if (node->text.len > TEXT_BYTES_MAX || memchr(node->text.data, 0, node->text.len) != NULL)
        return connector_refuse(loader, node, "a text has at most %d bytes and no NUL",
                                TEXT_BYTES_MAX);
    *out = keep(loader, node, node->text);
    return out->data != NULL;
}

static bool is_name(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
            return false;
    }
    return text.len > 0 && text.len <= NAME_BYTES_MAX;
}

bool connector_read_name(struct connector_loader *loader, const struct yaml_node *node,
                         const char **out)
{
    struct bytes text = node->kind == YAML_TEXT ? node->text : BYTES_ABSENT;
    if (!is_name(text))
        return connector_refuse(loader, node,
                                "expected a name: 1 to %d letters, digits, _ and -, a letter first",
                                NAME_BYTES_MAX);
    *out = keep(loader, node, text).data;
    return *out != NULL;
}

bool connector_read_pointer(struct connector_loader *loader, const struct yaml_node *node,
                            bool *parent, const char **out)
{
    struct bytes text = node->kind == YAML_TEXT ? node->text : bytes_of("?");
    bool above = parent != NULL && bytes_starts_with(text, "^/");
    if (above)
        text = bytes_make(text.data + 1, text.len - 1);
    bool good = text.len <= POINTER_MAX && (text.len == 0 || text.data[0] == '/');
    for (size_t i = 0; good && i < text.len; i++)
        if (text.data[i] == '\0' ||
            (text.data[i] == '~' &&
             (i + 1 == text.len || (text.data[i + 1] != '0' && text.data[i + 1] != '1'))))
            good = false;
    if (!good)
        return connector_refuse(loader, node, "expected a JSON pointer such as /result/0/hash%s",
                                parent != NULL ? " or ^/hash" : "");
    if (parent != NULL)
        *parent = above;
    *out = keep(loader, node, text).data;
    return *out != NULL;
}

bool connector_read_choice(struct connector_loader *loader, const struct yaml_node *node,
                           const char *const *choices, unsigned *out)
{
    struct text all = {0};
    for (unsigned i = 0; node->kind == YAML_TEXT && choices[i] != NULL; i++) {
        if (bytes_equal_string(node->text, choices[i])) {
            *out = i;
            return true;
        }
    }
    for (unsigned i = 0; choices[i] != NULL; i++)
        text_appendf(&all, "%s%s",
                     i == 0                   ? ""
                     : choices[i + 1] == NULL ? " or "
                                              : ", ",
                     choices[i]);
    connector_refuse(loader, node, "expected %s", text_string(&all));
    text_free(&all);
    return false;
}

/* ---- templates ---- */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool has_key(const struct connector_value *map, struct bytes name)
{
    for (const struct connector_value *at = map == NULL ? NULL : map->first; at != NULL;
         at = at->next)
        if (bytes_equal_string(name, at->key))
            return true;
    return false;
}

static bool constant_known(const struct connector_loader *loader, struct bytes name)
{
    bool found = false;
    for (size_t i = 0; !found && i < loader->connector->platform_count; i++)
        found = has_key(loader->connector->platforms[i].constants, name);
    for (size_t i = 0; !found && loader->stream != NULL && i < loader->stream->partition_count; i++)
        found = has_key(loader->stream->partitions[i].constants, name);
    return found;
}

static void try_keys(const struct connector_value *map, struct suggestion *suggestion)
{
    for (const struct connector_value *at = map == NULL ? NULL : map->first; at != NULL;
         at = at->next)
        suggestion_try(suggestion, bytes_of(at->key));
}

static bool refuse_variable(struct connector_loader *loader, const struct yaml_node *node,
                            struct bytes name, bool secret)
{
    struct suggestion suggestion = suggestion_begin(name);
    for (unsigned i = 1; connector_variable_names[i] != NULL; i++)
        if (i != VARIABLE_API_KEY || secret)
            suggestion_try(&suggestion, bytes_of(connector_variable_names[i]));
    for (size_t i = 0; i < loader->connector->platform_count; i++)
        try_keys(loader->connector->platforms[i].constants, &suggestion);
    for (size_t i = 0; loader->stream != NULL && i < loader->stream->partition_count; i++)
        try_keys(loader->stream->partitions[i].constants, &suggestion);
    struct yaml_node named = *node;
    named.text = name;
    return refuse_word(loader, &named, "there is no variable ", "$", &suggestion);
}

static bool resolve(struct connector_loader *loader, const struct yaml_node *node,
                    struct bytes name, bool secret, struct connector_piece *piece)
{
    for (unsigned i = 1; connector_variable_names[i] != NULL; i++) {
        if ((i == VARIABLE_API_KEY && !secret) ||
            !bytes_equal_string(name, connector_variable_names[i]))
            continue;
        piece->variable = (enum connector_variable)i;
        loader->connector->uses_nonce |= i == VARIABLE_NONCE;
        return true;
    }
    if (bytes_equal_string(name, "api_key"))
        return connector_refuse(loader, node, "$api_key stands only in auth.value and in a path");
    piece->variable = VARIABLE_CONSTANT;
    piece->text = name;
    return constant_known(loader, name) || refuse_variable(loader, node, name, secret);
}

/* One piece from the front of `rest`. */
static bool read_piece(struct connector_loader *loader, const struct yaml_node *node, bool secret,
                       struct bytes *rest, struct connector_piece *piece)
{
    const char *data = rest->data;
    size_t len = 1;
    if (data[0] == '$' && rest->len > 1 && data[1] == '$') {
        *piece = (struct connector_piece){VARIABLE_LITERAL, bytes_make(data, 1)};
        len = 2;
    } else if (data[0] == '$') {
        while (len < rest->len && name_char(data[len]))
            len++;
        if (len == 1)
            return connector_refuse(loader, node, "a lone $; write $$ for a dollar sign");
        if (!resolve(loader, node, bytes_make(data + 1, len - 1), secret, piece))
            return false;
    } else {
        while (len < rest->len && data[len] != '$')
            len++;
        *piece = (struct connector_piece){VARIABLE_LITERAL, bytes_make(data, len)};
    }
    *rest = bytes_make(data + len, rest->len - len);
    return true;
}

bool connector_read_template(struct connector_loader *loader, const struct yaml_node *node,
                             bool secret, struct connector_template *out)
{
    struct connector_piece pieces[PIECES_MAX];
    struct bytes rest;
    size_t count = 0;
    if (!connector_read_text(loader, node, &rest))
        return false;
    while (rest.len > 0) {
        if (count == PIECES_MAX)
            return connector_refuse(loader, node, "a text names at most %d variables",
                                    PIECES_MAX / 2);
        if (!read_piece(loader, node, secret, &rest, &pieces[count++]))
            return false;
    }
    struct connector_piece *kept = connector_take(loader, node, count * sizeof *kept);
    if (kept == NULL)
        return false;
    if (count > 0)
        memcpy(kept, pieces, count * sizeof *kept);
    *out = (struct connector_template){kept, count};
    return true;
}

/* ---- values ---- */

static bool is_bare(const struct yaml_node *node)
{
    struct bytes text = node->text;
    if (!node->plain)
        return false;
    if (bytes_equal_string(text, "true") || bytes_equal_string(text, "false") ||
        bytes_equal_string(text, "null"))
        return true;
    int64_t number;
    return text.len < 18 && bytes_to_i64(text, &number) && (text.len == 1 || text.data[0] != '0') &&
           !bytes_starts_with(text, "-0");
}

static bool read_value(struct connector_loader *loader, const struct yaml_node *node, bool json,
                       struct connector_value *out);

static bool read_members(struct connector_loader *loader, const struct yaml_node *node, bool json,
                         struct connector_value *out)
{
    const struct connector_value **link = &out->first;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        struct connector_value *value = connector_take(loader, item, sizeof *value);
        if (value == NULL)
            return false;
        if (node->kind == YAML_MAP && item->repeats != 0)
            return connector_refuse(loader, item->key, "this key is given twice; first in line %u",
                                    item->repeats);
        if (node->kind == YAML_MAP) {
            struct bytes key;
            if (!connector_read_text(loader, item->key, &key))
                return false;
            value->key = key.data;
        }
        if (!read_value(loader, item, json, value))
            return false;
        *link = value;
        link = &value->next;
    }
    return true;
}

/* The depth is the tree's, which has a bound. */
static bool read_value(struct connector_loader *loader, const struct yaml_node *node, bool json,
                       struct connector_value *out)
{
    if (node->kind == YAML_TEXT) {
        out->kind = json && is_bare(node) ? VALUE_BARE : VALUE_TEXT;
        return connector_read_template(loader, node, false, &out->text);
    }
    if (!json)
        return connector_refuse(loader, node, "expected a text, and this is %s",
                                yaml_node_kind(node));
    out->kind = node->kind == YAML_LIST ? VALUE_LIST : VALUE_MAP;
    return read_members(loader, node, json, out);
}

bool connector_read_values(struct connector_loader *loader, const struct yaml_node *node, bool json,
                           const struct connector_value **out)
{
    struct connector_value *map = connector_take(loader, node, sizeof *map);
    if (map == NULL)
        return false;
    if (json ? node->kind == YAML_TEXT : node->kind != YAML_MAP)
        return connector_refuse(loader, node, "expected a map%s, and this is %s",
                                json ? " or a list" : " of texts", yaml_node_kind(node));
    map->kind = node->kind == YAML_LIST ? VALUE_LIST : VALUE_MAP;
    *out = map;
    return read_members(loader, node, json, map);
}

/* ---- words ---- */

/* "0.4" is 400. */
static bool read_thousandths(struct bytes text, int64_t *out)
{
    const char *point = memchr(text.data, '.', text.len);
    size_t whole = point == NULL ? text.len : (size_t)(point - text.data);
    size_t decimals = point == NULL ? 0 : text.len - whole - 1;
    uint64_t number, fraction = 0;
    if (whole > 12 || decimals > 3 || !bytes_to_u64(bytes_make(text.data, whole), &number))
        return false;
    if (point != NULL && !bytes_to_u64(bytes_make(point + 1, decimals), &fraction))
        return false;
    for (; decimals < 3; decimals++)
        fraction *= 10;
    *out = (int64_t)(number * 1000 + fraction);
    return true;
}

static bool read_number(struct connector_loader *loader, const struct connector_word *word,
                        const struct yaml_node *node, int64_t *out)
{
    struct bytes text = node->kind == YAML_TEXT ? node->text : bytes_of("");
    bool thousandths = word->type == WORD_THOUSANDTHS;
    int64_t number = 0;
    bool good = thousandths ? read_thousandths(text, &number) : bytes_to_i64(text, &number);
    if (good && number >= word->min && number <= word->max) {
        *out = number * (word->times == 0 ? 1 : word->times);
        return true;
    }
    if (thousandths)
        return connector_refuse(loader, node,
                                "%s must be a number from %g to %g with at most three decimals",
                                word->key, (double)word->min / 1000, (double)word->max / 1000);
    return connector_refuse(loader, node, "%s must be a whole number from %lld to %lld", word->key,
                            (long long)word->min, (long long)word->max);
}

static bool read_flag(struct connector_loader *loader, const struct yaml_node *node, bool *out)
{
    static const char *const words[] = {"false", "true", NULL};
    unsigned choice;
    if (!connector_read_choice(loader, node, words, &choice))
        return false;
    *out = choice == 1;
    return true;
}

static bool read_word(struct connector_loader *loader, const struct connector_word *word,
                      const struct yaml_node *node, void *into)
{
    void *at = (char *)into + word->offset;
    struct bytes text;
    switch (word->type) {
    case WORD_TEXT:
        if (!connector_read_text(loader, node, &text))
            return false;
        if (text.len == 0)
            return connector_refuse(loader, node, "%s must not be empty", word->key);
        *(const char **)at = text.data;
        return true;
    case WORD_NAME:
        return connector_read_name(loader, node, at);
    case WORD_TEMPLATE:
    case WORD_SECRET_TEMPLATE:
        return connector_read_template(loader, node, word->type == WORD_SECRET_TEMPLATE, at);
    case WORD_POINTER:
        return connector_read_pointer(loader, node, NULL, at);
    case WORD_COUNT:
    case WORD_THOUSANDTHS:
        return read_number(loader, word, node, at);
    case WORD_FLAG:
        return read_flag(loader, node, at);
    case WORD_CHOICE:
        return connector_read_choice(loader, node, word->choices, at);
    case WORD_BLOCK:
        return connector_read_block(loader, word->block, node, into);
    case WORD_READ:
        return word->read(loader, node, at);
    case WORD_END:
        break;
    }
    return false;
}

static const struct connector_word *find_word(const struct connector_block *block, struct bytes key)
{
    const struct connector_word *word = block->words;
    while (word->type != WORD_END && !bytes_equal_string(key, word->key))
        word++;
    return word->type == WORD_END ? NULL : word;
}

static bool refuse_key(struct connector_loader *loader, const struct connector_block *block,
                       const struct yaml_node *key)
{
    struct suggestion suggestion = suggestion_begin(key->text);
    char what[96];
    for (const struct connector_word *word = block->words; word->type != WORD_END; word++)
        suggestion_try(&suggestion, bytes_of(word->key));
    snprintf(what, sizeof what, "%s has no key ", block->name);
    return refuse_word(loader, key, what, "", &suggestion);
}

static bool check_keys(struct connector_loader *loader, const struct connector_block *block,
                       const struct yaml_node *map)
{
    for (const struct yaml_node *node = map->first; node != NULL; node = node->next) {
        if (node->repeats != 0)
            return connector_refuse(loader, node->key, "this key is given twice; first in line %u",
                                    node->repeats);
        if (find_word(block, node->key->text) == NULL)
            return refuse_key(loader, block, node->key);
    }
    return true;
}

bool connector_read_block(struct connector_loader *loader, const struct connector_block *block,
                          const struct yaml_node *node, void *into)
{
    if (node->kind != YAML_MAP)
        return connector_refuse(loader, node, "%s must be a map, and this is %s", block->name,
                                yaml_node_kind(node));
    if (!check_keys(loader, block, node))
        return false;
    for (const struct connector_word *word = block->words; word->type != WORD_END; word++) {
        const struct yaml_node *value = connector_child(node, word->key);
        if (value == NULL && word->required)
            return connector_refuse(loader, node, "%s needs the key %s", block->name, word->key);
        if (value != NULL && !read_word(loader, word, value, into))
            return false;
    }
    return true;
}
