/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_stream.h - bytes that somebody else goes on writing: a file, a named pipe, standard input.
 *
 * Reading never waits: RC_AGAIN says that there is nothing yet. The end of a file is not its end,
 * because it may grow; nor is it that of a named pipe, because another writer may come. Only
 * standard input, when it is a pipe, can be over. A file that was emptied and written again, or
 * whose name another file has got, is read from its beginning, and the reader is told.
 *
 * Owner: whoever opened it.  Thread: the owner's. */
#ifndef SYS_BYTE_STREAM_H
#define SYS_BYTE_STREAM_H

#include "base/bytes.h"
#include "base/err.h"

#define BYTE_STREAM_STDIN "-"

struct byte_stream;

/* RC_REJECT: it is not there, or cannot be read. */
must_check enum rc byte_stream_open(const char *path, struct byte_stream **out, struct err *err);
void byte_stream_close(struct byte_stream *stream);
/* Appends at most `bytes_max` bytes. RC_AGAIN: none are there now; `err` has words if another file
 * has its name and cannot be opened, else none. RC_RETRY: it begins anew, for the reason in `err`:
 * what is read next is its beginning. RC_REJECT: it is over, or cannot be read. */
must_check enum rc byte_stream_read(struct byte_stream *stream, size_t bytes_max, struct text *out,
                                    struct err *err);

#endif
