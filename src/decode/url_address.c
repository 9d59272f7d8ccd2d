/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_host.h"

#include <stdio.h>

/* One part of an IPv4 address: 0x.. is hexadecimal, 0.. octal, an empty part no number. */
static bool parse_part(struct bytes part, uint64_t *value)
{
    unsigned base = 10;
    *value = 0;
    if (part.len == 0)
        return false;
    if (part.len >= 2 && part.data[0] == '0' && url_lower(part.data[1]) == 'x') {
        base = 16;
        part = url_cut(part, 2, part.len);
    } else if (part.len >= 2 && part.data[0] == '0') {
        base = 8;
        part = url_cut(part, 1, part.len);
    }
    for (size_t i = 0; i < part.len; i++) {
        int digit = url_hex_value(part.data[i]);
        if (digit < 0 || (unsigned)digit >= base)
            return false;
        *value = *value * base + (unsigned)digit;
        if (*value > UINT32_MAX)
            *value = UINT64_C(1) << 32; /* too large, however many digits follow */
    }
    return true;
}

static bool digits_only(struct bytes part)
{
    for (size_t i = 0; i < part.len; i++)
        if (part.data[i] < '0' || part.data[i] > '9')
            return false;
    return part.len > 0;
}

bool url_host_ends_in_number(struct bytes host)
{
    uint64_t value;
    size_t end = host.len;
    if (end > 0 && host.data[end - 1] == '.')
        end--;
    size_t start = end;
    while (start > 0 && host.data[start - 1] != '.')
        start--;
    struct bytes last = url_cut(host, start, end);
    return digits_only(last) || (last.len >= 2 && last.data[0] == '0' &&
                                 url_lower(last.data[1]) == 'x' && parse_part(last, &value));
}

bool url_ipv4_parse(struct bytes host, uint32_t *address)
{
    uint64_t parts[4];
    unsigned count = 0;
    size_t start = 0;
    if (host.len > 0 && host.data[host.len - 1] == '.')
        host.len--;
    for (size_t i = 0; i <= host.len; i++) {
        if (i < host.len && host.data[i] != '.')
            continue;
        if (count == 4 || !parse_part(url_cut(host, start, i), &parts[count]))
            return false;
        count++;
        start = i + 1;
    }
    *address = 0;
    for (unsigned i = 0; i + 1 < count; i++) {
        if (parts[i] > 255)
            return false;
        *address |= (uint32_t)parts[i] << (24 - 8 * i);
    }
    if (parts[count - 1] >= UINT64_C(1) << (8 * (5 - count)))
        return false;
    *address |= (uint32_t)parts[count - 1];
    return true;
}

void url_ipv4_print(uint32_t address, struct url_text *out)
{
    char dotted[16];
    snprintf(dotted, sizeof dotted, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
             address >> 8 & 255, address & 255);
    url_text_put_string(out, dotted);
}

/* The dotted tail of an IPv6 address: four decimal parts, no leading zeros. */
static bool parse_dotted(struct bytes text, uint16_t pieces[2])
{
    unsigned part = 0, value = 0, digits = 0;
    pieces[0] = pieces[1] = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i == text.len || text.data[i] == '.') {
            if (digits == 0 || part == 4)
                return false;
            pieces[part / 2] = (uint16_t)((unsigned)pieces[part / 2] << 8 | value);
            part++;
            value = digits = 0;
            continue;
        }
        char c = text.data[i];
        if (c < '0' || c > '9' || (digits > 0 && value == 0))
            return false;
        value = value * 10 + (unsigned)(c - '0');
        digits++;
        if (value > 255)
            return false;
    }
    return part == 4;
}

/* Up to four hexadecimal digits; the number of digits, 0 for none. */
static size_t parse_piece(struct bytes text, uint16_t *piece)
{
    size_t used = 0;
    *piece = 0;
    while (used < 4 && used < text.len && url_hex_value(text.data[used]) >= 0) {
        *piece = (uint16_t)(*piece << 4 | url_hex_value(text.data[used]));
        used++;
    }
    return used;
}

/* Moves what follows the :: to the end. */
static void spread(uint16_t pieces[8], unsigned count, unsigned gap)
{
    for (unsigned i = 0; i < 8 - gap; i++)
        pieces[7 - i] = i < count - gap ? pieces[count - 1 - i] : 0;
}

bool url_ipv6_parse(struct bytes text, uint16_t pieces[8])
{
    unsigned count = 0;
    int gap = -1;
    size_t at = 0;
    if (text.len >= 2 && text.data[0] == ':' && text.data[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < text.len) {
        if (count == 8)
            return false;
        size_t digits = parse_piece(url_cut(text, at, text.len), &pieces[count]);
        if (at + digits < text.len && text.data[at + digits] == '.') {
            if (count > 6 || !parse_dotted(url_cut(text, at, text.len), &pieces[count]))
                return false;
            count += 2;
            break;
        }
        if (digits == 0)
            return false;
        count++;
        at += digits;
        if (at == text.len)
            break;
        if (text.data[at++] != ':' || at == text.len)
            return false;
        if (text.data[at] == ':') {
            if (gap >= 0)
                return false;
            gap = (int)count;
            at++;
        }
    }
    if (gap < 0)
        return count == 8;
    if (count == 8)
        return false;
    spread(pieces, count, (unsigned)gap);
    return true;
}

void url_ipv6_print(const uint16_t pieces[8], struct url_text *out)
{
    unsigned best = 8, best_len = 1;
    char piece[8];
    for (unsigned i = 0; i < 8; i++) {
        unsigned len = 0;
        while (i + len < 8 && pieces[i + len] == 0)
            len++;
        if (len > best_len) {
            best = i;
            best_len = len;
        }
        i += len;
    }
    url_text_put(out, '[');
    for (unsigned i = 0; i < 8; i++) {
        if (i == best) {
            url_text_put_string(out, "::");
            i += best_len - 1;
            continue;
        }
        if (i > 0 && i != best + best_len)
            url_text_put(out, ':');
        snprintf(piece, sizeof piece, "%x", pieces[i]);
        url_text_put_string(out, piece);
    }
    url_text_put(out, ']');
}
