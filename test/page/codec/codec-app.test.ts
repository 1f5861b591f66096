// What a codec server opens, for whom, and what it refuses: without a port, and with tokens of an
// issuer that the test is (D6).
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, afterAll, expect, test } from 'vitest';
import { openNetwork } from '../../../connection/network/network.ts';
import type { KeyRing } from '../../../connection/payloads/key-ring.ts';
import { createSealingCodec } from '../../../connection/payloads/sealing-codec.ts';
import { codecApp, type CodecSettings } from '../../../page/codec/codec-app.ts';
import { openOidc } from '../../../page/codec/oidc.ts';

const NAMESPACE = 'agents';
const ORIGIN = 'https://cloud.temporal.io';
const only = { id: '1f0a66c2', key: randomBytes(32) };
const keys: KeyRing = { path: 'nowhere', active: () => only, find: (id) => (id === only.id ? only : undefined) };
const token = (role: string): string => `${role}-`.padEnd(40, '0');
const people = (['look', 'decide', 'steer'] as const).map((role) => ({ name: role, role, token: token(role) }));

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const plain = (value: unknown) => ({
  metadata: { encoding: base64('json/plain') },
  data: base64(JSON.stringify(value)),
});

type Json = { readonly metadata: Readonly<Record<string, string>>; readonly data: string };

async function sealed(value: unknown, workflowId = 's-1', namespace = NAMESPACE): Promise<Json> {
  const codec = createSealingCodec(keys, () => undefined);
  const data = Buffer.from(JSON.stringify(value));
  const payload = { metadata: { encoding: Buffer.from('json/plain') }, data };
  const [{ metadata, data: bytes } = {}] = await codec.encode([payload], { type: 'workflow', namespace, workflowId });
  const entries = Object.entries(metadata ?? {}).map(([name, one]) => [name, Buffer.from(one).toString('base64')]);
  return {
    metadata: Object.fromEntries(entries) as Json['metadata'],
    data: Buffer.from(bytes ?? []).toString('base64'),
  };
}

const valueOf = ({ data }: Json): unknown => JSON.parse(Buffer.from(data, 'base64').toString());

function asking(more: Partial<CodecSettings> = {}) {
  const app = codecApp({ keys, namespace: NAMESPACE, people, origins: [ORIGIN], encodes: false, ...more });
  return async (payloads: unknown, headers: object = {}, path = '/decode') => {
    const body = typeof payloads === 'string' ? payloads : JSON.stringify({ payloads });
    const usual = { 'content-type': 'application/json', 'x-namespace': NAMESPACE };
    const answer = await app.request(path, { method: 'POST', headers: { ...usual, ...headers }, body });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
}

const as = (role: string) => ({ authorization: `Bearer ${token(role)}` });
const payloadsOf = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { readonly payloads: readonly Json[] }).payloads;

