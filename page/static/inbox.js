// The inbox: the chosen call is drawn next to the list, and one key decides about it. The list is never
// loaded again: what is decided leaves it, and the next one is chosen with the focus on it.
import {
  decideByKey,
  holdBack,
  inputProblem,
  isReadable,
  latinKey,
  post,
  takesSecondKey,
  undoLast,
  watchDecisions,
} from './deciding.js';
import { showTimes } from './times.js';

const list = document.getElementById('inbox-list');
const pane = document.getElementById('inbox-pane');
const inbox = document.getElementById('inbox');
const status = document.getElementById('said');

/** Items whose decision is on its way to the server. */
const deciding = new Set();
/** Rows of what can still be decided. */
const rows = () => [...list.querySelectorAll('a[data-item]')].filter(({ dataset }) => !deciding.has(dataset.item));
const rowOf = (id) => list.querySelector(`a[data-item="${CSS.escape(id ?? '')}"]`);
const detail = () => document.getElementById('inbox-detail');
const part = (selector) => detail()?.querySelector(selector);
const writes = (element) => element?.matches?.('input:not([type=radio]), textarea, select') ?? false;
const narrow = matchMedia('(max-width: 860px)');

/** The list has no more rows. */
const MOST_ROWS = 200;

let selected = detail()?.dataset.item ?? null;

function mark() {
  for (const row of list.querySelectorAll('a[data-item]')) {
    if (row.dataset.item === selected) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
    row.toggleAttribute('data-leaving', deciding.has(row.dataset.item));
  }
  const all = rows();
  const at = all.findIndex(({ dataset }) => dataset.item === selected);
  document.getElementById('inbox-place').textContent = at < 0 ? '' : `${at + 1} of ${all.length}`;
  document.getElementById('inbox-steps').hidden = all.length === 0;
  // What was decided here is known before the frame looks again.
  if (deciding.size > 0 && all.length < MOST_ROWS)
    for (const count of document.querySelectorAll('[data-count=inbox]')) count.textContent = String(all.length || '');
}

/** Where there is no room for both, the list takes the place of the chosen call. */
function showList(isShown) {
  inbox.toggleAttribute('data-list', isShown);
  document.querySelector('[data-list][aria-controls]').setAttribute('aria-expanded', String(isShown));
}

document.getElementById('inbox-steps').addEventListener('click', ({ target }) => {
  const by = Number(target.closest('[data-step]')?.dataset.step ?? 0);
  if (target.closest('[data-list]')) return showList(!inbox.hasAttribute('data-list'));
  showList(false);
  if (by !== 0) step(by);
});

/** A swipe leads to the next call, unless it moves something that is wider than the screen. */
const SWIPE = 60;
let touch = null;
pane.addEventListener(
  'touchstart',
  ({ touches: [first], target }) => {
    const isWide = target.closest('pre, .lines, table, textarea, input');
    touch = isWide ? null : { x: first.clientX, y: first.clientY };
  },
  { passive: true },
);
pane.addEventListener('touchend', ({ changedTouches: [last] }) => {
  if (!touch || !narrow.matches) return;
  const [right, down] = [last.clientX - touch.x, last.clientY - touch.y];
  if (Math.abs(right) > SWIPE && Math.abs(down) < SWIPE / 2) step(right < 0 ? 1 : -1);
});

const addressOf = ({ session, call }) => `?${new URLSearchParams({ session, call }).toString()}`;

/** Details that were asked for ahead, by call and input: they are shown once, and then asked for anew. */
const ahead = new Map();
const keyOf = ({ item, hash, alike }) => `${item} ${hash} ${alike}`;

function ask(row) {
  return fetch(`/inbox/item${addressOf(row.dataset)}`, { headers: { Accept: 'text/html' } }).then((answer) => {
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.text();
  });
}

function askAhead(row) {
  if (!row || ahead.has(keyOf(row.dataset))) return;
  const request = ask(row);
  ahead.set(keyOf(row.dataset), request);
  // It is asked for again when it is chosen.
  request.catch(() => ahead.delete(keyOf(row.dataset)));
}

