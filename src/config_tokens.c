/* SPDX-License-Identifier: Apache-2.0 */
#include "config_tokens.h"

#include "sys/small_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (256 * 1024)

static const struct {
    const char *word;
    enum scope scope;
} words[] = {{"read", SCOPE_READ}, {"write", SCOPE_WRITE}, {"admin", SCOPE_ADMIN}};

#define WORD_COUNT (sizeof words / sizeof words[0])

/* ---- words ---- */

bool token_name_valid(struct bytes name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-@";
    if (name.len == 0 || name.len > TOKEN_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] == '\0' || strchr(letters, name.data[i]) == NULL)
            return false;
    return true;
}

/* Takes the bytes before the first of `ends` off `text`, which then begins behind it. */
static struct bytes take_until(struct bytes *text, const char *ends)
{
    size_t len = 0;
    while (len < text->len && (text->data[len] == '\0' || strchr(ends, text->data[len]) == NULL))
        len++;
    struct bytes taken = bytes_make(text->data, len);
    size_t behind = len < text->len ? len + 1 : len;
    *text = bytes_make(text->data + behind, text->len - behind);
    return taken;
}

static enum scope scope_of(struct bytes word)
{
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (bytes_equal_string(word, words[i].word))
            return words[i].scope;
    return 0;
}

bool scopes_parse(struct bytes list, unsigned *scopes)
{
    *scopes = 0;
    if (list.len > 0 && list.data[list.len - 1] == ',')
        return false;
    while (list.len > 0) {
        enum scope scope = scope_of(take_until(&list, ","));
        if (scope == 0 || (*scopes & scope) != 0)
            return false;
        *scopes |= scope;
    }
    return *scopes != 0;
}

void scopes_print(unsigned scopes, char out[SCOPES_TEXT_MAX])
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < WORD_COUNT; i++)
        if ((scopes & words[i].scope) != 0)
            len += (size_t)snprintf(out + len, SCOPES_TEXT_MAX - len, "%s%s", len > 0 ? "," : "",
                                    words[i].word);
}

void token_print_line(struct bytes name, unsigned scopes, struct bytes token, struct text *out)
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE], list[SCOPES_TEXT_MAX];
    assert(token_name_valid(name) && scopes != 0);
    digest_sha256(token, digest);
    digest_hex(digest, hex);
    scopes_print(scopes, list);
    text_appendf(out, "%.*s %s %s\n", (int)name.len, name.data, list, hex);
}

/* ---- the file ---- */

static struct bytes take_word(struct bytes *line)
{
    while (line->len > 0 && strchr(" \t\r", line->data[0]) != NULL && line->data[0] != '\0')
        *line = bytes_make(line->data + 1, line->len - 1);
    return take_until(line, " \t\r");
}

/* NULL, or what is wrong with the line. */
static const char *parse_line(struct bytes line, struct token *token)
{
    struct bytes name = take_word(&line), scopes = take_word(&line), hash = take_word(&line);
    if (take_word(&line).len > 0 || hash.len == 0)
        return "a line is `name scope[,scope] sha256-of-token`";
    if (!token_name_valid(name))
        return "the name must be 1 to 64 letters, digits, or . _ - @";
    if (!scopes_parse(scopes, &token->scopes))
        return "the scopes must be of read, write and admin, each once, with commas between";
    if (!digest_parse_hex(hash, token->digest))
        return "the hash must be the 64 hexadecimal digits of the token's SHA-256";
    snprintf(token->name, sizeof token->name, "%.*s", (int)name.len, name.data);
    return NULL;
}

static const char *add(struct tokens *tokens, const struct token *token)
{
    if (tokens->count == TOKENS_MAX)
        return "there are too many tokens: 1024 are the most";
    for (size_t i = 0; i < tokens->count; i++) {
        if (strcmp(tokens->items[i].name, token->name) == 0)
            return "an earlier line has the same name";
        if (digest_equal(tokens->items[i].digest, token->digest))
            return "an earlier line has the same hash";
    }
    tokens->items[tokens->count++] = *token;
    return NULL;
}

enum rc tokens_parse(const char *path, struct bytes content, struct tokens **out, struct err *err)
{
    struct tokens *tokens =
        memory_new_zeroed(1, sizeof *tokens + TOKENS_MAX * sizeof tokens->items[0]);
    const char *wrong = NULL;
    size_t number = 0;
    while (content.len > 0 && wrong == NULL) {
        struct token token = {0};
        struct bytes line = take_until(&content, "\n"), rest = line;
        number++;
        struct bytes first = take_word(&rest);
        if (first.len == 0 || first.data[0] == '#')
            continue;
        wrong = parse_line(line, &token);
        if (wrong == NULL)
            wrong = add(tokens, &token);
    }
    if (wrong == NULL) {
        *out = memory_resize(tokens, sizeof *tokens + tokens->count * sizeof tokens->items[0]);
        return RC_OK;
    }
    free(tokens);
    return err_set(err, RC_REJECT, "%s:%zu: %s", path, number, wrong);
}

enum rc tokens_read(const char *path, struct tokens **tokens, struct err *err)
{
    struct text content = {0};
    enum rc rc = small_file_check_guarded(path, err);
    if (rc == RC_OK)
        rc = small_file_read(path, FILE_BYTES_MAX, &content, err);
    if (rc == RC_OK)
        rc = tokens_parse(path, text_bytes(&content), tokens, err);
    text_free(&content);
    return rc;
}

const struct token *tokens_find_digest(const struct tokens *tokens,
                                       const uint8_t digest[DIGEST_SIZE])
{
    const struct token *found = NULL;
    for (size_t i = 0; i < tokens->count; i++)
        if (digest_equal(tokens->items[i].digest, digest))
            found = &tokens->items[i];
    return found;
}

const struct token *tokens_find(const struct tokens *tokens, struct bytes presented)
{
    uint8_t digest[DIGEST_SIZE];
    digest_sha256(presented, digest);
    return tokens_find_digest(tokens, digest);
}
