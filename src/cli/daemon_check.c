/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemon_check.h"

#include "cli/connector_folder.h"
#include "config_table.h"
#include "source/ledger_account.h"
#include "sys/clock.h"

static void check_accounts(const struct config *config, struct config_problems *problems)
{
    const struct config_list *accounts = &config->ledger.accounts;
    size_t count = accounts->count;
    struct err err;
    if (count == 0 && config->ledger.connectors[0] == '\0')
        return;
    struct ledger_providers *providers = ledger_providers_new();
    if (connector_folder_read(config, providers, clock_mono_us(), &err) != RC_OK) {
        config_problem(problems, config_origin_of(config, "ledger.connectors"), "%s", err.text);
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (ledger_account_check(providers, bytes_of(accounts->items[i]), clock_mono_us(), &err) !=
            RC_OK)
            config_problem(problems, config_origin_of(config, "ledger.accounts"),
                           "ledger.accounts: %s", err.text);
    ledger_providers_free(providers);
}

void daemon_check(const struct config *config, struct config_problems *problems)
{
    config_check_daemon(config, problems);
    check_accounts(config, problems);
}
