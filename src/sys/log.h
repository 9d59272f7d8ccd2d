/* SPDX-License-Identifier: Apache-2.0
 *
 * log.h - what the program says while it runs.
 *
 * One call makes one line, in either format. Text is logfmt, the object first:
 *   component=jetstream host=a.example reason="bad frame" msg=frame_rejected level=warn time=...
 * and a tagged line is its tag and its words, nothing else: [POLL] a.example: 3 posts, 1 URLs ...
 * JSON is one object per line: timestamp, level, component, event_type, metadata.
 *
 * Always holds: a line is at most LOG_LINE_MAX bytes and goes out in one write; what does not fit
 * is cut or left out, and the line says so, and as JSON it still parses. Control characters are
 * escaped, bytes that are no UTF-8 replaced. A line that cannot be written is counted.
 *
 * Owner: the process, which has one log as it has one stderr; before log_open it is text on stderr.
 * Thread: any; the lock is held for the write alone. */
#ifndef SYS_LOG_H
#define SYS_LOG_H

#include "base/bytes.h"
#include "base/err.h"
#include "sys/clock.h"

/* What POSIX lets a pipe take without mixing in another writer's bytes. */
#define LOG_LINE_MAX 4096
/* Of one repeated event, a line per this time; the rest is counted. */
#define LOG_LIMIT_US INT64_C(60000000)

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum log_type { LOG_TYPE_END, LOG_TYPE_TEXT, LOG_TYPE_INT, LOG_TYPE_REAL, LOG_TYPE_BOOL };
struct log_field {
    const char *key; /* a literal of letters, digits and _ */
    enum log_type type;
    union {
        struct bytes text;
        int64_t number;
        double real;
        bool truth;
    };
};

static inline struct log_field log_text(const char *key, struct bytes value)
{
    return (struct log_field){.key = key, .type = LOG_TYPE_TEXT, .text = value};
}

static inline struct log_field log_string(const char *key, const char *value)
{
    return log_text(key, bytes_of(value));
}

static inline struct log_field log_int(const char *key, int64_t value)
{
    return (struct log_field){.key = key, .type = LOG_TYPE_INT, .number = value};
}

static inline struct log_field log_real(const char *key, double value)
{
    return (struct log_field){.key = key, .type = LOG_TYPE_REAL, .real = value};
}

static inline struct log_field log_bool(const char *key, bool value)
{
    return (struct log_field){.key = key, .type = LOG_TYPE_BOOL, .truth = value};
}

/* The end of a list of fields. */
#define LOG_END ((struct log_field){.type = LOG_TYPE_END})

struct log_options {
    enum log_format format;
    enum log_level level;  /* what is less important is not written */
    const char *file;      /* a path, "stdout" or "stderr"; NULL or "": stderr for text, stdout for
                            * JSON */
    uint64_t rotate_bytes; /* a file that would grow beyond is set aside; 0: never */
    unsigned rotate_count; /* how many old files stay: FILE.1 is the youngest */
    clock_fn *clock;       /* NULL: the machine's */
    void *clock_arg;
};

/* First of all in a program: who started it may have closed the standard streams, what is opened
 * next would get their numbers, and lines would go into a store or to a client. */
void log_claim_streams(void);

/* Starts logging there, or changes over to it; on RC_REJECT all stays as it was. */
must_check enum rc log_open(const struct log_options *options, struct err *err);
/* Says what was left unsaid and goes back to text on stderr. */
void log_close(void);
/* Opens the file by its name again, for a rotation done by others: call after SIGHUP. */
must_check enum rc log_reopen(struct err *err);
/* "10M:5" is ten mebibytes and five files. */
bool log_rotate_parse(struct bytes text, uint64_t *bytes, unsigned *count);

/* Whether lines of this level are written: for what costs something to say. */
bool log_wants(enum log_level level);
/* `component` and `event_type` are literals; `fields` end with LOG_END or are NULL:
 *   log_event(LOG_WARN, "jetstream", "frame_rejected",
 *             (struct log_field[]){log_string("host", host), log_int("bytes", n), LOG_END}); */
void log_event(enum log_level level, const char *component, const char *event_type,
               const struct log_field *fields);
/* The same for what may come by the thousand: the first of its component and event_type is written,
 * those of the next LOG_LIMIT_US are counted, and the count goes out as `suppressed`. */
void log_event_limited(enum log_level level, const char *component, const char *event_type,
                       const struct log_field *fields);
/* A line for people: "[TAG] words" as text; as JSON the tag and the words are metadata too. */
void log_tagged(enum log_level level, const char *component, const char *event_type,
                const char *tag, struct bytes words, const struct log_field *fields);
/* Writes the counts whose time has come; a timer calls it. */
void log_flush(void);
/* Lines that could not be written. */
uint64_t log_lost(void);

#endif
