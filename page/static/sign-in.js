// Sends the token, or the code of the address, as JSON, which no other site's form can. A page of this machine answers with a pass: a request
// that is made with it lets the browser keep it in memory, as it does what people type in for HTTP authentication, and send it from then on.

const form = document.getElementById('sign-in');
const code = new URLSearchParams(location.search).get('code');

async function signIn(token) {
  const line = document.createElement('p');
  line.className = 'bad';
  try {
    const answer = await fetch('/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    if (answer.ok) {
      const { pass } = await answer.json();
      if (pass === undefined || (await keep(pass))) return location.replace(`${location.origin}${next()}`);
      line.textContent = 'This browser keeps no HTTP authentication: use another one.';
    } else line.textContent = await answer.text();
  } catch {
    line.textContent = 'The page’s server isn’t responding. Try again.';
  }
  document.getElementById('said').replaceChildren(line);
}

function keep(pass) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('GET', '/entered', true, 'perdure', pass);
    request.onloadend = () => resolve(request.status === 200);
    request.send();
  });
}

const next = () => (/^\/sessions\/[\w.-]+$/.test(location.pathname) ? location.pathname : '/');

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  void signIn(form.elements.token.value);
});

if (code !== null) {
  history.replaceState(null, '', location.pathname);
  void signIn(code);
}
