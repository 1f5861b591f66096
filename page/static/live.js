// Puts on the screen what the feed says, as it says it. The feed's place is kept: after a pause, a sleep or a restart of the server what came
// since is caught up with, and where that is forgotten the transcript is loaded again in its place. A hidden page listens to nothing.
import { setAway } from './away.js';
import { showTimes } from './times.js';

/** Milliseconds between two looks at the clocks, and those that must be missing; a busy tab looks late, too. */
const LOOK_MS = 2_000;
const LEAST_JUMP_MS = 30_000;

const { feed, from, redrawn } = document.body.dataset;
let place = from;
let source = null;
let resetting = false;

/** The words under the cursor stay where they are, and what is open stays open. */
function keepingPlace(change) {
  const atEnd =
    document.getElementById('items') !== null && innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  change();
  if (atEnd) scrollTo({ top: document.documentElement.scrollHeight });
}

function put({ id, into, html }) {
  const template = document.createElement('template');
  template.innerHTML = html;
  const node = template.content.firstElementChild;
  if (!node) return;
  const old = document.getElementById(id);
  if (old) return replace(old, node);
  const container = document.getElementById(into);
  // A window of older entries is shown: the newest are not a part of it.
  if (!container || container.dataset.end === 'false') return;
  if (into === 'live' && document.getElementById('items')?.dataset.end === 'false') return;
  if (into === 'items') container.querySelector('.none')?.remove();
  container.append(node);
  ready(node);
}

function replace(old, node) {
  const opened = new Map([old, ...old.querySelectorAll('details[open][id]')].map((one) => [one.id, one]));
  for (const one of [node, ...node.querySelectorAll('details[id]')]) {
    const before = opened.get(one.id);
    // A call that begins to wait is shown where it is decided, and folds here.
    const folds = one.matches('.call.waiting') && !before?.matches('.waiting');
    if (one.matches('details') && before?.open && !folds) one.open = true;
  }
  const focus = focusIn(old);
  for (const box of old.querySelectorAll('input[type=checkbox]:checked')) {
    const same = node.querySelector(`input[value="${CSS.escape(box.value)}"]`);
    if (same) same.checked = true;
  }
  old.replaceWith(node);
  ready(node);
  focus?.(node);
}

/** Puts the focus, and what was typed and not sent, into what takes the place of `old`. */
function focusIn(old) {
  const active = document.activeElement;
  if (!active || !old.contains(active)) return null;
  const same = (root) =>
    active === old
      ? root
      : [...root.querySelectorAll(active.tagName)].find(
          (one) => one.name === active.name && one.textContent === active.textContent,
        );
  return (node) => {
    const next = same(node);
    if (!next) return;
    if ('value' in active && active.tagName !== 'BUTTON' && active.type !== 'checkbox') next.value = active.value;
    if (next.tagName === 'SUMMARY' || next.matches('a,button,input,textarea,summary,[tabindex]'))
      next.focus({ preventScroll: true });
  };
}

function ready(node) {
  globalThis.htmx?.process(node);
  showTimes(node);
}

/** Moves only what stands elsewhere: an element that is moved loses the focus. */
function order({ into, ids }) {
  const container = document.getElementById(into);
  let at = container?.firstElementChild ?? null;
  for (const id of ids) {
    const element = document.getElementById(id);
    if (!element || element.parentElement !== container) continue;
    if (element === at) at = at.nextElementSibling;
    else if (container.moveBefore) container.moveBefore(element, at);
    else container.insertBefore(element, at);
  }
}

function apply(change) {
  if (change.do === 'put') return put(change);
  if (change.do === 'order') return order(change);
  const element = document.getElementById(change.id);
  if (!element) return;
  if (change.do === 'drop') return element.remove();
  const { lastChild } = element;
  if (lastChild?.nodeType === Node.TEXT_NODE) lastChild.appendData(change.text);
  else element.append(change.text);
}

function listen() {
  if (source || document.hidden) return;
  source = new EventSource(`${feed}${feed.includes('?') ? '' : '?'}from=${encodeURIComponent(place)}`);
  source.addEventListener('open', () => connected(true));
  source.addEventListener('error', () => connected(false));
  source.addEventListener('message', ({ data, lastEventId }) => {
    place = lastEventId;
    setAway('stream', false);
    const changes = JSON.parse(data);
    keepingPlace(() => changes.forEach(apply));
    document.dispatchEvent(new CustomEvent('perdure:changed'));
    if (redrawn !== undefined && changes.some((change) => change.do !== 'text')) redraw();
  });
  source.addEventListener('reset', () => void reset());
}

function silence() {
  source?.close();
  source = null;
}

const WAIT_MS = 1_000;

/** The page as it is now takes the place of what is shown of it. Throws when the server does not give it. */
async function freshen() {
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  keepingPlace(() => {
    for (const fresh of page.querySelectorAll('[data-fresh]')) {
      const old = document.getElementById(fresh.id);
      if (old) replace(old, document.adoptNode(fresh));
    }
  });
  document.dispatchEvent(new CustomEvent('perdure:drawn'));
  return page.body.dataset.from;
}

