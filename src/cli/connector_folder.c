/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connector_folder.h"

#include "sys/small_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_BYTES_MAX 65536

struct reading {
    const struct config *config;
    struct ledger_providers *providers;
    int64_t now_us;
    struct err *err;
};

/* Beside the program, wherever it was put; in the tree it was built in they lie further up. */
static const char *find_beside(void)
{
    static const char *const places[] = {"../share/tidemark/connectors", "../../../connectors"};
    static char path[PATH_MAX];
    char program[PATH_MAX - 64];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    while (len > 0 && program[len - 1] != '/')
        len--;
    for (size_t i = 0; len > 0 && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%.*s%s", (int)len, program, places[i]);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

const char *connector_folder(const struct config *config)
{
    const char *named = getenv("TIDEMARK_CONNECTORS");
    if (config->ledger.connectors[0] != '\0')
        return config->ledger.connectors;
    if (named != NULL && named[0] != '\0')
        return named;
    const char *beside = find_beside();
    return beside != NULL ? beside : TIDEMARK_CONNECTORS_FOLDER;
}

static enum rc read_file(const struct reading *reading, const char *path)
{
    struct text yaml = {0};
    enum rc rc = small_file_read(path, CONNECTOR_BYTES_MAX, &yaml, reading->err);
    if (rc == RC_OK)
        rc = ledger_providers_add(reading->providers, text_bytes(&yaml), path, reading->config,
                                  reading->now_us, reading->err);
    text_free(&yaml);
    return rc;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_yaml(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".yaml") == 0;
}

/* In the order of their names, so that equal priorities have one order. */
static enum rc read_folder(const struct reading *reading, const char *path, int depth)
{
    struct dirent **entries;
    struct text inner = {0};
    enum rc rc = RC_OK;
    int count = scandir(path, &entries, visible, alphasort);
    if (count < 0)
        return err_set(reading->err, RC_REJECT, "cannot read the connectors in %s: %s", path,
                       strerror(errno));
    for (int i = 0; i < count; i++) {
        text_clear(&inner);
        text_appendf(&inner, "%s/%s", path, entries[i]->d_name);
        if (rc == RC_OK && is_yaml(entries[i]->d_name))
            rc = read_file(reading, text_string(&inner));
        else if (rc == RC_OK && depth > 0 && strchr(entries[i]->d_name, '.') == NULL)
            rc = read_folder(reading, text_string(&inner), depth - 1);
        free(entries[i]);
    }
    free(entries);
    text_free(&inner);
    return rc;
}

static enum rc read_key(const char *path, struct text *out, struct err *err)
{
    if (path[0] == '\0')
        return RC_OK;
    enum rc rc = small_file_read(path, KEY_BYTES_MAX, out, err);
    while (out->len > 0 && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == '\r'))
        out->data[--out->len] = '\0';
    return rc;
}

static enum rc read_keys(const struct reading *reading, const struct config_provider *provider)
{
    struct text key = {0}, secret = {0};
    enum rc rc = read_key(provider->api_key_file, &key, reading->err);
    if (rc == RC_OK)
        rc = read_key(provider->api_secret_file, &secret, reading->err);
    if (rc == RC_OK)
        ledger_providers_set_keys(reading->providers, provider->name, text_bytes(&key),
                                  text_bytes(&secret));
    else
        rc = err_wrap(reading->err, RC_REJECT, "the key of %s", provider->name);
    explicit_bzero(key.data, key.len);
    explicit_bzero(secret.data, secret.len);
    text_free(&key);
    text_free(&secret);
    return rc;
}

enum rc connector_folder_read(const struct config *config, struct ledger_providers *providers,
                              int64_t now_us, struct err *err)
{
    const struct reading reading = {config, providers, now_us, err};
    enum rc rc = read_folder(&reading, connector_folder(config), 1);
    for (size_t i = 0; i < config->provider_count && rc == RC_OK; i++)
        rc = read_keys(&reading, &config->providers[i]);
    return rc;
}
