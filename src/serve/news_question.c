/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/news_question.h"

#include "serve/request.h"

#include <microhttpd.h>

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct number {
    const char *name;
    size_t offset;
    int64_t min, max;
};

static const struct number numbers[] = {
    {"hours", offsetof(struct trending_request, hours), 1, TRENDING_HOURS_MAX},
    {"limit", offsetof(struct trending_request, limit), 1, TRENDING_LIMIT_MAX},
    {"min_shares", offsetof(struct trending_request, min_shares), 1, 1000000},
    {"degree", offsetof(struct trending_request, degree), 1, 2},
    {"posts", offsetof(struct trending_request, posts), 0, TRENDING_POSTS_MAX},
    {"stories", offsetof(struct trending_request, stories), 0, 1},
};

struct words {
    const char *name;
    size_t offset, size;
};

static const struct words all_words[] = {
    {"q", offsetof(struct trending_request, q), TRENDING_Q_MAX},
    {"domain", offsetof(struct trending_request, domain), TRENDING_NAME_MAX},
    {"author", offsetof(struct trending_request, author), TRENDING_NAME_MAX},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const char *const sorts[] = {"shares", "velocity", "recent"};
static const char *const onlys[] = {[NEWS_ONLY_UNREAD] = "unread",
                                    [NEWS_ONLY_NEW] = "new",
                                    [NEWS_ONLY_UNREAD | NEWS_ONLY_NEW] = "unread-new"};

/* ---- read ---- */

struct reading {
    struct news_question *question;
    struct refusal *refusal; /* of the first parameter that is none */
    bool others;             /* those that are nobody's are passed over */
};

static void refuse(struct reading *reading, enum refusal_code code, const char *name,
                   const char *must)
{
    if (reading->refusal->code == REFUSAL_NONE)
        refusal_set(reading->refusal, code, "%.32s %s", name, must);
}

static int64_t *number_in(struct trending_request *links, const struct number *number)
{
    return (int64_t *)((char *)links + number->offset);
}

static void take_number(struct reading *reading, const struct number *number, const char *value)
{
    int64_t *out = number_in(&reading->question->links, number);
    char must[64];
    snprintf(must, sizeof must, "is a number from %" PRId64 " to %" PRId64, number->min,
             number->max);
    if (value == NULL || !bytes_to_i64(bytes_of(value), out))
        refuse(reading, REFUSAL_BAD_REQUEST, number->name, must);
    else if (*out < number->min || *out > number->max)
        refuse(reading, REFUSAL_LIMIT_RANGE, number->name, must);
}

static void take_sort(struct reading *reading, const char *value)
{
    for (size_t i = 0; i < COUNT_OF(sorts); i++)
        if (value != NULL && strcmp(value, sorts[i]) == 0) {
            reading->question->links.sort = (enum trending_sort)i;
            return;
        }
    refuse(reading, REFUSAL_BAD_REQUEST, "sort", "is shares, velocity or recent");
}

static void take_words(struct reading *reading, const struct words *words, const char *value)
{
    char *out = (char *)&reading->question->links + words->offset;
    if (value != NULL && strlen(value) >= words->size)
        refuse(reading, REFUSAL_LIMIT_RANGE, words->name, "is too long");
    else
        snprintf(out, words->size, "%s", value == NULL ? "" : value);
}

static void take_layout(struct reading *reading, const char *value)
{
    if (value == NULL || strcmp(value, "dense") != 0)
        refuse(reading, REFUSAL_BAD_REQUEST, "layout", "is dense, or left out");
    reading->question->dense = true;
}

static void take_only(struct reading *reading, const char *value)
{
    for (unsigned i = 1; i < COUNT_OF(onlys); i++)
        if (value != NULL && strcmp(value, onlys[i]) == 0) {
            reading->question->only = i;
            return;
        }
    refuse(reading, REFUSAL_BAD_REQUEST, "show", "is unread, new or unread-new, or left out");
}

void news_question_take(struct news_question *question, const char *name, const char *value,
                        struct refusal *refusal)
{
    struct reading reading = {.question = question, .refusal = refusal};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0) {
            take_number(&reading, &numbers[i], value);
            return;
        }
    for (size_t i = 0; i < COUNT_OF(all_words); i++)
        if (strcmp(name, all_words[i].name) == 0) {
            take_words(&reading, &all_words[i], value);
            return;
        }
    if (strcmp(name, "sort") == 0)
        take_sort(&reading, value);
    else if (strcmp(name, "layout") == 0)
        take_layout(&reading, value);
    else if (strcmp(name, "show") == 0)
        take_only(&reading, value);
    else
        refuse(&reading, REFUSAL_BAD_REQUEST, name, "is no parameter of this address");
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(all_words); i++)
        if (strcmp(name, all_words[i].name) == 0)
            return true;
    return strcmp(name, "sort") == 0 || strcmp(name, "layout") == 0 || strcmp(name, "show") == 0;
}

static enum MHD_Result take_parameter(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct reading *reading = arg;
    (void)kind;
    if (!reading->others || is_known(name))
        news_question_take(reading->question, name, value, reading->refusal);
    return MHD_YES;
}

struct news_question news_question_usual(int64_t now_us)
{
    return (struct news_question){.links = trending_request_default(now_us)};
}

static enum rc read_all(struct request *request, struct reading reading)
{
    reading.refusal->code = REFUSAL_NONE;
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_parameter, &reading);
    return reading.refusal->code == REFUSAL_NONE ? RC_OK : RC_REJECT;
}

enum rc news_question_read(struct request *request, struct news_question *question,
                           struct refusal *refusal)
{
    return read_all(request, (struct reading){.question = question, .refusal = refusal});
}

enum rc news_question_read_page(struct request *request, struct news_question *question,
                                struct refusal *refusal)
{
    return read_all(request,
                    (struct reading){.question = question, .refusal = refusal, .others = true});
}

/* ---- written ---- */

const char *news_sort_name(enum trending_sort sort)
{
    assert(sort < COUNT_OF(sorts));
    return sorts[sort];
}

const char *news_only_name(unsigned only)
{
    assert(only > 0 && only < COUNT_OF(onlys));
    return onlys[only];
}

static void append_escaped(struct text *out, const char *value)
{
    for (const char *at = value; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c < 0x80 && isalnum(c)) || strchr("-._~:", c) != NULL)
            text_append_char(out, *at);
        else
            text_appendf(out, "%%%02X", c);
    }
}

static void append_part(struct text *out, char *before, const char *name, const char *value)
{
    text_append_char(out, *before);
    text_appendf(out, "%s=", name);
    append_escaped(out, value);
    *before = '&';
}

void news_question_print(const struct news_question *question, const char *path, struct text *out)
{
    struct trending_request links = question->links, usual = trending_request_default(links.now_us);
    char before = '?';
    text_append_string(out, path);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        int64_t value = *number_in(&links, &numbers[i]);
        char digits[24];
        snprintf(digits, sizeof digits, "%" PRId64, value);
        if (value != *number_in(&usual, &numbers[i]))
            append_part(out, &before, numbers[i].name, digits);
    }
    if (links.sort != usual.sort)
        append_part(out, &before, "sort", news_sort_name(links.sort));
    for (size_t i = 0; i < COUNT_OF(all_words); i++) {
        const char *value = (const char *)&links + all_words[i].offset;
        if (*value != '\0')
            append_part(out, &before, all_words[i].name, value);
    }
    if (question->dense)
        append_part(out, &before, "layout", "dense");
    if (question->only != 0)
        append_part(out, &before, "show", news_only_name(question->only));
}
