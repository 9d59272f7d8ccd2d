/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timestamp.h"

#include <stdio.h>

#define US_PER_SECOND   INT64_C(1000000)
#define SECONDS_PER_DAY INT64_C(86400)
/* Days from 0000-01-01 to 1970-01-01 and to 10000-01-01. */
#define DAYS_TO_1970  INT64_C(719528)
#define DAYS_TO_10000 INT64_C(3652425)
#define SECONDS_MIN   (-DAYS_TO_1970 * SECONDS_PER_DAY)
#define SECONDS_END   ((DAYS_TO_10000 - DAYS_TO_1970) * SECONDS_PER_DAY)

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days of a year before month `month` (1 to 13). */
static int days_before_month(int year, int month)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return before[month - 1] + (month > 2 && is_leap(year) ? 1 : 0);
}

/* Days from 0000-01-01, a leap year, to the first day of `year`. */
static int64_t days_before_year(int year)
{
    if (year == 0)
        return 0;
    int past = year - 1;
    return (int64_t)year * 365 + 1 + past / 4 - past / 100 + past / 400;
}

static bool take_char(struct bytes *text, char c)
{
    if (text->len == 0 || text->data[0] != c)
        return false;
    *text = bytes_make(text->data + 1, text->len - 1);
    return true;
}

/* Exactly `count` digits with a value from `min` to `max`. */
static bool take_number(struct bytes *text, size_t count, int min, int max, int *out)
{
    int value = 0;
    if (text->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        value = value * 10 + (text->data[i] - '0');
    }
    *text = bytes_make(text->data + count, text->len - count);
    *out = value;
    return value >= min && value <= max;
}

static bool take_date(struct bytes *text, int64_t *days)
{
    int year, month, day;
    if (!take_number(text, 4, 0, 9999, &year) || !take_char(text, '-') ||
        !take_number(text, 2, 1, 12, &month) || !take_char(text, '-'))
        return false;
    int before = days_before_month(year, month);
    if (!take_number(text, 2, 1, days_before_month(year, month + 1) - before, &day))
        return false;
    *days = days_before_year(year) + before + day - 1 - DAYS_TO_1970;
    return true;
}

static bool take_fraction(struct bytes *text, int64_t *us)
{
    size_t digits = 0;
    int digit;
    *us = 0;
    if (!take_char(text, '.'))
        return true;
    for (; text->len > 0 && text->data[0] >= '0' && text->data[0] <= '9'; digits++)
        if (take_number(text, 1, 0, 9, &digit) && digits < 6)
            *us = *us * 10 + digit;
    for (size_t i = digits; i < 6; i++)
        *us *= 10;
    return digits > 0;
}

/* Seconds that the local time is ahead of UTC. */
static bool take_zone(struct bytes *text, int64_t *ahead)
{
    int hours, minutes;
    *ahead = 0;
    if (take_char(text, 'Z') || take_char(text, 'z'))
        return true;
    bool behind = take_char(text, '-');
    if (!behind && !take_char(text, '+'))
        return false;
    if (!take_number(text, 2, 0, 23, &hours) || !take_char(text, ':') ||
        !take_number(text, 2, 0, 59, &minutes))
        return false;
    *ahead = (behind ? -1 : 1) * (hours * 60 + minutes) * 60;
    return true;
}

/* Splits a day count since 1970 into a date. */
static void date_of_days(int64_t days, int *year, int *month, int *day)
{
    days += DAYS_TO_1970;
    *year = (int)(days * 400 / 146097);
    while (days_before_year(*year) > days)
        (*year)--;
    while (days_before_year(*year + 1) <= days)
        (*year)++;
    int left = (int)(days - days_before_year(*year));
    *month = 12;
    while (days_before_month(*year, *month) > left)
        (*month)--;
    *day = left - days_before_month(*year, *month) + 1;
}

/* A leap second is the last one of a month in UTC, so the second after it begins a month. */
static bool begins_month(int64_t seconds)
{
    int year, month, day;
    if (seconds % SECONDS_PER_DAY != 0)
        return false;
    date_of_days(seconds / SECONDS_PER_DAY, &year, &month, &day);
    return day == 1;
}

bool timestamp_parse(struct bytes text, int64_t *us)
{
    int64_t days, fraction, ahead;
    int hour, minute, second;
    if (!take_date(&text, &days) || (!take_char(&text, 'T') && !take_char(&text, 't')))
        return false;
    if (!take_number(&text, 2, 0, 23, &hour) || !take_char(&text, ':') ||
        !take_number(&text, 2, 0, 59, &minute) || !take_char(&text, ':') ||
        !take_number(&text, 2, 0, 60, &second))
        return false;
    if (!take_fraction(&text, &fraction) || !take_zone(&text, &ahead) || text.len > 0)
        return false;
    int64_t seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - ahead;
    if (seconds < SECONDS_MIN || seconds >= SECONDS_END)
        return false;
    if (second == 60 && !begins_month(seconds))
        return false;
    *us = seconds * US_PER_SECOND + fraction;
    return true;
}

/* `value` in so many digits, and what follows them; returns the end. */
static char *put_digits(char *out, int value, int digits, char after)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10)
        out[i] = (char)('0' + value % 10);
    out[digits] = after;
    return out + digits + 1;
}

bool timestamp_format(int64_t us, char out[TIMESTAMP_TEXT_MAX])
{
    if (us < SECONDS_MIN * US_PER_SECOND || us >= SECONDS_END * US_PER_SECOND)
        return false;
    /* Counted from the year 0, so that division rounds down. */
    us -= SECONDS_MIN * US_PER_SECOND;
    int fraction = (int)(us % US_PER_SECOND);
    int64_t seconds = us / US_PER_SECOND;
    int of_day = (int)(seconds % SECONDS_PER_DAY);
    int year, month, day;
    date_of_days(seconds / SECONDS_PER_DAY - DAYS_TO_1970, &year, &month, &day);
    bool exact = fraction % 1000 == 0;
    out = put_digits(out, year, 4, '-');
    out = put_digits(out, month, 2, '-');
    out = put_digits(out, day, 2, 'T');
    out = put_digits(out, of_day / 3600, 2, ':');
    out = put_digits(out, of_day / 60 % 60, 2, ':');
    out = put_digits(out, of_day % 60, 2, '.');
    out = put_digits(out, exact ? fraction / 1000 : fraction, exact ? 3 : 6, 'Z');
    *out = '\0';
    return true;
}

void timestamp_format_wait(double seconds, char out[TIMESTAMP_TEXT_MAX])
{
    bool short_one = seconds < 0.9995;
    double value = short_one ? seconds * 1000 : seconds;
    snprintf(out, TIMESTAMP_TEXT_MAX, "%.*f %s", value < 9.95 ? 1 : 0, value,
             short_one ? "ms" : "s");
}
