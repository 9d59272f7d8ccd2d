/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/atproto_id.h"

#include <assert.h>
#include <string.h>

static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char base32_sortable[] = "234567abcdefghijklmnopqrstuvwxyz";

static void write_drawn(struct draw *draw, char *out, size_t count)
{
    uint64_t bits = 0;
    unsigned left = 0;
    for (size_t i = 0; i < count; i++) {
        if (left == 0) {
            bits = draw_next(draw);
            left = 12;
        }
        out[i] = base32[bits & 31];
        bits >>= 5;
        left--;
    }
}

void did_write(struct draw *draw, char out[DID_SIZE])
{
    memcpy(out, "did:plc:", 8);
    write_drawn(draw, out + 8, 24);
    out[32] = '\0';
}

void tid_write(int64_t us, unsigned clock_id, char out[TID_SIZE])
{
    assert(us >= 0 && clock_id < 1024);
    uint64_t value = ((uint64_t)us << 10) | clock_id;
    for (int i = 12; i >= 0; i--) {
        out[i] = base32_sortable[value & 31];
        value >>= 5;
    }
    out[13] = '\0';
}

void cid_write(struct draw *draw, char out[CID_SIZE])
{
    /* 36 bytes are 57.6 characters: the first drawn one carries 3 bits, the last one 3 and
     * padding. */
    static const char last[] = "aeimquy4";
    uint64_t bits = draw_next(draw);
    memcpy(out, "bafyrei", 7);
    out[7] = base32[bits & 7];
    write_drawn(draw, out + 8, 50);
    out[58] = last[(bits >> 3) & 7];
    out[59] = '\0';
}

static void write_digits(char *out, int64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void iso_write(int64_t us, int digits, char out[ISO_SIZE])
{
    assert(us >= 0 && (digits == 3 || digits == 6));
    int64_t seconds = us / 1000000, days = seconds / 86400, in_day = seconds % 86400;
    /* Days to a calendar date: eras of 400 years that begin on March 1st. */
    int64_t z = days + 719468, era = z / 146097, day_of_era = z % 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;
    int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    int64_t year = year_of_era + era * 400 + (month <= 2);
    memcpy(out, "0000-00-00T00:00:00.", 20);
    write_digits(out, year, 4);
    write_digits(out + 5, month, 2);
    write_digits(out + 8, day_of_year - (153 * shifted_month + 2) / 5 + 1, 2);
    write_digits(out + 11, in_day / 3600, 2);
    write_digits(out + 14, in_day / 60 % 60, 2);
    write_digits(out + 17, in_day % 60, 2);
    write_digits(out + 20, digits == 3 ? us / 1000 % 1000 : us % 1000000, digits);
    out[20 + digits] = 'Z';
    out[21 + digits] = '\0';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_word(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool did_is_valid(struct bytes did)
{
    size_t i = 4;
    if (!bytes_starts_with(did, "did:") || did.len > 2048)
        return false;
    while (i < did.len && is_lower(did.data[i]))
        i++;
    if (i == 4 || i + 1 >= did.len || did.data[i] != ':')
        return false;
    for (i++; i < did.len; i++)
        if (!is_word(did.data[i]) && memchr("._:%-", did.data[i], 5) == NULL)
            return false;
    return did.data[did.len - 1] != ':' && did.data[did.len - 1] != '%';
}

bool nsid_is_valid(struct bytes nsid)
{
    size_t parts = 0, begin = 0;
    if (nsid.len > 317)
        return false;
    for (size_t i = 0; i <= nsid.len; i++) {
        if (i < nsid.len && nsid.data[i] != '.') {
            if (!is_word(nsid.data[i]) && nsid.data[i] != '-')
                return false;
            continue;
        }
        if (i == begin || i - begin > 63 || nsid.data[begin] == '-' || nsid.data[i - 1] == '-')
            return false;
        parts++;
        begin = i + 1;
    }
    return parts >= 3 && !(nsid.data[0] >= '0' && nsid.data[0] <= '9');
}
