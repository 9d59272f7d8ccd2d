/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_host.h"

#include <assert.h>
#include <idn2.h>
#include <libpsl.h>
#include <stdlib.h>
#include <string.h>

#define RAW_MAX   1024 /* a host before its escapes are undone */
#define LABEL_MAX 63

static bool label_byte(char c)
{
    return url_letter_or_digit(c) || c == '-' || c == '_';
}

/* Letters, digits, - and _ between dots; a dot may close the name. */
static bool plain_name(struct bytes name)
{
    size_t label = 0;
    if (name.len == 0 || name.len > URL_HOST_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '.') {
            if (label == 0)
                return false;
            label = 0;
        } else if (!label_byte(name.data[i]) || ++label > LABEL_MAX) {
            return false;
        }
    }
    return name.len < URL_HOST_MAX || name.data[name.len - 1] == '.';
}

static bool ascii_only(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if ((unsigned char)bytes.data[i] >= 0x80)
            return false;
    return true;
}

static enum rc put_name(struct bytes name, struct url_text *out, enum url_host_kind *kind,
                        struct err *err)
{
    uint32_t address;
    if (!plain_name(name))
        return err_set(err, RC_REJECT, "the host is no name");
    if (url_host_ends_in_number(name)) {
        if (!url_ipv4_parse(name, &address))
            return err_set(err, RC_REJECT, "the host is a number, but no IPv4 address");
        *kind = URL_HOST_IPV4;
        url_ipv4_print(address, out);
        return RC_OK;
    }
    *kind = URL_HOST_NAME;
    for (size_t i = 0; i < name.len; i++)
        url_text_put(out, url_lower(name.data[i]));
    return RC_OK;
}

/* A name with letters of the world. */
static enum rc put_world_name(struct bytes name, struct url_text *out, enum url_host_kind *kind,
                              struct err *err)
{
    char input[RAW_MAX + 1];
    uint8_t *ascii = NULL;
    memcpy(input, name.data, name.len);
    input[name.len] = '\0';
    int answer =
        idn2_lookup_u8((const uint8_t *)input, &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);
    if (answer == IDN2_MALLOC)
        abort(); /* no memory: a crash is a supported operation */
    if (answer != IDN2_OK)
        return err_set(err, RC_REJECT, "the host is no name: %s", idn2_strerror(answer));
    enum rc rc = put_name(bytes_of((const char *)ascii), out, kind, err);
    idn2_free(ascii);
    return rc;
}

enum rc url_host_parse(struct bytes raw, struct url_text *out, enum url_host_kind *kind,
                       struct err *err)
{
    char room[RAW_MAX];
    uint16_t pieces[8];
    struct url_text name = url_text_over(room, sizeof room);
    if (raw.len > 0 && raw.data[0] == '[') {
        if (raw.data[raw.len - 1] != ']' || !url_ipv6_parse(url_cut(raw, 1, raw.len - 1), pieces))
            return err_set(err, RC_REJECT, "no IPv6 address stands between the brackets");
        *kind = URL_HOST_IPV6;
        url_ipv6_print(pieces, out);
        return RC_OK;
    }
    if (plain_name(raw))
        return put_name(raw, out, kind, err);
    url_text_put_unescaped(&name, raw, false);
    if (name.full)
        return err_set(err, RC_REJECT, "the host is too long");
    struct bytes host = url_text_bytes(&name);
    if (ascii_only(host) || memchr(host.data, '\0', host.len) != NULL)
        return put_name(host, out, kind, err);
    return put_world_name(host, out, kind, err);
}

struct bytes url_host_registrable(struct bytes host, enum url_host_kind kind)
{
    char name[URL_HOST_MAX + 1];
    assert(host.len <= URL_HOST_MAX);
    if (kind != URL_HOST_NAME)
        return host;
    memcpy(name, host.data, host.len);
    name[host.len] = '\0';
    const char *found = psl_registrable_domain(psl_builtin(), name);
    if (found == NULL)
        return host;
    return url_cut(host, (size_t)(found - name), host.len);
}

bool url_host_has_known_suffix(struct bytes host)
{
    char name[URL_HOST_MAX + 1];
    assert(host.len <= URL_HOST_MAX);
    memcpy(name, host.data, host.len);
    name[host.len] = '\0';
    const char *suffix = psl_unregistrable_domain(psl_builtin(), name);
    return suffix != NULL && suffix != name &&
           psl_is_public_suffix2(psl_builtin(), suffix, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE);
}
