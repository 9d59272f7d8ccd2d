// SPDX-License-Identifier: Apache-2.0
//
// tide-scroller.js - <tide-scroller>: a collection as a list without an end.
//
//   <tide-scroller collection="chat_messages" filter='{"roomId":"general"}' flow="up" live>
//     <template><article><b data-field="senderId"></b> <span data-field="text"></span></article>
//     </template>
//   </tide-scroller>
//
// The page that is read first stands at the edge where new rows arrive: the top, or with flow="up"
// the bottom, as in a chat. Further pages are added at the other end when a reader comes within one
// screen of it. Whatever is added, the row that is being read stays where it is; who reads at the
// edge follows it, and everybody else is told how many rows are new.
//
// Rows are children of the element, so the page's own styles apply to them. Everything of strangers
// is text, and there is no inline script or style: a strict content security policy holds.

import { connect } from './tidemark.js';
import { RowPlaces } from './row-places.js';
import { fillRow, newRow } from './row-template.js';
import { make, sheet } from './scroller-frame.js';

const EDGE_PX = 32; // nearer than this is at the edge
const FLUSH_MS = 16;
const ROWS_MAX = 2000;
const ROWS_KNOWN = 20; // that the query can go on from

export class TideScroller extends HTMLElement {
  static observedAttributes = ['collection', 'filter', 'order', 'page-size', 'live', 'src'];