test('sealed payloads are opened for whoever may look, in their order, and others come back as they were (D6)', async () => {
  const other = plain('not sealed');
  const unnamed = { ...as('look'), 'x-namespace': '' };
  const answer = await asking()([await sealed({ a: 'ä' }), other, await sealed(2, 's-2')], unnamed);
  expect(answer.status).toBe(200);
  const [one, two, three] = payloadsOf(answer);
  expect([valueOf(one!), two, valueOf(three!)]).toEqual([{ a: 'ä' }, other, 2]);
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

test('what cannot be opened says why in its own place, and the others are opened (D6)', async () => {
  const good = await sealed('good');
  const bytes = Buffer.from(good.data, 'base64');
  bytes[bytes.length - 1]! ^= 1;
  const { 'perdure-place': place = '', ...unnamed } = good.metadata;
  const moved = Buffer.from(place, 'base64').toString().replace('s-1', 's-2');
  const strange = [
    [{ ...good, data: bytes.toString('base64') }, 'was not sealed with key'],
    [{ ...good, metadata: { ...good.metadata, 'perdure-place': base64(moved) } }, 'was not sealed with key'],
    [{ ...good, metadata: unnamed }, 'names no place'],
    [await sealed('theirs', 's-1', 'others'), 'is not of namespace agents'],
    [{ ...good, metadata: { ...good.metadata, 'perdure-place': base64('{}') } }, 'is not of namespace agents'],
    [{ ...good, data: base64('short') }, 'in a format that this version does not know'],
  ] as const;
  const answer = await asking()([...strange.map(([payload]) => payload), good], as('look'));
  expect(answer.status).toBe(200);
  const opened = payloadsOf(answer).map(valueOf);
  for (const [at, [, why]] of strange.entries())
    expect(opened[at]).toMatchObject({ 'perdure:undecodable': { why: expect.stringContaining(why) as string } });
  expect(opened.at(-1)).toBe('good');
});

test('a stranger, a wrong token, namespace, body, type or path gets one line and nothing opened (D6)', async () => {
  const ask = asking();
  const payloads = [await sealed('secret')];
  const refused = [
    [await ask(payloads), 401],
    [await ask(payloads, { authorization: `Bearer ${'x'.repeat(40)}` }), 401],
    [await ask(payloads, { authorization: `Basic ${base64(`a:${token('look')}`)}` }), 401],
    [await ask(payloads, { authorization: 'Bearer a.b.c' }), 401],
    [await ask(payloads, { ...as('look'), 'x-namespace': 'others' }), 403],
    [await ask(payloads, { ...as('look'), 'content-type': 'text/plain' }), 415],
    [await ask('no json', as('look')), 400],
    [await ask('{"payloads":[1]}', as('look')), 400],
    [await ask(payloads, as('look'), '/'), 404],
    [await ask(payloads, as('steer'), '/encode'), 403],
  ] as const;
  expect(refused.map(([{ status }]) => status)).toEqual(refused.map(([, status]) => status));
  for (const [{ text }] of refused) {
    expect(text).toMatch(/^[^\n]+$/);
    expect(text).not.toContain('secret');
  }
});

test('a body over 16 MB is refused, and that of a stranger is not read (D6)', async () => {
  const large = JSON.stringify({ payloads: [plain('x'.repeat(17 * 1024 * 1024))] });
  expect(await asking()(large, as('look'))).toMatchObject({ status: 413, text: 'the body is over 16 MB' });
  expect((await asking()(large)).status).toBe(401);
});

test('pages of named sites may ask, after a preflight, and those of others may not (D6)', async () => {
  const app = codecApp({ keys, namespace: NAMESPACE, people, origins: [ORIGIN], encodes: false });
  const preflight = (origin: string) =>
    app.request('/decode', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-private-network': 'true' },
    });
  const { status, headers } = await preflight(ORIGIN);
  expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([204, ORIGIN, 'Origin']);
  expect(headers.get('access-control-allow-headers')).toContain('Authorization, Content-Type, X-Namespace');
  expect(headers.get('access-control-allow-private-network')).toBe('true');
  expect(headers.get('access-control-allow-credentials')).toBeNull();
  for (const origin of ['https://evil.example', 'null', `${ORIGIN}.evil.example`]) {
    const refused = await preflight(origin);
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    expect((await asking()([await sealed('secret')], { ...as('look'), origin })).status).toBe(403);
  }
  const answer = await asking()([await sealed('seen')], { ...as('look'), origin: ORIGIN });
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN]);
});

test('payloads are sealed only where that was asked for, by who may steer, for the workflow that is named (D6)', async () => {
  const ask = asking({ encodes: true });
  const named = { 'x-workflow-id': 's-1' };
  expect((await ask([plain('x')], { ...as('decide'), ...named }, '/encode')).status).toBe(403);
  expect((await ask([plain('x')], as('steer'), '/encode')).status).toBe(400);
  const made = payloadsOf(await ask([plain('x')], { ...as('steer'), ...named }, '/encode'));
  expect(JSON.stringify(made)).not.toContain(base64('"x"'));
  expect(payloadsOf(await ask(made, as('look'))).map(valueOf)).toEqual(['x']);
});

let server: Server;
let issuer = '';
let signing: Awaited<ReturnType<typeof generateKeyPair>>;

