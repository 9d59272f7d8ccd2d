/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/connector_trial.h"
#include "cli/row_list.h"
#include "cli/target.h"
#include "decode/csv.h"
#include "source/ledger_file.h"
#include "sys/small_file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CSV_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define EXIT_NO_KEY   3

static const char usage[] =
    "usage: tidemark connector check FILE...\n"
    "       tidemark connector try FILE ACCOUNT [--stream NAME] [--json] [-c FILE]\n"
    "       tidemark connector docs\n"
    "  check  read descriptions of providers; the first mistake of each is named by line and "
    "column\n"
    "  try    ask for one page and show the request, its secrets masked, and the rows; nothing is\n"
    "         stored. ACCOUNT is platform:identifier, an exchange's name, or csv:PATH for a file\n"
    "  docs   the whole vocabulary, as Markdown\n"
    "  --stream NAME     of the description; without it the first that the platform has\n"
    "  --json            one JSON object: request, status, verdict, rows, refused, next, last\n"
    "  -c FILE           the configuration, where the provider's key and address are\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "Exit code: 0 done, 1 failed or the provider said no, 2 wrong usage, 3 about the key.\n";

struct wish {
    const char *stream;
    bool json;
};

static void see_stream(void *arg, const char *value)
{
    ((struct wish *)arg)->stream = value;
}

static int put(struct text *text)
{
    int code = target_put(text);
    text_free(text);
    return code;
}

static struct connector *load(const char *path)
{
    struct text yaml = {0};
    struct err err;
    struct connector *connector = NULL;
    enum rc rc = small_file_read(path, CONNECTOR_BYTES_MAX, &yaml, &err);
    if (rc == RC_OK)
        rc = connector_load(text_bytes(&yaml), path, &connector, &err);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", err.text);
    text_free(&yaml);
    return connector;
}

static int check(int argc, char **argv)
{
    int code = argc > 1 ? EXIT_DONE : EXIT_USAGE;
    for (int i = 1; i < argc; i++) {
        struct connector *connector = load(argv[i]);
        if (connector == NULL) {
            code = EXIT_FAILED;
            continue;
        }
        fprintf(stderr, "%s is good: %s, %zu platform%s, %zu stream%s\n", argv[i],
                connector->provider, connector->platform_count,
                connector->platform_count == 1 ? "" : "s", connector->stream_count,
                connector->stream_count == 1 ? "" : "s");
        connector_free(connector);
    }
    if (code == EXIT_USAGE)
        fputs(usage, stderr);
    return code;
}

/* ---- the answer, for people or programs ---- */

static int show_people(const struct connector_trial *trial, struct row_list *list,
                       const struct connector_page *page, bool last)
{
    struct text out = {0};
    table_print(&list->table, true, false, &out);
    if (trial->judgement.verdict != VERDICT_OK)
        fprintf(stderr, "%s\n", trial->why.text);
    fprintf(stderr, "%s: %zu record%s, %zu row%s, %zu refused, %zu not of this stream; %s\n",
            connector_verdict_name(trial->judgement.verdict), page->record_count,
            page->record_count == 1 ? "" : "s", page->row_count, page->row_count == 1 ? "" : "s",
            page->refused, page->passed, last ? "this was the last page" : "more pages follow");
    return put(&out);
}

static int show_json(const struct connector_trial *trial, struct row_list *list,
                     const struct text *token, bool last)
{
    struct text out = {0};
    struct json_writer writer;
    bool good = trial->judgement.verdict == VERDICT_OK;
    json_writer_init(&writer, &out);
    json_begin_object(&writer);
    json_key(&writer, "request");
    json_put_string(&writer, text_bytes(&trial->request));
    json_key(&writer, "status");
    json_put_i64(&writer, trial->answer.status);
    json_key(&writer, "verdict");
    json_put_cstring(&writer, connector_verdict_name(trial->judgement.verdict));
    json_key(&writer, "why");
    json_put_cstring(&writer, good ? NULL : trial->why.text);
    json_key(&writer, "rows");
    json_put_raw(&writer, text_bytes(&list->json));
    json_key(&writer, "refused");
    json_put_raw(&writer, text_bytes(&list->refused));
    json_key(&writer, "next");
    json_put_string(&writer, token->len > 0 ? text_bytes(token) : BYTES_ABSENT);
    json_key(&writer, "last");
    json_put_bool(&writer, last);
    json_end_object(&writer);
    text_append_char(&out, '\n');
    return put(&out);
}

