/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include "decode/connector_expand.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MEMORY_BYTES       ((size_t)1024 * 1024)
#define HOSTS_MAX          16
#define RESPONSES_MAX      32
#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_PRIORITY   100

/* ---- the file ---- */

bool connector_read_version(struct connector_loader *loader, const struct yaml_node *node,
                            void *into)
{
    (void)into;
    if (node->kind == YAML_TEXT && bytes_equal_string(node->text, "1"))
        return true;
    return connector_refuse(loader, node, "version must be 1");
}

bool connector_read_platforms(struct connector_loader *loader, const struct yaml_node *node,
                              void *into)
{
    struct connector *connector = into;
    if (node->kind != YAML_MAP || node->count == 0 || node->count > CONNECTOR_PLATFORMS_MAX)
        return connector_refuse(loader, node,
                                "platforms must be a map of 1 to %d names, such as {ethereum: {}}",
                                CONNECTOR_PLATFORMS_MAX);
    struct connector_platform *platforms =
        connector_take(loader, node, node->count * sizeof *platforms);
    if (platforms == NULL)
        return false;
    connector->platforms = platforms;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        if (!connector_read_name(loader, item->key, &platforms->name))
            return false;
        if (connector_platform(connector, item->key->text) != NULL)
            return connector_refuse(loader, item->key, "this platform is given twice");
        if (!yaml_node_null(item) &&
            !connector_read_values(loader, item, false, &platforms->constants))
            return false;
        platforms++;
        connector->platform_count++;
    }
    return true;
}

bool connector_read_hosts(struct connector_loader *loader, const struct yaml_node *node, void *into)
{
    struct connector *connector = into;
    if (node->kind != YAML_LIST || node->count > HOSTS_MAX)
        return connector_refuse(loader, node, "hosts must be a list of at most %d names",
                                HOSTS_MAX);
    const char **hosts = connector_take(loader, node, node->count * sizeof *hosts);
    if (hosts == NULL)
        return false;
    connector->hosts = hosts;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        struct bytes host;
        if (!connector_read_text(loader, item, &host))
            return false;
        if (host.len == 0 || strpbrk(host.data, "/:@ *") != NULL)
            return connector_refuse(loader, item, "expected the name of a host, nothing around it");
        hosts[connector->host_count++] = host.data;
    }
    return true;
}

/* Into a stream or, for `loader->stream` NULL, the connector. */
bool connector_read_responses(struct connector_loader *loader, const struct yaml_node *node,
                              void *into)
{
    struct connector_stream *stream = loader->stream == NULL ? NULL : into;
    if (node->kind != YAML_LIST || node->count > RESPONSES_MAX)
        return connector_refuse(loader, node, "responses must be a list of at most %d rules",
                                RESPONSES_MAX);
    size_t shared = stream == NULL ? 0 : loader->response_count;
    struct connector_response *rules =
        connector_take(loader, node, (node->count + shared) * sizeof *rules);
    if (rules == NULL)
        return false;
    size_t count = 0;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (!connector_read_block(loader, &connector_response_block, item, &rules[count++]))
            return false;
    if (stream == NULL) {
        loader->responses = rules;
        loader->response_count = count;
        return true;
    }
    if (shared > 0)
        memcpy(rules + count, loader->responses, shared * sizeof *rules);
    stream->responses = rules;
    stream->response_count = count + shared;
    return true;
}

static bool read_stream(struct connector_loader *loader, const struct yaml_node *node,
                        struct connector_stream *stream)
{
    loader->stream = stream;
    if (!connector_read_name(loader, node->key, &stream->name))
        return false;
    stream->kind = stream->name;
    stream->page.first = -1;
    stream->responses = loader->responses;
    stream->response_count = loader->response_count;
    bool read = connector_read_block(loader, &connector_stream_block, node, stream) &&
                connector_check_stream(loader, node, stream);
    loader->stream = NULL;
    return read;
}

bool connector_read_streams(struct connector_loader *loader, const struct yaml_node *node,
                            void *into)
{
    struct connector *connector = into;
    if (node->kind != YAML_MAP || node->count == 0 || node->count > CONNECTOR_STREAMS_MAX)
        return connector_refuse(loader, node, "streams must be a map of 1 to %d streams",
                                CONNECTOR_STREAMS_MAX);
    struct connector_stream *streams = connector_take(loader, node, node->count * sizeof *streams);
    if (streams == NULL)
        return false;
    connector->streams = streams;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        if (item->repeats != 0)
            return connector_refuse(loader, item->key,
                                    "this stream is given twice; first in line %u", item->repeats);
        if (!read_stream(loader, item, &streams[connector->stream_count++]))
            return false;
    }
    return true;
}

