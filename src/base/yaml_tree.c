/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_tree.h"

#include <assert.h>
#include <string.h>
#include <yaml.h>

struct anchor {
    struct bytes name;
    const struct yaml_node *node;
    bool complete; /* false while the node is being read: an alias to it would contain itself */
};

struct level {
    struct yaml_node *node;
    struct yaml_node *last; /* child */
    struct yaml_node *key;  /* read, its value is due */
};

struct composer {
    yaml_parser_t parser;
    struct yaml_tree *tree;
    struct err *err;
    struct level levels[YAML_TREE_DEPTH_MAX];
    unsigned depth;
    size_t node_count;
    struct anchor anchors[YAML_TREE_ANCHORS_MAX];
    size_t anchor_count;
    unsigned documents;
    bool ended;
};

static enum rc refuse(struct composer *composer, const yaml_mark_t *mark, const char *what)
{
    composer->tree->line = (unsigned)mark->line + 1;
    composer->tree->column = (unsigned)mark->column + 1;
    return err_set(composer->err, RC_REJECT, "%s", what);
}

static struct bytes keep(struct composer *composer, const void *data, size_t len)
{
    char *to = arena_take(&composer->tree->arena, len + 1);
    if (to == NULL)
        return BYTES_ABSENT;
    if (len > 0)
        memcpy(to, data, len);
    to[len] = 0;
    return bytes_make(to, len);
}

/* NULL when the document has too many nodes. */
static struct yaml_node *make(struct composer *composer, enum yaml_kind kind)
{
    if (composer->node_count == YAML_TREE_NODES_MAX)
        return NULL;
    struct yaml_node *node = arena_take(&composer->tree->arena, sizeof *node);
    if (node == NULL)
        return NULL;
    composer->node_count++;
    *node = (struct yaml_node){.kind = kind};
    return node;
}

static struct yaml_node *copy(struct composer *composer, const struct yaml_node *from,
                              unsigned depth)
{
    if (depth == YAML_TREE_DEPTH_MAX)
        return NULL;
    struct yaml_node *to = make(composer, from->kind);
    if (to == NULL)
        return NULL;
    *to = *from;
    to->first = to->next = to->key = NULL;
    struct yaml_node **tail = &to->first;
    for (const struct yaml_node *child = from->first; child != NULL; child = child->next) {
        *tail = copy(composer, child, depth + 1);
        if (*tail == NULL)
            return NULL;
        (*tail)->key = child->key; /* keys are scalars and never change: shared */
        tail = &(*tail)->next;
    }
    return to;
}

/* Puts a node where the document stands: as root, list item, key or value. */
static enum rc attach(struct composer *composer, struct yaml_node *node, const yaml_mark_t *mark)
{
    if (composer->depth == 0) {
        composer->tree->root = node;
        return RC_OK;
    }
    struct level *level = &composer->levels[composer->depth - 1];
    if (level->node->kind == YAML_MAP && level->key == NULL) {
        if (node->kind != YAML_TEXT)
            return refuse(composer, mark, "a key must be text, not a list or a map");
        level->key = node;
        return RC_OK;
    }
    if (level->node->kind == YAML_MAP) {
        node->key = level->key;
        level->key = NULL;
        node->repeats = 0;
        for (struct yaml_node *other = level->node->first; other != NULL; other = other->next) {
            if (bytes_equal(other->key->text, node->key->text)) {
                node->repeats = other->key->line;
                break;
            }
        }
    }
    if (level->last == NULL)
        level->node->first = node;
    else
        level->last->next = node;
    level->last = node;
    level->node->count++;
    return RC_OK;
}

static enum rc name_anchor(struct composer *composer, const yaml_char_t *name,
                           const struct yaml_node *node, const yaml_mark_t *mark)
{
    if (name == NULL)
        return RC_OK;
    if (composer->anchor_count == YAML_TREE_ANCHORS_MAX)
        return refuse(composer, mark, "too many anchors");
    struct bytes kept = keep(composer, name, strlen((const char *)name));
    if (kept.data == NULL)
        return refuse(composer, mark, "the document is too large");
    composer->anchors[composer->anchor_count++] =
        (struct anchor){kept, node, node->kind == YAML_TEXT};
    return RC_OK;
}

static enum rc take_alias(struct composer *composer, const yaml_event_t *event)
{
    struct bytes name = bytes_of((const char *)event->data.alias.anchor);
    for (size_t i = composer->anchor_count; i-- > 0;) {
        const struct anchor *anchor = &composer->anchors[i];
        if (!bytes_equal(anchor->name, name))
            continue;
        if (!anchor->complete)
            return refuse(composer, &event->start_mark, "an alias that contains itself");
        struct yaml_node *node = copy(composer, anchor->node, composer->depth);
        if (node == NULL)
            return refuse(composer, &event->start_mark, "aliases make the document too large");
        node->line = (unsigned)event->start_mark.line + 1;
        node->column = (unsigned)event->start_mark.column + 1;
        return attach(composer, node, &event->start_mark);
    }
    return refuse(composer, &event->start_mark, "an alias without its anchor");
}