beforeAll(async () => {
  signing = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(signing.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  server = createServer((request, response) => {
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}jwks` },
      '/jwks': { keys: [jwk] },
    };
    const found = documents[request.url ?? ''];
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterAll(() => void server.close());

const EMAIL = 'https://saas-api.tmprl.cloud/user/email';
const claims = { [EMAIL]: 'ana@example.com', groups: ['readers'] };

function tokenOf(
  more: object = {},
  { audience = 'codec', from = issuer, expires = '5m', key = signing.privateKey } = {},
) {
  return new SignJWT({ ...claims, ...more })
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setIssuer(from)
    .setAudience(audience)
    .setExpirationTime(expires)
    .sign(key);
}

async function withIssuer() {
  const network = openNetwork({});
  const allowed = [
    [EMAIL, 'ana@example.com'],
    ['groups', 'admins'],
  ] as const;
  const judge = await openOidc({ issuer, audience: 'codec', allowed }, network);
  const ask = asking({ judge, encodes: true });
  const payloads = [await sealed('seen')];
  const bearer = (jwt: string, path?: string) => ask(payloads, { authorization: `Bearer ${jwt}` }, path);
  return { bearer };
}

test('tokens of an OpenID provider open payloads for those who are named, and seal none (D6)', async () => {
  const { bearer } = await withIssuer();
  expect(payloadsOf(await bearer(await tokenOf())).map(valueOf)).toEqual(['seen']);
  expect((await bearer(await tokenOf({ [EMAIL]: 'else@example.com', groups: ['a', 'admins'] }))).status).toBe(200);
  expect((await bearer(await tokenOf(), '/encode')).status).toBe(403);
});

test('a token that is forged, expired, unsigned, for another audience or of somebody else opens nothing (D6)', async () => {
  const { bearer } = await withIssuer();
  const others = await generateKeyPair('RS256');
  const secret = new TextEncoder().encode('a secret that is long enough for HS256');
  const withoutEnd = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' });
  const good = await tokenOf();
  const bad = {
    'another key': await tokenOf({}, { key: others.privateKey }),
    'another audience': await tokenOf({}, { audience: 'else' }),
    'another issuer': await tokenOf({}, { from: 'https://evil.example/' }),
    expired: await tokenOf({}, { expires: '-1m' }),
    'no end': await withoutEnd.setIssuer(issuer).setAudience('codec').sign(signing.privateKey),
    'alg none': new UnsecuredJWT(claims).setIssuer(issuer).setAudience('codec').setExpirationTime('5m').encode(),
    'a shared secret': await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience('codec')
      .setExpirationTime('5m')
      .sign(secret),
    changed: `${good.slice(0, -4)}AAAA`,
    'somebody else': await tokenOf({ [EMAIL]: 'eve@example.com' }),
    'a claim that contains the name': await tokenOf({ [EMAIL]: { 'ana@example.com': true } }),
    'no token': 'a.b.c',
  };
  for (const [what, jwt] of Object.entries(bad)) {
    const { status, text } = await bearer(jwt);
    expect([what, status]).toEqual([what, 401]);
    expect(text).toMatch(/^[^\n]+$/);
  }
});

test('an address that the provider has not verified opens nothing (D6)', async () => {
  const judge = await openOidc(
    { issuer, audience: 'codec', allowed: [['email', 'ana@example.com']] as const },
    openNetwork({}),
  );
  const email = 'ana@example.com';
  for (const email_verified of [false, 'false', null, 0])
    expect(await judge(await tokenOf({ email, email_verified }))).toMatch(/^nobody named/);
  for (const more of [{ email }, { email, email_verified: true }, { email, email_verified: 'true' }])
    expect(await judge(await tokenOf(more))).toBeNull();
});

test('a defect is logged with its place, without anything of a payload (D6)', async () => {
  const lines: string[] = [];
  const find = (): never => {
    throw new TypeError('a secret word');
  };
  const broken: KeyRing = { ...keys, active: find, find };
  const log = (line: string): unknown => lines.push(line);
  const ask = asking({ keys: broken, encodes: true, log });
  const { status, text } = await ask([plain(1)], { ...as('steer'), 'x-workflow-id': 's-1' }, '/encode');
  expect([status, text]).toEqual([500, 'it failed']);
  expect(lines).toEqual([expect.stringMatching(/^POST \/encode failed: TypeError at /)]);
  expect(lines.join('\n')).not.toContain('secret');
});

test('an issuer that is wrong, unreachable or not safe is refused in one line before anything is served (D6)', async () => {
  const open = (from: string) =>
    openOidc({ issuer: from, audience: 'codec', allowed: [['email', 'a']] }, openNetwork({}));
  await expect(open(issuer.slice(0, -1))).rejects.toThrow(/^--oidc-issuer is [^\n]*, and its discovery document names/);
  await expect(open(`${issuer}else/`)).rejects.toThrow(/cannot be read \(status 404\): correct --oidc-issuer$/);
  await expect(open('http://issuer.example/')).rejects.toThrow(/ isn't https: give one that is$/);
});
