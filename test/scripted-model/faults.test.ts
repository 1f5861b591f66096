import { APIConnectionError, APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { fault, gate, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import type { Fault } from '../../scripted-model/index.ts';
import { hello, model, parseSse, post, received, refusal, sdk } from './support.ts';

const stream = { ...hello, stream: true } as const;
const names = (bytes: Buffer) => parseSse(bytes.toString()).map(({ event }) => event);

test.each([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [502, 'api_error'],
  [503, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])('status %i arrives with its error type, and is no problem', async (status, type) => {
  const server = await model([fault({ status })]);
  const error = await sdk(server)
    .messages.create(hello)
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ status, type });
  expect(server.problems).toEqual([]);
});

test('retry-after and x-should-retry are sent as the script says, for as many attempts as it says (L14)', async () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  const limited = fault({ status: 429, retryAfter: 2, xShouldRetry: true }, '', { times: 2 });
  const server = await model([limited, fault({ status: 529, retryAfter: date }), reply('ok')]);
  const seen = [];
  for (let n = 0; n < 4; n += 1) {
    const { status, headers } = await post(server, hello);
    seen.push([status, headers.get('retry-after'), headers.get('x-should-retry')]);
  }
  expect(seen).toEqual([
    [429, '2', 'true'],
    [429, '2', 'true'],
    [529, date, null],
    [200, null, null],
  ]);
});

test('a prompt too long and an image too large are 400s in the words of the API', async () => {
  const server = await model([fault({ too_long: true }), fault({ media_too_large: true })]);
  expect((await refusal(await post(server, hello))).message).toMatch(/^prompt is too long: \d+ tokens > \d+ maximum$/);
  expect((await refusal(await post(server, hello))).message).toContain(
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum',
  );
});

test('a cut at any byte sends exactly that many bytes and breaks the connection', async () => {
  const full = await received(await post(await model([reply('some words', { times: 'any' })]), stream));
  const sizes = [0, 1, 7, 100, Math.floor(full.bytes.length / 2), full.bytes.length - 1, full.bytes.length];
  const server = await model((_request, n) => fault({ cutAtByte: sizes[n - 1] ?? 0 }, 'some words'));
  for (const size of sizes) {
    const { bytes, whole } = await received(await post(server, stream));
    expect([bytes.length, whole]).toEqual([size, false]);
  }
  expect(server.requests.every(({ ended }) => ended === 'cut')).toBe(true);
});

test('a cut in a plain answer leaves half a JSON text', async () => {
  const server = await model([fault({ cutAtByte: 20 })]);
  const { bytes, whole } = await received(await post(server, hello));
  expect([bytes.length, whole]).toEqual([20, false]);
});

test('a cut after an event sends whole events only', async () => {
  const server = await model([fault({ cutAfterEvent: 4 })]);
  const { bytes, whole } = await received(await post(server, stream));
  expect(whole).toBe(false);
  expect(names(bytes)).toEqual(['message_start', 'content_block_start', 'ping', 'content_block_delta']);
});

test('a connection that hangs up has no status, not even a broken one', async () => {
  const server = await model([fault({ hangUp: true })]);
  await expect(sdk(server).messages.create(hello)).rejects.toBeInstanceOf(APIConnectionError);
  expect(server.requests[0]).toMatchObject({ status: null, ended: 'cut' });
});

test.each<[string, Fault, string[]]>([
  ['silence', { silenceAfterEvent: 2 }, ['message_start', 'content_block_start']],
  ['pings only', { pingsAfterEvent: 1, pingMs: 1 }, ['message_start', 'ping', 'ping', 'ping']],
])('%s after some events lasts until the client leaves', async (_name, what, expected) => {
  const server = await model([fault(what)]);
  const response = await post(server, stream);
  let got = Buffer.alloc(0);
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    got = Buffer.concat([got, chunk]);
    if (names(got).length >= expected.length) break;
  }
  expect(names(got).slice(0, expected.length)).toEqual(expected);
  await expect.poll(() => server.requests[0]?.ended).toBe('left');
});

