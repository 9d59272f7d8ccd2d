/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include <string.h>

#define STATUSES_MAX   16
#define TEXTS_MAX      32
#define CONDITIONS_MAX 16

bool connector_read_stream_platforms(struct connector_loader *loader, const struct yaml_node *node,
                                     void *into)
{
    struct connector_stream *stream = into;
    const char **names;
    if (node->kind != YAML_LIST || node->count == 0)
        return connector_refuse(loader, node, "platforms must be a list of names here");
    names = connector_take(loader, node, node->count * sizeof *names);
    if (names == NULL)
        return false;
    stream->platforms = names;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        if (!connector_read_name(loader, item, &names[stream->platform_count]))
            return false;
        if (connector_platform(loader->connector, item->text) == NULL)
            return connector_refuse(loader, item, "the connector has no platform \"%s\"",
                                    names[stream->platform_count]);
        stream->platform_count++;
    }
    return true;
}

/* ---- requests ---- */

static bool set_body(struct connector_loader *loader, const struct yaml_node *node, bool json,
                     enum connector_body kind, struct connector_request *request)
{
    if (request->body_kind != BODY_NONE)
        return connector_refuse(loader, node, "a request has one body: form, json or jsonrpc");
    request->body_kind = kind;
    return connector_read_values(loader, node, json, &request->body);
}

bool connector_read_form(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    return set_body(loader, node, false, BODY_FORM, into);
}

bool connector_read_json(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    return set_body(loader, node, true, BODY_JSON, into);
}

bool connector_read_query(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_request *request = into;
    return connector_read_values(loader, node, false, &request->query);
}

bool connector_read_headers(struct connector_loader *loader, const struct yaml_node *node,
                            void *into)
{
    struct connector_request *request = into;
    return connector_read_values(loader, node, false, &request->headers);
}

bool connector_read_request(struct connector_loader *loader, const struct yaml_node *node,
                            void *into)
{
    struct connector_request *request = connector_take(loader, node, sizeof *request);
    if (request == NULL || !connector_read_block(loader, &connector_request_block, node, request))
        return false;
    if (request->rpc_method != NULL)
        request->body_kind = BODY_JSONRPC;
    const char *fitting = request->body_kind == BODY_NONE ? "GET" : "POST";
    if (request->method == NULL)
        request->method = fitting;
    bool known = strcmp(request->method, "GET") == 0 || strcmp(request->method, "POST") == 0;
    if (!known || (request->body_kind != BODY_NONE && strcmp(request->method, "GET") == 0))
        return connector_refuse(loader, connector_child(node, "method"), "method must be %s here",
                                known ? "POST" : "GET or POST");
    *(const struct connector_request **)into = request;
    return true;
}

/* ---- conditions ---- */

static bool read_texts(struct connector_loader *loader, const struct yaml_node *node,
                       enum connector_test test, struct connector_condition *into)
{
    size_t count = node->kind == YAML_LIST ? node->count : 1;
    if (into->test != TEST_NONE)
        return connector_refuse(loader, node, "a condition makes one comparison");
    if (count == 0 || count > TEXTS_MAX)
        return connector_refuse(loader, node, "expected a list of 1 to %d texts", TEXTS_MAX);
    struct connector_template *texts = connector_take(loader, node, count * sizeof *texts);
    if (texts == NULL)
        return false;
    const struct yaml_node *item = node->kind == YAML_LIST ? node->first : node;
    for (size_t i = 0; i < count; i++, item = item->next)
        if (!connector_read_template(loader, item, false, &texts[i]))
            return false;
    into->test = test;
    into->texts = texts;
    into->text_count = count;
    return true;
}

bool connector_read_is(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    if (node->kind == YAML_LIST)
        return connector_refuse(loader, node, "is takes one text; in takes a list");
    return read_texts(loader, node, TEST_IN, into);
}

bool connector_read_in(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    return read_texts(loader, node, TEST_IN, into);
}

bool connector_read_not_in(struct connector_loader *loader, const struct yaml_node *node,
                           void *into)
{
    return read_texts(loader, node, TEST_NOT_IN, into);
}

bool connector_read_contains(struct connector_loader *loader, const struct yaml_node *node,
                             void *into)
{
    return read_texts(loader, node, TEST_CONTAINS, into);
}

bool connector_read_lacks(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    return read_texts(loader, node, TEST_LACKS, into);
}

bool connector_read_exists(struct connector_loader *loader, const struct yaml_node *node,
                           void *into)
{
    static const char *const words[] = {"false", "true", NULL};
    struct connector_condition *condition = into;
    unsigned choice;
    if (condition->test != TEST_NONE)
        return connector_refuse(loader, node, "a condition makes one comparison");
    if (!connector_read_choice(loader, node, words, &choice))
        return false;
    condition->test = choice == 1 ? TEST_EXISTS : TEST_ABSENT;
    return true;
}

bool connector_read_where_at(struct connector_loader *loader, const struct yaml_node *node,
                             void *into)
{
    struct connector_condition *condition = into;
    return connector_read_pointer(loader, node, &condition->parent, &condition->pointer);
}