static enum rc take_scalar(struct composer *composer, const yaml_event_t *event)
{
    if (event->data.scalar.tag != NULL)
        return refuse(composer, &event->start_mark, "tags (!...) are not used here");
    struct yaml_node *node = make(composer, YAML_TEXT);
    struct bytes text = keep(composer, event->data.scalar.value, event->data.scalar.length);
    if (node == NULL || text.data == NULL)
        return refuse(composer, &event->start_mark, "the document is too large");
    node->text = text;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->line = (unsigned)event->start_mark.line + 1;
    node->column = (unsigned)event->start_mark.column + 1;
    enum rc rc = name_anchor(composer, event->data.scalar.anchor, node, &event->start_mark);
    return rc != RC_OK ? rc : attach(composer, node, &event->start_mark);
}

static enum rc begin_container(struct composer *composer, const yaml_event_t *event,
                               enum yaml_kind kind, const yaml_char_t *anchor,
                               const yaml_char_t *tag)
{
    if (tag != NULL)
        return refuse(composer, &event->start_mark, "tags (!...) are not used here");
    if (composer->depth == YAML_TREE_DEPTH_MAX)
        return refuse(composer, &event->start_mark, "the document is nested too deep");
    struct yaml_node *node = make(composer, kind);
    if (node == NULL)
        return refuse(composer, &event->start_mark, "the document is too large");
    node->line = (unsigned)event->start_mark.line + 1;
    node->column = (unsigned)event->start_mark.column + 1;
    enum rc rc = name_anchor(composer, anchor, node, &event->start_mark);
    if (rc == RC_OK)
        rc = attach(composer, node, &event->start_mark);
    if (rc == RC_OK)
        composer->levels[composer->depth++] = (struct level){.node = node};
    return rc;
}

static void end_container(struct composer *composer)
{
    assert(composer->depth > 0);
    const struct yaml_node *node = composer->levels[--composer->depth].node;
    for (size_t i = 0; i < composer->anchor_count; i++) {
        if (composer->anchors[i].node == node)
            composer->anchors[i].complete = true;
    }
}

static enum rc take(struct composer *composer, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (composer->documents++ > 0)
            return refuse(composer, &event->start_mark, "a second document in one file");
        return RC_OK;
    case YAML_ALIAS_EVENT:
        return take_alias(composer, event);
    case YAML_SCALAR_EVENT:
        return take_scalar(composer, event);
    case YAML_SEQUENCE_START_EVENT:
        return begin_container(composer, event, YAML_LIST, event->data.sequence_start.anchor,
                               event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return begin_container(composer, event, YAML_MAP, event->data.mapping_start.anchor,
                               event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        end_container(composer);
        return RC_OK;
    case YAML_STREAM_END_EVENT:
        composer->ended = true;
        return RC_OK;
    default:
        return RC_OK;
    }
}

/* The reader knows bytes, not lines: it fails ahead of what was scanned. */
static yaml_mark_t mark_at(struct bytes input, size_t offset)
{
    yaml_mark_t mark = {.index = offset};
    for (size_t i = 0; i < offset && i < input.len; i++) {
        bool newline = input.data[i] == '\n';
        bool continues = ((unsigned char)input.data[i] & 0xc0) == 0x80;
        mark.line += newline;
        mark.column = newline ? 0 : mark.column + !continues;
    }
    return mark;
}

static enum rc explain_syntax(struct composer *composer, struct bytes input)
{
    const yaml_parser_t *parser = &composer->parser;
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_READER_ERROR)
        mark = mark_at(input, parser->problem_offset);
    refuse(composer, &mark, parser->problem == NULL ? "this is no YAML" : parser->problem);
    if (parser->context != NULL)
        err_wrap(composer->err, RC_REJECT, "%s", parser->context);
    return RC_REJECT;
}

enum rc yaml_tree_parse(struct yaml_tree *tree, struct bytes input, struct err *err)
{
    *tree = (struct yaml_tree){.line = 1, .column = 1};
    if (input.len > YAML_TREE_BYTES_MAX)
        return err_set(err, RC_REJECT, "the document has %zu bytes; at most %d are read", input.len,
                       YAML_TREE_BYTES_MAX);
    /* Escapes may grow a scalar by half, each one is padded to its alignment. */
    arena_init(&tree->arena, 2 * input.len + YAML_TREE_NODES_MAX * (sizeof(struct yaml_node) + 32));
    struct composer composer = {.tree = tree, .err = err};
    enum rc rc = RC_OK;
    if (!yaml_parser_initialize(&composer.parser))
        abort();
    yaml_parser_set_encoding(&composer.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &composer.parser, (const unsigned char *)(input.len > 0 ? input.data : ""), input.len);
    while (rc == RC_OK && !composer.ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&composer.parser, &event)) {
            rc = explain_syntax(&composer, input);
            break;
        }
        rc = take(&composer, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&composer.parser);
    if (rc != RC_OK)
        tree->root = NULL;
    return rc;
}

void yaml_tree_free(struct yaml_tree *tree)
{
    if (tree->arena.block != NULL)
        explicit_bzero(tree->arena.block, tree->arena.used);
    arena_deinit(&tree->arena);
    tree->root = NULL;
}

bool yaml_node_null(const struct yaml_node *node)
{
    if (node->kind != YAML_TEXT || !node->plain)
        return false;
    return node->text.len == 0 || bytes_equal_string(node->text, "~") ||
           bytes_equal_string(node->text, "null") || bytes_equal_string(node->text, "Null") ||
           bytes_equal_string(node->text, "NULL");
}

const char *yaml_node_kind(const struct yaml_node *node)
{
    static const char *const names[] = {"text", "a list", "a map"};
    return names[node->kind];
}
