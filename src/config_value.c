/* SPDX-License-Identifier: Apache-2.0 */
#include "config_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECRET_MAX 4096

static const void *slot(const struct setting *setting, const void *base)
{
    return (const char *)base + setting->offset;
}

/* Place of `word` among the words, or -1. */
static int find_word(const char *words, struct bytes word)
{
    int place = 0;
    for (const char *at = words; *at != 0; place++) {
        size_t len = strcspn(at, " ");
        if (bytes_equal(bytes_make(at, len), word))
            return place;
        at += len + (at[len] == ' ');
    }
    return -1;
}

static struct bytes nth_word(const char *words, int n)
{
    for (const char *at = words; *at != 0; n--) {
        size_t len = strcspn(at, " ");
        if (n == 0)
            return bytes_make(at, len);
        at += len + (at[len] == ' ');
    }
    return BYTES_ABSENT;
}

static void describe_words(const char *words, struct text *out)
{
    for (const char *at = words; *at != 0;) {
        size_t len = strcspn(at, " ");
        text_append(out, at, len);
        at += len + (at[len] == ' ');
        if (*at != 0)
            text_append_string(out, strchr(at, ' ') != NULL ? ", " : " or ");
    }
}

static int read_bool(struct bytes value)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (int i = 0; i < 6; i++) {
        if (strlen(words[i]) == value.len && strncasecmp(words[i], value.data, value.len) == 0)
            return i & 1;
    }
    return -1;
}

static bool has_control(struct bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f)
            return true;
    }
    return false;
}

static bool check_text(const struct setting *setting, struct bytes value, struct text *must)
{
    const char *wanted = NULL;
    if (value.len == 0 && setting->type == SETTING_TEXT && setting->empty_allowed)
        return true;
    if (has_control(value))
        wanted = "text without control characters";
    else if (value.len > CONFIG_TEXT_MAX)
        wanted = "at most 2048 bytes long";
    else if (setting->words != NULL && find_word(setting->words, value) < 0)
        describe_words(setting->words, must);
    else if (value.len == 0)
        wanted = setting->check == NULL ? "some text" : setting->check(bytes_of(""));
    else if (setting->url && memmem(value.data, value.len, SECRET_MASK, strlen(SECRET_MASK)))
        wanted = "the address itself, not one with a mask in it";
    else if (setting->check != NULL)
        wanted = setting->check(value);
    if (wanted != NULL)
        text_append_string(must, wanted);
    return must->len == 0;
}

bool setting_check(const struct setting *setting, struct bytes value, bool plain, struct text *must)
{
    int64_t number;
    text_clear(must);
    switch (setting->type) {
    case SETTING_INT:
        if (!bytes_to_i64(value, &number))
            text_append_string(must, "a whole number, ");
        else if (!plain)
            text_append_string(must, "a whole number without quotes, ");
        else if (number >= setting->min && number <= setting->max)
            return true;
        text_appendf(must, "%lld to %lld", (long long)setting->min, (long long)setting->max);
        return false;
    case SETTING_BOOL:
        if (plain && read_bool(value) >= 0)
            return true;
        text_append_string(must, plain ? "true or false" : "true or false, without quotes");
        return false;
    case SETTING_WORD:
    case SETTING_TEXT:
    case SETTING_LIST:
        return check_text(setting, value, must);
    case SETTING_SECRET:
        if (bytes_equal_string(value, SECRET_MASK))
            text_append_string(must, "the secret itself, not the mask that stands for it");
        else if (value.len == 0 || value.len > SECRET_MAX ||
                 (setting->lines_allowed ? memchr(value.data, 0, value.len) != NULL
                                         : has_control(value)))
            text_append_string(must, "1 to 4096 bytes without control characters");
        return must->len == 0;
    }
    abort();
}

void setting_store(struct config *config, const struct setting *setting, void *base,
                   struct bytes value)
{
    char *to = (char *)base + setting->offset;
    int64_t number = 0;
    switch (setting->type) {
    case SETTING_INT:
        if (!bytes_to_i64(value, &number))
            abort();
        *(int64_t *)(void *)to = number;
        return;
    case SETTING_BOOL:
        *(bool *)(void *)to = read_bool(value) > 0;
        return;
    case SETTING_WORD: {
        int place = find_word(setting->words, value);
        static_assert(sizeof place == sizeof(enum config_mode), "an enum is an int here");
        assert(place >= 0);
        memcpy(to, &place, sizeof place);
        return;
    }
    case SETTING_TEXT: {
        *(const char **)(void *)to = config_keep(config, value);
        return;
    }
    case SETTING_SECRET:
        secret_set((struct secret *)(void *)to, value);
        return;
    case SETTING_LIST:
        abort();
    }
}

