/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include "sys/log.h"

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
    return log_open(&options, err);
}
