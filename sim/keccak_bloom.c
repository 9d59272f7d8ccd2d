/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/keccak_bloom.h"

#include <assert.h>
#include <string.h>

#define LANES  25
#define ROUNDS 24
#define RATE   136

static uint64_t turn(uint64_t lane, unsigned by)
{
    return by == 0 ? lane : lane << by | lane >> (64 - by);
}

/* The constant of a round: bits 2^j - 1 come out of a shift register of eight bits. */
static uint64_t next_constant(uint8_t *state)
{
    uint64_t constant = 0;
    for (unsigned j = 0; j < 7; j++) {
        if ((*state & 1) != 0)
            constant |= UINT64_C(1) << ((1u << j) - 1);
        *state = (uint8_t)(*state << 1 ^ ((*state & 0x80) != 0 ? 0x71 : 0));
    }
    return constant;
}

/* The columns' parities spread into their neighbours. */
static void mix_columns(uint64_t a[LANES])
{
    uint64_t parity[5];
    for (unsigned x = 0; x < 5; x++)
        parity[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    for (unsigned i = 0; i < LANES; i++)
        a[i] ^= parity[(i + 4) % 5] ^ turn(parity[(i + 1) % 5], 1);
}

/* Every lane is turned and goes to another place: (x, y) to (y, 2x + 3y). */
static void move_lanes(uint64_t a[LANES])
{
    unsigned x = 1, y = 0;
    uint64_t carried = a[1];
    for (unsigned step = 1; step <= LANES - 1; step++) {
        unsigned to = (2 * x + 3 * y) % 5;
        x = y;
        y = to;
        uint64_t next = a[x + 5 * y];
        a[x + 5 * y] = turn(carried, step * (step + 1) / 2 % 64);
        carried = next;
    }
}

static void permute(uint64_t a[LANES])
{
    uint8_t state = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        mix_columns(a);
        move_lanes(a);
        for (unsigned row = 0; row < LANES; row += 5) {
            uint64_t old[5];
            memcpy(old, a + row, sizeof old);
            for (unsigned x = 0; x < 5; x++)
                a[row + x] ^= ~old[(x + 1) % 5] & old[(x + 2) % 5];
        }
        a[0] ^= next_constant(&state);
    }
}

/* The first six bytes of Keccak-256 of something that fits into one block. */
static void hash_short(struct bytes input, uint8_t out[6])
{
    uint64_t lanes[LANES] = {0};
    uint8_t block[RATE] = {0};
    assert(input.len < RATE);
    memcpy(block, input.data, input.len);
    block[input.len] = 1;
    block[RATE - 1] |= 0x80;
    for (unsigned i = 0; i < RATE; i++)
        lanes[i / 8] |= (uint64_t)block[i] << (8 * (i % 8));
    permute(lanes);
    for (unsigned i = 0; i < 6; i++)
        out[i] = (uint8_t)(lanes[0] >> (8 * i));
}

void bloom_add(uint8_t bloom[BLOOM_BYTES], struct bytes name)
{
    uint8_t hash[6];
    hash_short(name, hash);
    for (unsigned i = 0; i < 6; i += 2) {
        unsigned bit = ((unsigned)hash[i] << 8 | hash[i + 1]) & 2047;
        bloom[BLOOM_BYTES - 1 - bit / 8] |= (uint8_t)(1u << bit % 8);
    }
}