  #db;
  #source;
  #handle;
  #life; // of the query that is open
  #rows = new Map(); // id → element
  #values = new Map(); // id → row
  #pending = []; // changes that are not shown yet
  #told; // of rows while a page is on its way: id → row, undefined for one that left
  #deaf = false; // what changes is not heard any more
  #places; // of rows that belong elsewhere than at the edge
  #loading; // the page that is on its way
  #hasMore = false;
  #following = true; // the reader is at the edge
  #topNoted = 0; // where the viewport stood when that was last found out
  #newCount = 0;
  #restarting = false;
  #internals = this.attachInternals();
  #viewport = make('div', 'viewport', { tabindex: '0' });
  #sentinel = make('div', 'sentinel');
  #pill = make('button', 'new', { type: 'button', hidden: '' });
  #trouble = make('div', 'trouble', { hidden: '' });
  #status = make('div', 'status', { role: 'status' });
  #near = new IntersectionObserver((entries) => this.#comeNear(entries), {
    root: this.#viewport,
    rootMargin: '100% 0px',
  });
  #resized = new ResizeObserver(() => this.#isFollowing() && this.#scrollToEdge());

  /** Called with (element, row) after the template was filled in. */
  renderRow;

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    const again = make('button', 'again', { type: 'button' });
    root.adoptedStyleSheets = [sheet];
    again.textContent = 'Try again';
    this.#trouble.append(make('span', 'trouble-text'), ' ', again);
    const slot = document.createElement('slot');
    const empty = make('slot', 'empty', { name: 'empty', hidden: '' });
    this.#sentinel.append(this.#trouble, empty);
    this.#viewport.append(slot);
    root.append(this.#viewport, this.#pill, this.#status);
    this.#internals.role = 'feed';
    again.addEventListener('click', () => (this.#handle ? this.#goOn() : this.reload()));
    this.#pill.addEventListener('click', () => this.showNew());
    this.#viewport.addEventListener('scroll', () => this.#noteScroll(), { passive: true });
    this.addEventListener('keydown', (event) => this.#moveFocus(event));
  }

  // ---- what a page may use ----

  /** Where rows come from: a Database, when it is not the page's own origin or `src`. */
  get db() {
    this.#db ??= connect(new URL(this.getAttribute('src') ?? '/', location.href));
    return this.#db;
  }

  set db(db) {
    this.#db = db;
    this.#restart();
  }

  /** Anything with open() → {next(), close(), tail?()} instead of a collection. */
  set source(source) {
    this.#source = source;
    this.#restart();
  }

  get handle() {
    return this.#handle;
  }

  get rows() {
    return [...this.children].filter((child) => this.#rows.get(child.dataset.id) === child);
  }

  /** Begins anew, from the first page. */
  reload() {
    this.#restart();
  }

  /** The next page; nothing without an open query, and nothing after the last. */
  async loadMore() {
    if (!this.#handle || !this.#hasMore) return false;
    this.#loading ??= this.#loadPage(this.#life.signal).finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
    return this.#hasMore;
  }

  /** Goes to where new rows arrive. */
  showNew() {
    this.#scrollToEdge();
    this.#countNew(0);
    const rows = this.rows;
    (this.#upwards ? rows.at(-1) : rows[0])?.focus({ preventScroll: true });
  }

  // ---- life ----

  connectedCallback() {
    if (!this.hasAttribute('role') && !this.#internals.role) this.setAttribute('role', 'feed');
    this.#viewport[this.#upwards ? 'prepend' : 'append'](this.#sentinel);
    this.#resized.observe(this.#viewport);
    addEventListener('pagehide', this.#leavePage);
    this.#restart();
  }

  disconnectedCallback() {
    removeEventListener('pagehide', this.#leavePage);
    this.#resized.disconnect();
    this.#stop();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#restart();
  }

  // A page that comes back from the browser's cache goes on where it was.
  #leavePage = () => {
    this.#handle?.release?.();
  };

  get #upwards() {
    return this.getAttribute('flow') === 'up';
  }

  /** Once for all the attributes that a script sets in one go. */
  #restart() {
    if (this.#restarting || !this.isConnected) return;
    this.#restarting = true;
    queueMicrotask(() => {
      this.#restarting = false;
      this.#stop();
      if (this.isConnected) this.#start();
    });
  }

  #stop() {
    this.#life?.abort();
    this.#near.disconnect();
    this.#handle?.close();
    this.#handle = undefined;
    this.#hasMore = this.#deaf = false;
    this.#pending = [];
    for (const element of this.#rows.values()) element.remove();
    this.#rows.clear();
    this.#values.clear();
  }

  #openQuery(signal) {
    if (this.#source) return this.#source.open({ signal });
    const collection = this.getAttribute('collection');
    if (!collection) return undefined;
    const filter = this.getAttribute('filter');
    const order = this.getAttribute('order');
    return this.db.open(collection, {
      filter: filter ? JSON.parse(filter) : undefined,
      orderBy: order ? order.split(',').map((term) => term.trim()) : undefined,
      pageSize: Number(this.getAttribute('page-size')) || undefined,
      signal,
    });
  }

  async #start() {
    this.#life = new AbortController();
    const { signal } = this.#life;
    this.#places = this.#newPlaces(signal);
    this.#following = true;
    this.#countNew(0);
    try {
      const handle = await this.#openQuery(signal);
      if (signal.aborted) await handle?.close();
      if (signal.aborted || handle === undefined) return;
      this.#handle = handle;
      this.#hasMore = true;
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
      return;
    }
    await this.loadMore();
    if (signal.aborted) return;
    this.#near.observe(this.#sentinel);
    if (this.hasAttribute('live') && this.#handle.tail) this.#follow(signal);
  }

  #fail(error) {
    const words = error.message ?? String(error);
    this.#trouble.firstChild.textContent = words;
    this.#trouble.hidden = false;
    this.#internals.ariaBusy = 'false';
    this.#tell('tide-error', { error });
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }

  // ---- pages ----

  #comeNear(entries) {
    if (entries.at(-1).isIntersecting && this.#handle && this.#hasMore) this.#goOn();
  }

  async #goOn() {
    this.#trouble.hidden = true;
    if (this.#deaf) this.#follow(this.#life.signal);
    await this.loadMore();
    if (!this.#trouble.hidden || !this.#handle) return;
    // Asked anew: a short page may have left the end as near as it was.
    this.#near.unobserve(this.#sentinel);
    this.#near.observe(this.#sentinel);
  }

  async #loadPage(signal) {
    const told = (this.#told = new Map());
    this.#internals.ariaBusy = 'true';
    this.#trouble.hidden = true;
    try {
      const page = await this.#handle.next({ signal });
      if (signal.aborted) return;
      this.#hasMore = page.hasMore;
      // The page may have been read before the change and arrive after it.
      const items = page.items.map((row) => (told.has(row.id) ? told.get(row.id) : row));
      this.#addPage(items.filter(Boolean));
      this.#announce(page.totalCount);
      this.#internals.ariaBusy = 'false';
      this.#tell('tide-page', { page });
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    } finally {
      if (this.#told === told) this.#told = undefined;
    }
  }

  #addPage(items) {
    const fresh = items.filter((row) => !this.#rows.has(row.id));
    for (const row of items) if (this.#rows.has(row.id)) this.#fill(row);
    const elements = fresh.map((row) => this.#newElement(row));
    if (this.#upwards) elements.reverse();
    const following = this.#isFollowing();
    this.#keepPlace(() => this.#insert(elements, !this.#upwards));
    if (following && this.#upwards) this.#scrollToEdge();
    this.#number();
  }

  #newElement(row) {
    const template = this.querySelector(':scope > template');
    const element = template ? newRow(template) : document.createElement('div');
    element.dataset.id = row.id;
    if (!element.hasAttribute('role') && element.localName !== 'article')
      element.setAttribute('role', 'article');
    element.tabIndex = -1;
    this.#rows.set(row.id, element);
    this.#fill(row);
    return element;
  }

  #fill(row) {
    const element = this.#rows.get(row.id);
    this.#values.set(row.id, row);
    fillRow(element, row);
    this.renderRow?.(element, row);
  }

  #insert(elements, atEnd) {
    const first = this.rows[0] ?? null;
    for (const element of elements) {
      if (atEnd) this.append(element);
      else this.insertBefore(element, first);
    }
  }

  #number() {
    const rows = this.rows;
    const size = this.#hasMore ? -1 : rows.length;
    rows.forEach((row, i) => {
      row.setAttribute('aria-posinset', i + 1);
      row.setAttribute('aria-setsize', size);
    });
  }

  #announce(total) {
    const known = typeof total === 'number' ? ` of ${Math.max(total, this.#rows.size)}` : '';
    this.#status.textContent = `${this.#rows.size}${known} loaded`;
    this.shadowRoot.querySelector('[part=empty]').hidden = this.#rows.size > 0 || this.#hasMore;
  }

  // ---- the reader's place ----

  #firstVisible() {
    const rows = this.rows;
    const top = this.#viewport.getBoundingClientRect().top;
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].getBoundingClientRect().bottom > top) high = middle;
      else low = middle + 1;
    }
    return rows[low];
  }

  #keepPlace(change) {
    const row = this.#firstVisible();
    const before = row?.getBoundingClientRect().top;
    const outcome = change();
    if (row?.isConnected) this.#viewport.scrollTop += row.getBoundingClientRect().top - before;
    return outcome;
  }

  #edgeDistance() {
    const { scrollTop, scrollHeight, clientHeight } = this.#viewport;
    return this.#upwards ? scrollHeight - clientHeight - scrollTop : scrollTop;
  }

  #scrollToEdge() {
    this.#viewport.scrollTop = this.#upwards ? this.#viewport.scrollHeight : 0;
    this.#topNoted = this.#viewport.scrollTop;
    this.#following = true;
  }

  /** The browser tells of scrolling with its next picture; who has scrolled has left already. */
  #isFollowing() {
    if (this.#viewport.scrollTop !== this.#topNoted) this.#noteScroll();
    return this.#following;
  }

  #noteScroll() {
    this.#topNoted = this.#viewport.scrollTop;
    this.#following = this.#edgeDistance() <= EDGE_PX;
    if (this.#following) this.#countNew(0);
  }

  #countNew(count) {
    this.#newCount = count;
    this.#pill.hidden = count === 0;
    this.#pill.textContent = `${count} new`;
  }

  #moveFocus(event) {
    const step = { PageDown: 1, PageUp: -1 }[event.key];
    const jump = event.ctrlKey ? { Home: 0, End: -1 }[event.key] : undefined;
    if (step === undefined && jump === undefined) return;
    const rows = this.rows;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const from = at < 0 ? rows.indexOf(this.#firstVisible()) - Math.max(step ?? 0, 0) : at;
    const wanted = jump === undefined ? rows[from + step] : rows.at(jump);
    if (!wanted) return;
    event.preventDefault();
    wanted.focus();
  }

  // ---- what changes ----

  async #follow(signal) {
    this.#deaf = false;
    try {
      for await (const change of this.#handle.tail({ signal })) {
        if (this.#pending.push(change) === 1) setTimeout(() => this.#flush(signal), FLUSH_MS);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === 'GAP') return this.#restart();
      this.#deaf = true;
      this.#fail(error);
    }
  }

  #flush(signal) {
    if (signal.aborted) return;
    const changes = this.#pending.splice(0);
    const following = this.#isFollowing();
    const entered = [];
    this.#keepPlace(() => {
      for (const change of changes) this.#apply(change, entered);
      this.#insert(this.#upwards ? entered : entered.reverse(), this.#upwards);
    });
    if (following) this.#trim();
    if (following) this.#scrollToEdge();
    else if (entered.length > 0) this.#countNew(this.#newCount + entered.length);
    if (entered.length > 0) this.#status.textContent = `${entered.length} new`;
    this.#number();
    this.#tell('tide-change', { changes });
  }

  /** Lets go of rows far from a reader at the edge; they come again when they are wanted. */
  #trim() {
    const rows = this.#upwards ? this.rows.reverse() : this.rows;
    const most = Number(this.getAttribute('max-rows')) || ROWS_MAX;
    if (rows.length <= most || this.#loading || !this.#handle.goOnAfter) return;
    for (const row of rows.splice(most)) this.#remove(row.dataset.id, row, []);
    const last = rows.slice(-ROWS_KNOWN).map((row) => this.#values.get(row.dataset.id));
    this.#handle.goOnAfter(last);
    this.#hasMore = true;
  }

  #apply({ op, item }, entered) {
    const element = this.#rows.get(item.id);
    this.#told?.set(item.id, op === 'leave' ? undefined : item);
    if (op === 'leave') {
      this.#places.forget(item.id);
      this.#remove(item.id, element, entered);
      return;
    }
    const sorted = this.getAttribute('live') === 'sorted';
    const elsewhere = sorted || (!element && op === 'update');
    if (element) this.#fill(item);
    if (elsewhere && this.#handle.neighbours) this.#places.add(item);
    else if (!element && op !== 'update') entered.push(this.#newElement(item));
  }

  // ---- rows that belong elsewhere than at the edge ----

  #newPlaces(signal) {
    return new RowPlaces({
      signal,
      neighbours: (id) => this.#handle.neighbours(id, { signal }),
      place: (item, place) => this.#keepPlace(() => this.#place(item, place)),
      placed: () => this.#number(),
      overflow: () => this.#restart(),
      failed: (error) => this.#fail(error),
    });
  }

  /** False: it left meanwhile, or stands where nothing is loaded. */
  #place(item, place) {
    const before = this.#rows.get(place?.before);
    const after = this.#rows.get(place?.after);
    const [above, below] = this.#upwards ? [after, before] : [before, after];
    const known = this.#rows.get(item.id);
    const atEdge = place?.before === null;
    const atEnd = place?.after === null && !this.#hasMore;
    if (!above && !below && !atEdge && !atEnd) {
      if (known) this.#remove(item.id, known, []);
      return false;
    }
    const element = known ?? this.#newElement(item);
    if (above) above.after(element);
    else if (below) below.before(element);
    else this.#insert([element], this.#upwards === atEdge);
    return true;
  }

  #remove(id, element, entered) {
    if (!element) return;
    this.#rows.delete(id);
    this.#values.delete(id);
    if (entered.includes(element)) entered.splice(entered.indexOf(element), 1);
    if (element.contains(document.activeElement))
      (element.nextElementSibling ?? element.previousElementSibling)?.focus();
    element.remove();
  }
}

customElements.define('tide-scroller', TideScroller);