async function choose(row, { focus = true } = {}) {
  if (!row) return showEmpty();
  const { item } = row.dataset;
  selected = item;
  mark();
  if (focus) row.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
  const key = keyOf(row.dataset);
  const request = ahead.get(key) ?? ask(row);
  ahead.delete(key);
  try {
    const html = await request;
    if (selected !== item) return;
    show(html);
    history.replaceState(null, '', `/inbox${addressOf(row.dataset)}`);
    if (focus && narrow.matches) document.getElementById('inbox-title')?.focus({ preventScroll: true });
    askAhead(rows()[rows().indexOf(row) + 1]);
  } catch {
    say('Couldn’t load this call. It reloads with the next key.', 'bad');
  }
}

function show(html) {
  pane.innerHTML = html;
  watchDecisions(pane.querySelectorAll('#inbox-detail'));
  showTimes(pane);
  pane.scrollTop = 0;
  if (narrow.matches) scrollTo({ top: 0 });
}

async function showEmpty() {
  selected = null;
  history.replaceState(null, '', '/inbox');
  const answer = await fetch('/inbox/item', { headers: { Accept: 'text/html' } }).catch(() => null);
  if (answer?.ok) show(await answer.text());
  // What had the focus has left the list.
  if (document.activeElement === document.body) document.getElementById('inbox-title')?.focus({ preventScroll: true });
  const current = detail()?.dataset.item;
  if (current) selected = current;
  mark();
}

const MOST_LINES = 3;

/** Answers of decisions that were made one right after the other stand below each other. */
function say(text, kind = 'good', undo) {
  const line = document.createElement('p');
  line.className = kind;
  line.textContent = text;
  if (undo) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'plain';
    button.textContent = 'Undo';
    button.addEventListener('click', () => void takeBack(undo));
    line.append(' ', button);
  }
  status.append(line);
  while (status.childElementCount > MOST_LINES) status.firstElementChild.remove();
  setTimeout(() => line.remove(), undo ? 30_000 : 8_000);
}

async function takeBack(undo) {
  const { said: text, ok } = await post('/inbox/undo', undo);
  say(text, ok ? 'good' : 'bad');
}

/** The next call is chosen at once; if the decision is taken back or refused, the one that it was about comes back. */
async function decide(items, path, body) {
  if (items.some((item) => deciding.has(item))) return;
  const words = describeDecision(items, path);
  const all = rows();
  const at = all.indexOf(rowOf(items[0]));
  for (const item of items) deciding.add(item);
  mark();
  const rest = rows();
  const next = rest.find((row) => all.indexOf(row) > at) ?? rest.at(-1);
  // The last call stays in the pane until the server has answered: it would draw the same one again.
  const chosen = next && choose(next);
  detail()?.toggleAttribute('data-leaving', !next);
  const isSent = await holdBack(words);
  const { said: text, ok, undo } = isSent ? await post(path, body) : { said: 'Undone.', ok: false };
  say(text, ok ? 'good' : isSent ? 'bad' : 'quiet', undo);
  await chosen;
  detail()?.removeAttribute('data-leaving');
  if (ok) for (const item of items) rowOf(item)?.closest('li')?.remove();
  for (const item of items) deciding.delete(item);
  mark();
  const refused = ok ? null : rowOf(items[0]);
  if (refused) await choose(refused);
  else if (!rowOf(selected)) await choose(rows()[0]);
}

function describeDecision(items, path) {
  const verb =
    { approve: 'Allowed', allow: 'Allowed', always: 'Allowed', deny: 'Denied' }[path.split('/').at(-1)] ?? 'Answered';
  const what = rowOf(items[0])?.querySelector('.what')?.textContent?.trim().slice(0, 80) ?? '';
  return items.length > 1 ? `${verb}: ${items.length} calls.` : `${verb}: ${what || 'the call'}.`;
}

const here = () => {
  const { item, session, call, hash: inputHash } = detail().dataset;
  return { item, session, call, inputHash };
};

/** The input as a person has changed it, or nothing. */
function changedInput() {
  const field = part('textarea[name=input]');
  return field && field.value !== field.defaultValue ? { input: field.value } : {};
}

