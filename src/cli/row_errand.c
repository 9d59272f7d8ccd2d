/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/row_errand.h"

#include "cli/target.h"

#include <inttypes.h>
#include <stdio.h>

static enum rc ask_daemon(struct target *target, const struct row_errand *errand, int64_t id,
                          struct err *err)
{
    struct text body = {0};
    struct json ignored;
    text_appendf(&body, "{\"id\":%" PRId64, id);
    if (errand->action != NULL)
        text_appendf(&body, ",\"action\":\"%s\"", errand->action);
    text_append_char(&body, '}');
    enum rc rc =
        target_post(target, errand->path, text_string(&body), TARGET_SECONDS, NULL, &ignored, err);
    text_free(&body);
    return rc;
}

int row_errand_command(int argc, char **argv, const struct row_errand *errand)
{
    const struct settings_flag flags[] = {{0}};
    const struct target_words words = {
        .usage = errand->usage, .flags = flags, .words_min = 1, .words_max = 1};
    struct target target;
    struct err err;
    int64_t id;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    if (!bytes_to_i64(bytes_of(argv[first]), &id)) {
        fprintf(stderr, "tidemark: %s takes the ID that `tidemark %s` shows\n", argv[0],
                errand->listing);
        target_free(&target);
        return EXIT_USAGE;
    }
    enum rc rc = target_demand(&target, &err);
    if (rc == RC_OK)
        rc = ask_daemon(&target, errand, id, &err);
    if (rc == RC_OK)
        fprintf(stderr, "%s %s\n", argv[first], errand->done);
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    target_free(&target);
    return code;
}
