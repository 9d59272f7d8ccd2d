/* SPDX-License-Identifier: Apache-2.0
 *
 * small_file.h - a whole small file at once.
 *
 * Thread: any; the call blocks, so it is for start-up and commands, not for a loop. */
#ifndef SYS_SMALL_FILE_H
#define SYS_SMALL_FILE_H

#include "base/bytes.h"
#include "base/err.h"

#define SMALL_FILE_OWN_FOLDER  0700U /* its owner's alone */
#define SMALL_FILE_OPEN_FOLDER 0755U

/* Appends the content of `path` to `out`. RC_REJECT: it is not there or no file; RC_RETRY: reading
 * failed; a file above `bytes_max` is RC_REJECT and leaves `out` as it was. */
must_check enum rc small_file_read(const char *path, size_t bytes_max, struct text *out,
                                   struct err *err);
/* RC_REJECT: it is there, and is a folder, a pipe or a device, which need not end. */
must_check enum rc small_file_check_plain(const char *path, struct err *err);
bool small_file_exists(const char *path);
/* RC_REJECT: others than its owner may change the file, or others than its group may read it. */
must_check enum rc small_file_check_guarded(const char *path, struct err *err);
/* Makes the folders that `path` lies in, those that are missing with this mode. RC_REJECT: they
 * cannot be had. */
must_check enum rc small_file_make_folders(const char *path, unsigned mode, struct err *err);
/* Puts `content` there in one step: whoever reads sees all of the old file or all of the new one,
 * also after a power cut, and after RC_OK the new one. RC_RETRY: it failed, and the old file
 * stands, or the new one does and a power cut may take it away. */
must_check enum rc small_file_write(const char *path, struct bytes content, struct err *err);
/* After RC_OK there is no file of that name, also after a power cut; there may have been none. */
must_check enum rc small_file_remove(const char *path, struct err *err);
/* A new name outlasts a power cut once the folder that `path` lies in is on the disk. False: errno
 * says why not. */
must_check bool small_file_sync_folder(const char *path);

#endif
