/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes: what is read is what the C library computes, and can be written and read again; the
 * first eight bytes taken as an instant are written so that they read back the same. */
#include "base/timestamp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t library_instant(const char *text)
{
    struct tm tm = {0};
    int used = 0, hours = 0, minutes = 0;
    char *end;
    int fields = sscanf(text, "%4d-%2d-%2d%*1[Tt]%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon,
                        &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used);
    assert(fields == 6 && used > 0);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int64_t us = (int64_t)timegm(&tm) * 1000000;
    const char *at = text + used;
    int64_t unit = 100000;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
            us += (*at - '0') * unit;
    if (*at != 'Z' && *at != 'z') {
        hours = (int)strtol(at + 1, &end, 10);
        minutes = (int)strtol(end + 1, &end, 10);
        us -= (*at == '-' ? -1 : 1) * (int64_t)(hours * 60 + minutes) * 60000000;
    }
    return us;
}

static void check_written(int64_t us)
{
    char text[TIMESTAMP_TEXT_MAX];
    int64_t back;
    bool read, written = timestamp_format(us, text);
    assert(written == (us >= INT64_C(-62167219200000000) && us < INT64_C(253402300800000000)));
    if (!written)
        return;
    read = timestamp_parse(bytes_of(text), &back);
    assert(read && back == us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Exactly as long as the text, so that reading past it is seen. */
    char *text = malloc(size == 0 ? 1 : size);
    int64_t us;
    assert(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    if (timestamp_parse(bytes_make(text, size), &us)) {
        char *string = strndup(text, size);
        assert(string != NULL && us == library_instant(string));
        free(string);
        check_written(us);
    }
    if (size >= sizeof us) {
        memcpy(&us, data, sizeof us);
        check_written(us);
        check_written(us % INT64_C(253402300800000000));
    }
    free(text);
    return 0;
}
