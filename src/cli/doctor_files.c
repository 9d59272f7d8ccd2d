/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include "sys/sandbox.h"
#include "sys/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DICTIONARY_MAX ((size_t)4 << 20)
#define KEPT_NAME      "jetstream.zdict"
#define FREE_FAIL      (UINT64_C(64) << 20)
#define FREE_WARN      (UINT64_C(1) << 30)
#define MIB            1048576.0

/* ---- the data folder ---- */

static void find_folder(const struct config *config, struct text *out)
{
    config_socket_path(config, out);
    out->len = (size_t)(strrchr(out->data, '/') - out->data);
    out->data[out->len] = '\0';
}

/* The folder itself, or the nearest above it that is there: where the first start would make it. */
static void find_standing(const char *folder, struct text *out)
{
    const char *slash;
    text_append_string(out, folder);
    while (!small_file_exists(text_string(out)) &&
           (slash = strrchr(text_string(out), '/')) != NULL && out->len > 1) {
        out->len = slash == out->data ? 1 : (size_t)(slash - out->data);
        out->data[out->len] = '\0';
    }
    if (!small_file_exists(text_string(out))) {
        text_clear(out);
        text_append_char(out, '.');
    }
}

static bool takes_files(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    /* Some file systems have no files without names. */
    return fd >= 0 || (errno == EOPNOTSUPP && access(folder, W_OK) == 0);
}

static void check_disk(const char *folder, struct doctor_report *report)
{
    static const char advice[] = "Free some space, or shorten retention.window_hours";
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0) {
        doctor_say(report, DOCTOR_WARN, "disk", NULL, "cannot be asked: %s", strerror(errno));
        return;
    }
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    enum doctor_level level = room < FREE_FAIL   ? DOCTOR_FAIL
                              : room < FREE_WARN ? DOCTOR_WARN
                                                 : DOCTOR_OK;
    doctor_say(report, level, "disk", level == DOCTOR_OK ? NULL : advice, "%.0f MiB free at %s",
               (double)room / MIB, folder);
}

static void check_missing(const char *folder, const char *standing, struct doctor_report *report)
{
    if (takes_files(standing))
        doctor_say(report, DOCTOR_WARN, "data directory", "The first start makes it",
                   "%s is not there", folder);
    else
        doctor_say(report, DOCTOR_FAIL, "data directory",
                   "Make it, and give it to the user that tidemark runs as",
                   "%s is not there, and user %u cannot make it in %s: %s", folder,
                   (unsigned)geteuid(), standing, strerror(errno));
}

static void check_folder(const char *folder, const char *standing, struct doctor_report *report)
{
    struct stat about;
    if (stat(folder, &about) != 0 && errno == ENOENT)
        check_missing(folder, standing, report);
    else if (stat(folder, &about) != 0)
        doctor_say(report, DOCTOR_FAIL, "data directory", "Correct store.data_dir or store.url",
                   "%s cannot be used: %s", folder, strerror(errno));
    else if (!S_ISDIR(about.st_mode))
        doctor_say(report, DOCTOR_FAIL, "data directory", "Correct store.data_dir or store.url",
                   "%s is no directory", folder);
    else if (!takes_files(folder))
        doctor_say(report, DOCTOR_FAIL, "data directory",
                   "Give it to the user that tidemark runs as", "%s takes no files of user %u: %s",
                   folder, (unsigned)geteuid(), strerror(errno));
    else if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        doctor_say(report, DOCTOR_WARN, "data directory", "chmod go-w it",
                   "%s may be changed by others (mode %03o)", folder,
                   (unsigned)about.st_mode & 0777);
    else
        doctor_say(report, DOCTOR_OK, "data directory", NULL, "%s is writable", folder);
}

/* ---- secrets ---- */

/* One that cannot be read is a problem of the configuration, and told there. */
static size_t check_guarded(const char *setting, const char *path, struct doctor_report *report)
{
    struct err err;
    if (*path == '\0' || !small_file_exists(path))
        return 0;
    if (small_file_check_guarded(path, &err) != RC_OK)
        doctor_say(report, DOCTOR_WARN, setting, NULL, "%s", err.text);
    return 1;
}

