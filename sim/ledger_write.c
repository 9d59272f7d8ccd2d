/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/atproto_id.h"
#include "sim/ledger.h"

#include <stdio.h>
#include <string.h>

#define COINS_MAX 2100000000000000u

static void put_key(struct ledger_call *call, const char *key)
{
    text_append(&call->out, ",\"", 2);
    text_append_string(&call->out, key);
    text_append(&call->out, "\":", 2);
}

void ledger_put_text(struct ledger_call *call, const char *key, const char *value)
{
    put_key(call, key);
    text_append_char(&call->out, '"');
    text_append_string(&call->out, value);
    text_append_char(&call->out, '"');
}

void ledger_put_number(struct ledger_call *call, const char *key, uint64_t value)
{
    put_key(call, key);
    text_append_u64(&call->out, value);
}

void ledger_put_address(struct ledger_call *call, const char *key, uint32_t party)
{
    char name[CHAIN_NAME_SIZE];
    chain_address(call->chain, call->family, party, name);
    ledger_put_text(call, key, name);
}

void ledger_put_hash(struct ledger_call *call, const char *key, uint64_t tx_id)
{
    char name[CHAIN_NAME_SIZE];
    chain_tx_name(call->chain, call->family, tx_id, name);
    ledger_put_text(call, key, name);
}

void ledger_put_block_hash(struct ledger_call *call, const char *key, uint32_t block)
{
    char name[CHAIN_NAME_SIZE];
    chain_block_name(call->chain, call->family, block, name);
    ledger_put_text(call, key, name);
}

void ledger_put_amount(struct ledger_call *call, const char *key, const struct chain_row *row)
{
    text_appendf(&call->out, ",\"%s\":\"%llu%s\"", key, (unsigned long long)row->amount,
                 chain_amount_zeros(row));
}

void ledger_put_hex_amount(struct ledger_call *call, const char *key, const struct chain_row *row)
{
    uint64_t limbs[4] = {row->amount & UINT32_MAX, row->amount >> 32};
    char digits[40];
    for (size_t i = 0; i < strlen(chain_amount_zeros(row)); i++) {
        uint64_t carry = 0;
        for (unsigned k = 0; k < 4; k++) {
            carry += limbs[k] * 10;
            limbs[k] = carry & UINT32_MAX;
            carry >>= 32;
        }
    }
    snprintf(digits, sizeof digits, "%08x%08x%08x%08x", (unsigned)limbs[3], (unsigned)limbs[2],
             (unsigned)limbs[1], (unsigned)limbs[0]);
    const char *first = digits + strspn(digits, "0");
    text_appendf(&call->out, ",\"%s\":\"0x%s\"", key, *first == '\0' ? "0" : first);
}

void ledger_put_time(struct ledger_call *call, const char *key, uint32_t block)
{
    char iso[ISO_SIZE];
    iso_write(chain_block(call->chain, block)->time_us, 3, iso);
    ledger_put_text(call, key, iso);
}

int64_t ledger_seconds(const struct ledger_call *call, uint32_t block)
{
    return chain_block(call->chain, block)->time_us / 1000000;
}

uint64_t ledger_gas_used(const struct chain_tx *tx)
{
    return 21000 + tx->id % 1000 * 37;
}

uint64_t ledger_gas_price(const struct chain_tx *tx)
{
    return 1000000000 + tx->id % 977 * 1000000;
}

uint64_t ledger_coins(const struct chain_tx *tx)
{
    return tx->amount % COINS_MAX;
}

uint64_t ledger_fee(const struct chain_tx *tx)
{
    return 141 + tx->id % 5000;
}
