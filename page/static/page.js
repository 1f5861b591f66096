// What every page needs: actions go out as JSON, what came of them is said for a while, and the list of keys opens.

document.addEventListener('htmx:before:request', (event) => {
  const { request } = event.detail.ctx;
  if (request.method === 'GET') return;
  request.headers['Content-Type'] = 'application/json';
  request.body = JSON.stringify(Object.fromEntries(request.body));
});

/** Milliseconds for which a sentence stays; a reader of screens was told it at once. */
const SAID_MS = 8_000;
let clearing = 0;

document.addEventListener('htmx:after:swap', (event) => {
  const status = document.getElementById('said');
  if (!status || !status.textContent) return;
  clearTimeout(clearing);
  clearing = setTimeout(() => status.replaceChildren(), SAID_MS);
  const { ctx } = event.detail;
  const form = ctx?.sourceElement;
  if (!form?.matches?.('#composer, .steer form') || ctx.response?.status >= 400) return;
  form.reset();
  if (form.id === 'composer') document.getElementById('message')?.focus();
});

document.addEventListener('htmx:error', (event) => {
  const status = document.getElementById('said');
  if (!status || event.detail.ctx?.request?.method === 'GET') return;
  const line = document.createElement('p');
  line.className = 'bad';
  line.textContent =
    'The page’s server couldn’t be reached, so this may not have happened. Check before you try again.';
  status.replaceChildren(line);
});

document.addEventListener('click', (event) => {
  const text = event.target.closest?.('[data-copy]')?.dataset.copy;
  if (text !== undefined) void copy(text);
});

async function copy(text) {
  const line = document.createElement('p');
  try {
    await navigator.clipboard.writeText(text);
    line.className = 'good';
    line.textContent = `Copied: ${text}`;
  } catch {
    // The browser lets no page write there: whoever wants it can select it.
    line.className = 'warn';
    line.textContent = text;
  }
  document.getElementById('said')?.replaceChildren(line);
}
