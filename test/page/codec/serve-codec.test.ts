// Where a codec server listens, with which keys, and what it refuses before it does (D6).
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { copyFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type CodecFlags, serveCodec } from '../../../page/codec/serve-codec.ts';
import { readApiToken } from '../../../page/page-address.ts';
import { newKeys } from '../../support/new-keys.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { CERT, KEY } from '../../support/tls-pair.ts';

function place(more: Record<string, string> = {}) {
  const data = join(tempDir(), 'data');
  mkdirSync(data, { mode: 0o700 });
  const inside = (name: string, text: string): string => {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    return join(data, name);
  };
  copyFileSync(newKeys().path, join(data, 'payload-keys.json'));
  chmodSync(join(data, 'payload-keys.json'), 0o600);
  const files = {
    cert: inside('tls.crt', CERT),
    key: inside('tls.key', KEY),
    tokens: inside('people.json', JSON.stringify([{ name: 'ana', role: 'look', token: 'a'.repeat(40) }])),
  };
  const env = { PERDURE_DATA: data, HOME: data, ...more };
  const open = async (flags: CodecFlags) => {
    const served = await serveCodec({ cwd: () => data, env }, { listen: '127.0.0.1:0', ...flags });
    onTestFinished(() => served.close());
    return served;
  };
  return { data, files, open };
}

test('on this machine it opens what the data folder sealed, for the owner and for people with a token (D6)', async () => {
  const { data, files, open } = place();
  const { url, namespace } = await open({ tokens: files.tokens });
  expect([url.startsWith('http://127.0.0.1:'), namespace]).toEqual([true, 'default']);
  const status = async (token: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-namespace': 'default', authorization: `Bearer ${token}` };
    return (await fetch(`${url}/decode`, { method: 'POST', headers, body: '{"payloads":[]}' })).status;
  };
  expect(await Promise.all([readApiToken(data), 'a'.repeat(40), 'b'.repeat(40)].map(status))).toEqual([200, 200, 401]);
});

test('where other machines reach it, it speaks TLS, and the data folder has no owner there (D6)', async () => {
  const { data, files, open } = place();
  const { url } = await open({ ...files, listen: '0.0.0.0:0' });
  const status = (token: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'x-namespace': 'default',
        authorization: `Bearer ${token}`,
      };
      const at = { host: '127.0.0.1', port: new URL(url).port, path: '/decode', method: 'POST', headers };
      const asking = request({ ...at, servername: 'ops.example', ca: CERT }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asking.once('error', reject);
      asking.end('{"payloads":[]}');
    });
  expect(url).toMatch(/^https:/);
  expect([await status('a'.repeat(40)), await status(readApiToken(data))]).toEqual([200, 401]);
});

test('what is open to others without TLS or people, and what is half said, is refused in one line (D6)', async () => {
  const { data, files, open } = place();
  const outside = join(tempDir(), 'people.json');
  writeFileSync(outside, '[]');
  const issuer = { oidcIssuer: 'https://issuer.example', oidcAudience: 'codec' };
  const wrong: readonly (readonly [CodecFlags, RegExp])[] = [
    [{ listen: '0.0.0.0:0', tokens: files.tokens }, /^--listen 0\.0\.0\.0:0 is open to other machines and needs TLS/],
    [{ listen: '0.0.0.0:0', cert: files.cert, key: files.key }, /needs people who may decode: name them with --tokens/],
    [{ listen: 'here' }, /^--listen is "here": give host:port/],
    [{ cert: files.cert }, /^--cert and --key belong together/],
    [{ tokens: outside }, /^--tokens names .* which the agent's commands can read/],
    [{ tokens: join(data, 'none.json') }, /^--tokens .*none\.json does not exist/],
    [{ origin: ['https://cloud.temporal.io/'] }, /^--origin is .*: give scheme and host alone/],
    [{ origin: ['*'] }, /^--origin is "\*"/],
    [issuer, /^--oidc-issuer, --oidc-audience and --oidc-allow belong together/],
    [{ ...issuer, oidcAllow: ['email'] }, /^--oidc-allow is "email": give claim=value/],
    [{ ...issuer, oidcIssuer: 'issuer', oidcAllow: ['a=b'] }, /^--oidc-issuer "issuer" is no address/],
  ];
  for (const [flags, why] of wrong) await expect(open(flags)).rejects.toThrow(why);
});

test('without the keys of a server of one’s own there is nothing to open (D6)', async () => {
  const { open } = place({ TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_NAMESPACE: 'agents' });
  await expect(open({})).rejects.toThrow(/^payloads on 127\.0\.0\.1:1 are not sealed here: set PERDURE_CODEC_KEYS/);
});