void setting_store_list(struct config *config, const struct setting *setting, void *base,
                        const struct bytes *items, size_t count)
{
    assert(setting->type == SETTING_LIST && count <= (size_t)setting->max);
    const char **kept = config_take(config, (count + 1) * sizeof *kept);
    for (size_t i = 0; i < count; i++)
        kept[i] = config_keep(config, items[i]);
    *(struct config_list *)(void *)((char *)base + setting->offset) =
        (struct config_list){kept, count};
}

void setting_describe(const struct setting *setting, struct text *out)
{
    switch (setting->type) {
    case SETTING_INT:
        text_appendf(out, "%lld to %lld", (long long)setting->min, (long long)setting->max);
        return;
    case SETTING_BOOL:
        text_append_string(out, "true or false");
        return;
    case SETTING_SECRET:
        text_append_string(out, "secret");
        return;
    case SETTING_LIST:
        text_append_string(out, "a list, each entry ");
        break;
    case SETTING_WORD:
    case SETTING_TEXT:
        break;
    }
    if (setting->words != NULL)
        describe_words(setting->words, out);
    else if (setting->check != NULL)
        text_append_string(out, setting->check(bytes_of("")));
    else
        text_append_string(out, "text");
}

static void print_text(struct bytes value, bool url, struct text *out)
{
    struct text masked = {0};
    if (url) {
        config_mask_url(value, &masked);
        value = text_bytes(&masked);
    }
    bool bare = value.len > 0;
    for (size_t i = 0; i < value.len && bare; i++) {
        char c = value.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bare = letter || (i > 0 && strchr("0123456789_./:@+-()%", c) != NULL && c != 0);
    }
    if (bare && value.data[value.len - 1] != ':' && strcasecmp(value.data, "null") != 0) {
        text_append(out, value.data, value.len);
    } else {
        text_append_char(out, '"');
        for (size_t i = 0; i < value.len; i++) {
            if (value.data[i] == '"' || value.data[i] == '\\')
                text_append_char(out, '\\');
            text_append_char(out, value.data[i]);
        }
        text_append_char(out, '"');
    }
    text_free(&masked);
}

void setting_print(const struct setting *setting, const void *base, struct text *out)
{
    const void *at = slot(setting, base);
    switch (setting->type) {
    case SETTING_INT:
        text_appendf(out, "%lld", (long long)*(const int64_t *)at);
        return;
    case SETTING_BOOL:
        text_append_string(out, *(const bool *)at ? "true" : "false");
        return;
    case SETTING_WORD: {
        int place;
        memcpy(&place, at, sizeof place);
        struct bytes word = nth_word(setting->words, place);
        text_append(out, word.data, word.len);
        return;
    }
    case SETTING_TEXT:
        print_text(bytes_of(*(const char *const *)at), setting->url, out);
        return;
    case SETTING_SECRET:
        text_append_string(out, secret_given((const struct secret *)at) ? "\"" SECRET_MASK "\""
                                                                        : "\"\"");
        return;
    case SETTING_LIST: {
        const struct config_list *list = at;
        text_append_char(out, '[');
        for (size_t i = 0; i < list->count; i++) {
            text_append_string(out, i > 0 ? ", " : "");
            print_text(bytes_of(list->items[i]), setting->url, out);
        }
        text_append_char(out, ']');
        return;
    }
    }
}

bool setting_equal(const struct setting *setting, const void *a, const void *b)
{
    const void *x = slot(setting, a), *y = slot(setting, b);
    switch (setting->type) {
    case SETTING_INT:
        return *(const int64_t *)x == *(const int64_t *)y;
    case SETTING_BOOL:
        return *(const bool *)x == *(const bool *)y;
    case SETTING_WORD:
        return memcmp(x, y, sizeof(int)) == 0;
    case SETTING_TEXT:
        return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    case SETTING_SECRET:
        return bytes_equal(secret_reveal(x), secret_reveal(y));
    case SETTING_LIST: {
        const struct config_list *p = x, *q = y;
        bool equal = p->count == q->count;
        for (size_t i = 0; equal && i < p->count; i++)
            equal = strcmp(p->items[i], q->items[i]) == 0;
        return equal;
    }
    }
    abort();
}

static struct config_origin place(struct config_origin origin, const struct yaml_node *node)
{
    if (origin.from == CONFIG_FILE) {
        origin.line = node->line;
        origin.column = node->column;
    }
    return origin;
}

/* "polling.posts_per_page is 101; it must be 1 to 100" */
static void report(const struct section *section, const struct setting *setting, struct bytes value,
                   struct config_origin at, const struct text *must,
                   struct config_problems *problems)
{
    struct text shown = {0}, masked = {0};
    int64_t number;
    if (setting->type == SETTING_SECRET)
        text_append_string(&shown, "cannot be used");
    else if (value.len == 0)
        text_append_string(&shown,
                           setting->type == SETTING_LIST ? "has an empty entry" : "is empty");
    else if (setting->type == SETTING_INT && bytes_to_i64(value, &number))
        text_appendf(&shown, "is %lld", (long long)number);
    else {
        if (setting->url) {
            config_mask_url(value, &masked);
            value = text_bytes(&masked);
        }
        text_append_string(&shown, setting->type == SETTING_LIST ? "has the entry " : "is ");
        suggestion_quote(value, &shown);
    }
    config_problem(problems, at, "%s%s %s; it must be %s", section->prefix, setting->path,
                   text_string(&shown), text_string(must));
    text_free(&shown);
    text_free(&masked);
}

