// A model server that repeats the key it was sent, in any place and spelling, and an address that
// holds one: nothing that is shown or stored has it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { main } from '../../cli/main.ts';
import type { Io } from '../../cli/cli.ts';
import { createRedactor } from '../../worker/redact.ts';
import { harness } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';

/** In the middle of all secrets, so that a piece of one is found as well. */
const CANARY = 'C4n4ry';
const KEY = `${CANARY}-sk-"quoted"+/=~${CANARY}`;
const QUERY = `gate ${CANARY}/+way`;
const HEADERS = { 'content-type': 'text/event-stream' };

const spellings = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  encodeURIComponent(encodeURIComponent(secret)),
  Array.from(secret, (each) => `%${each.charCodeAt(0).toString(16)}`).join(''),
  Array.from(secret, (each) => String.raw`\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  JSON.stringify(secret),
  JSON.stringify(JSON.stringify(secret)),
  ...['', ':', 'me:', 'key'].map((before) => Buffer.from(`${before}${secret}`).toString('base64')),
  Buffer.from(`${secret}>>>???`).toString('base64url'),
];

const ECHO = ['you sent', ...[KEY, QUERY].flatMap(spellings), new URLSearchParams({ key: QUERY }), 'and no more'].join(
  ' ',
);

/** Whether it has a piece of a secret, by no means of the product's. */
function leaks(text: string): boolean {
  const unescaped = text
    .replaceAll('%25', '%')
    .replace(/(?:%|\\+u00)([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  const encoded = [0, 1, 2].map((offset) =>
    Buffer.from(`${'.'.repeat(offset)}${CANARY}`)
      .toString('base64')
      .slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + CANARY.length) * 8) / 6)),
  );
  return [CANARY, ...encoded].some((piece) => unescaped.includes(piece));
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

async function serverThat(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, request));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const event = (type: string, data: unknown): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const usage = { input_tokens: 1, output_tokens: 1 };
const began = (model: string): string => {
  const message = { id: 'm', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage };
  return event('message_start', { type: 'message_start', message });
};
const ended = (stop_reason: string): string =>
  event('message_delta', { type: 'message_delta', delta: { stop_reason }, usage }) +
  event('message_stop', { type: 'message_stop' });
const saying = (text: string): string =>
  event('content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text } }) +
  event('content_block_stop', { type: 'content_block_stop', index: 0 });

const streamed =
  (...events: readonly string[]): Answer =>
  (response) =>
    void response.writeHead(200, HEADERS).end(events.join(''));
const refusing =
  (status: number, body: string): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(body);
const apiError = (type: string, message: string): unknown => ({ type: 'error', error: { type, message } });

const echoes: Readonly<Record<string, Answer>> = {
  'a 400': refusing(400, JSON.stringify(apiError('invalid_request_error', ECHO))),
  'a 400 of another shape': refusing(400, JSON.stringify({ detail: [ECHO, { deep: ECHO }] })),
  'a 401 as text': refusing(401, ECHO),
  'a 401 that quotes the request': (response, { url, headers }) =>
    refusing(401, `${url} ${JSON.stringify(headers)} ${ECHO}`)(response, {} as IncomingMessage),
  'a 404, of which another model is told': refusing(404, ECHO),
  'a 529': refusing(529, JSON.stringify(apiError('overloaded_error', ECHO))),
  'a secret at the end of what is kept of a long page': refusing(403, `${'x'.repeat(1_985)}${KEY} ${ECHO}`),
  headers: (response) => void response.writeHead(500, KEY.replaceAll('"', ''), { 'request-id': KEY, 'x-k': KEY }).end(),
  'a stream that breaks off with an error': streamed(began('m'), event('error', apiError('api_error', ECHO))),
  'an event that is no JSON': streamed(`event: message_start\ndata: ${KEY}\n\n`),
  'an event of an unknown type': streamed(event('message_start', { type: ECHO })),
  'a block event without an index': streamed(
    began('m'),
    event('content_block_start', { type: `content_block_${ECHO}` }),
  ),
  'the name of the model, of a reply without anything': streamed(began(ECHO), ended('end_turn')),
  'the name of the model, of a full window': streamed(began(ECHO), ended('model_context_window_exceeded')),
  'the words of a refusal': streamed(began('m'), saying(ECHO), ended('refusal')),
};

describe('a model server repeats the key that it was sent', () => {
  test.each(Object.entries(echoes))('in %s, and it is neither shown nor stored', async (_what, answer) => {
    const url = await serverThat(answer);
    const warnings: string[] = [];
    const query = new URLSearchParams({ key: QUERY });
    const env = { PATH: process.env.PATH, ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${url}/?${query.toString()}` };
    const defaults = { fallbackModels: ['claude-haiku-4-5'] };
    const h = await harness({
      script: [],
      worker: { env, defaults, log: (...line) => void warnings.push(JSON.stringify(line)) },
    });
    const session = await h.open('Do it.');
    const run = await session.ended(1);
    expect(['completed', 'blocking_limit']).not.toContain(run.terminal.reason);
    const history = textsIn(await session.handle.fetchHistory());
    const shown = [JSON.stringify(run), warnings.join('\n'), h.liveText(session.id), history];
    for (const text of [...shown, ...filesIn(dirname(h.storePlace))]) expect(leaks(text), text).toBe(false);
    expect(history).toContain('Do it.');
  });
});

