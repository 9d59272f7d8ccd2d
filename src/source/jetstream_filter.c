/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_filter.h"

#include "base/json_write.h"

#include <assert.h>

void jetstream_filter_init(struct jetstream_filter *filter, bool everybody, uint64_t seed)
{
    filter->everybody = everybody;
    id_set_init(&filter->wanted, seed);
}

void jetstream_filter_deinit(struct jetstream_filter *filter)
{
    id_set_deinit(&filter->wanted);
}

bool jetstream_filter_wants(const struct jetstream_filter *filter, struct bytes did)
{
    return filter->everybody || id_set_contains(&filter->wanted, did);
}

bool jetstream_filter_needs_hello(const struct jetstream_filter *filter)
{
    return !filter->everybody && id_set_count(&filter->wanted) <= JETSTREAM_FILTER_SERVER_MAX;
}

bool jetstream_filter_is_ready(const struct jetstream_filter *filter)
{
    return !filter->everybody && id_set_count(&filter->wanted) > 0;
}

void jetstream_filter_message(const struct jetstream_filter *filter, const char *const *collections,
                              size_t collection_count, struct text *out)
{
    struct json_writer writer;
    struct bytes did;
    assert(jetstream_filter_is_ready(filter));
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, "type");
    json_put_cstring(&writer, "options_update");
    json_key(&writer, "payload");
    json_begin_object(&writer);
    json_key(&writer, "wantedCollections");
    json_begin_array(&writer);
    for (size_t i = 0; i < collection_count; i++)
        json_put_cstring(&writer, collections[i]);
    json_end_array(&writer);
    json_key(&writer, "wantedDids");
    json_begin_array(&writer);
    struct id_set_walk walk = id_set_walk(&filter->wanted);
    if (id_set_count(&filter->wanted) <= JETSTREAM_FILTER_SERVER_MAX)
        while (id_set_walk_next(&walk, &did))
            json_put_string(&writer, did);
    json_end_array(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
}
