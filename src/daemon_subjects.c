/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_subjects.h"

#include "daemon_view.h"
#include "source/subjects.h"

#include <stdlib.h>

struct subjects_part {
    struct part part;
    const struct part_env *env;
    struct subjects *subjects; /* NULL before it is opened */
};

static enum rc open_subjects(struct part *part, struct err *err)
{
    struct subjects_part *self = (struct subjects_part *)part;
    (void)err;
    self->subjects = subjects_new(&self->env->source, self->env->appview);
    return RC_OK;
}

static void start(struct part *part)
{
    subjects_start(((struct subjects_part *)part)->subjects);
}

static void show(struct part *part, struct daemon_view *view)
{
    view->subjects = subjects_counts(((struct subjects_part *)part)->subjects);
}

static void stop(struct part *part)
{
    subjects_stop(((struct subjects_part *)part)->subjects);
}

static bool stopped(const struct part *part)
{
    return subjects_stopped(((const struct subjects_part *)part)->subjects);
}

static void free_all(struct part *part)
{
    struct subjects_part *self = (struct subjects_part *)part;
    if (self->subjects != NULL)
        subjects_free(self->subjects);
    free(self);
}

static const struct part_ops subjects_ops = {
    .open = open_subjects,
    .start = start,
    .view = show,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
};

struct part *subjects_part_new(const struct part_env *env)
{
    struct subjects_part *self = memory_new_zeroed(1, sizeof *self);
    self->part.ops = &subjects_ops;
    self->env = env;
    return &self->part;
}
