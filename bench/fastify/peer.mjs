// SPDX-License-Identifier: Apache-2.0
// Pages of posts as a careful hand writes them: Fastify with a schema for its answers, one prepared
// keyset statement of better-sqlite3, and the place in the client's keeping.
//   peer.mjs DATABASE
// Prints the port it listens on.
import Database from "better-sqlite3";
import Fastify from "fastify";

const db = new Database(process.argv[2], { readonly: true });
const next = db.prepare(
  `SELECT t.n AS n, 'at://' || a.did || '/' || t.collection || '/' || t.rkey AS uri,
     a.did AS actorDid, a.handle AS handle, t.collection AS collection, t.rkey AS rkey,
     CASE t.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, t.body AS text,
     t.subject AS subject, t.shared_us AS shared_us, t.created_us AS created_us, t.rev AS rev,
     t.langs AS langs, t.tags AS tags, t.facets AS facets, a.active AS active, t.seq AS seq
   FROM post t JOIN actors a ON a.id = t.actor
   WHERE t.kind < 2 AND (t.shared_us, t.n) < (?, ?)
   ORDER BY t.shared_us DESC, t.n DESC LIMIT ?`);

const text = { type: "string" };
const textOrNull = { type: "string", nullable: true };
const answer = {
  type: "object",
  properties: {
    success: { type: "boolean" },
    items: {
      type: "array",
      items: {
        type: "object",
        properties: {
          id: text, uri: text, actorDid: text, handle: textOrNull, collection: text, rkey: text,
          kind: text, text: textOrNull, subject: textOrNull, sharedAt: text,
          createdAt: textOrNull, rev: textOrNull, langs: textOrNull, tags: textOrNull,
          facets: textOrNull, active: { type: "boolean" }, seq: { type: "integer" },
        },
      },
    },
    pageNumber: { type: "integer" },
    hasMore: { type: "boolean" },
    totalCount: { type: "integer", nullable: true },
    hasPrevious: { type: "boolean" },
    place: { type: "array", items: { type: "integer" } },
  },
};

const iso = (us) => (us === null ? null : new Date(us / 1000).toISOString());

function item(row) {
  return {
    id: String(row.n), uri: row.uri, actorDid: row.actorDid, handle: row.handle,
    collection: row.collection, rkey: row.rkey, kind: row.kind, text: row.text,
    subject: row.subject, sharedAt: iso(row.shared_us), createdAt: iso(row.created_us),
    rev: row.rev, langs: row.langs, tags: row.tags, facets: row.facets,
    active: row.active !== 0, seq: row.seq,
  };
}

const server = Fastify();
server.post("/posts", { schema: { response: { 200: answer } } }, (request) => {
  const { after, pageSize, page } = request.body;
  const rows = next.all(after[0], after[1], pageSize + 1);
  const hasMore = rows.length > pageSize;
  if (hasMore) rows.pop();
  const last = rows[rows.length - 1];
  return {
    success: true, items: rows.map(item), pageNumber: page, hasMore, totalCount: null,
    hasPrevious: page > 0, place: last ? [last.shared_us, last.n] : after,
  };
});
await server.listen({ host: "127.0.0.1", port: 0 });
console.log(server.server.address().port);
