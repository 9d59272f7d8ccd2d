/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_environment.h"

#include <libpq-fe.h>

enum rc store_environment(const char *url, store_variable_fn *fn, void *arg, struct err *err)
{
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    enum rc rc = RC_OK;
    if (options == NULL)
        return err_set(err, RC_REJECT, "store.url is no address of PostgreSQL");
    for (PQconninfoOption *option = options; option->keyword != NULL && rc == RC_OK; option++) {
        if (option->val == NULL)
            continue;
        if (option->envvar == NULL)
            rc = err_set(err, RC_REJECT, "pg_dump cannot be told \"%s\" of store.url",
                         option->keyword);
        else
            fn(arg, option->envvar, option->val);
    }
    PQconninfoFree(options);
    return rc;
}
