// SPDX-License-Identifier: Apache-2.0
// The history of an account into SQLite, as one writes it for oneself: fetch a page, make rows of
// it, insert them, remember how far it went, and so on until a page is short.
//   import.mjs URL DATABASE ROWS row|page
// `row` lets every statement commit for itself, which is what the driver does unless it is told
// otherwise; `page` puts each page and its cursor into one transaction. ROWS is what is expected.
import { createHash } from "node:crypto";
import Database from "better-sqlite3";

const [url, file, expected, commits] = process.argv.slice(2);
const SIZE = Number(new URL(url).searchParams.get("offset"));
const db = new Database(file);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec(`
  CREATE TABLE transactions (
    n INTEGER PRIMARY KEY, account TEXT NOT NULL, provider TEXT NOT NULL, stream TEXT NOT NULL,
    event_id TEXT NOT NULL, hash TEXT, block INTEGER, timestamp_us INTEGER, status TEXT NOT NULL,
    provider_data TEXT, normalized_data TEXT, UNIQUE (account, event_id));
  CREATE INDEX transactions_place ON transactions (account, stream, block);
  CREATE INDEX transactions_time ON transactions (timestamp_us, n);
  CREATE TABLE cursors (stream TEXT PRIMARY KEY, state TEXT NOT NULL);`);
const insert = db.prepare(
  `INSERT INTO transactions (account, provider, stream, event_id, hash, block, timestamp_us, status,
     provider_data, normalized_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (account, event_id) DO NOTHING`);
const remember = db.prepare(
  `INSERT INTO cursors (stream, state) VALUES (?, ?)
   ON CONFLICT (stream) DO UPDATE SET state = excluded.state`);

const account = `ethereum:${new URL(url).searchParams.get("address")}`;

function normalize(raw) {
  const row = {
    hash: raw.hash.toLowerCase(), kind: "normal", block: Number(raw.blockNumber),
    time: Number(raw.timeStamp) * 1e6, from: raw.from.toLowerCase(), to: raw.to.toLowerCase(),
    asset: "ETH", amount: raw.value, fee: String(BigInt(raw.gasUsed) * BigInt(raw.gasPrice)),
    status: raw.isError === "0" ? "confirmed" : "failed",
  };
  const id = createHash("sha256")
    .update(["ethereum", row.hash, row.kind, row.from, row.to, row.asset, row.amount].join("\0"))
    .digest("hex").slice(0, 32);
  return { id, ...row };
}

function store(records, page) {
  for (const raw of records) {
    const row = normalize(raw);
    insert.run(account, "bench", "normal", row.id, row.hash, row.block, row.time, row.status,
      JSON.stringify(raw), JSON.stringify(row));
  }
  const last = records.at(-1);
  remember.run("normal", JSON.stringify({ page, block: last?.blockNumber, hash: last?.hash }));
}

const storePage = commits === "page" ? db.transaction(store) : store;
for (let page = 1; ; page++) {
  const answer = await fetch(`${url}&page=${page}`);
  const { result } = await answer.json();
  storePage(result, page);
  if (result.length < SIZE) break;
}
const { rows } = db.prepare("SELECT count(*) AS rows FROM transactions").get();
if (rows !== Number(expected)) {
  console.error(`import.mjs: ${rows} rows instead of ${expected}`);
  process.exit(1);
}
db.close();