const actions = {
  allow: () => {
    const { item, session, call, inputHash } = here();
    const changed = changedInput();
    const problem = changed.input === undefined ? null : inputProblem(changed.input);
    if (problem !== null) {
      say(problem, 'bad');
      return actions.edit();
    }
    return decide([item], `/sessions/${session}/approve`, { call, inputHash, ...changed });
  },
  deny: () => {
    const { item, session, call } = here();
    return decide([item], `/sessions/${session}/deny`, { call, reason: part('input[name=reason]')?.value ?? '' });
  },
  'allow-alike': () => {
    const alike = JSON.parse(part('[data-calls]').dataset.calls);
    // A call that was decided a moment ago is still in what the page was told.
    const there = rows();
    const rowFor = ({ session, call }) =>
      there.find(({ dataset }) => dataset.session === session && dataset.call === call);
    const items = alike.filter(rowFor);
    const ids = items.map((each) => rowFor(each).dataset.item);
    return decide(ids, '/inbox/allow', { items });
  },
  answer: (button) => {
    const { item, session, call } = here();
    const answer = button?.value || part('textarea[name=answer]')?.value || '';
    if (answer.trim() === '') return part('textarea[name=answer]')?.focus();
    return decide([item], `/sessions/${session}/answer`, { call, answer });
  },
  edit: () => {
    showPane('json');
    part('textarea[name=input]')?.focus();
  },
  always: () => {
    const dialog = document.getElementById('always');
    if (!dialog) return;
    countCovered();
    dialog.showModal();
    dialog.querySelector('input[name=rule]:checked')?.focus();
  },
  'close-always': () => document.getElementById('always').close(),
  'keep-rule': () => {
    const dialog = document.getElementById('always');
    const rule = dialog.querySelector('input[name=rule]:checked')?.value;
    if (!rule) return;
    const scope = dialog.querySelector('input[name=scope]:checked').value;
    dialog.close();
    const { item, session, call, inputHash } = here();
    return decide([item], '/inbox/always', { session, call, inputHash, rule, scope });
  },
};

/** What is sent at once is decided only about a call that could be read. */
const DECIDES = new Set(['allow', 'deny', 'allow-alike', 'answer']);

function countCovered() {
  const dialog = document.getElementById('always');
  const rule = dialog.querySelector('input[name=rule]:checked');
  const scope = dialog.querySelector('input[name=scope]:checked')?.value;
  const count = rule?.dataset[scope === 'folder' ? 'folder' : 'session'] ?? '0';
  dialog.querySelector('[data-covers]').textContent = count;
}

function showPane(name) {
  for (const one of detail().querySelectorAll('[data-shows]')) one.hidden = one.dataset.shows !== name;
  for (const one of detail().querySelectorAll('[data-pane]'))
    one.setAttribute('aria-pressed', String(one.dataset.pane === name));
}

function step(by) {
  const all = rows();
  const at = all.findIndex(({ dataset }) => dataset.item === selected);
  const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
  if (next && next.dataset.item !== selected) void choose(next);
}

document.addEventListener('click', (event) => {
  const row = event.target.closest?.('a[data-item]');
  const plainClick = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
  if (row && plainClick) {
    event.preventDefault();
    showList(false);
    void choose(row);
    return;
  }
  const button = event.target.closest?.('[data-do]');
  // The second click of a double one was meant for the call before.
  const isMeant = event.detail < 2 && (!DECIDES.has(button?.dataset.do) || isReadable(detail(), event.timeStamp));
  if (button && isMeant) void actions[button.dataset.do]?.(button);
  const tab = event.target.closest?.('[data-pane]');
  if (tab) showPane(tab.dataset.pane);
});

pane.addEventListener('input', ({ target }) => {
  if (target.name !== 'input') return;
  const changed = target.value !== target.defaultValue;
  part('[data-allow]').textContent = changed ? 'Allow as changed' : 'Allow';
  part('[data-do=always]')?.toggleAttribute('disabled', changed);
});
pane.addEventListener('change', ({ target }) => {
  if (target.closest('#always')) countCovered();
});