static bool check_list(const struct section *section, const struct setting *setting,
                       const struct yaml_node *node, struct bytes *items,
                       struct config_origin origin, struct config_problems *problems)
{
    bool ok = true;
    size_t count = 0;
    struct text must = {0};
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        bool text = item->kind == YAML_TEXT;
        struct bytes value = text && !yaml_node_null(item) ? item->text : bytes_of("");
        bool again = false;
        for (size_t i = 0; i < count && !again; i++)
            again = bytes_equal(items[i], value);
        items[count++] = value;
        if (!text) {
            config_problem(problems, place(origin, item), "%s%s has an entry that is %s",
                           section->prefix, setting->path, yaml_node_kind(item));
        } else if (!setting_check(setting, value, item->plain, &must)) {
            report(section, setting, value, place(origin, item), &must, problems);
        } else if (again) {
            config_problem(problems, place(origin, item), "%s%s has the same entry twice",
                           section->prefix, setting->path);
        } else {
            continue;
        }
        ok = false;
    }
    text_free(&must);
    return ok;
}

static void set_list(struct config *config, const struct section *section,
                     const struct setting *setting, const struct yaml_node *node,
                     struct config_origin *kept, struct config_origin origin,
                     struct config_problems *problems)
{
    struct yaml_node one = *node, list = {.kind = YAML_LIST, .first = &one, .count = 1};
    if (node->kind == YAML_TEXT && setting->single) {
        one.next = NULL;
        list.line = node->line;
        list.column = node->column;
        node = &list;
    }
    if (node->kind != YAML_LIST) {
        config_problem(problems, place(origin, node), "%s%s is %s; it must be a list",
                       section->prefix, setting->path, yaml_node_kind(node));
        return;
    }
    if (node->count < (size_t)setting->min || node->count > (size_t)setting->max) {
        config_problem(problems, place(origin, node),
                       "%s%s has %zu entries; it must have %lld to %lld", section->prefix,
                       setting->path, node->count, (long long)setting->min,
                       (long long)setting->max);
        return;
    }
    struct bytes *items = memory_new((node->count + 1) * sizeof *items);
    if (check_list(section, setting, node, items, origin, problems) && origin.from >= kept->from) {
        setting_store_list(config, setting, section->base, items, node->count);
        *kept = place(origin, node);
    }
    free(items);
}

void section_set(struct config *config, const struct section *section,
                 const struct setting *setting, const struct yaml_node *node,
                 struct config_origin origin, struct config_problems *problems)
{
    struct config_origin *kept = &section->origins[setting - section->settings];
    struct text must = {0};
    bool null = yaml_node_null(node) && origin.from == CONFIG_FILE;
    if (null && !(setting->type == SETTING_TEXT && setting->empty_allowed)) {
        config_problem(problems, place(origin, node), "%s%s has no value", section->prefix,
                       setting->path);
        return;
    }
    if (setting->type == SETTING_LIST) {
        set_list(config, section, setting, node, kept, origin, problems);
        return;
    }
    struct bytes value = null ? bytes_of("") : node->text;
    if (node->kind != YAML_TEXT) {
        config_problem(problems, place(origin, node), "%s%s is %s; it must be a single value",
                       section->prefix, setting->path, yaml_node_kind(node));
    } else if (!setting_check(setting, value, node->plain, &must)) {
        report(section, setting, value, place(origin, node), &must, problems);
    } else if (origin.from >= kept->from) {
        setting_store(config, setting, section->base, value);
        *kept = place(origin, node);
    }
    text_free(&must);
}

void section_init(struct config *config, const struct section *section)
{
    for (size_t i = 0; i < section->count; i++) {
        const struct setting *setting = &section->settings[i];
        struct bytes initial = bytes_of(setting->initial == NULL ? "" : setting->initial);
        section->origins[i] = (struct config_origin){0};
        if (setting->type != SETTING_LIST) {
            if (setting->type != SETTING_SECRET)
                setting_store(config, setting, section->base, initial);
            continue;
        }
        struct bytes items[8];
        size_t count = 0;
        for (size_t at = 0; at < initial.len;) {
            size_t len = strcspn(initial.data + at, ",");
            assert(count < sizeof items / sizeof items[0]);
            items[count++] = bytes_make(initial.data + at, len);
            at += len + 1;
        }
        setting_store_list(config, setting, section->base, items, count);
    }
}
