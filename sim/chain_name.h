/* SPDX-License-Identifier: Apache-2.0
 *
 * chain_name.h - what parties, transactions and blocks of the chain are called in each family.
 *
 * One chain is shown in many families; a party has an address in each of them, well formed and with
 * a right checksum where the family has one. Names follow from the seed and are made anew whenever
 * they are needed. */
#ifndef SIM_CHAIN_NAME_H
#define SIM_CHAIN_NAME_H

#include "sim/chain.h"

#define CHAIN_NAME_SIZE 128

enum chain_family {
    FAMILY_EVM,
    FAMILY_BITCOIN,
    FAMILY_LITECOIN,
    FAMILY_DOGECOIN,
    FAMILY_BITCOIN_CASH,
    FAMILY_SOLANA,
    FAMILY_SUBSTRATE,
    FAMILY_NEAR,
    FAMILY_COSMOS,
    FAMILY_XRP,
    FAMILY_CARDANO,
    FAMILY_KRAKEN, /* from here on: one account, that of account 0 */
    FAMILY_COINBASE,
    FAMILY_NUMBERED, /* what is no coin: things with numbers */
    FAMILY_COUNT,
};

/* The family of a platform ("ethereum", "litecoin"); FAMILY_EVM for those it does not know. */
enum chain_family chain_family_of(struct bytes platform);
/* A transaction may fail there and stay on the chain. */
bool chain_family_fails(enum chain_family family);
const char *chain_family_platform(enum chain_family family);

/* Empty for CHAIN_NONE. */
void chain_address(const struct chain *chain, enum chain_family family, uint32_t party,
                   char out[CHAIN_NAME_SIZE]);
/* The account of that address, or CHAIN_NONE; hexadecimal without regard to case. */
uint32_t chain_find_address(const struct chain *chain, enum chain_family family,
                            struct bytes address);
/* Of the transaction drawn from `id`. */
void chain_tx_name(const struct chain *chain, enum chain_family family, uint64_t id,
                   char out[CHAIN_NAME_SIZE]);
/* What the transaction of that name is drawn from; false when it is no name of one. */
bool chain_find_tx(const struct chain *chain, enum chain_family family, struct bytes name,
                   uint64_t *id);
void chain_block_name(const struct chain *chain, enum chain_family family, uint32_t number,
                      char out[CHAIN_NAME_SIZE]);
/* Contract of a token on EVM, and its symbol. */
void chain_asset_address(const struct chain *chain, unsigned asset, char out[CHAIN_NAME_SIZE]);
const char *chain_asset_symbol(unsigned asset);
/* Amounts on EVM are larger than 64 bits: zeros that follow the decimal digits of a row. */
const char *chain_amount_zeros(const struct chain_row *row);

#endif
