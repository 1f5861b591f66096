// Everything by keyboard. `?` lists the keys; letters do nothing while something is written.
import { decideByKey, latinKey, takesSecondKey, undoLast } from './deciding.js';
import { watchForms } from './decision-forms.js';
import { zoomOut } from './zoom.js';

watchForms();

const list = document.getElementById('keys');
const STOPS =
  '.decision, .call > summary, .mark > summary, .thinking > summary, .said.user, .transcript article > .head a, tr[data-row] a';

const writes = (element) => element?.matches?.('input, textarea, select, [contenteditable]') ?? false;

/** Iterations of a transcript and of a timeline. */
const TURNS = '.transcript article > .head a, .waterfall .iteration .name';

function step(by, which = STOPS) {
  const stops = [...document.querySelectorAll(which)].filter((one) => one.getClientRects().length > 0);
  if (stops.length === 0) return;
  const at = stops.indexOf(document.activeElement);
  const middle = innerHeight / 2;
  const nearest = stops.findIndex((one) => one.getBoundingClientRect().bottom > middle);
  const from = at >= 0 ? at + by : nearest < 0 ? stops.length - 1 : nearest;
  const next = stops[Math.max(0, Math.min(stops.length - 1, from))];
  if (!next.hasAttribute('tabindex') && !next.matches('a, summary')) next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'center' });
}

/** A key does nothing where its button is hidden from a person who may not do it. */
const click = (button) => {
  if (button?.getClientRects().length > 0) button.click();
};
const press = (name) => click(document.querySelector(`[data-act="${name}"]:not([disabled])`));

/** A decision is pressed as its button would be, once it was on screen for a while. */
function pressToDecide(name, event) {
  const button = [...document.querySelectorAll(`[data-act="${name}"]:not([disabled])`)].find(
    (one) => one.getClientRects().length > 0 && !one.closest('[data-leaving]'),
  );
  const decision = button?.closest('.decision');
  if (!decision) return button?.click();
  const harm = name === 'allow' ? decision.dataset.risk : undefined;
  decideByKey(event, decision, { harm, act: () => button.form.requestSubmit(button) });
}

/** Closes all that is open in the transcript, and opens it again. */
let closed = [];
function fold() {
  const open = [...document.querySelectorAll('.transcript details[open]')];
  for (const one of open) one.open = false;
  if (open.length === 0) for (const one of closed) one.open = true;
  closed = open;
}

/** Goes to the timeline, and from there back to the transcript. */
function turnToTimeline() {
  const [first, ...rest] = document.querySelectorAll('.session-head .tabs a');
  const timeline = rest.find(({ pathname }) => pathname.endsWith('/timeline'));
  const next = timeline?.hasAttribute('aria-current') ? first : timeline;
  if (next) location.assign(next.href);
}

const places = {
  i: () => location.assign('/inbox'),
  f: () => location.assign('/'),
  s: () => location.assign('/schedules'),
  w: () => location.assign('/workers'),
  u: () => location.assign('/usage'),
  a: () => {
    const first = document.querySelector('.decision .allow, .decision .first, .decision textarea, .decision button');
    if (first) first.focus();
    else location.assign('/inbox');
  },
  e: () => scrollTo({ top: document.documentElement.scrollHeight }),
};

const keys = {
  '?': () => (list.open ? list.close() : list.showModal()),
  j: () => step(1),
  k: () => step(-1),
  '[': () => step(-1, TURNS),
  ']': () => step(1, TURNS),
  z: () => undoLast() || zoomOut() || fold(),
  t: turnToTimeline,
  o: () => document.activeElement?.click?.(),
  i: () => press('interrupt'),
  a: (event) => pressToDecide('allow', event),
  d: (event) => pressToDecide('deny', event),
  w: () => press('always'),
  e: () => {
    press('edit');
    document.querySelector('.decision .edit-input[open] textarea')?.focus();
  },
  f: () => document.getElementById('find-in')?.focus(),
  n: () => [...document.querySelectorAll('[data-opens="new-task"]')].slice(0, 2).forEach(click),
  p: () => document.querySelector('[data-plots]')?.click(),
  r: () => document.getElementById('message')?.focus(),
  x: () => document.activeElement?.closest('tr')?.querySelector('input[type=checkbox]')?.click(),
  '/': () => {
    const search = document.getElementById('search');
    search?.focus();
    search?.select();
  },
};

let going = 0;

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  const key = latinKey(event);
  if (key === 'Escape' && writes(target)) return target.blur();
  if (writes(target) || takesSecondKey(event)) return;
  if (document.querySelector('dialog[open]') && key !== '?') return;
  const went = Date.now() - going < 1_500 ? places[key] : undefined;
  going = key === 'g' ? Date.now() : 0;
  const act = went ?? keys[key] ?? (/^[1-9]$/.test(key) ? () => pressToDecide(`answer-${key}`, event) : undefined);
  // A key that is held moves on; what it decides, it decides once.
  if (!act || (event.repeat && !'jk[]'.includes(key))) return;
  event.preventDefault();
  act(event);
});

document.querySelector('[data-keys]')?.addEventListener('click', () => list?.showModal());

const message = document.getElementById('message');
const suggestion = () => document.querySelector('#suggested [data-suggestion]')?.textContent ?? '';

/** What may be written next stands where nothing is written. */
function showSuggestion() {
  if (message) message.placeholder = suggestion() || (message.dataset.placeholder ?? '');
}

if (message) new MutationObserver(showSuggestion).observe(message.form, { childList: true, subtree: true });
showSuggestion();

message?.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) message.form.requestSubmit();
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  if (event.key !== 'Tab' || !plain || message.value !== '' || suggestion() === '') return;
  event.preventDefault();
  message.value = suggestion();
});
