/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of tokens: refused with the place and a sentence, or every line lets in
 * exactly what its hash is of, no two are of one name or hash, and the file made of them anew says
 * the same. */
#include "config_tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const struct tokens *tokens, struct text *out)
{
    char scopes[SCOPES_TEXT_MAX], hex[DIGEST_HEX_SIZE];
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->items[i];
        scopes_print(token->scopes, scopes);
        digest_hex(token->digest, hex);
        text_appendf(out, "%s %s %s\n", token->name, scopes, hex);
    }
}

static void check_token(const struct tokens *tokens, size_t i)
{
    const struct token *token = &tokens->items[i];
    assert(token_name_valid(bytes_of(token->name)));
    assert(token->scopes != 0 && token->scopes < SCOPE_ANYONE);
    assert(tokens_find_digest(tokens, token->digest) == token);
    for (size_t k = 0; k < i; k++)
        assert(strcmp(tokens->items[k].name, token->name) != 0);
}

static void check(const struct tokens *tokens)
{
    struct tokens *again;
    struct text first = {0}, second = {0};
    struct err err;
    for (size_t i = 0; i < tokens->count; i++)
        check_token(tokens, i);
    print(tokens, &first);
    enum rc rc = tokens_parse("again", text_bytes(&first), &again, &err);
    assert(rc == RC_OK && again->count == tokens->count);
    print(again, &second);
    assert(bytes_equal(text_bytes(&first), text_bytes(&second)));
    text_free(&first);
    text_free(&second);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tokens *tokens = NULL;
    struct err err = {""};
    if (tokens_parse("f", bytes_make(data, size), &tokens, &err) != RC_OK) {
        assert(tokens == NULL && strncmp(err.text, "f:", 2) == 0);
        return 0;
    }
    assert(tokens->count <= TOKENS_MAX);
    check(tokens);
    /* Nobody knows a token that hashes to a line of the file. */
    assert(tokens_find(tokens, bytes_make(data, size)) == NULL);
    free(tokens);
    return 0;
}
