/* SPDX-License-Identifier: Apache-2.0 */
#include "config_table.h"
#include "sys/listen_socket.h"
#include "sys/small_file.h"

#include <string.h>

#define SIGNERS_BYTES_MAX ((size_t)64 << 20)

struct config_origin config_origin_of(const struct config *config, const char *path)
{
    struct section section = config_section(config);
    return section.origins[section_find(&section, bytes_of(path)) - section.settings];
}

/* "host:port" as it was written, which is a provider's name: its place in status and store. */
static struct bytes host_of(const char *url)
{
    const char *slashes = strstr(url, "://");
    const char *host = slashes == NULL ? url : slashes + 3;
    size_t len = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', len);
    const char *from = at == NULL ? host : at + 1;
    len -= (size_t)(from - host);
    return bytes_make(from, len < CONFIG_HOST_MAX ? len : CONFIG_HOST_MAX);
}

static bool is_new(const struct config_list *urls, size_t number)
{
    struct bytes host = host_of(urls->items[number]);
    for (size_t i = 0; i < number; i++)
        if (bytes_equal(host_of(urls->items[i]), host))
            return false;
    return true;
}

static void check_hosts(const struct config *config, const char *path,
                        const struct config_list *urls, struct config_problems *problems)
{
    for (size_t i = 0; i < urls->count; i++) {
        struct bytes host = host_of(urls->items[i]);
        if (is_new(urls, i))
            continue;
        config_problem(problems, config_origin_of(config, path),
                       "%s names %.*s twice; the addresses of one setting lie on different hosts "
                       "or ports",
                       path, (int)host.len, host.data);
        return;
    }
}

static void check_firehoses(const struct config *config, struct config_problems *problems)
{
    struct bytes first = host_of(config->jetstream.endpoint);
    struct config_origin at = config_origin_of(config, "jetstream.fallback_endpoint");
    if (config->bluesky.mode == CONFIG_MODE_POLLING ||
        !bytes_equal(first, host_of(config->jetstream.fallback_endpoint)))
        return;
    if (at.from == CONFIG_DEFAULT)
        at = config_origin_of(config, "jetstream.endpoint");
    config_problem(problems, at,
                   "jetstream.endpoint and jetstream.fallback_endpoint both name %.*s; leave the "
                   "second empty, or name another host",
                   (int)first.len, first.data);
}

/* Without tokens whoever reaches the main address may do everything there. */
static void check_reach(const struct config *config, struct config_problems *problems)
{
    if (config->serve.tokens_file[0] == '\0' && listen_socket_is_remote(config->serve.listen))
        config_problem(problems, config_origin_of(config, "serve.listen"),
                       "serve.listen is %s, which others can reach: without serve.tokens_file only "
                       "a loopback address is served, 127.0.0.1:8080 or [::1]:8080",
                       config->serve.listen);
}

/* Each connection would fail, one after the other, for as long as the daemon runs. */
static void check_signers(const struct config *config, struct config_problems *problems)
{
    static const char begin[] = "-----BEGIN ";
    const char *path = config->fetch.ca_file;
    struct text file = {0};
    struct err err;
    if (path[0] == '\0')
        return;
    if (small_file_read(path, SIGNERS_BYTES_MAX, &file, &err) != RC_OK)
        config_problem(problems, config_origin_of(config, "fetch.ca_file"), "fetch.ca_file: %s",
                       err.text);
    else if (file.len == 0 || memmem(file.data, file.len, begin, strlen(begin)) == NULL)
        config_problem(problems, config_origin_of(config, "fetch.ca_file"),
                       "fetch.ca_file: %s holds no certificate in PEM: no server would be believed",
                       path);
    text_free(&file);
}

void config_check_daemon(const struct config *config, struct config_problems *problems)
{
    bool content = config->content.contract[0] != '\0' || config->content.feed[0] != '\0';
    check_reach(config, problems);
    check_signers(config, problems);
    check_hosts(config, "bluesky.appview", &config->bluesky.appview, problems);
    check_firehoses(config, problems);
    if (!content)
        return;
    check_hosts(config, "content.rpc", &config->content.rpc, problems);
    check_hosts(config, "content.gateways", &config->content.gateways, problems);
}
