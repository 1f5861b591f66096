// Sends the token as JSON, which no other site's form can, and goes on to all sessions.

const form = document.getElementById('sign-in');

async function signIn() {
  const line = document.createElement('p');
  line.className = 'bad';
  try {
    const answer = await fetch('/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: form.elements.token.value }),
    });
    if (answer.ok) return location.assign('/');
    line.textContent = await answer.text();
  } catch {
    line.textContent = 'The page’s server does not answer: try again.';
  }
  document.getElementById('said').replaceChildren(line);
}

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  void signIn();
});
