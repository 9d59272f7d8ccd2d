/* SPDX-License-Identifier: Apache-2.0 */
/* ThreadSanitizer (of GCC 12) makes a thread's room for signals when the thread first waits, and
 * forgets one that comes meanwhile. The main thread of a program under it waits here. */
#include <poll.h>
#include <stddef.h>

__attribute__((constructor)) static void wait_once(void)
{
    (void)poll(NULL, 0, 0);
}
