/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include "base/suggestion.h"

#include <string.h>

#define STATUS_WORDS_MAX 32
#define SUMS_MAX         8
#define BIT(field)       (UINT32_C(1) << (field))

struct unit {
    const char *name;
    int scale;
};

static const struct unit units[] = {{"wei", 0},  {"gwei", 9},     {"ether", 18}, {"sat", 0},
                                    {"btc", 8},  {"drops", 0},    {"xrp", 6},    {"lamport", 0},
                                    {"sol", 9},  {"lovelace", 0}, {"ada", 6},    {"yocto", 0},
                                    {"near", 24}};

/* ---- a field ---- */

bool connector_read_at(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_field *field = into;
    size_t count = node->kind == YAML_LIST ? node->count : 1;
    if (count == 0 || count > CONNECTOR_POINTERS_MAX)
        return connector_refuse(loader, node, "expected a pointer or a list of 1 to %d of them",
                                CONNECTOR_POINTERS_MAX);
    const struct yaml_node *item = node->kind == YAML_LIST ? node->first : node;
    for (; field->pointer_count < count; item = item->next) {
        unsigned i = field->pointer_count++;
        if (!connector_read_pointer(loader, item, &field->parent[i], &field->pointers[i]))
            return false;
    }
    return true;
}

static bool read_sums(struct connector_loader *loader, const struct yaml_node *node, bool less,
                      struct connector_field *field)
{
    if (node->kind != YAML_LIST || node->count == 0 || node->count > SUMS_MAX)
        return connector_refuse(loader, node, "expected a list of 1 to %d sums", SUMS_MAX);
    size_t count = field->sum_count;
    struct connector_sum *sums = connector_take(loader, node, (count + node->count) * sizeof *sums);
    if (sums == NULL)
        return false;
    if (count > 0)
        memcpy(sums, field->sums, count * sizeof *sums);
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        sums[count].less = less;
        if (!connector_read_block(loader, &connector_sum_block, item, &sums[count++]))
            return false;
    }
    field->sums = sums;
    field->sum_count = count;
    return true;
}

bool connector_read_sum(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    return read_sums(loader, node, false, into);
}

bool connector_read_less(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    return read_sums(loader, node, true, into);
}

bool connector_read_times(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_field *field = into;
    if (node->kind != YAML_LIST || node->count != 2)
        return connector_refuse(loader, node, "times takes a list of two pointers");
    return connector_read_pointer(loader, node->first, NULL, &field->factors[0]) &&
           connector_read_pointer(loader, node->first->next, NULL, &field->factors[1]);
}

static bool read_scale(struct connector_loader *loader, const struct yaml_node *node, int *scale)
{
    const char *names[sizeof units / sizeof units[0] + 1] = {0};
    unsigned choice;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        names[i] = units[i].name;
    if (!connector_read_choice(loader, node, names, &choice))
        return false;
    *scale = units[choice].scale;
    return true;
}

bool connector_read_unit(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_field *field = into;
    const struct connector *connector = loader->connector;
    if (node->kind != YAML_MAP)
        return read_scale(loader, node, &field->scale);
    int *scales = connector_take(loader, node, connector->platform_count * sizeof *scales);
    if (scales == NULL)
        return false;
    for (size_t i = 0; i < connector->platform_count; i++)
        scales[i] = -1;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        const struct connector_platform *platform = connector_platform(connector, item->key->text);
        if (platform == NULL)
            return connector_refuse(loader, item->key, "the connector has no such platform");
        if (!read_scale(loader, item, &scales[platform - connector->platforms]))
            return false;
    }
    for (size_t i = 0; i < connector->platform_count; i++)
        if (scales[i] < 0)
            return connector_refuse(loader, node, "%s has no unit", connector->platforms[i].name);
    field->scales = scales;
    return true;
}

bool connector_read_const(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_field *field = into;
    if (field->fixed.count != 0)
        return connector_refuse(loader, node, "a field has one of const, var and default");
    return connector_read_template(loader, node, false, &field->fixed);
}

