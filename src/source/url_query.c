/* SPDX-License-Identifier: Apache-2.0 */
#include "source/url_query.h"

#include <string.h>

void url_query_append(struct text *out, struct bytes value)
{
    static const char plain[] = "-._~:";
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (alnum || memchr(plain, c, sizeof plain - 1) != NULL)
            text_append_char(out, (char)c);
        else
            text_appendf(out, "%%%02X", c);
    }
}
