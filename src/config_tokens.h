/* SPDX-License-Identifier: Apache-2.0
 *
 * config_tokens.h - who may ask for what: the tokens file.
 *
 * One line per token, `name scope[,scope] sha256-of-token`; empty lines and those that begin with #
 * say nothing. A scope includes no other. The token itself is in no file: who presents it is
 * compared by its hash, with every line and in a time that does not depend on the answer.
 *
 * Always holds: names and hashes are different in every line; a file with one bad line is not taken
 * at all.
 *
 * Owner: who read it; read-only afterwards, so any thread may look. */
#ifndef CONFIG_TOKENS_H
#define CONFIG_TOKENS_H

#include "base/digest.h"
#include "base/err.h"

#define TOKENS_MAX      1024
#define TOKEN_NAME_MAX  64
#define TOKEN_PREFIX    "tmk_" /* of those made here, so that one is known when it lies around */
#define SCOPES_TEXT_MAX 32

enum scope {
    SCOPE_READ = 1,
    SCOPE_WRITE = 2,
    SCOPE_ADMIN = 4,
    SCOPE_ANYONE = 8, /* what every visitor has; written in no file */
};

struct token {
    char name[TOKEN_NAME_MAX + 1];
    unsigned scopes;
    uint8_t digest[DIGEST_SIZE];
};

struct tokens {
    size_t count;
    struct token items[];
};

/* RC_REJECT: the file cannot be read, is open to others, or has a bad line, which is named. */
must_check enum rc tokens_read(const char *path, struct tokens **tokens, struct err *err);
/* The same of what a file named `path` holds. */
must_check enum rc tokens_parse(const char *path, struct bytes content, struct tokens **tokens,
                                struct err *err);
/* The line of what was presented, or NULL. */
const struct token *tokens_find(const struct tokens *tokens, struct bytes presented);
/* The line of a token that was found before, by its hash. */
const struct token *tokens_find_digest(const struct tokens *tokens,
                                       const uint8_t digest[DIGEST_SIZE]);

bool token_name_valid(struct bytes name);
/* "read,write" as bits; false when a word is no scope, or stands twice. */
bool scopes_parse(struct bytes words, unsigned *scopes);
void scopes_print(unsigned scopes, char out[SCOPES_TEXT_MAX]);
/* The line that lets `token` in. */
void token_print_line(struct bytes name, unsigned scopes, struct bytes token, struct text *out);

#endif