bool connector_read_statuses(struct connector_loader *loader, const struct yaml_node *node,
                             void *into)
{
    struct connector_condition *condition = into;
    size_t count = node->kind == YAML_LIST ? node->count : 1;
    int64_t *statuses = connector_take(loader, node, count * sizeof *statuses);
    if (statuses == NULL)
        return false;
    const struct yaml_node *item = node->kind == YAML_LIST ? node->first : node;
    for (size_t i = 0; i < count && count <= STATUSES_MAX; i++, item = item->next)
        if (item->kind != YAML_TEXT || !bytes_to_i64(item->text, &statuses[i]) ||
            statuses[i] < 100 || statuses[i] > 599)
            count = 0;
    if (count == 0 || count > STATUSES_MAX)
        return connector_refuse(loader, node,
                                "status must be an HTTP status (100 to 599) or a list of them");
    condition->statuses = statuses;
    condition->status_count = count;
    return true;
}

static bool read_condition(struct connector_loader *loader, const struct yaml_node *node,
                           bool of_answer, struct connector_condition *out)
{
    if (!connector_read_block(loader, &connector_condition_block, node, out))
        return false;
    bool place = out->pointer != NULL || out->header != NULL;
    if (out->pointer != NULL && out->header != NULL)
        return connector_refuse(loader, node, "a condition looks at one place: at or header");
    if (place != (out->test != TEST_NONE))
        return connector_refuse(loader, node,
                                place ? "a condition needs one of is, in, not_in, "
                                        "contains, lacks and exists"
                                      : "a condition needs the key at");
    if (!of_answer && (out->header != NULL || out->statuses != NULL))
        return connector_refuse(loader, node, "a record has neither status nor headers");
    if (!place && out->statuses == NULL)
        return connector_refuse(loader, node, "a condition needs the key at, header or status");
    if (out->cast != CAST_PLAIN && out->cast != CAST_LOWER)
        return connector_refuse(loader, connector_child(node, "cast"), "expected str or lower");
    return true;
}

bool connector_read_when(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_response *response = into;
    return read_condition(loader, node, true, &response->when);
}

static bool read_conditions(struct connector_loader *loader, const struct yaml_node *node,
                            const struct connector_condition **out, size_t *count)
{
    if (node->kind != YAML_LIST || node->count == 0 || node->count > CONDITIONS_MAX)
        return connector_refuse(loader, node, "expected a list of 1 to %d conditions",
                                CONDITIONS_MAX);
    struct connector_condition *list = connector_take(loader, node, node->count * sizeof *list);
    if (list == NULL)
        return false;
    *out = list;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (!read_condition(loader, item, false, &list[(*count)++]))
            return false;
    return true;
}

bool connector_read_all(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_where *where = into;
    return read_conditions(loader, node, &where->all, &where->all_count);
}

bool connector_read_any(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_where *where = into;
    return read_conditions(loader, node, &where->any, &where->any_count);
}

static bool read_where(struct connector_loader *loader, const struct yaml_node *node,
                       struct connector_where *into)
{
    if (node->kind == YAML_MAP &&
        (connector_child(node, "all") != NULL || connector_child(node, "any") != NULL))
        return connector_read_block(loader, &connector_where_block, node, into);
    struct connector_condition *one = connector_take(loader, node, sizeof *one);
    if (one == NULL || !read_condition(loader, node, false, one))
        return false;
    into->all = one;
    into->all_count = 1;
    return true;
}

bool connector_read_where(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector_stream *stream = into;
    return read_where(loader, node, &stream->where);
}

bool connector_read_sum_where(struct connector_loader *loader, const struct yaml_node *node,
                              void *into)
{
    struct connector_sum *sum = into;
    return read_where(loader, node, &sum->where);
}

/* ---- pages and partitions ---- */

bool connector_read_stop(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    static const char *const rules[] = {"short_page", "empty", "token_absent", NULL};
    struct connector_stream *stream = into;
    if (node->kind != YAML_LIST || node->count == 0)
        return connector_refuse(loader, node, "stop must be a list of rules, such as [short_page]");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        unsigned rule;
        const struct yaml_node *flag =
            item->kind == YAML_MAP && item->count == 1 ? connector_child(item, "flag") : NULL;
        if (flag != NULL) {
            if ((stream->page.stop & STOP_FLAG) != 0)
                return connector_refuse(loader, flag, "there is one flag at most");
            if (!read_condition(loader, flag, true, &stream->page.flag))
                return false;
            stream->page.stop |= STOP_FLAG;
        } else if (item->kind != YAML_TEXT) {
            return connector_refuse(loader, item,
                                    "expected short_page, empty, token_absent or {flag: ...}");
        } else if (connector_read_choice(loader, item, rules, &rule)) {
            stream->page.stop |= 1u << rule;
        } else {
            return false;
        }
    }
    return true;
}

bool connector_read_partitions(struct connector_loader *loader, const struct yaml_node *node,
                               void *into)
{
    struct connector_stream *stream = into;
    if (node->kind == YAML_MAP)
        return connector_read_block(loader, &connector_partition_block, node, stream);
    if (node->kind != YAML_LIST || node->count == 0 || node->count > CONNECTOR_PARTITIONS_MAX)
        return connector_refuse(
            loader, node, "partitions must be a list of 1 to %d maps of texts, or {list: ...}",
            CONNECTOR_PARTITIONS_MAX);
    struct connector_partition *list = connector_take(loader, node, node->count * sizeof *list);
    if (list == NULL)
        return false;
    size_t count = 0;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (!connector_read_values(loader, item, false, &list[count++].constants))
            return false;
    stream->partition_count = count;
    stream->partitions = list;
    return true;
}
