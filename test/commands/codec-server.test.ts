// `perdure codec-server` as a process: the line that it prints, its end, and what it refuses (D6).
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeKeyFile } from '../../connection/payloads/key-ring.ts';
import { cliPlace } from '../support/cli.ts';
import { until } from '../support/until.ts';

test('it says where it listens, answers there, logs nothing of what is asked, and ends on a signal (D6)', async () => {
  const { data, start, run } = cliPlace(null);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  makeKeyFile(join(data, 'payload-keys.json'));
  const server = start(['codec-server', '--listen', '127.0.0.1:0']);
  const [, url = ''] = await until(() => /^codec server of namespace default: (http\S+)\n$/.exec(server.out()));
  const { out: token } = await run('serve', '--token');
  const ask = (authorization: string): Promise<Response> => {
    const headers = { 'content-type': 'application/json', 'x-namespace': 'default', authorization };
    return fetch(`${url}/decode`, { method: 'POST', headers, body: '{"payloads":[]}' });
  };
  expect(await (await ask(`Bearer ${token.trim()}`)).json()).toEqual({ payloads: [] });
  expect((await ask('Bearer wrong')).status).toBe(401);
  server.signal('SIGTERM');
  expect(await server.status).toBe(0);
  expect([server.out().split('\n').length, server.err()]).toEqual([2, '']);
});

test('without keys, or open to others without TLS, it is refused in one line with status 2 (D6)', async () => {
  const { data, run } = cliPlace(null);
  const none = await run('codec-server');
  expect(none.status).toBe(2);
  expect(none.err).toContain(`there are no keys of payloads at ${data}/payload-keys.json: set PERDURE_DATA`);
  const open = await run('codec-server', '--listen', '0.0.0.0:8081');
  expect(open.status).toBe(2);
  expect(open.err).toMatch(/^perdure: --listen 0\.0\.0\.0:8081 is open to other machines and needs TLS: [^\n]*\n$/);
});
