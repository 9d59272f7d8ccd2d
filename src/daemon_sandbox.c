/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_sandbox.h"

#include "cli/connector_folder.h"
#include "daemon_inside.h"
#include "store/store_files.h"
#include "sys/byte_stream.h"
#include "sys/log.h"
#include "sys/sandbox.h"
#include "sys/small_file.h"

#include <string.h>

/* Plugins and data of the libraries; names, users and certificates; what the C library, libuv and
 * the sanitizers ask about the machine and about this process. All of it stays guarded by its
 * permissions. */
static const char *const system_places[] = {
    "/etc",
    "/lib",
    "/lib64",
    "/usr",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self",
    "/proc/self/exe",
    "/proc/stat",
    "/proc/sys",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
};

static void allow_system(struct sandbox *sandbox)
{
    for (size_t i = 0; i < sizeof system_places / sizeof system_places[0]; i++)
        sandbox_allow(sandbox, system_places[i], SANDBOX_READ);
    sandbox_allow(sandbox, "/dev/null", SANDBOX_WRITE);
    /* Often a link to a file that a service replaces, elsewhere. */
    sandbox_allow_folder_of(sandbox, "/etc/resolv.conf", SANDBOX_READ);
}

/* ---- what the configuration names ---- */

static void allow_reading(struct sandbox *sandbox, const char *path)
{
    if (path[0] == '\0')
        return;
    sandbox_allow(sandbox, path, SANDBOX_READ);
    sandbox_allow_folder_of(sandbox, path, SANDBOX_READ);
}

static void allow_configuration(struct sandbox *sandbox, const struct daemon_options *options)
{
    const struct config *config = options->config;
    if (options->file != NULL && small_file_exists(options->file))
        allow_reading(sandbox, options->file);
    allow_reading(sandbox, config->serve.tokens_file);
    allow_reading(sandbox, config->bluesky.app_password_file);
    allow_reading(sandbox, config->jetstream.dictionary_file);
    allow_reading(sandbox, config->fetch.ca_file);
    for (size_t i = 0; i < config->provider_count; i++) {
        allow_reading(sandbox, config->providers[i].api_key_file);
        allow_reading(sandbox, config->providers[i].api_secret_file);
    }
    sandbox_allow(sandbox, connector_folder(config), SANDBOX_READ);
    if (strcmp(config->content.feed, BYTE_STREAM_STDIN) == 0)
        sandbox_allow(sandbox, "/dev/stdin", SANDBOX_READ);
    else if (strstr(config->content.feed, "://") == NULL)
        allow_reading(sandbox, config->content.feed);
}

/* ---- what is written ---- */

struct written {
    struct sandbox *sandbox;
    enum rc rc; /* of the first that could not be had */
    struct err *err;
};

/* The folder has to be there, or it could not be named. */
static void allow_writing(struct written *written, const char *setting, const char *path,
                          unsigned mode)
{
    if (written->rc != RC_OK)
        return;
    written->rc = small_file_make_folders(path, mode, written->err);
    if (written->rc == RC_OK)
        sandbox_allow_folder_of(written->sandbox, path, SANDBOX_WRITE);
    else
        written->rc = err_wrap(written->err, written->rc, "%s", setting);
}

static void allow_store_file(void *arg, const char *path, bool is_written)
{
    struct written *written = arg;
    if (is_written)
        allow_writing(written, "store.url", path, SMALL_FILE_OWN_FOLDER);
    else
        sandbox_allow(written->sandbox, path, SANDBOX_READ);
}

static enum rc allow_data(struct sandbox *sandbox, const struct config *config, struct err *err)
{
    struct written written = {.sandbox = sandbox, .rc = RC_OK, .err = err};
    struct text socket = {0};
    config_socket_path(config, &socket);
    store_files(config->store.url, allow_store_file, &written);
    allow_writing(&written, "store.data_dir", text_string(&socket), SMALL_FILE_OWN_FOLDER);
    if (config_has_firehose(config) && config->jetstream.cursor_file[0] != '\0')
        allow_writing(&written, "jetstream.cursor_file", config->jetstream.cursor_file,
                      SMALL_FILE_OPEN_FOLDER);
    if (daemon_logs_to_file(config))
        allow_writing(&written, "log.file", config->log.file, SMALL_FILE_OPEN_FOLDER);
    text_free(&socket);
    return written.rc;
}

/* ---- entering ---- */

static void tell(const struct sandbox_state *in_force)
{
    bool whole = in_force->landlock > 0 && in_force->syscalls;
    log_event(whole ? LOG_INFO : LOG_WARN, "sandbox", whole ? "entered" : "partly_entered",
              (struct log_field[]){log_int("landlock", in_force->landlock),
                                   log_bool("seccomp", in_force->syscalls), LOG_END});
}

static enum rc enter(struct sandbox *sandbox, const struct config *config, struct err *err)
{
    struct sandbox_state offered = sandbox_offered(), in_force;
    bool strict = config->sandbox.mode == CONFIG_SANDBOX_ON;
    if (strict && (offered.landlock == 0 || !offered.syscalls))
        return err_set(err, RC_REJECT,
                       "sandbox.mode is on, and this kernel lacks %s: take another kernel, or auto",
                       offered.syscalls ? "Landlock" : "seccomp");
    enum rc rc = sandbox_enter(sandbox, &in_force, err);
    if (rc == RC_FATAL && !strict) {
        daemon_say_failure("sandbox_refused", err);
        rc = RC_OK;
    }
    if (rc == RC_OK)
        tell(&in_force);
    return rc;
}

enum rc daemon_enter_sandbox(const struct daemon_options *options, struct err *err)
{
    if (options->config->sandbox.mode == CONFIG_SANDBOX_OFF) {
        log_event(LOG_INFO, "sandbox", "off", NULL);
        return RC_OK;
    }
    struct sandbox *sandbox = sandbox_new();
    allow_system(sandbox);
    allow_configuration(sandbox, options);
    enum rc rc = allow_data(sandbox, options->config, err);
    if (rc == RC_OK)
        rc = enter(sandbox, options->config, err);
    sandbox_free(sandbox);
    return rc;
}
