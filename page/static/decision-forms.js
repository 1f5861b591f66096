// Decisions by a form: at the foot of a session, and above the list of sessions. Whatever sends the form (a click, Enter, a key), it is
// sent after a while in which it can be taken back, and only about the input that was shown.
import { holdBack, inputProblem, isReadable, post, watchDecisions } from './deciding.js';

const DECISION = '.decision, .need';

/** Ids of decisions that are not sent yet. */
const deciding = new Set();

function mark() {
  const all = document.querySelectorAll(DECISION);
  for (const one of all) one.toggleAttribute('data-leaving', deciding.has(one.id));
  watchDecisions(all);
}

document.addEventListener(
  'submit',
  (event) => {
    const { target: form, submitter } = event;
    const decision = form.closest(DECISION);
    if (form.dataset.decides === undefined || !decision) return;
    event.preventDefault();
    if (deciding.has(decision.id) || !isReadable(decision, event.timeStamp)) return;
    const body = Object.fromEntries(new FormData(form, submitter));
    // What nobody has changed the server knows, however large it is.
    const field = form.elements.namedItem('input');
    if (field?.value === field?.defaultValue) delete body.input;
    const problem = body.input === undefined ? null : inputProblem(body.input);
    if (problem !== null) return tell(problem, 'bad');
    void sendLater(decision, form.dataset.decides, body);
  },
  true,
);

// The second click of a double one was meant for the call before.
document.addEventListener(
  'click',
  (event) => {
    if (event.detail > 1 && event.target.closest?.('form[data-decides] button')) event.preventDefault();
  },
  true,
);

const WORDS = { approve: 'Allowed', deny: 'Denied' };

async function sendLater({ id, dataset: { hash, what } }, path, body) {
  deciding.add(id);
  mark();
  const isSent = await holdBack(`${WORDS[path.split('/').at(-1)] ?? 'Answered'}: ${what}.`);
  const isSame = document.getElementById(id)?.dataset.hash === hash;
  const sent = !isSent ? BACK : isSame ? await post(path, body) : GONE;
  deciding.delete(id);
  mark();
  tell(sent.said, sent.ok ? 'good' : isSent ? 'bad' : 'quiet');
}

const BACK = { said: 'Undone.', ok: false };
const GONE = { said: 'Decided elsewhere, or its input changed. Nothing was sent.', ok: false };

function tell(text, kind) {
  const line = document.createElement('p');
  line.className = kind;
  line.textContent = text;
  document.getElementById('said').replaceChildren(line);
  setTimeout(() => line.remove(), 8_000);
}

/** Begins to watch the decisions of the page. */
export function watchForms() {
  mark();
  for (const name of ['perdure:changed', 'perdure:drawn']) document.addEventListener(name, mark);
}
