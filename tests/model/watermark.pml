/* SPDX-License-Identifier: Apache-2.0
 *
 * watermark.pml - may the cursor ever pass what is not durable?
 *
 * A chain of N blocks with one document each is followed by a daemon. Fetches finish in any order or
 * become owed. Rows, owed rows and the cursor go into one transaction, which is built, handed over,
 * committed and answered in separate steps; the answer may get lost. Meanwhile the daemon may crash
 * and start again, a second daemon may take over while the first one lives on without knowing, and
 * the chain may change from block FORK on: the ordinals from there are given out again.
 *
 * Checked after every change of the store, and at the end:
 *   promise  below the cursor each block, in the version the store follows, is stored or owed
 *   order    the cursor moves back by an undo only (I4)
 *   fence    a daemon that was replaced changes nothing (I8)
 *   ring     base <= next, and never further apart than the ring is long (I1), (I6)
 *   end      when nothing can happen any more, everything is there, in the version that counts
 *
 * Variants, each of which must be refuted:
 *   CURSOR_FIRST  the cursor commits in a transaction of its own, before the rows
 *   MAX_NOT_MIN   the cursor is that of the highest finished block
 *   ERR_IS_DONE   a fetch that failed counts as finished
 *   STALE_EPOCH   a report about an undone block counts for the one that took its ordinal
 *   LATE_ACK      the answer to a commit staged before an undo counts after it
 *   NO_FENCE      a commit does not ask who may write
 *   REACHED       not a fault: claims that a run with reorg, crash and takeover never ends well */
#ifndef N
#define N 3
#endif
#define W 2 /* ring: next - base <= W */
#ifndef FORK
#define FORK 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define BIT(k)  (1 << (k))
#define FROM_FORK (((1 << N) - 1) & ~((1 << FORK) - 1))

/* A transaction on its way. */
#define NONE      0
#define HANDED    1
#define COMMITTED 2
#define UNKNOWN   3
#define HALF      4

#ifdef NO_FENCE
#define MAY_WRITE true
#else
#define MAY_WRITE (fence == mine)
#endif

#ifdef LATE_ACK
#define ACK_EPOCH tx_epoch
#else
#define ACK_EPOCH epoch
#endif

#ifdef STALE_EPOCH
#define IS_THE_UNIT(k, e) true
#else
#define IS_THE_UNIT(k, e) (unit_epoch[(k) % W] == (e))
#endif

/* The store. Index 1 and 2: the versions of a block. */
byte row[3];  /* mask of blocks */
byte owed[3];
byte fork;    /* mask: blocks followed in version 2 */
byte cur;     /* blocks below it are promised */
byte fence;   /* the daemon that may write */
bit commit_seq;

/* The world. */
bool reorged;
byte crashes;
byte started;
bool calm = true; /* nobody is being replaced */
byte top; /* highest cursor since the last undo: for checking only */

