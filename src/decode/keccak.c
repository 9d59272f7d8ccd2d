/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/keccak.h"

#define ROUNDS     24
#define LANES      25
#define RATE_BYTES 136

static uint64_t rotate(uint64_t lane, unsigned by)
{
    return by == 0 ? lane : lane << by | lane >> (64 - by);
}

/* The constant of each round, bit by bit from the register that defines them. */
static uint64_t next_constant(uint8_t *shift)
{
    uint64_t constant = 0;
    for (unsigned i = 0; i < 7; i++) {
        if ((*shift & 1) != 0)
            constant |= UINT64_C(1) << ((1U << i) - 1);
        *shift = (uint8_t)(*shift << 1 ^ ((*shift & 0x80) != 0 ? 0x71 : 0));
    }
    return constant;
}

static void mix_columns(uint64_t lanes[LANES])
{
    uint64_t parity[5];
    for (unsigned x = 0; x < 5; x++)
        parity[x] = lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20];
    for (unsigned i = 0; i < LANES; i++)
        lanes[i] ^= parity[(i + 4) % 5] ^ rotate(parity[(i + 1) % 5], 1);
}

/* Turns every lane and moves it to its next place along the one orbit there is. */
static void turn_and_move(uint64_t lanes[LANES])
{
    unsigned x = 1, y = 0;
    uint64_t carried = lanes[1];
    for (unsigned step = 0; step < LANES - 1; step++) {
        unsigned next = (2 * x + 3 * y) % 5;
        x = y;
        y = next;
        uint64_t held = lanes[x + 5 * y];
        lanes[x + 5 * y] = rotate(carried, (step + 1) * (step + 2) / 2 % 64);
        carried = held;
    }
}

static void mix_rows(uint64_t lanes[LANES])
{
    for (unsigned y = 0; y < LANES; y += 5) {
        uint64_t row[5];
        for (unsigned x = 0; x < 5; x++)
            row[x] = lanes[y + x];
        for (unsigned x = 0; x < 5; x++)
            lanes[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
    }
}

static void permute(uint64_t lanes[LANES])
{
    uint8_t shift = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        mix_columns(lanes);
        turn_and_move(lanes);
        mix_rows(lanes);
        lanes[0] ^= next_constant(&shift);
    }
}

static void absorb(uint64_t lanes[LANES], size_t at, uint8_t byte)
{
    lanes[at / 8] ^= (uint64_t)byte << (at % 8 * 8);
}

void keccak_256(struct bytes input, uint8_t out[KECCAK_SIZE])
{
    uint64_t lanes[LANES] = {0};
    size_t at = 0;
    for (size_t i = 0; i < input.len; i++) {
        absorb(lanes, at++, (uint8_t)input.data[i]);
        if (at < RATE_BYTES)
            continue;
        permute(lanes);
        at = 0;
    }
    absorb(lanes, at, 0x01);
    absorb(lanes, RATE_BYTES - 1, 0x80);
    permute(lanes);
    for (size_t i = 0; i < KECCAK_SIZE; i++)
        out[i] = (uint8_t)(lanes[i / 8] >> (i % 8 * 8));
}
