// The list of sessions: what is selected and done to it, the columns and plots that a person wants, views that they keep.

import { ask } from './ask.js';

const table = document.getElementById('sessions');
const rows = document.getElementById('rows');
const all = document.getElementById('all');
const bulk = document.getElementById('bulk');
const picked = document.getElementById('picked');
const status = document.getElementById('said');
const matching = document.querySelector('[data-all-matching]');
const boxes = () => [...(rows?.querySelectorAll('input[type=checkbox]') ?? [])];
const chosen = () => boxes().flatMap(({ checked, value }) => (checked ? [value] : []));
const many = (count) => (count === 1 ? '1 session' : `${count.toLocaleString('en')} sessions`);

/** Every session that matches is meant, not only those that are selected. */
let byFilter = false;

const total = () =>
  Number(document.querySelector('#tabs [aria-current] .count')?.textContent.replaceAll(',', '') ?? 0) || 0;

function show() {
  const { length } = chosen();
  const visible = boxes().length;
  if (length < visible || length === 0) byFilter = false;
  all.checked = length > 0 && length === visible;
  all.indeterminate = length > 0 && length < visible;
  bulk.hidden = length === 0;
  picked.textContent = byFilter ? `All ${total().toLocaleString('en')} matching` : `${length} selected`;
  matching.hidden = byFilter || length < visible || total() <= length;
  matching.textContent = `Select all ${total().toLocaleString('en')} matching`;
  document.querySelector('[data-compare]').hidden = length < 2 || length > 3 || byFilter;
}

let last = null;
rows?.addEventListener('click', (event) => {
  const box = event.target.closest?.('input[type=checkbox]');
  if (!box) return;
  if (event.shiftKey && last?.isConnected) {
    const list = boxes();
    const [from, to] = [list.indexOf(last), list.indexOf(box)].toSorted((one, other) => one - other);
    for (const each of list.slice(from, to + 1)) each.checked = box.checked;
  }
  last = box;
  show();
});
rows?.addEventListener('change', show);
document.addEventListener('perdure:changed', show);
all?.addEventListener('change', () => {
  for (const box of boxes()) box.checked = all.checked;
  show();
});
matching?.addEventListener('click', () => {
  byFilter = true;
  show();
});
document.querySelector('[data-unpick]')?.addEventListener('click', () => {
  for (const box of boxes()) box.checked = false;
  show();
});
document.querySelector('[data-compare]')?.addEventListener('click', () => {
  const request = chosen().map((id, at) => [['a', 'b', 'c'][at], id]);
  location.assign(`/compare?${new URLSearchParams(request).toString()}`);
});

const QUESTIONS = {
  interrupt: { verb: 'Interrupt', text: 'Current work stops. You can continue the sessions later.' },
  resume: { verb: 'Resume', text: 'Parked sessions resume now.' },
  cancel: { verb: 'End', text: 'They stop and can’t be resumed. Transcripts are kept.', isBad: true },
};

async function act(action) {
  const sessions = chosen();
  const count = byFilter ? total() : sessions.length;
  const { verb, text, isBad } = QUESTIONS[action];
  const words = `${verb} ${many(count)}`;
  if (count === 0 || !(await ask({ title: `${words}?`, text, label: words, isBad }))) return;
  const line = document.createElement('p');
  try {
    const answer = await fetch('/bulk', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(byFilter ? { action, filter: table.dataset.filter, count } : { action, sessions }),
    });
    line.textContent = await answer.text();
    line.className = answer.ok ? 'good' : 'bad';
  } catch {
    line.textContent = 'The page’s server could not be reached. Check the list before you try again.';
    line.className = 'bad';
  }
  status.replaceChildren(line);
}

for (const button of document.querySelectorAll('[data-bulk]'))
  button.addEventListener('click', () => void act(button.dataset.bulk));
show();

// Columns, and whether plots are shown, are kept in this browser.
const COLUMNS = 'perdure.columns';
const hidden = new Set((localStorage.getItem(COLUMNS) ?? table?.dataset.hidden ?? '').split(' ').filter(Boolean));
function showColumns() {
  for (const box of document.querySelectorAll('#columns input')) {
    box.checked = !hidden.has(box.value);
    table.classList.toggle(`hide-${box.value}`, hidden.has(box.value));
  }
}
document.getElementById('columns')?.addEventListener('change', ({ target }) => {
  if (target.checked) hidden.delete(target.value);
  else hidden.add(target.value);
  localStorage.setItem(COLUMNS, [...hidden].join(' '));
  showColumns();
});
showColumns();

const PLOTS = 'perdure.plots';
const plots = document.querySelector('[data-plots]');
function showPlots() {
  const off = localStorage.getItem(PLOTS) === 'hidden';
  document.body.classList.toggle('plots-hidden', off);
  plots?.setAttribute('aria-pressed', String(off));
  const word = document.querySelector('[data-plots-word]');
  if (word) word.textContent = off ? 'Show plots' : 'Hide plots';
}
plots?.addEventListener('click', () => {
  localStorage.setItem(PLOTS, localStorage.getItem(PLOTS) === 'hidden' ? 'shown' : 'hidden');
  showPlots();
});
showPlots();

document.querySelector('[data-save-view]')?.addEventListener('click', async () => {
  const name = await ask({ title: 'Save view', field: 'Name', label: 'Save' });
  if (!name) return;
  document.dispatchEvent(
    new CustomEvent('perdure:keep-view', {
      detail: { name, address: `${location.pathname}${location.search}`, filter: table.dataset.filter },
    }),
  );
});
