// The frame of every page: what waits and how the parts are, asked of the server now and then; dialogs; saved views; notifications.
import { ask } from './ask.js';
import { setAway } from './away.js';

const LOOK_MS = 4_000;
/** Milliseconds between looks of a tab that is not shown: for its title, and for notifications. */
const HIDDEN_LOOK_MS = 30_000;
const KEPT = 'perdure.frame';
const title = document.title;

const set = (element, text) => {
  if (element && element.textContent !== text) element.textContent = text;
};

function show({ counts, health, alarms }) {
  for (const place of document.querySelectorAll('[data-count]'))
    set(place, (counts[place.dataset.count] || 0).toLocaleString('en').replace(/^0$/, ''));
  document.title = counts.inbox > 0 ? `(${counts.inbox}) ${title}` : title;
  set(document.getElementById('figures-of-health'), health.text);
  const light = document.getElementById('light');
  if (light) light.className = `light ${health.state}`;
  const place = document.getElementById('alarms');
  if (place && place.dataset.shown !== alarms) {
    place.dataset.shown = alarms;
    place.innerHTML = alarms;
  }
}

async function look() {
  try {
    const answer = await fetch('/frame', { headers: { Accept: 'application/json' } });
    if (!answer.ok) return;
    const frame = await answer.json();
    sessionStorage.setItem(KEPT, JSON.stringify(frame));
    show(frame);
    notify(frame);
    setAway('frame', false);
  } catch {
    const light = document.getElementById('light');
    if (light) light.className = 'light fail';
    set(document.getElementById('figures-of-health'), 'offline');
    setAway('frame', true);
  }
}

/** How many sessions each kept view has. */
async function countViews() {
  const links = [...document.querySelectorAll('#views a')];
  if (links.length === 0 || document.hidden) return;
  const request = new URLSearchParams(links.map((link) => ['at', link.getAttribute('href')]));
  try {
    const answer = await fetch(`/views?${request.toString()}`, { headers: { Accept: 'application/json' } });
    if (!answer.ok) return;
    const counts = await answer.json();
    for (const [at, { href }] of links.entries())
      for (const link of document.querySelectorAll('[data-views] a'))
        if (link.href === href) set(link.querySelector('.count'), String(counts[at] || ''));
  } catch {
    // The light says that the server does not answer.
  }
}

const stored = sessionStorage.getItem(KEPT);
if (stored) show(JSON.parse(stored));

let next = 0;
async function again() {
  clearTimeout(next);
  await look();
  await countViews();
  next = setTimeout(() => void again(), document.hidden ? HIDDEN_LOOK_MS : LOOK_MS);
}
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void again();
});
void again();

// Notifications: only when a person asked for them, and only of what is new.
const NOTIFY = 'perdure.notify';
const button = document.querySelector('[data-notify]');
let known = null;

const isOn = () =>
  localStorage.getItem(NOTIFY) === 'yes' && 'Notification' in window && Notification.permission === 'granted';

function notify({ waiting }) {
  const fresh = known === null ? [] : waiting.filter(({ id }) => !known.has(id));
  known = new Set(waiting.map(({ id }) => id));
  if (fresh.length === 0 || !isOn() || !document.hidden) return;
  const [{ text }] = fresh;
  const note = new Notification(fresh.length === 1 ? text : `${fresh.length} new calls need you`, {
    tag: 'perdure',
  });
  note.addEventListener('click', () => {
    window.focus();
    location.assign('/inbox');
  });
}

const showNotify = () => button?.setAttribute('aria-pressed', String(isOn()));
button?.addEventListener('click', () => {
  void (async () => {
    if (isOn()) localStorage.setItem(NOTIFY, 'no');
    else if ('Notification' in window && (await Notification.requestPermission()) === 'granted')
      localStorage.setItem(NOTIFY, 'yes');
    showNotify();
  })();
});
showNotify();

// The policy lets no form lead anywhere: what it asks for becomes an address.
document.addEventListener('submit', (event) => {
  const { target } = event;
  if (target.dataset.go === undefined) return;
  event.preventDefault();
  const query = new URLSearchParams([...new FormData(target)].filter(([, value]) => value !== '')).toString();
  location.assign(query === '' ? target.dataset.go : `${target.dataset.go}?${query}`);
});

// Dialogs: one that names where it comes from is filled when it is opened.
document.addEventListener('click', (event) => {
  const opener = event.target.closest?.('[data-opens]');
  const dialog = opener && document.getElementById(opener.dataset.opens);
  if (!dialog) return;
  // A dialog about one of several things is filled for the one that was asked for.
  if (opener.dataset.from) {
    dialog.dataset.from = opener.dataset.from;
    dialog.replaceChildren();
  }
  void open(dialog);
});

