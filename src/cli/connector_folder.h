/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_folder.h - reads the connectors that lie in a folder, and the keys that lie in files.
 *
 * The folder is the configured one, else the one that TIDEMARK_CONNECTORS names, else the one that
 * came with the program. Connectors lie in it and one folder below, as NAME.yaml.
 *
 * Owner: whoever asks for providers.  Thread: one at a time, before a loop runs. */
#ifndef CLI_CONNECTOR_FOLDER_H
#define CLI_CONNECTOR_FOLDER_H

#include "source/ledger_providers.h"

const char *connector_folder(const struct config *config);
/* RC_REJECT: there is no such folder, or a connector or key file in it is bad. */
must_check enum rc connector_folder_read(const struct config *config,
                                         struct ledger_providers *providers, int64_t now_us,
                                         struct err *err);

#endif