bool connector_read_var(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_field *field = into;
    if (field->fixed.count != 0)
        return connector_refuse(loader, node, "a field has one of const, var and default");
    if (node->kind != YAML_TEXT)
        return connector_refuse(loader, node, "expected a variable's name, without its $");
    struct text dollar = {0};
    struct yaml_node named = *node;
    text_append_char(&dollar, '$');
    text_append(&dollar, node->text.data, node->text.len);
    named.text = text_bytes(&dollar);
    bool read = connector_read_template(loader, &named, false, &field->fixed);
    text_free(&dollar);
    return read;
}

bool connector_read_status_words(struct connector_loader *loader, const struct yaml_node *node,
                                 void *into)
{
    struct connector_field *field = into;
    if (node->kind != YAML_MAP || node->count == 0 || node->count > STATUS_WORDS_MAX)
        return connector_refuse(loader, node,
                                "when must be a map of 1 to %d words of the source and ours",
                                STATUS_WORDS_MAX);
    struct connector_pair *pairs = connector_take(loader, node, node->count * sizeof *pairs);
    if (pairs == NULL)
        return false;
    field->when = pairs;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next, pairs++) {
        unsigned status;
        if (!connector_read_text(loader, item->key, &pairs->from) ||
            !connector_read_choice(loader, item, connector_status_names, &status))
            return false;
        pairs->to = connector_status_names[status];
        field->when_count++;
    }
    return true;
}

bool connector_read_status_else(struct connector_loader *loader, const struct yaml_node *node,
                                void *into)
{
    struct connector_field *field = into;
    unsigned status;
    if (!connector_read_choice(loader, node, connector_status_names, &status))
        return false;
    field->otherwise = connector_status_names[status];
    return true;
}

/* ---- the map ---- */

static bool cast_fits(enum ledger_field name, enum connector_cast cast)
{
    switch (name) {
    case FIELD_BLOCK:
    case FIELD_AMOUNT:
    case FIELD_FEE:
        return cast == CAST_DEC || cast == CAST_HEX;
    case FIELD_TIME:
        return cast >= CAST_UNIX_S && cast <= CAST_RIPPLE_S;
    case FIELD_STATUS:
        return cast == CAST_PLAIN;
    default:
        return cast == CAST_PLAIN || cast == CAST_LOWER || cast == CAST_DEC || cast == CAST_HEX ||
               cast == CAST_JSON || cast == CAST_ADDRESS;
    }
}

static bool read_field(struct connector_loader *loader, const struct yaml_node *node,
                       enum ledger_field name, struct connector_field *field)
{
    bool number = name == FIELD_BLOCK || name == FIELD_AMOUNT || name == FIELD_FEE;
    field->mapped = true;
    bool read = node->kind == YAML_MAP
                    ? connector_read_block(loader, &connector_field_block, node, field)
                    : connector_read_at(loader, node, field);
    if (!read)
        return false;
    const struct yaml_node *cast = node->kind == YAML_MAP ? connector_child(node, "cast") : NULL;
    if (cast == NULL && number)
        field->cast = CAST_DEC;
    if (!cast_fits(name, field->cast))
        return connector_refuse(loader, cast != NULL ? cast : node, "%s is %s",
                                connector_field_names[name],
                                name == FIELD_TIME ? "a time; its cast must be unix_s, unix_ms, "
                                                     "unix_us, unix_ns, rfc3339, csv_utc or "
                                                     "ripple_s"
                                : number           ? "a number; its cast must be dec or hex"
                                                   : "a text; its cast must be str, lower, dec, "
                                                     "hex or json");
    int places = (field->pointer_count > 0 ? 1 : 0) + (field->sum_count > 0 ? 1 : 0) +
                 (field->factors[0] != NULL ? 1 : 0);
    if (places > 1 || (places == 0 && field->fixed.count == 0))
        return connector_refuse(loader, node, "a field needs one of at, sum, times, const and var");
    bool money = name == FIELD_AMOUNT || name == FIELD_FEE;
    if (!money && (field->sum_count > 0 || field->factors[0] != NULL))
        return connector_refuse(loader, node, "only amount and fee are reckoned");
    bool words = field->when != NULL || field->otherwise != NULL;
    if (words != (name == FIELD_STATUS))
        return connector_refuse(
            loader, node, words ? "only status has when and else" : "status needs the key when");
    if ((field->scale != 0 || field->scales != NULL) && !money)
        return connector_refuse(loader, node, "only amount and fee have a unit");
    return true;
}