/** Milliseconds between two drawings of a page whose parts are drawn anew. */
const REDRAW_MS = 2_000;
let redrawing = 0;

function redraw() {
  redrawing ||= setTimeout(() => {
    redrawing = 0;
    // Else the stream says what is wrong, and the next change draws it.
    void freshen().catch(() => undefined);
  }, REDRAW_MS);
}

/** What came meanwhile is forgotten, or the server is another one: what there is now takes the place of what is shown. */
async function reset() {
  if (resetting) return;
  resetting = true;
  silence();
  try {
    place = await freshen();
  } catch {
    // The server is not there yet: it is asked again until it is.
    connected(false);
    setTimeout(() => void reset(), WAIT_MS);
    return;
  } finally {
    resetting = false;
  }
  listen();
}

function connected(yes) {
  setAway('stream', !yes);
  // A browser gives up on a stream that is refused, and nobody else would try again.
  if (!yes && source?.readyState === EventSource.CLOSED) {
    silence();
    setTimeout(() => void reset(), WAIT_MS);
  }
}

if (feed) {
  document.addEventListener('visibilitychange', () => (document.hidden ? silence() : listen()));
  addEventListener('pagehide', silence);
  addEventListener('pageshow', listen);
  onWake(() => {
    if (!source) return;
    silence();
    listen();
  });
  // The other scripts of the page have run by then, and hear of every change.
  document.addEventListener('DOMContentLoaded', listen);
  if (document.getElementById('items')) begin();
}

/** The address of what a link to this page names: of an iteration, a call, a run or an entry. */
function addressOf(name) {
  const reply = /^(?:it|call)-(\d+)-(\d+)/.exec(name);
  if (reply) return `${reply[1]}.${reply[2]}`;
  const other = /^run-(\d+)$/.exec(name);
  if (other) return `r${other[1]}`;
  return /^e\d+$/.test(name) ? name : null;
}

/** Shows what the address names, asking for the entries around it where they are not here. */
function showNamed() {
  const name = decodeURIComponent(location.hash.slice(1));
  const named = (name && document.getElementById(name)) || document.getElementById(items().dataset.place ?? '');
  if (named) {
    for (let one = named.closest('details'); one; one = one.parentElement.closest('details')) one.open = true;
    named.scrollIntoView({ block: 'start' });
    return true;
  }
  const address = addressOf(name);
  if (address === null || new URLSearchParams(location.search).get('at') === address) return false;
  location.replace(`?at=${address}#${name}`);
  return true;
}

function items() {
  return document.getElementById('items');
}

/** Pixels above the screen at which earlier entries are asked for. */
const NEAR = 800;
let scrolls = false;
let loading = false;

function begin() {
  if (!showNamed()) scrollTo({ top: document.documentElement.scrollHeight });
  addEventListener('hashchange', showNamed);
  // Before a person moves, it is the page that scrolls, and that asks for nothing.
  for (const kind of ['wheel', 'touchmove', 'keydown', 'mousedown'])
    addEventListener(kind, () => (scrolls = true), { passive: true });
  addEventListener('scroll', () => {
    const earlier = document.getElementById('earlier');
    if (scrolls && earlier && earlier.getBoundingClientRect().bottom > -NEAR) void loadEarlier(earlier);
  });
  document.addEventListener('click', (event) => {
    const earlier = event.target.closest?.('#earlier');
    if (earlier) void loadEarlier(earlier);
  });
}

/** Puts what is before in the place of `earlier`; what is on the screen stays where it is. */
async function loadEarlier(earlier) {
  if (loading) return;
  loading = true;
  try {
    const answer = await fetch(earlier.dataset.earlier, { headers: { Accept: 'text/html' } });
    if (!answer.ok || !earlier.isConnected) return;
    const template = document.createElement('template');
    template.innerHTML = await answer.text();
    const added = [...template.content.children];
    const below = earlier.nextElementSibling;
    const top = below?.getBoundingClientRect().top ?? 0;
    earlier.replaceWith(template.content);
    added.forEach(ready);
    if (below) scrollBy({ top: below.getBoundingClientRect().top - top, behavior: 'instant' });
  } catch {
    // The stream says what is wrong; the next scroll asks again.
  } finally {
    loading = false;
  }
}

// Tells that this machine slept, as listenForWakes in system/async.ts does for the server: a stream may have
// died meanwhile, and a browser does not always hear of it.
function onWake(hear) {
  // One of the two goes on while the machine sleeps; which, depends on the system.
  let before = [Date.now(), performance.now()];
  setInterval(() => {
    const now = [Date.now(), performance.now()];
    const missing = Math.max(now[0] - before[0], now[1] - before[1]) - LOOK_MS;
    before = now;
    if (missing >= LEAST_JUMP_MS) hear();
  }, LOOK_MS);
}
