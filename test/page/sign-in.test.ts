// How browsers are let in to a page of this machine: by a code that is good once, or by a token,
// neither of which stays in an address.
import { expect, test } from 'vitest';
import { ownAccess } from '../../page/hosting/access.ts';
import { codeTaker, CODE_MINUTES, isPass, newCode, newPass } from '../../page/hosting/passes.ts';
import { basic, PAGE_HOST, SECRETS, stagedPage } from '../support/page-ports.ts';

const NAME = PAGE_HOST.replace(/:\d+$/, '');
const STALE = `This address was already used, or is more than ${CODE_MINUTES} minutes old. Print a new one with \`perdure page --address\`.`;
const ana = { name: 'ana', role: 'look', token: 'a'.repeat(40) } as const;

async function stranger() {
  const { ask } = await stagedPage(
    {},
    ownAccess(SECRETS, () => PAGE_HOST, { people: [ana] }),
  );
  const own = { authorization: '', origin: `http://${PAGE_HOST}`, 'content-type': 'application/json' };
  return {
    get: (path: string, headers: Readonly<Record<string, string>> = {}) =>
      ask(path, { headers: { authorization: '', accept: 'text/html', ...headers } }),
    sign: (token: string, headers: Readonly<Record<string, string>> = {}) =>
      ask('/sign-in', { method: 'POST', headers: { ...own, ...headers }, body: JSON.stringify({ token }) }),
  };
}

test('a code is exchanged for a pass once, and the second time a sentence says how to get another (O12)', async () => {
  const { get, sign } = await stranger();
  const code = newCode(SECRETS, 'printed');
  const page = await get(`/sessions/s-1?code=${code}`);
  expect([page.status, page.headers.get('set-cookie')]).toEqual([200, null]);
  expect(await page.text()).toContain('/static/sign-in.js');
  const answer = await sign(code);
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null]);
  const { pass } = (await answer.json()) as { readonly pass: string };
  expect((await get('/', { authorization: basic(pass) })).status).toBe(200);
  const again = await sign(code);
  expect([again.status, await again.text()]).toEqual([401, STALE]);
});

test('no token and no secret lets anybody in from an address (O12)', async () => {
  const { get, sign } = await stranger();
  for (const secret of [SECRETS.key, SECRETS.apiToken, ana.token, newPass(SECRETS.key, NAME)]) {
    for (const name of ['token', 'code']) {
      const { status, headers } = await get(`/?${name}=${secret}`);
      expect([status === 303 ? headers.get('location') : 200, headers.get('set-cookie')]).toEqual([
        name === 'token' ? '/sign-in' : 200,
        null,
      ]);
    }
  }
  for (const secret of [SECRETS.key, SECRETS.apiToken, newPass(SECRETS.key, NAME)])
    expect((await sign(secret)).status).toBe(401);
});

test('whoever is in already goes where a printed address leads, and its code is used up (O12)', async () => {
  const { get, sign } = await stranger();
  const inside = { authorization: basic(newPass(SECRETS.key, NAME)) };
  const code = newCode(SECRETS, 'printed');
  const led = await get(`/sessions/s-1?code=${code}`, inside);
  expect([led.status, led.headers.get('location')]).toEqual([303, '/sessions/s-1']);
  expect((await sign(code)).status).toBe(401);
});

test('people of this machine sign in with their tokens, and may do what their role may (O12)', async () => {
  const { get, sign } = await stranger();
  expect(await (await get('/sign-in')).text()).toContain('Your token');
  const led = await get('/sessions/s-1');
  expect([led.status, led.headers.get('location')]).toEqual([303, '/sign-in']);
  const { pass } = (await (await sign(ana.token)).json()) as { readonly pass: string };
  expect((await get('/', { authorization: basic(pass) })).status).toBe(200);
  expect(isPass(SECRETS.key, NAME, pass)).toBe(false);
  for (const wrong of ['guess', '', newCode({ ...SECRETS, key: ana.token }, 'printed')])
    expect((await sign(wrong)).status).toBe(401);
  expect((await sign(ana.token, { origin: 'https://evil.example' })).status).toBe(403);
});

test('a browser is asked for HTTP authentication in one place alone, so that no other opens a prompt (O12)', async () => {
  const { get } = await stranger();
  const asks = async (path: string) => (await get(path, { accept: '*/*' })).headers.get('www-authenticate');
  expect(await asks('/entered')).toBe('Basic realm="Perdure"');
  for (const path of ['/', '/live', '/sign-in', '/sessions/s-1', '/static/style.css'])
    expect(await asks(path)).toBeNull();
});

test.each([
  ['an image of another site', 403, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }],
  ['a frame of another port', 403, { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' }],
  ['a link of another site', 200, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }],
  ['the page itself', 200, { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }],
] as const)('%s is answered with %i, though the browser sends what lets it in (O12)', async (_, status, headers) => {
  const { ask } = await stagedPage();
  expect((await ask('/', { headers })).status).toBe(status);
});

test('a code is good for ten minutes and for one run of one page; a pass for thirty days and one page (O12)', () => {
  let now = 1_000_000;
  const taken = codeTaker(SECRETS, () => now);
  const take = (code: string): boolean => taken(code, () => false) === 'good';
  const [first, second] = [newCode(SECRETS, 'printed', now), newCode(SECRETS, 'printed', now)];
  for (const other of [
    { ...SECRETS, run: 'x'.repeat(32) },
    { ...SECRETS, key: 'x'.repeat(32) },
  ])
    expect(take(newCode(other, 'printed', now))).toBe(false);
  now += CODE_MINUTES * 60_000 - 1;
  expect([take(first), take(first)]).toEqual([true, false]);
  now += 1;
  expect(take(second)).toBe(false);
  const [begun, day] = [now, 24 * 60 * 60_000];
  const pass = newPass(SECRETS.key, NAME, begun);
  const holds = (name: string, days: number): boolean => isPass(SECRETS.key, name, pass, begun + days * day);
  expect([holds(NAME, 29), holds(NAME, 30), holds('other.localhost', 0)]).toEqual([true, false, false]);
});

test('a code that was changed in any character, cut or longer opens nothing, and is not used up by that (O12)', () => {
  const taken = codeTaker(SECRETS);
  const take = (code: string): boolean => taken(code, () => false) === 'good';
  const code = newCode(SECRETS, 'printed');
  for (let at = 0; at < code.length; at++) {
    const other = code[at] === 'a' ? 'b' : 'a';
    expect(take(`${code.slice(0, at)}${other}${code.slice(at + 1)}`), String(at)).toBe(false);
    expect(take(code.slice(0, at)), String(at)).toBe(false);
  }
  for (const other of [`${code}a`, ` ${code}`, `${code}\n`, code.toUpperCase(), `0${code}`])
    expect(take(other), other).toBe(false);
  expect([take(code), take(code)]).toEqual([true, false]);
});

test('a code of an address that a browser is started with works for this user alone, once, within two minutes (O12)', () => {
  let now = 1_000_000;
  const take = codeTaker(SECRETS, () => now);
  const [first, second] = [newCode(SECRETS, 'opened', now), newCode(SECRETS, 'opened', now)];
  expect(take(first, () => false)).toBe('of another user');
  expect([take(first, () => true), take(first, () => true)]).toEqual(['good', 'stale']);
  now += 2 * 60_000;
  expect(take(second, () => true)).toBe('stale');
});