static bool find_field(struct connector_loader *loader, const struct yaml_node *node, unsigned end,
                       unsigned *out)
{
    struct text sentence = {0};
    for (unsigned i = 0; i < end; i++) {
        if (node->kind == YAML_TEXT && bytes_equal_string(node->text, connector_field_names[i])) {
            *out = i;
            return true;
        }
    }
    struct suggestion suggestion = suggestion_begin(node->text);
    for (unsigned i = 0; i < end; i++)
        suggestion_try(&suggestion, bytes_of(connector_field_names[i]));
    text_append_string(&sentence, "a row has no field ");
    suggestion_quote(node->text, &sentence);
    suggestion_end(&suggestion, "", &sentence);
    connector_refuse(loader, node, "%s", text_string(&sentence));
    text_free(&sentence);
    return false;
}

bool connector_read_map(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_stream *stream = into;
    if (node->kind != YAML_MAP || node->count == 0)
        return connector_refuse(loader, node, "map must be a map of fields, such as {hash: /hash}");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        unsigned name;
        if (!find_field(loader, item->key, FIELD_MAPPED_COUNT, &name))
            return false;
        if (item->repeats != 0)
            return connector_refuse(loader, item->key,
                                    "this field is given twice; first in line %u", item->repeats);
        if (!read_field(loader, item, (enum ledger_field)name, &stream->map[name]))
            return false;
    }
    return true;
}

bool connector_read_identity(struct connector_loader *loader, const struct yaml_node *node,
                             void *into)
{
    static const uint32_t never =
        BIT(FIELD_BLOCK) | BIT(FIELD_TIME) | BIT(FIELD_FEE) | BIT(FIELD_STATUS);
    struct connector_stream *stream = into;
    if (node->kind != YAML_LIST || node->count == 0)
        return connector_refuse(loader, node,
                                "of must be a list of fields, such as [platform, hash]");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        unsigned name;
        if (!find_field(loader, item, FIELD_COUNT, &name))
            return false;
        if ((never & BIT(name)) != 0)
            return connector_refuse(loader, item,
                                    "%s may change, so it cannot be part of an identity",
                                    connector_field_names[name]);
        stream->identity |= BIT(name);
    }
    return true;
}

/* ---- a whole stream ---- */

/* Its pages end where the source does, so nothing but the head can end the walk. */
static bool check_range(struct connector_loader *loader, const struct yaml_node *node,
                        const struct connector_stream *stream)
{
    const struct yaml_node *page = connector_child(node, "page");
    bool blocks = stream->resume.kind == RESUME_BLOCK_NUMBER || stream->resume.kind == RESUME_SLOT;
    if (stream->page.size == 0)
        return connector_refuse(loader, page, "page needs the key size");
    if (!stream->head.given)
        return connector_refuse(loader, node, "pages by range need the key head: where they end");
    if (!blocks || stream->resume.exclusive || stream->order != ORDER_ASC)
        return connector_refuse(loader, page,
                                "pages by range go up from a block that is included: order asc, "
                                "resume by blockNumber or slot");
    if (stream->page.stop != 0 || stream->page.next != NEXT_NONE || stream->page.window_max != 0)
        return connector_refuse(loader, page, "pages by range have neither stop, next nor window");
    if (stream->listed.request != NULL)
        return connector_refuse(loader, page, "pages by range have no listed partitions");
    return true;
}

