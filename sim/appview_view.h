/* SPDX-License-Identifier: Apache-2.0
 *
 * appview_view.h - people and posts as the AppView shows them.
 *
 * A post is shown in its last version, with the time it is sorted by: the earlier of what the
 * author claims and when it was seen. What is deleted or belongs to someone who is not active is
 * not shown. */
#ifndef SIM_APPVIEW_VIEW_H
#define SIM_APPVIEW_VIEW_H

#include "sim/world.h"

enum view_depth { VIEW_BASIC, VIEW_PLAIN, VIEW_DETAILED };

void view_actor(const struct world *world, uint32_t account, enum view_depth depth,
                struct text *out);
/* The post that event k created; visible or not. */
void view_post(const struct world *world, uint32_t k, struct text *out);
/* The same, or a notice that it is gone. */
void view_post_or_notice(const struct world *world, uint32_t k, struct text *out);
/* True when the record that event k created is there and its author active. */
bool view_is_visible(const struct world *world, uint32_t k);
/* What the record that event k created is sorted by. */
int64_t view_sort_us(const struct world *world, uint32_t k);

#endif
