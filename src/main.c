/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggestion.h"
#include "cli/commands.h"
#include "sys/log.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
};

static const struct command commands[] = {
    {"run", cmd_run, "follow the configured sources into the store"},
    {"status", cmd_status, "what the daemon and each source are at"},
    {"query", cmd_query, "the rows of a collection"},
    {"digest", cmd_digest, "what was shared, as text, Markdown or HTML"},
    {"gaps", cmd_gaps, "intervals that could not be read"},
    {"owed", cmd_owed, "what is still to be fetched, and what was given up"},
    {"reconcile", cmd_reconcile, "have all documents that lack fetched again"},
    {"quarantine", cmd_quarantine, "input that could not be used"},
    {"providers", cmd_providers, "how each upstream fares"},
    {"handles", cmd_handles, "open queries"},
    {"follows", cmd_follows, "whose posts are stored; `refresh` reads the lists anew"},
    {"backfill", cmd_backfill, "have the history of an account read"},
    {"import", cmd_import, "read the whole history of accounts"},
    {"compare", cmd_compare, "the posts of two stores, side by side"},
    {"reset", cmd_reset, "forget where a source stands"},
    {"doctor", cmd_doctor, "look at the whole installation and say what to fix"},
    {"verify", cmd_verify, "compare the store with its own rules"},
    {"backup", cmd_backup, "copy the store while it is in use"},
    {"migrate", cmd_migrate, "bring the schema to the version of this program"},
    {"migrate-follows", cmd_migrate_follows, "move from polling to the firehose, or back"},
    {"config", cmd_config, "check, print or document the settings"},
    {"connector", cmd_connector, "check or try the description of a provider"},
    {"token", cmd_token, "make a token for serve.tokens_file"},
    {"version", cmd_version, "which tidemark this is"},
};

static void print_usage(FILE *to)
{
    fputs("usage: tidemark COMMAND [ARG]...\n", to);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        fprintf(to, "  %-15s %s\n", commands[i].name, commands[i].about);
    fputs("tidemark COMMAND --help, or tidemark help COMMAND, says more.\n", to);
}

/* Whoever reads the log learns that it was no stop, and that nothing has to be mended. */
static void tell_abort(int number)
{
    static const char words[] =
        "tidemark: memory or the machine failed: this process ends here, what is committed stays, "
        "and the next start goes on from there\n";
    (void)number;
    ssize_t told = write(STDERR_FILENO, words, sizeof words - 1);
    (void)told;
}

/* A core would hold keys and tokens. One byte, not none: Linux leaves out a program that collects
 * cores for that limit only, and no core file is that small. */
static void forbid_cores(void)
{
    const struct rlimit one = {1, 1};
    (void)setrlimit(RLIMIT_CORE, &one);
}

static int refuse_command(const char *name)
{
    struct suggestion suggestion = suggestion_begin(bytes_of(name));
    struct text words = {0};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        suggestion_try(&suggestion, bytes_of(commands[i].name));
    text_append_string(&words, "tidemark: there is no command ");
    suggestion_quote(bytes_of(name), &words);
    size_t before = words.len;
    suggestion_end(&suggestion, "", &words);
    fprintf(stderr, "%s\n", text_string(&words));
    if (words.len == before)
        print_usage(stderr);
    text_free(&words);
    return 2;
}

/* Every flag belongs to a command. */
static int refuse_flag(const char *flag)
{
    struct text words = {0};
    suggestion_quote(bytes_of(flag), &words);
    fprintf(stderr, "tidemark: %s comes after the command: tidemark COMMAND [ARG]...\n",
            text_string(&words));
    text_free(&words);
    return 2;
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].run(argc, argv);
    return argv[0][0] == '-' ? refuse_flag(argv[0]) : refuse_command(argv[0]);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* `tidemark help COMMAND` is what `tidemark COMMAND --help` is. */
static int help(int argc, char **argv)
{
    static char flag[] = "--help";
    char *words[] = {argc > 1 ? argv[1] : NULL, flag, NULL};
    if (argc == 2 && (asks_for_help(argv[1]) || strcmp(argv[1], argv[0]) == 0))
        argc = 1;
    if (argc == 2)
        return run_command(2, words);
    print_usage(argc == 1 ? stdout : stderr);
    return argc == 1 ? 0 : 2;
}

int main(int argc, char **argv)
{
    log_claim_streams();
    signal(SIGABRT, tell_abort);
    forbid_cores();
    if (argc >= 2 && asks_for_help(argv[1])) {
        print_usage(stdout);
        return 0;
    }
    static char version[] = "version";
    if (argc >= 2 && strcmp(argv[1], "--version") == 0)
        argv[1] = version;
    if (argc >= 2 && strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (argc >= 2)
        return run_command(argc - 1, argv + 1);
    print_usage(stderr);
    return 2;
}