inline check_store(k) {
    assert(cur >= top);
    top = cur;
    k = 0;
    do
    :: k < cur ->
        if
        :: fork & BIT(k) -> assert((row[2] | owed[2]) & BIT(k))
        :: else -> assert((row[1] | owed[1]) & BIT(k))
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

inline follow_fork() {
    /* The undo's transaction: forget what was followed from FORK on. */
    row[1] = row[1] & ~FROM_FORK;
    owed[1] = owed[1] & ~FROM_FORK;
    cur = (cur > FORK -> FORK : cur);
    top = cur
}

/* What a daemon knows when it starts: only what the store says, and the chain as it is now. */
inline start_up() {
    fence++;
    mine = fence;
    my_seq = commit_seq;
    seen = reorged;
    undo = (reorged && cur > FORK && ((FROM_FORK & ~fork) & ((1 << cur) - 1)) != 0);
    base = ((undo && cur > FORK) -> FORK : cur);
    next = base;
    staged = base;
    epoch = 0;
    open = 0; handed = 0; owing = 0; fresh = false;
    fly[0] = 0; fly[1] = 0; fly2[0] = 0; fly2[1] = 0;
    k = 0;
    do
    :: k < W -> unit_epoch[k] = 0; unit_version[k] = 0; got[k] = 0; k++
    :: else -> break
    od;
    k = 0;
    tx = 0; tx_upto = 0; tx_epoch = 0; tx_fork = 0;
    tx_row[1] = 0; tx_row[2] = 0; tx_owed[1] = 0; tx_owed[2] = 0
}

/* Up to where everything from base is finished. */
inline find_upto() {
#ifdef MAX_NOT_MIN
    upto = next;
    do
    :: upto > base && (open & BIT((upto - 1) % W)) -> upto--
    :: else -> break
    od
#else
    upto = base;
    do
    :: upto < next && !(open & BIT(upto % W)) -> upto++
    :: else -> break
    od
#endif
}

inline build_transaction() {
    tx_row[1] = 0; tx_row[2] = 0; tx_owed[1] = 0; tx_owed[2] = 0; tx_fork = 0;
    tx_upto = upto;
    tx_epoch = epoch;
    k = base;
    do
    :: k < next ->
        if
        :: !(open & BIT(k % W)) ->
            tx_row[got[k % W]] = tx_row[got[k % W]] | BIT(k);
            if
            :: owing & BIT(k % W) ->
                tx_owed[unit_version[k % W]] = tx_owed[unit_version[k % W]] | BIT(k)
            :: else
            fi;
            tx_fork = tx_fork | ((unit_version[k % W] == 2) -> BIT(k) : 0);
            handed = handed | BIT(k % W)
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0;
    tx_row[0] = 0;
    staged = upto;
    tx = HANDED
}

inline store_rows() {
    row[1] = row[1] | tx_row[1];
    row[2] = row[2] | tx_row[2];
    owed[1] = owed[1] | tx_owed[1];
    owed[2] = owed[2] | tx_owed[2]
}

inline store_cursor() {
    fork = fork | (tx_fork & ((1 << tx_upto) - 1));
    cur = tx_upto
}

/* A daemon that was replaced can only do harm by writing. So it keeps the transaction it has, or
 * builds the one it can, and forgets the rest before its successor goes on: that keeps the model
 * small and takes no behaviour of the store away. What is in the transaction matters only where
 * it may be written; else the assertion at the commit is what counts. */
#define LIVE (fence == mine)

inline retire() {
    if
    :: tx == NONE && !undo -> find_upto(); build_transaction()
    :: else
    fi;
    base = 0; next = 0; staged = 0; epoch = 0; upto = 0; open = 0; handed = 0; owing = 0;
    fly[0] = 0; fly[1] = 0; fly2[0] = 0; fly2[1] = 0;
    k = 0;
    do
    :: k < W -> unit_epoch[k] = 0; unit_version[k] = 0; got[k] = 0; k++
    :: else -> break
    od;
    k = 0;
    seen = true; undo = false; fresh = false;
#ifndef NO_FENCE
    tx = HANDED; tx_upto = 0; tx_epoch = 0; tx_fork = 0; my_seq = 0;
    tx_row[1] = 0; tx_row[2] = 0; tx_owed[1] = 0; tx_owed[2] = 0;
#endif
    calm = true
}

proctype Daemon() {
    byte mine, base, staged, next, epoch, k, upto;
    byte open, handed, owing; /* masks of ring slots */
    byte unit_epoch[W], unit_version[W], got[W];
    byte fly[2], fly2[2]; /* masks of blocks by epoch: in flight; in version 2 */
    byte tx, tx_upto, tx_epoch, tx_fork, tx_row[3], tx_owed[3];
    bit my_seq;
    bool seen, undo, fresh;

    d_step { start_up() }
    calm || !LIVE;
end:
    do
    /* Admit: the ring pushes back when it is full. */
    :: d_step { LIVE && next < N && next - base < W && !undo ->
        open = open | BIT(next % W);
        handed = handed & ~BIT(next % W);
        owing = owing & ~BIT(next % W);
        got[next % W] = 0;
        unit_epoch[next % W] = epoch;
        unit_version[next % W] = ((seen && next >= FORK) -> 2 : 1);
        fly[epoch] = fly[epoch] | BIT(next);
        fly2[epoch] = (unit_version[next % W] == 2 -> fly2[epoch] | BIT(next)
                                                   : fly2[epoch] & ~BIT(next));
        next++ }

    /* A fetch of block k, sent in epoch `upto`, answers. */
    :: LIVE && (fly[0] | fly[1]) != 0 ->
        atomic {
            if
            :: fly[0] & 1 -> k = 0; upto = 0
            :: fly[0] & 2 -> k = 1; upto = 0
            :: fly[0] & 4 -> k = 2; upto = 0
            :: fly[1] & 1 -> k = 0; upto = 1
            :: fly[1] & 2 -> k = 1; upto = 1
            :: fly[1] & 4 -> k = 2; upto = 1
            fi;
            if
            :: k >= base && k < next && (open & BIT(k % W)) && IS_THE_UNIT(k, upto) ->
                if
                :: got[k % W] = ((fly2[upto] & BIT(k)) -> 2 : 1) /* the document */
                :: owing = owing | BIT(k % W)                     /* given up for now */
#ifdef ERR_IS_DONE
                :: skip                                           /* failed, and who cares */
#endif
                fi;
                open = open & ~BIT(k % W);
                fresh = true
            :: else /* late, unknown or finished: refused */
            fi;
            fly[upto] = fly[upto] & ~BIT(k);
            fly2[upto] = fly2[upto] & ~BIT(k);
            k = 0; upto = 0
        }

    /* Stage and hand over, when there is anything new. */
    :: d_step { tx == NONE && !undo && fresh ->
        fresh = false;
        find_upto();
        k = base;
        do
        :: k < next && ((open | handed) & BIT(k % W)) -> k++
        :: else -> break
        od;
        if
        :: upto > staged || k < next -> build_transaction()
        :: else
        fi;
        k = 0; upto = 0 }

    /* Commit: it lands and says so, lands in silence, or fails in silence. */
    :: tx == HANDED ->
        atomic {
            if
            :: !MAY_WRITE -> calm = true; break /* fenced: exit */
            :: MAY_WRITE -> tx = UNKNOWN
            :: MAY_WRITE ->
#ifdef CURSOR_FIRST
                store_cursor(); tx = HALF
#else
                store_rows();
                store_cursor();
                commit_seq = 1 - commit_seq;
                if :: tx = COMMITTED :: tx = UNKNOWN fi
#endif
#ifndef NO_FENCE
                assert(LIVE)
#endif
            fi;
            check_store(k)
        }
    :: d_step { tx == HALF -> store_rows(); commit_seq = 1 - commit_seq; tx = COMMITTED }

    /* The connection is back: who may write, and did it land? */
    :: d_step { tx == UNKNOWN && MAY_WRITE -> tx = (commit_seq == my_seq -> HANDED : COMMITTED) }
    :: tx == UNKNOWN && !MAY_WRITE -> calm = true; break

    :: d_step { tx == COMMITTED ->
        my_seq = 1 - my_seq;
        if
        :: tx_epoch == ACK_EPOCH && tx_upto > base -> base = tx_upto
        :: else
        fi;
        assert(base <= next && next - base <= W);
        fresh = true;
        tx = NONE; tx_upto = 0; tx_epoch = 0; tx_fork = 0;
        tx_row[1] = 0; tx_row[2] = 0; tx_owed[1] = 0; tx_owed[2] = 0 }

    /* The chain changed: what lies from FORK on is dropped, and its ordinals come again. */
    :: d_step { LIVE && reorged && !seen ->
        seen = true;
        undo = true;
        epoch = 1;
        next = (next > FORK -> FORK : next);
        base = (base > FORK -> FORK : base);
        staged = base }
    :: undo && (tx == NONE || tx == COMMITTED) ->
        d_step {
            if
            :: MAY_WRITE -> follow_fork(); undo = false; fresh = true; check_store(k)
            :: else -> undo = false; tx = HANDED /* fenced: the next commit says so */
            fi
        }

    :: d_step { !LIVE && !calm -> retire() }
    :: d_step { LIVE && crashes < CRASHES -> crashes++; start_up() }
    od
}

init {
    byte k;
    atomic { started = 1; run Daemon() }
    do
    :: d_step { !reorged -> reorged = true }
    :: atomic { started == 1 && fence > 0 -> started = 2; calm = false; run Daemon() }
    :: timeout -> break
    od;
    assert(cur == N);
    check_store(k);
    assert(!reorged || (fork & FROM_FORK) == FROM_FORK);
#ifdef REACHED
    assert(!(reorged && crashes == CRASHES && started == 2))
#endif
}