static bool check_page(struct connector_loader *loader, const struct yaml_node *node,
                       struct connector_stream *stream)
{
    const struct yaml_node *page = connector_child(node, "page");
    enum connector_paging by = stream->page.by;
    if (stream->page.first < 0)
        stream->page.first = by == PAGE_NUMBER || by == PAGE_KEYSET ? 1 : 0;
    if (by == PAGE_NONE)
        return true;
    if (by == PAGE_RANGE)
        return check_range(loader, node, stream);
    if (stream->page.stop == 0)
        return connector_refuse(loader, page, "page needs the key stop: what ends the walk");
    bool counted = by != PAGE_TOKEN && by != PAGE_LINK;
    if ((counted || (stream->page.stop & STOP_SHORT_PAGE) != 0) && stream->page.size == 0)
        return connector_refuse(loader, page, "page needs the key size");
    if (!counted && stream->page.next == NEXT_NONE)
        return connector_refuse(loader, page, "page needs the key next: where the %s is read",
                                by == PAGE_TOKEN ? "token" : "link");
    if (counted && (stream->page.next != NEXT_NONE || (stream->page.stop & STOP_TOKEN_ABSENT) != 0))
        return connector_refuse(loader, page, "only pages by token or link have a token");
    bool pointer = stream->page.next == NEXT_BODY || stream->page.next == NEXT_LAST_RECORD;
    if (pointer && stream->page.next_at[0] != '/')
        return connector_refuse(loader, connector_child(page, "next"),
                                "at must be a JSON pointer such as /cursor");
    bool jumps = by == PAGE_KEYSET || stream->page.window_max != 0;
    if (jumps && stream->resume.kind == RESUME_NONE)
        return connector_refuse(loader, page,
                                "going on from the last position needs the key resume");
    return true;
}

static bool check_resume(struct connector_loader *loader, const struct yaml_node *node,
                         struct connector_stream *stream)
{
    enum connector_cast cast = stream->resume.cast;
    bool time = stream->resume.kind == RESUME_TIMESTAMP;
    bool fits = time ? (cast >= CAST_UNIX_S && cast <= CAST_RFC3339) || cast == CAST_DATE
                     : cast == CAST_PLAIN || cast == CAST_DEC || cast == CAST_HEX;
    if (connector_child(node, "resume") == NULL && stream->request != NULL)
        return connector_refuse(loader, node,
                                "a stream needs the key resume: where a walk can begin; {kind: "
                                "none}, if only at the beginning");
    if (stream->resume.kind == RESUME_NONE || fits)
        return true;
    return connector_refuse(loader, connector_child(node, "resume"),
                            time ? "a timestamp's cast must be unix_s, unix_ms, unix_us, unix_ns, "
                                   "rfc3339 or date"
                                 : "a block's cast must be dec or hex");
}

static bool check_identity(struct connector_loader *loader, const struct yaml_node *node,
                           struct connector_stream *stream)
{
    static const enum ledger_field named[] = {FIELD_HASH, FIELD_AMOUNT, FIELD_ID};
    const struct yaml_node *identity = connector_child(node, "identity");
    if (connector_child(node, "map") == NULL)
        return connector_refuse(loader, node, "a stream needs the key map");
    if (identity == NULL)
        return connector_refuse(loader, node, "a stream needs the key identity");
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if ((stream->identity & BIT(named[i])) != 0 && !stream->map[named[i]].mapped)
            return connector_refuse(loader, identity, "the identity is made of %s, which map lacks",
                                    connector_field_names[named[i]]);
    uint32_t own = BIT(FIELD_HASH) | BIT(FIELD_ID) | BIT(FIELD_ROW);
    if ((stream->identity & own) == 0)
        return connector_refuse(loader, identity,
                                "an identity needs one of hash, id and row: the rest may repeat");
    return true;
}

bool connector_check_stream(struct connector_loader *loader, const struct yaml_node *node,
                            struct connector_stream *stream)
{
    bool file = stream->csv.header != NULL;
    if (file == (stream->request != NULL))
        return connector_refuse(loader, node, "a stream has one of request and csv");
    if (file && stream->csv.skip)
        return true;
    if (!file && stream->records.at == NULL)
        return connector_refuse(loader, node, "a stream needs the key records");
    if (stream->records.at == NULL)
        stream->records.at = "";
    stream->count.given = stream->count.pointer != NULL;
    stream->head.given = stream->head.pointer != NULL;
    stream->since.given = stream->since.pointer != NULL;
    stream->detail.given = stream->detail.request != NULL;
    return check_resume(loader, node, stream) && check_page(loader, node, stream) &&
           check_identity(loader, node, stream);
}
