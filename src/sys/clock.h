/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H
#include <stdint.h>
int64_t clock_wall_us(void);
int64_t clock_mono_us(void);
#endif