/* Every platform has an address of its own. */
static bool check_addresses(struct connector_loader *loader, const struct yaml_node *node)
{
    const struct connector *connector = loader->connector;
    bool good = true;
    for (size_t i = 0; good && i < connector->platform_count; i++) {
        const struct connector_platform *platform = &connector->platforms[i];
        const struct connector_vars none = {.from = -1, .to = -1};
        struct connector_scope scope = {connector, NULL, platform, &none};
        struct text url = {0};
        bool there = connector_expand(&scope, &connector->base_url, false, &url);
        good = there && (bytes_starts_with(text_bytes(&url), "https://") ||
                         bytes_starts_with(text_bytes(&url), "http://"));
        text_free(&url);
        if (!good)
            connector_refuse(loader, node, "base_url is no https:// address for the platform %s%s",
                             platform->name, there ? "" : ": one of its variables is absent");
    }
    return good;
}

/* What single words cannot see. */
static bool check_file(struct connector_loader *loader, const struct yaml_node *root)
{
    struct connector *connector = loader->connector;
    const struct yaml_node *auth = connector_child(root, "auth");
    bool asks = false;
    for (size_t i = 0; i < connector->stream_count; i++)
        asks = asks || connector->streams[i].request != NULL;
    if (asks && connector->base_url.count == 0)
        return connector_refuse(loader, root, "the file needs the key base_url");
    if (connector->base_url.count > 0 &&
        !check_addresses(loader, connector_child(root, "base_url")))
        return false;
    bool named = connector->auth.in == AUTH_QUERY || connector->auth.in == AUTH_HEADER;
    if (named && connector->auth.name == NULL)
        return connector_refuse(loader, auth, "auth needs the key name: which parameter or header");
    if (connector->sign != SIGN_NONE && auth != NULL)
        return connector_refuse(loader, auth, "a signed request has no auth beside it");
    connector->uses_nonce |= connector->sign == SIGN_KRAKEN;
    return true;
}

static bool read_file(struct connector_loader *loader, const struct yaml_node *root)
{
    static const struct connector_piece key = {VARIABLE_API_KEY, {NULL, 0}};
    struct connector *connector = loader->connector;
    connector->timeout_ms = DEFAULT_TIMEOUT_MS;
    connector->priority = DEFAULT_PRIORITY;
    connector->rate.burst = 1;
    connector->rate.concurrency = 1;
    connector->auth.value = (struct connector_template){&key, 1};
    return connector_read_block(loader, &connector_file_block, root, connector) &&
           check_file(loader, root);
}

enum rc connector_load(struct bytes yaml, const char *file, struct connector **out, struct err *err)
{
    struct connector *connector = memory_new_zeroed(1, sizeof *connector);
    struct connector_loader loader = {.file = file, .connector = connector, .err = err};
    struct yaml_tree tree = {0};
    struct err wrong;
    struct yaml_node nowhere = {.line = 1, .column = 1};
    bool read = false;
    arena_init(&connector->memory, MEMORY_BYTES);
    if (yaml.len > CONNECTOR_BYTES_MAX) {
        connector_refuse(&loader, &nowhere, "a connector has at most %d bytes",
                         CONNECTOR_BYTES_MAX);
    } else if (yaml_tree_parse(&tree, yaml, &wrong) != RC_OK) {
        nowhere.line = tree.line;
        nowhere.column = tree.column;
        connector_refuse(&loader, &nowhere, "%s", wrong.text);
    } else if (tree.root == NULL) {
        connector_refuse(&loader, &nowhere, "the file is empty");
    } else {
        struct bytes name = arena_copy(&connector->memory, bytes_of(file));
        connector->file = name.data;
        read = read_file(&loader, tree.root);
    }
    yaml_tree_free(&tree);
    if (!read) {
        connector_free(connector);
        return RC_REJECT;
    }
    *out = connector;
    return RC_OK;
}

void connector_free(struct connector *connector)
{
    if (connector == NULL)
        return;
    arena_deinit(&connector->memory);
    free(connector);
}

/* ---- looking things up ---- */

const struct connector_platform *connector_platform(const struct connector *connector,
                                                    struct bytes name)
{
    for (size_t i = 0; i < connector->platform_count; i++)
        if (bytes_equal_string(name, connector->platforms[i].name))
            return &connector->platforms[i];
    return NULL;
}

const struct connector_stream *connector_stream(const struct connector *connector,
                                                struct bytes name)
{
    for (size_t i = 0; i < connector->stream_count; i++)
        if (bytes_equal_string(name, connector->streams[i].name))
            return &connector->streams[i];
    return NULL;
}

bool connector_stream_serves(const struct connector_stream *stream, struct bytes platform)
{
    for (size_t i = 0; i < stream->platform_count; i++)
        if (bytes_equal_string(platform, stream->platforms[i]))
            return true;
    return stream->platform_count == 0;
}

const struct connector_stream *connector_csv_stream(const struct connector *connector,
                                                    struct bytes columns)
{
    for (size_t i = 0; i < connector->stream_count; i++) {
        const char *header = connector->streams[i].csv.header;
        if (header != NULL && strlen(header) == columns.len &&
            strncasecmp(header, columns.data, columns.len) == 0)
            return &connector->streams[i];
    }
    return NULL;
}

bool connector_needs_key(const struct connector *connector)
{
    return connector->sign != SIGN_NONE || connector->auth.required;
}
