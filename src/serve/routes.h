/* SPDX-License-Identifier: Apache-2.0
 *
 * routes.h - which function answers which path.
 *
 * One table, searched in order, exact paths but for one part that a route leaves open.
 *
 * Thread: the serving loop. */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H

#include "serve/request.h"

/* What is said of keeping an answer that never changes at its address. */
#define KEPT_FOR_EVER "public, max-age=31536000, immutable"

struct status_live;

/* Sets the request's route, or answers 404 or 405. */
void route_choose(struct request *request, const char *method, const char *path);

/* The commands on data. */
void query_open_begin(struct request *request);
enum rc query_open_work(struct request *request, struct store *store, struct err *err);
void query_open_finish(struct request *request);
void query_next_begin(struct request *request);
void query_prev_begin(struct request *request);
enum rc query_page_work(struct request *request, struct store *store, struct err *err);
void query_page_finish(struct request *request);
void query_close_begin(struct request *request);
enum rc query_close_work(struct request *request, struct store *store, struct err *err);
void query_close_finish(struct request *request);
void query_tail_begin(struct request *request);
enum rc query_tail_work(struct request *request, struct store *store, struct err *err);
void query_tail_finish(struct request *request);
void tails_print_metrics(const struct tail_hub *hub, struct text *out);

/* The changes of a query as server-sent events. */
void events_begin(struct request *request);
enum rc events_work(struct request *request, struct store *store, struct err *err);
void events_finish(struct request *request);
/* A connection that is a websocket from now on. */
void ws_begin(struct request *request);

#define CREATE_BODY_MAX ((size_t)16 << 20)
void create_begin(struct request *request);
enum rc create_work(struct request *request, struct store *store, struct err *err);
void create_finish(struct request *request);
void update_begin(struct request *request);
enum rc update_work(struct request *request, struct store *store, struct err *err);
void update_finish(struct request *request);
void delete_begin(struct request *request);
enum rc delete_work(struct request *request, struct store *store, struct err *err);
void delete_finish(struct request *request);
void read_begin(struct request *request);
enum rc read_work(struct request *request, struct store *store, struct err *err);
void read_finish(struct request *request);
void list_begin(struct request *request);
enum rc list_work(struct request *request, struct store *store, struct err *err);
void list_finish(struct request *request);

/* What is shared. */
void trending_begin(struct request *request);
enum rc trending_work(struct request *request, struct store *store, struct err *err);
void trending_finish(struct request *request);
void link_posts_begin(struct request *request);
enum rc link_posts_work(struct request *request, struct store *store, struct err *err);

/* The same as a page. */
void home_begin(struct request *request);
enum rc home_work(struct request *request, struct store *store, struct err *err);
/* All posts that share a link. */
void link_page_begin(struct request *request);
enum rc link_page_work(struct request *request, struct store *store, struct err *err);
/* The same for programs that read feeds. */
void feed_begin(struct request *request);
enum rc feed_work(struct request *request, struct store *store, struct err *err);
void feed_rss_finish(struct request *request);
void feed_json_finish(struct request *request);

/* A document by its content address. */
void document_begin(struct request *request);
enum rc document_work(struct request *request, struct store *store, struct err *err);
void document_finish(struct request *request);

/* The picture of a link, and whether there are any. */
void picture_begin(struct request *request);
enum rc picture_work(struct request *request, struct store *store, struct err *err);
void picture_finish(struct request *request);
bool pictures_shown(const struct service *service);

/* What each source is at. `status_ask` has it from whoever runs them, who is there. */
void status_ask(struct service *service, struct status_live *live);
void status_begin(struct request *request);
enum rc status_work(struct request *request, struct store *store, struct err *err);
void status_finish(struct request *request);
/* The same as a page. */
void status_page_begin(struct request *request);
enum rc status_page_work(struct request *request, struct store *store, struct err *err);
/* The open queries of every session. */
void handles_begin(struct request *request);
enum rc handles_work(struct request *request, struct store *store, struct err *err);
void handles_finish(struct request *request);
/* Their numbers, as Prometheus text. */
void handles_print_metrics(const struct handles *handles, struct text *out);
/* Appends a number as Prometheus text; `kind` is "gauge" or "counter". */
void metric_append(struct text *out, const char *name, const char *kind, const char *sentence,
                   uint64_t value);

#endif
