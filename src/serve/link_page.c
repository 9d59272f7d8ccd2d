/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/link_parts.h"
#include "serve/news_page.h"
#include "serve/page_frame.h"
#include "serve/routes.h"

#include <inttypes.h>
#include <stdlib.h>

#define ANSWER_MAX ((size_t)8 << 20)
#define TITLE_MAX  300
#define ABOUT_MAX  1000

struct link_call {
    int64_t link;
    struct news_question question; /* where its people and its site lead to */
};

static struct bytes words_in(struct json object, const char *key)
{
    return json_string_or_absent(json_get(object, key));
}

static void put_link(struct markup *page, const struct news_question *question, struct json link)
{
    struct bytes about = words_in(link, "description");
    markup_begin_class(page, "div", "headline");
    link_put_title(page, "h1", link);
    markup_end(page, "div");
    link_put_address(page, link);
    markup_begin_class(page, "p", "source");
    markup_stranger(page, words_in(link, "domain"), TITLE_MAX);
    markup_begin_class(page, "span", "first");
    markup_string(page, "first seen ");
    page_put_age(page, words_in(link, "first_shared_at"), question->links.now_us);
    markup_end(page, "span");
    markup_end(page, "p");
    if (about.len > 0) {
        markup_begin_class(page, "p", "about");
        markup_stranger(page, about, ABOUT_MAX);
        markup_end(page, "p");
    }
    link_put_picture(page, question, link);
}

static void print_page(const struct link_call *call, struct json answer, struct text *out)
{
    const struct page_head head = {
        .title = "Tidemark: who shared it", .class_name = "plain", .place = PAGE_OTHER};
    struct json posts = json_get(answer, "posts");
    size_t count = json_count(posts);
    struct markup page;
    page_begin(&page, out, &head);
    put_link(&page, &call->question, json_get(answer, "link"));
    markup_begin_class(&page, "p", "source");
    markup_textf(&page, "%s%zu %s", count < TRENDING_ALL_POSTS_MAX ? "" : "The newest ", count,
                 page_plural((int64_t)count, "post", "posts"));
    markup_end(&page, "p");
    markup_begin_class(&page, "ul", "posts");
    for (size_t i = 0; i < count; i++)
        news_post_print(&page, &call->question, json_at(posts, i));
    markup_end(&page, "ul");
    page_end(&page);
}

void link_page_begin(struct request *request)
{
    struct link_call *call = memory_new_zeroed(1, sizeof *call);
    struct runtime *runtime = request->service->runtime;
    const struct refusal refusal = {.code = REFUSAL_NOT_FOUND, .err = {"a link's id is a number"}};
    request->data = call;
    request->free_data = free;
    call->question = news_question_usual(runtime->ops->wall_us(runtime));
    call->question.pictures = pictures_shown(request->service);
    if (!bytes_to_i64(bytes_of(request->path_part), &call->link))
        page_refuse(request, &refusal);
}

enum rc link_page_work(struct request *request, struct store *store, struct err *err)
{
    struct link_call *call = request->data;
    struct text answer = {0};
    struct json root;
    struct json_doc *doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    text_clear(&request->reply);
    enum rc rc = trending_print_posts(store, call->link, &answer, err);
    if (rc == RC_OK && json_parse_copy(doc, text_bytes(&answer), &root, err) != RC_OK)
        rc = err_wrap(err, RC_FATAL, "our own answer cannot be read");
    if (rc == RC_OK)
        print_page(call, root, &request->reply);
    json_doc_free(doc);
    text_free(&answer);
    return rc;
}