static int code_of(enum connector_verdict verdict, int written)
{
    if (verdict == VERDICT_AUTH)
        return EXIT_NO_KEY;
    return verdict == VERDICT_OK || verdict == VERDICT_EMPTY ? written : EXIT_FAILED;
}

static int show(struct connector_trial *trial, const struct wish *wish)
{
    struct connector_page page;
    struct row_list list;
    struct text token = {0};
    struct err err;
    bool last = true;
    int code = EXIT_FAILED;
    connector_page_init(&page);
    row_list_init(&list);
    enum rc rc = RC_OK;
    if (trial->judgement.verdict == VERDICT_OK) {
        rc = connector_page_open(&page, trial->connector, trial->stream, &trial->vars,
                                 trial->answer.root, &err);
        if (rc == RC_OK) {
            row_list_read(&list, &page);
            connector_page_token(&page, &trial->answer, &token);
            last = connector_page_last(&page, &trial->answer);
        } else {
            fprintf(stderr, "%s\n", err.text);
        }
    }
    row_list_end(&list);
    if (rc == RC_OK)
        code =
            code_of(trial->judgement.verdict, wish->json ? show_json(trial, &list, &token, last)
                                                         : show_people(trial, &list, &page, last));
    row_list_deinit(&list);
    text_free(&token);
    connector_page_deinit(&page);
    return code;
}

/* ---- try ---- */

static const struct connector_stream *choose_stream(const struct connector *connector,
                                                    struct bytes platform, const char *name)
{
    for (size_t i = 0; i < connector->stream_count; i++) {
        const struct connector_stream *stream = &connector->streams[i];
        bool wanted = name == NULL ? stream->request != NULL : strcmp(stream->name, name) == 0;
        if (wanted && stream->request != NULL && connector_stream_serves(stream, platform))
            return stream;
    }
    return NULL;
}

static int ask(const struct connector *connector, struct settings *settings,
               const struct wish *wish, struct bytes platform, struct bytes account)
{
    const struct connector_stream *stream = choose_stream(connector, platform, wish->stream);
    struct connector_trial trial;
    struct err err;
    if (stream == NULL) {
        fprintf(stderr, "%s has no such stream for %.*s\n", connector->provider, (int)platform.len,
                platform.data);
        return EXIT_USAGE;
    }
    if (!settings_load(settings))
        return EXIT_FAILED;
    connector_trial_init(&trial, &settings->config, connector, stream, platform, account);
    enum rc rc = connector_trial_ask(&trial, &err);
    fputs(text_string(&trial.request), stderr);
    int code = EXIT_FAILED;
    if (rc == RC_OK)
        code = show(&trial, wish);
    else
        fprintf(stderr, "%s\n", err.text);
    if (rc == RC_REJECT && trial.request.len == 0)
        code = EXIT_NO_KEY;
    connector_trial_deinit(&trial);
    return code;
}

/* "platform:identifier", or the platform of an exchange alone. */
static int try_account(const struct connector *connector, struct settings *settings,
                       const struct wish *wish, const char *words)
{
    const char *colon = strchr(words, ':');
    struct bytes platform =
        bytes_make(words, colon == NULL ? strlen(words) : (size_t)(colon - words));
    struct text account = {0};
    struct err err;
    int code = EXIT_USAGE;
    if (connector_platform(connector, platform) == NULL)
        fprintf(stderr, "%s does not serve \"%.*s\"\n", connector->provider, (int)platform.len,
                platform.data);
    else if (connector_identifier_read(connector->identifier,
                                       bytes_of(colon == NULL ? "" : colon + 1), &account,
                                       &err) != RC_OK)
        fprintf(stderr, "%s: %s\n", words, err.text);
    else
        code = ask(connector, settings, wish, platform,
                   account.data == NULL ? bytes_of("") : text_bytes(&account));
    text_free(&account);
    return code;
}

