/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include "sys/log.h"
#include "sys/small_file.h"

#include <string.h>

bool daemon_logs_to_file(const struct config *config)
{
    const char *file = config->log.file;
    return file[0] != '\0' && strcmp(file, "stdout") != 0 && strcmp(file, "stderr") != 0;
}

/* The log is the first file of all. It may lie in the data directory, which is its owner's alone,
 * whoever makes it. */
static enum rc make_folders(const struct config *config, struct err *err)
{
    struct text socket = {0};
    config_socket_path(config, &socket);
    enum rc rc = small_file_make_folders(text_string(&socket), SMALL_FILE_OWN_FOLDER, err);
    if (rc == RC_OK)
        rc = small_file_make_folders(config->log.file, SMALL_FILE_OPEN_FOLDER, err);
    text_free(&socket);
    return rc;
}

enum rc daemon_open_log(const struct config *config, struct err *err)
{
    struct log_options options = {
        .format = config->log.format == CONFIG_LOG_JSON ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT,
        .level = (enum log_level)config->log.level,
        .file = config->log.file,
    };
    if (config->log.rotate[0] != '\0' &&
        !log_rotate_parse(bytes_of(config->log.rotate), &options.rotate_bytes,
                          &options.rotate_count))
        return err_set(err, RC_REJECT, "log.rotate is \"%s\"; it must look like 10M:5",
                       config->log.rotate);
    enum rc rc = daemon_logs_to_file(config) ? make_folders(config, err) : RC_OK;
    return rc == RC_OK ? log_open(&options, err) : rc;
}
