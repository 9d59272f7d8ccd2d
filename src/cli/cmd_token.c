/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/settings.h"
#include "config_tokens.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define RANDOM_SIZE 32

static const char usage[] =
    "usage: tidemark token NAME SCOPE[,SCOPE]\n"
    "Makes a token. Its line for serve.tokens_file goes to standard output, the token itself to\n"
    "standard error: it is shown once and kept nowhere.\n"
    "  tidemark token alice read,write >> tokens   then SIGHUP to the daemon\n"
    "NAME is 1 to 64 letters, digits, or . _ - @; a SCOPE is read, write or admin.\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

static bool make_token(struct text *token)
{
    uint8_t random[RANDOM_SIZE];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    text_append_string(token, TOKEN_PREFIX);
    for (size_t i = 0; i < sizeof random; i++)
        text_appendf(token, "%02x", random[i]);
    return true;
}

static int show_token(struct bytes name, unsigned scopes)
{
    struct text token = {0}, line = {0};
    bool shown = make_token(&token);
    if (shown) {
        token_print_line(name, scopes, text_bytes(&token), &line);
        shown = fputs(text_string(&line), stdout) != EOF && fflush(stdout) == 0 &&
                fprintf(stderr, "%s\n", text_string(&token)) > 0;
    }
    text_free(&token);
    text_free(&line);
    return shown ? EXIT_DONE : EXIT_FAILED;
}

int cmd_token(int argc, char **argv)
{
    unsigned scopes;
    if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(usage, stdout);
        return EXIT_DONE;
    }
    bool named = argc == 3 && token_name_valid(bytes_of(argv[1]));
    if (named && scopes_parse(bytes_of(argv[2]), &scopes))
        return show_token(bytes_of(argv[1]), scopes);
    if (argc == 3)
        fprintf(stderr, "tidemark: \"%s\" is no %s\n", argv[named ? 2 : 1],
                named ? "list of scopes" : "name for a token");
    fputs(usage, stderr);
    return EXIT_USAGE;
}
