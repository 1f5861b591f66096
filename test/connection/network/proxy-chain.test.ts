// The model's connection through a proxy that others made, which wants a name and password.
import type { lookup } from 'node:dns';
import https from 'node:https';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Server } from 'proxy-chain';
import { expect, onTestFinished, test } from 'vitest';
import { attemptReply } from '../../../activities/model/attempt-reply.ts';
import { openModelAccess } from '../../../worker/model-access.ts';
import { createRedactor } from '../../../worker/redact.ts';
import { classifyFailure } from '../../../activities/model/classify.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { CERT, KEY } from '../../support/tls-pair.ts';

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const REPLY = [
  event('message_start', {
    message: { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage: {} },
  }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Hi.' } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: {} }),
].join('');

/** Wherever a name leads in the world. */
const toThisMachine: typeof lookup = ((
  _name: string,
  options: { all?: boolean },
  done: (...found: unknown[]) => void,
) => (options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4))) as never;

/** A model behind TLS, and a proxy that leads to it and wants `me` and `canary`. */
async function behindProxy() {
  const asked: string[] = [];
  const model = https.createServer({ cert: CERT, key: KEY }, (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(REPLY);
  });
  await new Promise<void>((resolve) => void model.listen(0, '127.0.0.1', resolve));
  const { port } = model.address() as AddressInfo;
  const proxy = new Server({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ hostname, username, password }) => {
      asked.push(hostname);
      return { requestAuthentication: username !== 'me' || password !== 'canary', dnsLookup: toThisMachine };
    },
  });
  await proxy.listen();
  onTestFinished(async () => {
    await proxy.close(true);
    model.closeAllConnections();
    model.close();
  });
  const ca = join(tempDir(), 'ca.pem');
  writeFileSync(ca, CERT);
  const env = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: `https://ops.example:${port}`, NODE_EXTRA_CA_CERTS: ca };
  return { env, asked, at: `127.0.0.1:${proxy.port}` };
}

async function attempt(env: NodeJS.ProcessEnv) {
  const access = await openModelAccess(env);
  onTestFinished(() => access.close());
  const nothing = (): void => {};
  return attemptReply(
    { model: 'm', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'Hi.' }] },
    {
      model: access.model,
      signal: new AbortController().signal,
      firstByteMs: 60_000,
      stallMs: 60_000,
      graceMs: 0,
      plan: () => ({ safe: false, plan: 'regular', run: () => Promise.resolve(null) }),
      say: { start: nothing, text: nothing, thinking: nothing, call: nothing, search: nothing },
    },
  );
}

test('a reply comes through a tunnel of proxy-chain, by name and password (X5)', async () => {
  const { env, asked, at } = await behindProxy();
  expect(await attempt({ ...env, HTTPS_PROXY: `http://me:canary@${at}` })).toMatchObject({ kind: 'judged' });
  expect(asked).toEqual(['ops.example']);
});

test('with a wrong password the failure names the proxy, and neither password (X5)', async () => {
  const { env, at } = await behindProxy();
  const given = { ...env, HTTPS_PROXY: `http://me:canary-wrong@${at}` };
  const attempted = await attempt(given);
  if (attempted.kind !== 'failed') throw new Error(attempted.kind);
  const verdict = classifyFailure(attempted.error, 0, createRedactor(given));
  expect(verdict).toMatchObject({
    kind: 'retry',
    detail: `no answer from the model API: the proxy ${at} (HTTPS_PROXY) wants a name and password, or others: http://NAME:PASSWORD@${at}`,
  });
});
