/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/assets.h"

#include "serve/page_frame.h"
#include "serve/request.h"

#include <assert.h>
#include <string.h>

const struct asset *asset_find(const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < asset_count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

static void send_asset(struct request *request, const struct asset *asset)
{
    request->policy = PAGE_POLICY;
    request_send_known(request, asset->content_type, asset->etag,
                       bytes_make(asset->data, asset->len));
}

void openapi_begin(struct request *request)
{
    const struct asset *asset = asset_find("openapi.json");
    assert(asset != NULL);
    send_asset(request, asset);
}

void asset_begin(struct request *request)
{
    const struct asset *asset = asset_find(request->path_part);
    if (asset == NULL)
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing is at this address");
    else
        send_asset(request, asset);
}
