// Keeps people from deciding what nobody has read. A decision counts only once it has been on screen for a while; by key, what
// may do harm needs a second, different key; and for some seconds every decision can be taken back, for it is sent after them.

/** Milliseconds that a decision has to be on screen. */
const READ_MS = 500;
/** Milliseconds in which a decision can be taken back. */
const UNDO_MS = 4_000;
/** Milliseconds in which the second key counts. */
const ARMED_MS = 10_000;
const SECOND = 'y';

const CODES = { BracketLeft: '[', BracketRight: ']', Slash: '/' };

/** The key, or on a layout without Latin letters the one in its place. */
export function latinKey({ key, code, shiftKey }) {
  if (key.length !== 1 || key.charCodeAt(0) < 128) return key;
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter) return shiftKey ? letter : letter.toLowerCase();
  return /^Digit(\d)$/.exec(code)?.[1] ?? (code === 'Slash' && shiftKey ? '?' : CODES[code]) ?? key;
}

/** When each decision came on screen. */
const since = new Map();

function begin(decision) {
  since.set(decision, performance.now());
  setTimeout(() => {
    if (isReadable(decision, performance.now())) decision.dataset.readable = '';
  }, READ_MS);
}

function end(decision) {
  since.delete(decision);
  delete decision.dataset.readable;
}

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting || document.hidden) end(target);
    else if (!since.has(target)) begin(target);
  }
});

const watched = new Set();

/** Watches whether these decisions are on screen; those that have gone are forgotten. */
export function watchDecisions(decisions) {
  for (const one of watched) {
    if (one.isConnected) continue;
    watched.delete(one);
    observer.unobserve(one);
    end(one);
  }
  for (const one of decisions) {
    if (watched.has(one)) continue;
    watched.add(one);
    observer.observe(one);
  }
}

// Nobody reads what is in a tab behind another.
document.addEventListener('visibilitychange', () => {
  for (const one of watched) {
    end(one);
    observer.unobserve(one);
    if (!document.hidden) observer.observe(one);
  }
});

export const isReadable = (decision, at) => at - (since.get(decision) ?? Infinity) >= READ_MS;

let armed = null;

function disarm() {
  armed?.line.remove();
  armed = null;
}

/** Does what a key asks for, once the decision was read; what does harm, at the second key. */
export function decideByKey({ timeStamp }, decision, { act, harm }) {
  disarm();
  if (!isReadable(decision, timeStamp)) return;
  if (!harm) return act();
  const line = document.createElement('p');
  line.className = 'armed';
  line.setAttribute('role', 'alert');
  const kbd = document.createElement('kbd');
  kbd.textContent = SECOND;
  line.append(`Allow? It ${harm}. Press `, kbd, ' to allow, or any other key to cancel.');
  (decision.querySelector('.bar') ?? decision).before(line);
  armed = { decision, act, line, since: timeStamp };
}

/** Keys that are held with another one. */
const MODIFIERS = new Set(['Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock', 'Fn', 'Dead', 'Process']);

/** Takes the second key; any other takes the question back and goes on to what it does. */
export function takesSecondKey(event) {
  if (!armed || event.repeat || MODIFIERS.has(event.key)) return false;
  const { decision, act, since: armedAt } = armed;
  const isSecond = latinKey(event) === SECOND && decision.isConnected && event.timeStamp <= armedAt + ARMED_MS;
  // Many words have an "ay": whoever writes one has not read the question between two letters.
  const isTooSoon = isSecond && event.timeStamp - armedAt < READ_MS;
  if (isTooSoon) armed.since = event.timeStamp;
  else disarm();
  if (!isSecond) return false;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!isTooSoon) act();
  return true;
}

/** Says why a changed input cannot be sent; null where it can. */
export function inputProblem(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `The input isn’t valid JSON: ${error.message}. Nothing was sent.`;
  }
}

/** What waits to be sent, oldest first. */
const pending = [];

function place() {
  const known = document.getElementById('held');
  if (known) return known;
  const notice = document.createElement('div');
  notice.id = 'held';
  notice.setAttribute('role', 'status');
  document.getElementById('said').before(notice);
  return notice;
}

/** Shows what was decided, and resolves with whether it is to be sent now: it was not taken back. */
export function holdBack(words) {
  return new Promise((resolve) => {
    const line = document.createElement('p');
    const button = document.createElement('button');
    const kbd = document.createElement('kbd');
    kbd.textContent = 'z';
    button.type = 'button';
    button.className = 'plain';
    button.append('Undo ', kbd);
    line.append(words, ' ', button);
    const settle = (isSent) => {
      clearTimeout(timer);
      line.remove();
      pending.splice(pending.indexOf(one), 1);
      resolve(isSent);
    };
    const one = { send: () => settle(true), undo: () => settle(false) };
    const timer = setTimeout(one.send, UNDO_MS);
    button.addEventListener('click', one.undo);
    pending.push(one);
    place().append(line);
  });
}

/** Takes the last decision back that was not sent; false when there is none. */
export function undoLast() {
  const last = pending.at(-1);
  last?.undo();
  return last !== undefined;
}

// Whoever leaves the page has decided, and the browser sends it all the same (keepalive).
addEventListener('pagehide', () => pending.slice().forEach(({ send }) => send()));

/** Bytes: browsers refuse to send more than 64 KiB while a page is left. */
const MOST_KEPT_ALIVE = 60_000;

/** Resolves with what was said and whether it was done. */
export async function post(path, body) {
  const text = JSON.stringify(body);
  try {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: text,
      keepalive: new Blob([text]).size < MOST_KEPT_ALIVE,
    });
    const answered = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json');
    const done = isJson ? JSON.parse(answered) : { said: plain(answered) };
    return { ...done, ok: answer.ok };
  } catch {
    const problem = 'The page’s server couldn’t be reached, so this may not have happened. Check before you try again.';
    return { said: problem, ok: false };
  }
}

const plain = (html) => new DOMParser().parseFromString(html, 'text/html').body.textContent ?? '';
