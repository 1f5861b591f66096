// The list of sessions: a filter is an address of its own, and what is done to many names how many they are.

const rows = document.getElementById('rows');
const all = document.getElementById('all');
const picked = document.getElementById('picked');
const said = document.getElementById('said');
const chosen = () => [...(rows?.querySelectorAll('input:checked') ?? [])].map(({ value }) => value);
const many = (count) => (count === 1 ? '1 session' : `${count} sessions`);

function show() {
  const { length } = chosen();
  picked.textContent = length === 0 ? 'None selected' : `${many(length)} selected`;
  for (const button of document.querySelectorAll('[data-bulk]')) button.disabled = length === 0;
}

rows?.addEventListener('change', show);
document.addEventListener('perdure:changed', show);
all?.addEventListener('change', () => {
  for (const box of rows.querySelectorAll('input[type=checkbox]')) box.checked = all.checked;
  show();
});

const verbs = { interrupt: 'Interrupt', resume: 'Resume', cancel: 'Cancel, for good,' };

async function act(action) {
  const sessions = chosen();
  if (sessions.length === 0 || !confirm(`${verbs[action]} ${many(sessions.length)}?`)) return;
  const line = document.createElement('p');
  try {
    const answer = await fetch('/bulk', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ action, sessions }),
    });
    line.textContent = await answer.text();
    line.className = answer.ok ? 'good' : 'bad';
  } catch {
    line.textContent = 'It did not reach the page’s server: look before you try again.';
    line.className = 'bad';
  }
  said.replaceChildren(line);
}

for (const button of document.querySelectorAll('[data-bulk]'))
  button.addEventListener('click', () => void act(button.dataset.bulk));
