/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/ledger_row.h"

#include <string.h>

void ledger_row_identity(const struct ledger_row *row, uint32_t ordinal, uint8_t id[EVENT_ID_SIZE])
{
    uint8_t input[EVENT_ID_SIZE + 4], digest[DIGEST_SIZE];
    memcpy(input, row->key, EVENT_ID_SIZE);
    for (unsigned i = 0; i < 4; i++)
        input[EVENT_ID_SIZE + i] = (uint8_t)(ordinal >> (24 - 8 * i));
    digest_sha256(bytes_make(input, sizeof input), digest);
    memcpy(id, digest, EVENT_ID_SIZE);
}
