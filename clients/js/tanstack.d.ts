// SPDX-License-Identifier: Apache-2.0
import type { Change, Database, OpenOptions, Page, Row } from './tidemark.js';

export interface PageParam {
  walk: number;
  page: number;
  direction: 1 | -1;
  id: string;
}

export interface InfinitePage<R = Row> extends Page<R> {
  next: PageParam | undefined;
  previous: PageParam | undefined;
}

export interface InfiniteOptions<R = Row> {
  queryKey: readonly unknown[];
  initialPageParam: PageParam | null;
  queryFn(context: { pageParam: PageParam | null; signal?: AbortSignal }): Promise<InfinitePage<R>>;
  getNextPageParam(page: InfinitePage<R>): PageParam | undefined;
  getPreviousPageParam(page: InfinitePage<R>): PageParam | undefined;
  close(): Promise<void>;
}

export function infiniteOptions<R = Row>(
  db: Database,
  collection: string,
  spec?: Omit<OpenOptions<R>, 'signal'>,
): InfiniteOptions<R>;

export function applyChange<R extends { id: string }, D extends { pages: { items: R[] }[] }>(
  data: D | undefined,
  change: Change<R>,
): D | undefined;
