/* SPDX-License-Identifier: Apache-2.0 */
#define SIMDJSON_EXCEPTIONS 0
#include "event_fields.h"

#include <simdjson.h>

namespace dom = simdjson::dom;

static struct bytes string_of(simdjson::simdjson_result<dom::element> found)
{
    std::string_view view;
    if (found.get_string().get(view))
        return bytes_make(nullptr, 0);
    return bytes_make(view.data(), view.size());
}

static void take_links(dom::element record, struct event_fields *out)
{
    dom::array facets, features;
    if (record["facets"].get_array().get(facets))
        return;
    for (dom::element facet : facets) {
        if (facet["features"].get_array().get(features))
            continue;
        for (dom::element feature : features) {
            struct bytes uri = string_of(feature["uri"]);
            if (uri.data != nullptr && out->link_count < EVENT_LINKS_MAX)
                out->links[out->link_count++] = uri;
        }
    }
}

bool floor_extract(struct bytes input, struct event_fields *out)
{
    static dom::parser parser;
    dom::element root, commit, record;
    if (parser.parse(input.data, input.len, false).get(root))
        return false;
    out->did = string_of(root["did"]);
    out->kind = string_of(root["kind"]);
    if (root["time_us"].get_int64().get(out->time_us))
        out->time_us = 0;
    if (root["commit"].get(commit))
        return true;
    out->operation = string_of(commit["operation"]);
    out->collection = string_of(commit["collection"]);
    out->rkey = string_of(commit["rkey"]);
    if (commit["record"].get(record))
        return true;
    out->text = string_of(record["text"]);
    out->created_at = string_of(record["createdAt"]);
    out->embed_uri = string_of(record["embed"]["external"]["uri"]);
    take_links(record, out);
    return true;
}
