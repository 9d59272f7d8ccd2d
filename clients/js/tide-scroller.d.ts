// SPDX-License-Identifier: Apache-2.0
import type { Cancellable, Change, Database, Handle, Page, Row, TidemarkError } from './tidemark.js';

/** What <tide-scroller> needs of a query. A Handle is one. */
export interface ScrollerQuery {
  next(options?: Cancellable): Promise<Pick<Page, 'items' | 'hasMore'> & Partial<Page>>;
  tail?(options?: Cancellable): AsyncIterable<Change>;
  close(): Promise<void> | void;
  release?(): Promise<void> | void;
}

export interface ScrollerSource {
  open(options?: Cancellable): Promise<ScrollerQuery> | ScrollerQuery;
}

/** Attributes: collection, filter (JSON), order ("f:desc,g"), page-size, live ("", "sorted"), max-rows,
 *  flow ("up"), src.
 *  Parts for styles: viewport, sentinel, new, trouble, trouble-text, again, empty, status. */
export class TideScroller extends HTMLElement {
  db: Database;
  set source(source: ScrollerSource);
  renderRow?: (element: HTMLElement, row: Row) => void;
  readonly handle: ScrollerQuery | Handle | undefined;
  readonly rows: HTMLElement[];
  reload(): void;
  loadMore(): Promise<boolean>;
  showNew(): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'tide-scroller': TideScroller;
  }
  interface HTMLElementEventMap {
    'tide-page': CustomEvent<{ page: Page }>;
    'tide-change': CustomEvent<{ changes: Change[] }>;
    'tide-error': CustomEvent<{ error: TidemarkError }>;
  }
}