/* The rows of a file as one JSON list; those that are no rows are reported. */
static void read_csv(struct csv *csv, struct text *out)
{
    struct bytes raw;
    struct err err;
    enum rc rc = RC_OK;
    text_append_char(out, '[');
    while (rc != RC_AGAIN) {
        size_t before = out->len;
        if (before > 1)
            text_append_char(out, ',');
        rc = csv_next(csv, out, &raw, &err);
        if (rc == RC_REJECT)
            fprintf(stderr, "refused: %s\n", err.text);
        if (rc != RC_OK) {
            out->len = before;
            out->data[before] = '\0';
        }
    }
    text_append_char(out, ']');
}

static enum rc map_csv(const struct connector *connector, struct csv *csv, struct row_list *list,
                       struct err *err)
{
    const struct connector_stream *stream =
        connector_csv_stream(connector, text_bytes(&csv->columns));
    struct json_doc *doc = json_doc_new(8 * CSV_BYTES_MAX, JSON_DEPTH_MAX);
    struct text json = {0};
    struct connector_page page;
    struct json root;
    enum rc rc = RC_OK;
    connector_page_init(&page);
    if (stream == NULL || stream->csv.skip)
        rc = err_set(err, RC_REJECT, "%s knows no rows in a file with these columns: %s",
                     connector->provider, text_string(&csv->columns));
    if (rc == RC_OK) {
        ledger_file_name_columns(csv, stream);
        read_csv(csv, &json);
        rc = json_parse_copy(doc, text_bytes(&json), &root, err);
    }
    if (rc == RC_OK) {
        struct connector_vars vars =
            connector_vars_first(stream, bytes_of(connector->platforms[0].name), bytes_of(""));
        rc = connector_page_open_list(&page, connector, stream, &vars, root, err);
        if (rc == RC_OK)
            row_list_read(list, &page);
    }
    connector_page_deinit(&page);
    json_doc_free(doc);
    text_free(&json);
    return rc;
}

static int try_file(const struct connector *connector, const struct wish *wish, const char *path)
{
    struct text file = {0}, out = {0};
    struct csv csv = {0};
    struct row_list list;
    struct err err;
    row_list_init(&list);
    enum rc rc = small_file_read(path, CSV_BYTES_MAX, &file, &err);
    if (rc == RC_OK)
        rc = csv_open(&csv, text_bytes(&file), &err);
    if (rc == RC_OK)
        rc = map_csv(connector, &csv, &list, &err);
    row_list_end(&list);
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", path, err.text);
    else if (wish->json)
        text_appendf(&out, "{\"rows\":%s,\"refused\":%s}\n", text_string(&list.json),
                     text_string(&list.refused));
    else
        table_print(&list.table, true, false, &out);
    csv_close(&csv);
    row_list_deinit(&list);
    text_free(&file);
    return rc == RC_OK ? put(&out) : EXIT_FAILED;
}

static int try_connector(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {.name = "stream", .seen = see_stream},
        {.name = "json", .at = offsetof(struct wish, json)},
        {0}};
    struct settings settings;
    struct wish wish = {NULL, false};
    bool help;
    int rest = settings_parse(&settings, argc, argv, usage, flags, &wish, &help);
    if (rest < 0)
        return help ? EXIT_DONE : EXIT_USAGE;
    if (rest + 2 != argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    struct connector *connector = load(argv[rest]);
    int code = EXIT_FAILED;
    if (connector != NULL && strncmp(argv[rest + 1], "csv:", 4) == 0)
        code = try_file(connector, &wish, argv[rest + 1] + 4);
    else if (connector != NULL)
        code = try_account(connector, &settings, &wish, argv[rest + 1]);
    connector_free(connector);
    settings_free(&settings);
    return code;
}

int cmd_connector(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "check") == 0)
        return check(argc - 1, argv + 1);
    if (strcmp(what, "try") == 0)
        return try_connector(argc - 1, argv + 1);
    if (strcmp(what, "docs") == 0 && argc == 2) {
        struct text docs = {0};
        connector_docs(&docs);
        return put(&docs);
    }
    bool help = strcmp(what, "-h") == 0 || strcmp(what, "--help") == 0;
    fputs(usage, help ? stdout : stderr);
    return help ? EXIT_DONE : EXIT_USAGE;
}
