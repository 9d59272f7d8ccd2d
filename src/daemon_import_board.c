/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_import_board.h"

#include "sys/thread.h"

#include <stdlib.h>
#include <string.h>

#define PLACES 16

struct import_board {
    struct {
        char account[IMPORT_NAME_MAX]; /* "": nobody's */
        bool over;
        uint64_t turn; /* of the last change; the lowest leaves first */
        struct latest *shown;
    } places[PLACES];
    uint64_t turn;
};

struct import_board *import_board_new(void)
{
    struct import_board *board = memory_new_zeroed(1, sizeof *board);
    for (size_t i = 0; i < PLACES; i++)
        board->places[i].shown = latest_new(sizeof(struct import_progress));
    return board;
}

void import_board_free(struct import_board *board)
{
    for (size_t i = 0; i < PLACES; i++)
        latest_free(board->places[i].shown);
    free(board);
}

/* Its own, else a free one, else that of the import which ended first; PLACES: none. */
static size_t find_place(const struct import_board *board, const char *account)
{
    size_t found = PLACES;
    for (size_t i = 0; i < PLACES; i++) {
        if (strcmp(board->places[i].account, account) == 0)
            return i;
        bool free_for_all = board->places[i].account[0] == '\0' || board->places[i].over;
        if (free_for_all && (found == PLACES || board->places[i].turn < board->places[found].turn))
            found = i;
    }
    return found;
}

void import_board_put(struct import_board *board, const struct import_progress *progress)
{
    size_t place = find_place(board, progress->account);
    if (place == PLACES)
        return;
    memcpy(board->places[place].account, progress->account, sizeof progress->account);
    board->places[place].over = progress->outcome != LEDGER_UNDECIDED;
    board->places[place].turn = ++board->turn;
    latest_put(board->places[place].shown, progress);
}

bool import_board_get(struct import_board *board, const char *account,
                      struct import_progress *progress)
{
    for (size_t i = 0; i < PLACES; i++) {
        latest_get(board->places[i].shown, progress);
        if (strcmp(progress->account, account) == 0)
            return true;
    }
    return false;
}
