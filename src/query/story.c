/* SPDX-License-Identifier: Apache-2.0 */
#include "query/story.h"

#include "base/hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX        64
#define SITE_WORDS_MAX  4 /* of a title's last part, for it to be the name of a site */
#define COMMON_OF_FOUR  3
#define SAME_SITE_WORDS 5

/* The different words of a title, in the order of their numbers. */
struct word_set {
    uint64_t words[STORY_WORDS_MAX], numbers[STORY_WORDS_MAX];
    size_t count, number_count;
};

/* ---- words ---- */

static bool is_word_byte(char c)
{
    return (unsigned char)c >= 0x80 || isalnum((unsigned char)c);
}

/* The punctuation of U+2010 to U+203F is three bytes long and no part of a word. */
static bool is_general_punctuation(const char *at, size_t left)
{
    return left >= 3 && (unsigned char)at[0] == 0xe2 && (unsigned char)at[1] == 0x80;
}

static struct bytes next_word(struct bytes *rest)
{
    const char *at = rest->data, *end = at + rest->len;
    while (at < end && (!is_word_byte(*at) || is_general_punctuation(at, (size_t)(end - at))))
        at += is_general_punctuation(at, (size_t)(end - at)) ? 3 : 1;
    const char *start = at;
    while (at < end && is_word_byte(*at) && !is_general_punctuation(at, (size_t)(end - at)))
        at++;
    *rest = bytes_make(at, (size_t)(end - at));
    return bytes_make(start, (size_t)(at - start));
}

static size_t count_words(struct bytes title)
{
    size_t count = 0;
    while (next_word(&title).len > 0)
        count++;
    return count;
}

static bool is_small_word(const char *word)
{
    static const char *const small[] = {"a",    "an", "and", "as", "at",  "by",  "for",
                                        "from", "in", "is",  "it", "its", "of",  "on",
                                        "or",   "s",  "the", "to", "was", "with"};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        if (strcmp(word, small[i]) == 0)
            return true;
    return false;
}

/* Where the last part of "Title | Site", "Title - Site" or "Title — Site" begins; the title's end
 * when it has none. A hyphen within a word divides nothing. */
static size_t last_part(struct bytes title)
{
    static const char *const dividers[] = {" | ", " - ", " \xe2\x80\x93 ", " \xe2\x80\x94 "};
    size_t last = title.len;
    for (size_t d = 0; d < sizeof dividers / sizeof dividers[0]; d++) {
        size_t len = strlen(dividers[d]);
        for (size_t at = 0; at + len <= title.len; at++)
            if (memcmp(title.data + at, dividers[d], len) == 0 && (last == title.len || at > last))
                last = at;
    }
    return last;
}

static struct bytes without_site(struct bytes title)
{
    size_t at = last_part(title);
    struct bytes before = bytes_make(title.data, at);
    struct bytes after = bytes_make(title.data + at, title.len - at);
    if (count_words(after) <= SITE_WORDS_MAX && count_words(before) >= STORY_WORDS_MIN)
        return before;
    return title;
}

/* ---- sets ---- */

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t sort_words(uint64_t *words, size_t count)
{
    size_t kept = 0;
    qsort(words, count, sizeof *words, compare_words);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || words[kept - 1] != words[i])
            words[kept++] = words[i];
    return kept;
}

static void add_word(struct word_set *set, struct bytes word)
{
    char lower[WORD_MAX + 1];
    size_t len = word.len < WORD_MAX ? word.len : WORD_MAX;
    for (size_t i = 0; i < len; i++)
        lower[i] = (char)tolower((unsigned char)word.data[i]);
    lower[len] = '\0';
    if (is_small_word(lower) || set->count == STORY_WORDS_MAX)
        return;
    uint64_t hash = hash_bytes(bytes_make(lower, len), 0);
    set->words[set->count++] = hash;
    if (strpbrk(lower, "0123456789") != NULL)
        set->numbers[set->number_count++] = hash;
}

static struct word_set words_of(struct bytes title)
{
    struct word_set set = {.count = 0};
    struct bytes rest = title.data == NULL ? bytes_make("", 0) : without_site(title), word;
    while ((word = next_word(&rest)).len > 0)
        add_word(&set, word);
    set.count = sort_words(set.words, set.count);
    set.number_count = sort_words(set.numbers, set.number_count);
    return set;
}

static size_t count_shared(const struct word_set *a, const struct word_set *b)
{
    size_t common = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        if (a->words[i] == b->words[k])
            common++, i++, k++;
        else if (a->words[i] < b->words[k])
            i++;
        else
            k++;
    }
    return common;
}

/* ---- stories ---- */

static bool is_same_story(const struct word_set *a, const struct word_set *b, bool same_site)
{
    size_t common = count_shared(a, b), all = a->count + b->count - common;
    if (a->count < STORY_WORDS_MIN || b->count < STORY_WORDS_MIN)
        return false;
    if (a->number_count != b->number_count ||
        memcmp(a->numbers, b->numbers, a->number_count * sizeof a->numbers[0]) != 0)
        return false;
    if (same_site)
        return common == all && all >= SAME_SITE_WORDS;
    return common * 4 >= all * COMMON_OF_FOUR;
}

void story_group(const struct story_article *articles, size_t count, size_t *first)
{
    struct word_set *sets = memory_new_zeroed(count + 1, sizeof *sets);
    for (size_t i = 0; i < count; i++) {
        sets[i] = words_of(articles[i].title);
        first[i] = i;
        for (size_t k = 0; k < i && first[i] == i; k++) {
            bool same_site = bytes_equal(articles[i].domain, articles[k].domain);
            if (first[k] == k && is_same_story(&sets[k], &sets[i], same_site))
                first[i] = k;
        }
    }
    free(sets);
}
