/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file, a variable or a flag: whatever is refused, every setting stays within its
 * bounds; what is accepted prints as a file that reads and prints the same again. */
#include "config_load.h"
#include "config_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_section(const struct section *section)
{
    struct text must = {0};
    for (size_t i = 0; i < section->count; i++) {
        const struct setting *setting = &section->settings[i];
        const void *at = (const char *)section->base + setting->offset;
        const struct config_list *list = at;
        struct bytes text;
        switch (setting->type) {
        case SETTING_INT:
            assert(*(const int64_t *)at >= setting->min && *(const int64_t *)at <= setting->max);
            break;
        case SETTING_TEXT:
            text = bytes_of(*(const char *const *)at);
            assert(text.data != NULL && setting_check(setting, text, true, &must));
            break;
        case SETTING_LIST:
            assert(list->count <= (size_t)setting->max && list->items != NULL);
            for (size_t k = 0; k < list->count; k++)
                assert(setting_check(setting, bytes_of(list->items[k]), true, &must));
            break;
        case SETTING_BOOL:
        case SETTING_WORD:
        case SETTING_SECRET:
            break;
        }
    }
    text_free(&must);
}

static void check(const struct config *config)
{
    struct text prefix = {0};
    struct section section = config_section(config);
    check_section(&section);
    for (size_t i = 0; i < config->provider_count; i++) {
        section = config_provider_section(&config->providers[i], &prefix);
        check_section(&section);
    }
    for (size_t i = 0; i < config->collection_count; i++) {
        section = config_collection_section(&config->collections[i], &prefix);
        check_section(&section);
    }
    text_free(&prefix);
}

/* Everything but the comments, which name origins. */
static bool printed_equal(const struct config *a, const struct config *b)
{
    struct text paths = {0};
    bool equal = config_restart_needed(a, b, &paths) == 0;
    for (size_t i = 0; i < config_setting_count; i++)
        equal = equal && setting_equal(&config_settings[i], a, b);
    text_free(&paths);
    return equal;
}

static void read_again(const struct config *config)
{
    struct config again;
    struct config_problems problems = {0};
    struct text printed = {0};
    config_print(config, &printed);
    if (strstr(printed.data, SECRET_MASK) == NULL) {
        config_init(&again);
        config_read_yaml(&again, "again", text_bytes(&printed), &problems);
        assert(problems.count == 0);
        assert(printed_equal(config, &again));
        config_deinit(&again);
    }
    text_free(&printed);
    config_problems_free(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    struct config_problems problems = {0};
    if (size == 0)
        return -1;
    char *text = memory_new(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    config_init(&config);
    if (data[0] % 8 < 6) {
        config_read_yaml(&config, "file", bytes_make(text, size - 1), &problems);
    } else if (data[0] % 8 == 6) {
        config_read_environment(&config, (char *const[]){text, NULL}, &problems);
    } else {
        char *equals = strchr(text, '=');
        if (equals != NULL)
            *equals = 0;
        config_set(&config, "--set", text, equals == NULL ? "" : equals + 1, &problems);
    }
    check(&config);
    if (problems.count == 0)
        read_again(&config);
    else
        assert(problems.lines.len > 0 && problems.lines.data[problems.lines.len - 1] == '\n');
    config_deinit(&config);
    config_problems_free(&problems);
    free(text);
    return 0;
}