static void check_secrets(const struct config *config, struct doctor_report *report)
{
    size_t count = 0, before = report->count;
    struct text setting = {0};
    count += check_guarded("bluesky.app_password_file", config->bluesky.app_password_file, report);
    for (size_t i = 0; i < config->provider_count; i++) {
        const struct config_provider *provider = &config->providers[i];
        text_clear(&setting);
        text_appendf(&setting, "providers.%s.api_key_file", provider->name);
        count += check_guarded(text_string(&setting), provider->api_key_file, report);
        text_clear(&setting);
        text_appendf(&setting, "providers.%s.api_secret_file", provider->name);
        count += check_guarded(text_string(&setting), provider->api_secret_file, report);
    }
    if (report->count == before)
        doctor_say(report, DOCTOR_OK, "secrets", NULL, "%zu file%s, none open to others", count,
                   count == 1 ? "" : "s");
    text_free(&setting);
}

/* ---- dictionaries ---- */

static void check_dictionary(const char *path, const char *advice, struct doctor_report *report)
{
    static const char magic[] = {0x37, (char)0xa4, 0x30, (char)0xec};
    struct text content = {0};
    struct err err;
    if (small_file_read(path, DICTIONARY_MAX, &content, &err) != RC_OK)
        doctor_say(report, DOCTOR_WARN, "dictionary", advice, "%s", err.text);
    else if (content.len < sizeof magic || memcmp(content.data, magic, sizeof magic) != 0)
        doctor_say(report, DOCTOR_WARN, "dictionary", advice, "%s is no zstd dictionary", path);
    else
        doctor_say(report, DOCTOR_OK, "dictionary", NULL, "%s, %zu bytes", path, content.len);
    text_free(&content);
}

static void check_dictionaries(const struct config *config, const char *folder,
                               struct doctor_report *report)
{
    struct text kept = {0};
    size_t before = report->count;
    if (!config->jetstream.compress || !config_has_firehose(config))
        return;
    text_appendf(&kept, "%s/%s", folder, KEPT_NAME);
    if (*config->jetstream.dictionary_file != '\0')
        check_dictionary(config->jetstream.dictionary_file,
                         "Correct jetstream.dictionary_file; until then v1 hosts send uncompressed",
                         report);
    if (small_file_exists(text_string(&kept)))
        check_dictionary(text_string(&kept), "Remove it: the host hands out another", report);
    if (report->count == before)
        doctor_say(report, DOCTOR_OK, "dictionary", NULL, "none is kept; v2 hosts hand theirs out");
    text_free(&kept);
}

/* ---- the box ---- */

/* Less than all of it is no trouble, but where all of it is asked for. */
static void check_sandbox(const struct config *config, struct doctor_report *report)
{
    struct sandbox_state offered = sandbox_offered();
    bool whole = offered.landlock > 0 && offered.syscalls;
    bool fails = config->sandbox.mode == CONFIG_SANDBOX_ON && !whole;
    struct text words = {0};
    if (config->sandbox.mode == CONFIG_SANDBOX_OFF)
        text_append_string(&words, "off; ");
    if (offered.landlock > 0)
        text_appendf(&words, "the kernel has Landlock %d", offered.landlock);
    else
        text_append_string(&words, "the kernel has no Landlock");
    doctor_say(report, fails ? DOCTOR_FAIL : DOCTOR_OK, "sandbox",
               fails ? "Use a kernel that has both, or sandbox.mode: auto" : NULL, "%s and %s",
               text_string(&words), offered.syscalls ? "seccomp" : "no seccomp");
    text_free(&words);
}

void doctor_check_files(const struct config *config, struct doctor_report *report)
{
    struct text folder = {0}, standing = {0};
    find_folder(config, &folder);
    find_standing(text_string(&folder), &standing);
    check_folder(text_string(&folder), text_string(&standing), report);
    check_disk(text_string(&standing), report);
    check_sandbox(config, report);
    check_secrets(config, report);
    check_dictionaries(config, text_string(&folder), report);
    text_free(&folder);
    text_free(&standing);
}
