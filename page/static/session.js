// One session: its minimap with what is on the screen, the panels next to it, words found in it.

import { momentUnder } from './zoom.js';

// What stays in view below the bar has its height said to the sheet: banners come and go.
const banners = document.querySelector('.banners');
const head = document.querySelector('.session-head');
const map = document.getElementById('map');
const measure = () => {
  const { style } = document.documentElement;
  style.setProperty('--banners', `${banners?.offsetHeight ?? 0}px`);
  // A minimap that scrolls away takes no room.
  const stays = map !== null && getComputedStyle(map).position === 'sticky';
  style.setProperty('--head', `${head?.offsetHeight ?? 0}px`);
  style.setProperty('--map', `${stays ? map.offsetHeight : 0}px`);
  style.setProperty('--map-room', `${map?.offsetHeight ?? 0}px`);
};
const sizes = new ResizeObserver(measure);
for (const one of [banners, head, map]) if (one) sizes.observe(one);
measure();

// The minimap.
const MAP_MS = 5_000;
const LIVE = new Set(['run', 'wait', 'park', 'fail']);

async function loadMap() {
  if (!map || document.hidden) return;
  try {
    const answer = await fetch(map.dataset.map, { headers: { Accept: 'text/html' } });
    if (answer.ok) map.innerHTML = await answer.text();
  } catch {
    // The stream says what is wrong; the next look asks again.
  }
  document.dispatchEvent(new CustomEvent('perdure:drawn'));
  showView();
}

const isLive = () => {
  const chip = document.getElementById('state-now');
  return chip !== null && [...chip.classList].some((name) => LIVE.has(name));
};
let drawn = '';
async function keepMap() {
  const state = document.getElementById('state-now')?.className ?? '';
  if (isLive() || state !== drawn) await loadMap();
  drawn = state;
  setTimeout(() => void keepMap(), MAP_MS);
}
if (map) void keepMap();

/** Moments of replies that are drawn, from top to bottom. */
const moments = () => [...document.querySelectorAll('#items article > .head time[data-at]')];

/** Marks on the minimap which stretch of time is on the screen. */
function showView() {
  const body = document.getElementById('map-body');
  const view = body?.querySelector('rect.view');
  if (!view) return;
  const [from, to] = body.dataset.moments.split(' ').map(Number);
  const visible = moments().filter((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  if (visible.length === 0 || to <= from) return view.setAttribute('width', '0');
  const at = (one) => ((Number(one.dataset.at) - from) / (to - from)) * 1_000;
  const [first, last] = [Math.max(0, at(visible[0])), Math.min(1_000, at(visible[visible.length - 1]))];
  view.setAttribute('x', String(Math.round(first)));
  view.setAttribute('width', String(Math.max(6, Math.round(last - first))));
}
let viewing = 0;
addEventListener('scroll', () => (viewing ||= requestAnimationFrame(() => ((viewing = 0), showView()))), {
  passive: true,
});

map?.addEventListener('click', (event) => {
  const svg = event.target.closest?.('.lane.root svg');
  const body = document.getElementById('map-body');
  if (!svg || !body) return;
  const at = Math.round(momentUnder(svg, event.clientX));
  const drawnNow = moments();
  const first = Number(drawnNow[0]?.dataset.at ?? Infinity);
  const named = drawnNow.findLast((one) => Number(one.dataset.at) <= at) ?? drawnNow[0];
  // Earlier than what is drawn: the server draws the window around it.
  if (!named || at < first)
    location.assign(`/sessions/${document.getElementById('session').dataset.session}?at=t${at}`);
  else named.closest('article').scrollIntoView({ block: 'start' });
});

// The panels next to the transcript.
const tabs = [...document.querySelectorAll('.panels [role=tab]')];
function choose(tab, focus) {
  for (const one of tabs) {
    const on = one === tab;
    one.setAttribute('aria-selected', String(on));
    one.tabIndex = on ? 0 : -1;
    document.getElementById(one.getAttribute('aria-controls')).hidden = !on;
  }
  if (focus) tab.focus();
}
for (const tab of tabs) {
  tab.addEventListener('click', () => choose(tab, false));
  tab.addEventListener('keydown', ({ key }) => {
    const by = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    if (by !== 0) choose(tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length], true);
  });
}
document.querySelector('[data-inspect]')?.addEventListener('click', ({ currentTarget }) => {
  const on = document.getElementById('inspector').classList.toggle('shown');
  currentTarget.setAttribute('aria-expanded', String(on));
});

// What waits: a changed input is named by its button, and a decided call leaves the focus to the next.
const approvals = document.getElementById('approvals');
approvals?.addEventListener('input', ({ target }) => {
  if (target.name !== 'input') return;
  const changed = target.value !== target.defaultValue;
  target.closest('.decision').querySelector('[data-allow]').textContent = changed ? 'Allow as changed' : 'Allow';
});
let wasIn = false;
approvals?.addEventListener('focusin', () => (wasIn = true));
approvals?.addEventListener('focusout', ({ relatedTarget }) => {
  if (relatedTarget) wasIn = false;
});
document.addEventListener('perdure:changed', () => {
  if (!wasIn || document.activeElement !== document.body) return;
  const next = approvals.querySelector('.decision') ?? document.getElementById('main');
  if (next.id === 'main') next.tabIndex = -1;
  next.focus({ preventScroll: true });
  wasIn = false;
});

// Find in the session.
const finder = document.querySelector('[data-find]');
const found = document.getElementById('found');
let finding = 0;
finder?.addEventListener('submit', (event) => {
  event.preventDefault();
  found.querySelector('a')?.click();
});
finder?.addEventListener('input', () => {
  clearTimeout(finding);
  finding = setTimeout(() => void find(), 200);
});
finder?.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  finder.reset();
  found.replaceChildren();
});