describe('an address with credentials', () => {
  const address = `https://user-${CANARY}:${encodeURIComponent(KEY)}@127.0.0.1:9/v1?key=${CANARY}-${CANARY}&k=${CANARY}#${CANARY}`;

  test.each([
    ['with a password', address, /missing +model +ANTHROPIC_BASE_URL has a name or password in it/],
    ['with a key in its query', address.replace(/\/\/.*@/, '//'), /ok +model +.* at https:\/\/127\.0\.0\.1:9\/v1\?…\n/],
    ['that is none', `${CANARY} ${address}`, /missing +model +ANTHROPIC_BASE_URL is not an http or https address/],
  ])('%s is not repeated by doctor', async (_what, url, said) => {
    const { out, err } = await perdure(['doctor'], { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url });
    expect(out).toMatch(said);
    expect(leaks(out + err)).toBe(false);
  });

  test('is not in what a command that fails says', async () => {
    const { err } = await perdure(['show', `../${KEY}`, '--verbose'], { ANTHROPIC_API_KEY: KEY });
    expect(err).toContain('[redacted]');
    expect(leaks(err)).toBe(false);
  });
});

test('what is no secret, or too short for one, stays as it is', () => {
  const redact = createRedactor({ ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/v1?v=1' });
  expect(redact('400: the key at http://127.0.0.1:9/v1?v=1 is wrong')).toBe(
    '400: the key at http://127.0.0.1:9/v1?v=1 is wrong',
  );
  expect(createRedactor({ ANTHROPIC_AUTH_TOKEN: KEY })(`Bearer ${KEY}, twice: ${KEY}.`)).toBe(
    'Bearer [redacted], twice: [redacted].',
  );
});

async function perdure(args: readonly string[], env: Readonly<Record<string, string>>) {
  const [out, err] = [collected(), collected()];
  const all = { PATH: process.env.PATH, HOME: tempDir(), PERDURE_DATA: join(tempDir(), 'data'), ...env };
  const io = { stdout: out.stream, stderr: err.stream, stdin: Readable.from([]), env: all, cwd: () => tempDir() };
  await main(args, io as unknown as Io);
  return { out: out.text(), err: err.text() };
}

function collected(): { readonly stream: Writable; readonly text: () => string } {
  const parts: string[] = [];
  const write: NonNullable<ConstructorParameters<typeof Writable>[0]>['write'] = (chunk, _encoding, done) => {
    parts.push(String(chunk));
    done();
  };
  return { stream: new Writable({ write }), text: () => parts.join('') };
}

function filesIn(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return files.map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'));
}

/** All texts of a history, those in payloads too. */
function textsIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textsIn).join('\n');
}