/** A key does nothing where its button is hidden from a person who may not do it. */
const pressable = (button) => button && button.closest('[data-needs]')?.getClientRects().length !== 0;
const press = (name) => {
  const button = part(`[data-do="${name}"]:not([disabled])`);
  if (pressable(button)) button.click();
};

function decideWith(event, button) {
  if (!pressable(button)) return;
  const harm = button.dataset.do.startsWith('allow') ? detail().dataset.risk : undefined;
  decideByKey(event, detail(), { act: () => button.click(), harm });
}
const pressToDecide = (name, event) => decideWith(event, part(`[data-do="${name}"]:not([disabled])`));

const keys = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  a: (event) => pressToDecide('allow', event),
  d: (event) => pressToDecide('deny', event),
  w: (event) => pressToDecide('always', event),
  z: () => undoLast(),
  e: () => press('edit'),
  o: () => part('[data-open]')?.click(),
  Enter: () => part('[data-open]')?.click(),
  y: () => part('[data-copy]')?.click(),
  A: (event) => pressToDecide('allow-alike', event),
};

let going = 0;

/** Before the keys of every page: what a key does here, it does to the chosen call. */
document.addEventListener(
  'keydown',
  (event) => {
    const { target } = event;
    const key = latinKey(event);
    if (event.altKey) return;
    if (writes(target)) return inField(event);
    const dialog = document.getElementById('always');
    if (dialog?.open) return inDialog(event, dialog);
    if (event.ctrlKey || event.metaKey || takesSecondKey(event) || document.querySelector('dialog[open]')) return;
    const goes = Date.now() - going < 1_500;
    going = key === 'g' ? Date.now() : 0;
    if (goes || key === 'g') return;
    const isButton = key === 'Enter' && target.closest?.('button, a:not([data-item]), summary');
    const option = /^[1-9]$/.test(key) ? detail()?.querySelectorAll('[data-do=answer]')[Number(key) - 1] : undefined;
    const act = option ? () => decideWith(event, option) : keys[key];
    if (!act || isButton || event.repeat) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act(event);
  },
  true,
);

function inField(event) {
  const { target, key } = event;
  const sends = key === 'Enter' && (event.ctrlKey || event.metaKey);
  if (target.name === 'answer' && sends) void actions.answer();
  else if (target.name === 'input' && sends) press('allow');
  else if (target.name === 'reason' && key === 'Enter') press('deny');
  else if (key === 'Escape' && target.name === 'input') showPane('view');
  else return;
  if (key === 'Enter') event.preventDefault();
}

function inDialog(event, dialog) {
  const rule = dialog.querySelectorAll('input[name=rule]')[Number(latinKey(event)) - 1];
  if (rule) {
    rule.checked = true;
    rule.focus();
    countCovered();
  } else if (event.key === 'Enter' && !event.target.matches('button')) press('keep-rule');
  else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Other input is always drawn; another number of calls that are alike only where nothing is written. */
function isOutdated({ item, hash, alike }) {
  if (deciding.has(item) || document.getElementById('always')?.open) return false;
  const current = detail()?.dataset;
  const fields = [...(detail()?.querySelectorAll('textarea, input:not([type=radio])') ?? [])];
  const isWritten = fields.some((field) => field.value !== field.defaultValue || field === document.activeElement);
  return hash !== current?.hash || (alike !== current?.alike && !isWritten);
}

/** What others decided leaves the list; what was changed meanwhile is drawn anew unless it is being edited. */
document.addEventListener('perdure:changed', () => {
  mark();
  ahead.clear();
  const row = rowOf(selected);
  if (row) {
    if (isOutdated(row.dataset)) void choose(row, { focus: false });
    return;
  }
  const [first] = rows();
  const current = detail()?.dataset.item;
  if (current && current === selected && !deciding.has(current)) say('Decided elsewhere, or expired.', 'quiet');
  if (first) void choose(first, { focus: false });
  else if (current || selected) void showEmpty();
});

mark();
watchDecisions(pane.querySelectorAll('#inbox-detail'));
askAhead(rows()[rows().findIndex(({ dataset }) => dataset.item === selected) + 1]);
if (!narrow.matches) rowOf(selected)?.focus({ preventScroll: true });