async function open(dialog) {
  const { from } = dialog.dataset;
  if (from && !dialog.firstElementChild) {
    const answer = await fetch(from, { headers: { Accept: 'text/html' } });
    dialog.innerHTML = await answer.text();
    globalThis.htmx?.process(dialog);
    dialog.dispatchEvent(new CustomEvent('perdure:filled'));
  }
  if (!dialog.open) dialog.showModal();
}

/** Menus close when something in them was chosen, by Esc, and by a press elsewhere. */
document.addEventListener('click', ({ target }) => {
  for (const menu of document.querySelectorAll('details.menu[open]'))
    if (!menu.contains(target) || target.closest('button, a')) menu.open = false;
});
document.addEventListener('keydown', ({ key }) => {
  const menu = key === 'Escape' && document.querySelector('details.menu[open]');
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});

// What a dialog asked for is on its way: its answer is said on the page behind it.
document.addEventListener('submit', ({ target }) => {
  if (target.dataset.closesDialog !== undefined) target.closest('dialog').close();
});

document.addEventListener('htmx:confirm', (event) => {
  const { ctx, issueRequest, dropRequest } = event.detail;
  event.preventDefault();
  const { askLabel = 'OK', askBad } = ctx.sourceElement.dataset;
  void ask({ title: ctx.confirm, label: askLabel, isBad: askBad !== undefined }).then((yes) =>
    yes ? issueRequest() : dropRequest(),
  );
});

document.addEventListener('click', (event) => {
  if (event.target.closest?.('[data-closes]')) event.target.closest('dialog')?.close();
  if (event.target.closest?.('[data-copy-command]')) void copyCommand(event.target.closest('form'));
});

// What was made in a dialog stands behind it.
document.addEventListener('htmx:after:swap', ({ detail: { ctx } }) => {
  const form = ctx?.sourceElement;
  const place = { 'schedule-form': 'schedule-said', 'edit-schedule-form': 'edit-said' }[form?.id];
  if (!place || ctx.response?.status >= 400) return;
  const answer = document.getElementById(place);
  document.getElementById('said')?.replaceChildren(...answer.childNodes);
  form.reset();
  form.closest('dialog').close();
});

const word = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The command line that starts what the form says. */
async function copyCommand(form) {
  const fields = Object.fromEntries(new FormData(form));
  const flags = {
    cwd: 'cwd',
    model: 'model',
    permissionMode: 'permission-mode',
    maxBudgetUsd: 'max-budget-usd',
    maxTurns: 'max-turns',
  };
  const options = Object.entries(flags).flatMap(([name, flag]) =>
    fields[name] ? [`--${flag} ${word(fields[name].trim())}`] : [],
  );
  const tags = fields.tags.split(/[\s,]+/).flatMap((tag) => (tag === '' ? [] : [`--tag ${word(tag)}`]));
  const command = ['perdure run', ...options, ...tags, word(fields.task)].join(' ');
  const place = document.getElementById('task-said');
  try {
    await navigator.clipboard.writeText(command);
    place.textContent = `Copied: ${command}`;
  } catch {
    place.textContent = command;
  }
}

// Views that a person keeps, in this browser.
const VIEWS = 'perdure.views';
const FIRST = [
  { name: 'Stuck or silent', address: '/?tab=stuck' },
  { name: 'Over $5 today', address: '/?q=cost%3E5+age%3C24h+sort%3A-cost' },
  { name: 'Failed', address: '/?tab=failed' },
];
const views = () => JSON.parse(localStorage.getItem(VIEWS) ?? 'null') ?? FIRST;

function keepViews(all) {
  localStorage.setItem(VIEWS, JSON.stringify(all));
  showViews();
}

function showViews() {
  for (const list of document.querySelectorAll('[data-views]')) list.replaceChildren(...viewRows());
}

function viewRows() {
  return views().map(({ name, address }, at) => {
    const row = document.createElement('li');
    const link = document.createElement('a');
    link.href = address;
    link.title = name;
    const text = document.createElement('span');
    text.className = 'cut';
    text.textContent = name;
    const icon = document.getElementById('view-icon')?.content.cloneNode(true);
    const count = document.createElement('b');
    count.className = 'count';
    link.append(...(icon ? [icon] : []), text, count);
    if (`${location.pathname}${location.search}` === address) link.setAttribute('aria-current', 'page');
    const drop = document.createElement('button');
    drop.type = 'button';
    drop.textContent = '×';
    drop.setAttribute('aria-label', `Remove view ${name}`);
    drop.addEventListener('click', () => keepViews(views().filter((_, other) => other !== at)));
    row.append(link, drop);
    return row;
  });
}
document.addEventListener('perdure:keep-view', ({ detail: { name, address } }) =>
  keepViews([...views().filter((view) => view.name !== name), { name, address }]),
);
showViews();
