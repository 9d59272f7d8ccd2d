// SPDX-License-Identifier: Apache-2.0

/** A row as the daemon sends it: `id`, the declared fields, then whatever else was stored. */
export interface Row {
  id: string;
  [field: string]: unknown;
}

export type ErrorCode =
  | 'UNKNOWN_COLLECTION' | 'UNKNOWN_FIELD' | 'UNKNOWN_OPERATOR' | 'BAD_FILTER' | 'BAD_ORDER'
  | 'NO_INDEX' | 'LIMIT_RANGE' | 'HANDLE_NOT_FOUND' | 'FORBIDDEN' | 'CONFLICT' | 'QUOTA_EXCEEDED'
  | 'GAP' | 'UNREACHABLE' | 'CLOSED' | 'RESUME_LOST' | (string & {});

export class TidemarkError extends Error {
  readonly code: ErrorCode;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Whether the same question may be answered later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number;
}

export type Direction = 'asc' | 'desc';
export type OrderTerm = { field: string; direction?: Direction; nulls?: 'first' | 'last' };
/** 'timestamp:desc', or a list of such words or terms. */
export type Order = string | OrderTerm | ReadonlyArray<string | OrderTerm>;

type Scalar = string | number | boolean | null;
export type Condition =
  | Scalar
  | {
      $eq?: Scalar; $ne?: Scalar; $gt?: Scalar; $gte?: Scalar; $lt?: Scalar; $lte?: Scalar;
      $in?: Scalar[]; $nin?: Scalar[]; $exists?: boolean; $isNull?: boolean;
      $contains?: string; $prefix?: string; $not?: Condition;
    };
/** Fields and what they must be; a row with fields of any name needs the wider type of a value. */
export type Filter<R = Row> = { [field in keyof R]?: Condition | Filter<R> | Filter<R>[] } & {
  $and?: Filter<R>[];
  $or?: Filter<R>[];
  $not?: Filter<R>;
};

export interface Cancellable {
  signal?: AbortSignal;
}

export interface OpenOptions<R = Row> extends Cancellable {
  filter?: Filter<R>;
  orderBy?: Order;
  /** 1 to 1,000; left out: the collection's own. */
  pageSize?: number;
  count?: 'exact' | 'none';
  /** The first page shows the row of this id; prev() and next() lead away from it. */
  around?: string;
  /** Allows an order that no index has. */
  allowScan?: boolean;
}

export interface Page<R = Row> {
  items: R[];
  pageNumber: number;
  hasMore: boolean;
  hasPrevious: boolean;
  totalCount: number | null;
}

/** `item` of a "leave" has its id only. */
export type Change<R = Row> =
  | { op: 'enter' | 'update'; seq: number; item: R }
  | { op: 'leave'; seq: number; item: Pick<R, 'id' & keyof R> };

export interface TailOptions extends Cancellable {
  /** Changes after this commit; left out: since the opening, or where the last tail was left. */
  since?: number;
  /** false: never a websocket. */
  push?: boolean;
}

export class Handle<R = Row> implements AsyncIterable<R> {
  readonly collection: string;
  readonly totalCount: number | null;
  readonly totalCountKind: 'exact' | 'atLeast' | 'none';
  readonly pageSize: number;
  readonly seq: number;
  readonly closed: boolean;
  next(options?: Cancellable): Promise<Page<R>>;
  prev(options?: Cancellable): Promise<Page<R>>;
  pages(options?: Cancellable): AsyncGenerator<Page<R>, void, void>;
  rows(options?: Cancellable): AsyncGenerator<R, void, void>;
  [Symbol.asyncIterator](): AsyncGenerator<R, void, void>;
  tail(options?: TailOptions): AsyncGenerator<Change<R>, void, void>;
  goOnAfter(rows: R[]): Promise<void>;
  neighbours(
    id: string,
    options?: Cancellable,
  ): Promise<{ before: string | null; after: string | null } | undefined>;
  close(): Promise<void>;
  /** Frees it at the daemon, for a page that is being left; used again, it goes on. */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WriteOptions extends Cancellable {
  /** One is made when it is left out, so that a write is never done twice. */
  idempotencyKey?: string;
}

export interface ListOptions<R = Row> extends Cancellable {
  filter?: Filter<R>;
  orderBy?: Order;
  limit?: number;
  cursor?: { field: string; value: Scalar; direction: 'before' | 'after'; id?: string };
}

export interface Sharer {
  did: string;
  handle: string | null;
  displayName: string | null;
  avatar: string | null;
}

export interface TrendingLink {
  id: string;
  url: string;
  title: string | null;
  description: string | null;
  image: string | null;
  domain: string;
  shares: number;
  first_shared_at: string;
  last_shared_at: string;
  score: number;
  why: string;
  sharers: Sharer[];
  posts?: LinkPost[];
}

export interface LinkPost {
  uri: string;
  did: string;
  handle: string | null;
  displayName: string | null;
  text: string | null;
  kind: 'post' | 'repost';
  shared_at: string;
  via: string;
}

export interface Trending {
  links: TrendingLink[];
  complete_since: string | null;
  gaps: { source: string; stream: string; from: string; to: string; reason: string }[];
}

export class Database {
  readonly session: string;
  open<R = Row>(collection: string, options?: OpenOptions<R>): Promise<Handle<R>>;
  create<R = Row>(
    collection: string,
    data: Partial<R> | Partial<R>[],
    options?: WriteOptions,
  ): Promise<{ items: R[]; seq: number }>;
  read<R = Row>(collection: string, id: string, options?: Cancellable & { minSeq?: number }): Promise<R>;
  /** `item` is null when the reply was lost and the document is gone by now. */
  update<R = Row>(
    collection: string,
    id: string,
    data: Partial<R>,
    options?: WriteOptions,
  ): Promise<{ item: R | null; seq: number }>;
  /** Without `seq` when a request was lost and somebody else deleted it. */
  delete(collection: string, id: string, options?: WriteOptions): Promise<{ seq?: number }>;
  list<R = Row>(
    collection: string,
    options?: ListOptions<R>,
  ): Promise<{ items: R[]; totalCount: number | null }>;
  trending(
    parameters?: Record<string, string | number>,
    options?: Cancellable,
  ): Promise<Trending>;
}

export interface ConnectOptions {
  /** Sent as a bearer token. */
  token?: string;
  /** 32 hexadecimal digits; left out: a new one. */
  session?: string;
  fetch?: typeof fetch;
  /** How long an answer may take; 30,000. */
  answerMs?: number;
  /** How often a question is asked that gets no answer; 12. */
  attempts?: number;
}

export function connect(url: string | URL, options?: ConnectOptions): Database;
