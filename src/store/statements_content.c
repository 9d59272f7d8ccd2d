/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_UNDO, .sql =
     "DELETE FROM document_refs WHERE block_number > (SELECT min(r.after) {rows})"},
    {.kind = RECORD_UNDO, .sql =
     "DELETE FROM chain_blocks WHERE number > (SELECT min(r.after) {rows})"},
    {.kind = RECORD_DOCUMENT, .sql =
     "INSERT INTO ipfs_cache (n, seq, uri, data, is_errored, block, space, canonical) "
     "SELECT r.n, {seq}, r.uri, r.data, r.whole = 0, r.block, r.space, r.canonical {rows} "
     "WHERE true "
     "ON CONFLICT (uri) DO UPDATE SET data = excluded.data, is_errored = excluded.is_errored, "
     "seq = excluded.seq WHERE ipfs_cache.is_errored AND NOT excluded.is_errored"},
    /* One spelling has the bytes: all have them, and none is missing any more. */
    {.kind = RECORD_DOCUMENT, .sql =
     "UPDATE ipfs_cache SET data = (SELECT w.data FROM ipfs_cache w "
     "WHERE w.canonical = ipfs_cache.canonical AND NOT w.is_errored LIMIT 1), "
     "is_errored = false, seq = {seq} "
     "WHERE is_errored AND canonical IN (SELECT r.canonical {rows}) "
     "AND EXISTS (SELECT 1 FROM ipfs_cache w WHERE w.canonical = ipfs_cache.canonical "
     "AND NOT w.is_errored)"},
    {.kind = RECORD_DOCUMENT, .sql =
     "DELETE FROM owed WHERE source = 'content' AND stream = 'content' "
     "AND item IN (SELECT c.uri FROM ipfs_cache c "
     "WHERE NOT c.is_errored AND c.canonical IN (SELECT r.canonical {rows}))"},
    {.kind = RECORD_BLOCK, .sql =
     "INSERT INTO chain_blocks (n, seq, number, hash, parent, documents) "
     "SELECT r.n, {seq}, r.number, r.hash, r.parent, r.documents {rows} WHERE true "
     "ON CONFLICT (number) DO UPDATE SET hash = excluded.hash, parent = excluded.parent, "
     "documents = excluded.documents, seq = excluded.seq "
     "WHERE chain_blocks.hash IS DISTINCT FROM excluded.hash"},
    {.kind = RECORD_SETTLED, .sql =
     "DELETE FROM chain_blocks WHERE documents = 0 "
     "AND number >= (SELECT min(r.from_block) {rows}) "
     "AND number < (SELECT max(r.before_block) {rows})"},
    {.kind = RECORD_REFERENCE, .sql =
     "INSERT INTO document_refs (block_number, ordinal, uri, space) "
     "SELECT r.block, r.ordinal, r.uri, r.space {rows} WHERE true "
     "ON CONFLICT (block_number, ordinal) DO UPDATE SET uri = excluded.uri, "
     "space = excluded.space"},
    {.kind = RECORD_RESET, .sql =
     "DELETE FROM document_refs WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'content')"},
    {.kind = RECORD_RESET, .sql =
     "DELETE FROM chain_blocks WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'content')"},
    {.kind = RECORD_RESET, .sql =
     "DELETE FROM meta WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'content' "
     "AND (r.stream IS NULL OR r.stream = meta.id))"},
};
/* clang-format on */

const struct statement_group statements_content = {statements,
                                                   sizeof statements / sizeof statements[0]};