test('silence from the start sends no headers, and closing the server ends it', async () => {
  const server = await model([fault({ silence: true })]);
  const pending = post(server, stream).catch((error: unknown) => error);
  expect((await server.waitForRequest(1)).status).toBeNull();
  await server.close();
  expect(await pending).toBeInstanceOf(TypeError);
});

test('garbage in a stream breaks the client that parses it', async () => {
  const server = await model([
    fault({ garbageAfterEvent: 3 }),
    fault({ garbageAfterEvent: 1, garbage: '<html>502</html>' }),
  ]);
  await expect(sdk(server).messages.stream(hello).finalMessage()).rejects.toThrow();
  const { bytes } = await received(await post(server, stream));
  expect(bytes.toString().endsWith('<html>502</html>')).toBe(true);
});

test('an error event inside a 200 reaches the client with its type', async () => {
  const server = await model([fault({ errorEvent: 'overloaded_error', afterEvent: 4 })]);
  const error = await sdk(server)
    .messages.stream(hello)
    .finalMessage()
    .catch((caught: unknown) => caught);
  expect(error).toMatchObject({ type: 'overloaded_error', status: undefined });
});

test('max_tokens cuts a call anywhere in its input, and the stream still ends well (L28)', async () => {
  const call = toolUse('write', { path: 'a.txt', content: 'words' }, 'toolu_1');
  const server = await model([
    fault({ maxTokensAfter: { block: 1, chars: 9 } }, [text('Writing.'), call, text('Never sent.')]),
  ]);
  const events = parseSse(await (await post(server, stream)).text());
  const json = events
    .map(({ data }) => (data['delta'] as { partial_json?: string } | undefined)?.partial_json ?? '')
    .join('');
  expect(json).toBe('{"path":"');
  expect(events.filter(({ event }) => event === 'content_block_stop')).toHaveLength(2);
  expect(events.at(-2)?.data['delta']).toMatchObject({ stop_reason: 'max_tokens' });
  expect(events.at(-1)?.event).toBe('message_stop');
});

test('thinking that is cut is not signed', async () => {
  const server = await model([fault({ maxTokensAfter: { block: 0, chars: 3 } }, [thinking('long thoughts')])]);
  const { content, stop_reason } = await sdk(server).messages.create(hello);
  expect([content, stop_reason]).toEqual([[{ type: 'thinking', thinking: 'lon', signature: '' }], 'max_tokens']);
});

test('a held stream stops after its event until it is released', async () => {
  const { hold, release } = gate();
  const server = await model([reply('some words', { hold, holdAfterEvent: 2 })]);
  const response = await post(server, stream);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  expect(names(Buffer.from((await reader.read()).value ?? []))).toEqual(['message_start', 'content_block_start']);
  expect(server.requests[0]?.ended).toBe('open');
  release();
  const rest = Buffer.from((await reader.read()).value ?? []);
  expect(names(rest).at(-1)).toBe('message_stop');
});

test.each<[string, Fault]>([
  ['cutAtByte 100000', { cutAtByte: 100_000 }],
  ['fault after event 99', { cutAfterEvent: 99 }],
  ['maxTokensAfter block 3', { maxTokensAfter: { block: 3, chars: 0 } }],
])('a fault that lies beyond the reply is a mistake of the script: %s', async (said, what) => {
  const server = await model([fault(what)]);
  expect((await refusal(await post(server, stream))).message).toContain(`scripted model: ${said}, but the reply has`);
  expect(server.problems).toHaveLength(1);
});

test('a fault of the stream needs a stream', async () => {
  const server = await model([fault({ silenceAfterEvent: 1 })]);
  expect((await refusal(await post(server, hello))).message).toContain(
    'fault silenceAfterEvent needs a request with stream: true',
  );
});