async function find() {
  const query = document.getElementById('find-in').value;
  if (query.trim() === '') return found.replaceChildren();
  try {
    const answer = await fetch(`${finder.dataset.find}?q=${encodeURIComponent(query)}`);
    if (answer.ok && document.getElementById('find-in').value === query) found.innerHTML = await answer.text();
    const base = `/sessions/${document.getElementById('session').dataset.session}`;
    for (const link of found.querySelectorAll('a')) link.setAttribute('href', `${base}${link.getAttribute('href')}`);
  } catch {
    // The stream says what is wrong.
  }
}
document.addEventListener('click', (event) => {
  if (found?.firstElementChild && !finder.contains(event.target)) found.replaceChildren();
});

// Changes side by side, where there is room for them; this browser keeps the choice.
const SIDES = 'perdure.sides';
function showSides() {
  const isOn = localStorage.getItem(SIDES) === 'yes';
  document.body.classList.toggle('side-by-side', isOn);
  for (const one of document.querySelectorAll('[data-sides]'))
    one.setAttribute('aria-pressed', String((one.dataset.sides === 'yes') === isOn));
}
document.addEventListener('click', (event) => {
  const choice = event.target.closest?.('[data-sides]');
  if (!choice) return;
  localStorage.setItem(SIDES, choice.dataset.sides);
  showSides();
});
document.addEventListener('perdure:drawn', showSides);
showSides();

// A fork begins at a prompt, or at the end.
document.addEventListener('click', (event) => {
  const opener = event.target.closest?.('[data-opens="fork"]');
  if (!opener) return;
  const { forkAt = '' } = opener.dataset;
  const dialog = document.getElementById('fork');
  dialog.querySelector('[name=at]').value = forkAt;
  dialog.querySelector('[data-fork-from]').textContent = forkAt === '' ? 'up to now' : 'up to before this prompt';
});

// Going back: what it would do is asked for each choice, and nothing is done before a person says so.
const rewind = document.getElementById('rewind');
let plans = 0;
async function planRewind(choice) {
  plans += 1;
  const nth = plans;
  const plan = document.getElementById('rewind-plan');
  try {
    const answer = await fetch(`${rewind.dataset.rewindFrom}?${new URLSearchParams(choice).toString()}`);
    const html = await answer.text();
    // A later choice has a plan of its own on the way.
    if (nth !== plans) return;
    plan.innerHTML = html;
    globalThis.htmx?.process(plan);
  } catch {
    if (nth === plans) plan.textContent = 'The page’s server isn’t responding.';
  }
}
document.addEventListener('click', (event) => {
  const to = event.target.closest?.('[data-rewind]')?.dataset.rewind;
  if (!to || !rewind) return;
  document.getElementById('rewind-plan').textContent = 'Loading…';
  rewind.showModal();
  void planRewind({ to });
});
rewind?.addEventListener('change', ({ target }) => {
  if (target.name === 'part') void planRewind(new FormData(target.form));
});
rewind?.addEventListener('submit', () => rewind.close());
