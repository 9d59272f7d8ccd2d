/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum verdict { REFUSED, PUBLIC, UNWRAP };

struct range {
    uint8_t prefix[16];
    unsigned bits;
    enum verdict verdict;
    unsigned inner_at; /* UNWRAP: the byte where the IPv4 address begins */
};

/* In each table the first range that holds the address decides. */
static const struct range ranges4[] = {
    {{0}, 8, REFUSED, 0},             /* this network */
    {{10}, 8, REFUSED, 0},            /* private */
    {{100, 64}, 10, REFUSED, 0},      /* carrier NAT */
    {{127}, 8, REFUSED, 0},           /* loopback */
    {{169, 254}, 16, REFUSED, 0},     /* link local, cloud metadata */
    {{172, 16}, 12, REFUSED, 0},      /* private */
    {{192, 0, 0}, 24, REFUSED, 0},    /* protocol assignments */
    {{192, 0, 2}, 24, REFUSED, 0},    /* documentation */
    {{192, 88, 99}, 24, REFUSED, 0},  /* 6to4 relays */
    {{192, 168}, 16, REFUSED, 0},     /* private */
    {{198, 18}, 15, REFUSED, 0},      /* benchmarks */
    {{198, 51, 100}, 24, REFUSED, 0}, /* documentation */
    {{203, 0, 113}, 24, REFUSED, 0},  /* documentation */
    {{224}, 4, REFUSED, 0},           /* multicast */
    {{240}, 4, REFUSED, 0},           /* reserved, broadcast */
    {{0}, 0, PUBLIC, 0},
};

static const struct range ranges6[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, UNWRAP, 12}, /* IPv4-mapped */
    {{0x00, 0x64, 0xff, 0x9b}, 96, UNWRAP, 12},                   /* NAT64 */
    {{0x20, 0x02}, 16, UNWRAP, 2},                                /* 6to4 */
    {{0x20, 0x01}, 23, REFUSED, 0},             /* protocol assignments, Teredo with them */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, REFUSED, 0}, /* documentation */
    {{0x3f, 0xff}, 20, REFUSED, 0},             /* documentation */
    {{0x20}, 3, PUBLIC, 0},                     /* global unicast */
    {{0}, 0, REFUSED, 0}, /* the rest: unspecified, loopback, local, multicast, unassigned */
};

static bool holds(const struct range *range, const uint8_t *address)
{
    size_t whole = range->bits / 8;
    unsigned rest = range->bits % 8;
    if (memcmp(range->prefix, address, whole) != 0)
        return false;
    return rest == 0 || ((range->prefix[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

static const struct range *find(const struct range *range, const uint8_t *address)
{
    /* The last range of a table has no bits and holds everything. */
    while (!holds(range, address))
        range++;
    return range;
}

static bool public4(const uint8_t *address)
{
    return find(ranges4, address)->verdict == PUBLIC;
}

static bool public6(const uint8_t *address)
{
    const struct range *range = find(ranges6, address);
    if (range->verdict == UNWRAP)
        return public4(address + range->inner_at);
    return range->verdict == PUBLIC;
}

bool address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return public4((const uint8_t *)&in.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        return public6(in6.sin6_addr.s6_addr);
    }
    return false;
}

bool address_text_is_public(const char *text)
{
    uint8_t binary[16];
    if (inet_pton(AF_INET, text, binary) == 1)
        return public4(binary);
    if (inet_pton(AF_INET6, text, binary) == 1)
        return public6(binary);
    return false;
}
