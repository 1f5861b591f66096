// A model server that sends more than any reply can be: the attempt fails with a sentence, and
// little of it is ever held.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAccumulator, MOST_BLOCKS, MOST_OF_INPUT } from '../../activities/model/stream/accumulate.ts';
import { limitFetch, MOST_OF_ANSWER, MOST_OF_EVENT } from '../../worker/model-access.ts';
import { classifyFailure } from '../../activities/model/classify.ts';
import { anthropicModel, streamReply } from '../../activities/model/stream/stream.ts';
import { parseStructuredOutput } from '../../store/view/result.ts';

const MIB = 1024 * 1024;
const event = (data: Readonly<Record<string, unknown>>): string =>
  `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;
const usage = { input_tokens: 1, output_tokens: 1 };
const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-test', content: [], usage };
const START = event({ type: 'message_start', message });
const block = (index: number, content_block: object = { type: 'text', text: '' }): string =>
  event({ type: 'content_block_start', index, content_block });
const said = (delta: object): string => event({ type: 'content_block_delta', index: 0, delta });

/** A server whose answers are endless; counts what was written before the client went away. */
async function flooding(chunks: () => Generator<string>, { status = 200, gzip = false } = {}) {
  let sent = 0;
  const source = function* (): Generator<Buffer> {
    for (const chunk of chunks()) {
      sent += chunk.length;
      yield Buffer.from(chunk);
    }
  };
  const answer = (response: ServerResponse): void => {
    const type = { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' };
    response.writeHead(status, { ...type, ...(gzip ? { 'content-encoding': 'gzip' } : {}) });
    const body = Readable.from(source());
    response.on('close', () => body.destroy());
    (gzip ? body.pipe(createGzip({ level: 1 })) : body).pipe(response);
  };
  const server = createServer((request, response) => request.resume().on('end', () => answer(response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const model = anthropicModel(new Anthropic({ apiKey: 'k', baseURL, logLevel: 'off', fetch: limitFetch(fetch) }));
  const into = createAccumulator();
  const body = { model: 'claude-test', max_tokens: 100, stream: true, messages: [] } as const;
  const limits = { signal: new AbortController().signal, firstByteMs: 100_000, stallMs: 100_000 };
  const nothing = { onStart: () => {}, onText: () => {}, onThinking: () => {}, onBlock: () => {} };
  const run = async () => {
    try {
      await streamReply({ model, body: { ...body, messages: [] }, ...limits }, into, nothing);
      return null;
    } catch (error) {
      return classifyFailure(error, 0, (text) => text);
    }
  };
  return { run, sent: () => sent };
}

function* endless(first: readonly string[], next: (n: number) => string): Generator<string> {
  yield* first;
  for (let n = 0; ; n += 1) yield next(n);
}

describe('a stream without an end', () => {
  test.each([
    ['text', () => said({ type: 'text_delta', text: 'x'.repeat(60_000) })],
    ['pings', () => event({ type: 'ping' }).repeat(1_000)],
  ])('of %s is a failed attempt, and is not read further than its limit (L14 L15)', async (_, next) => {
    const { run, sent } = await flooding(() => endless([START, block(0)], next));
    expect(await run()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('larger than 32 MiB') });
    // What lies in buffers of the sockets was sent as well.
    expect(sent()).toBeLessThan(MOST_OF_ANSWER + 32 * MIB);
  });

  test.each([
    ['a reply', 200, 'failed'],
    ['an error', 400, 'failed'],
  ])('that unpacks from a few bytes, as %s, is not unpacked further than its limit (L14)', async (_, status, kind) => {
    const zeros = ' '.repeat(MIB);
    const { run, sent } = await flooding(() => endless(status === 200 ? [START] : [], () => zeros), {
      status,
      gzip: true,
    });
    expect(await run()).toMatchObject({ kind, detail: expect.stringContaining('larger than 4 MiB') });
    // A kilobyte on the wire is a megabyte here: what the server's side has buffered is many times
    // the limit, and still bounded.
    expect(sent()).toBeLessThan(4_096 * MIB);
    expect(MOST_OF_EVENT).toBeLessThan(MOST_OF_ANSWER);
  });

  test('of blocks is a failed attempt (L15)', async () => {
    const { run } = await flooding(() =>
      endless([START], (n) => block(n) + event({ type: 'content_block_stop', index: n })),
    );
    expect(await run()).toMatchObject({ kind: 'failed', detail: expect.stringContaining(`${MOST_BLOCKS} blocks`) });
  });

  test("of one call's input is a failed attempt (L15)", async () => {
    const call = block(0, { type: 'tool_use', id: 't', name: 'write', input: {} });
    const more = (): string => said({ type: 'input_json_delta', partial_json: 'x'.repeat(60_000) });
    const { run } = await flooding(() => endless([START, call], more));
    expect(await run()).toMatchObject({ kind: 'failed', detail: expect.stringContaining(`${MOST_OF_INPUT}`) });
  });
});

test('a long reply whose lines a proxy sends one by one is read to its end (L14)', async () => {
  const line = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n`);
  const newline = new TextEncoder().encode('\n');
  const chunks = Array.from({ length: 8 }, () => [line, newline]).flat();
  const fetched = limitFetch(() => Promise.resolve(new Response(ReadableStream.from(chunks))));
  const answer = await (await fetched('http://127.0.0.1')).arrayBuffer();
  expect(answer.byteLength).toBe(8 * (line.length + 1));
});

describe('a final answer of 400 KB', () => {
  test('with thousands of fences that nothing closes is looked at once (L53)', () => {
    const lines = (n: number): string => '```json\n'.repeat(n);
    // A thousand times as many as took a second when the end was looked for from each of them.
    expect(parseStructuredOutput(lines(1_000_000))).toMatchObject({ kind: 'none' });
  });

  test('with one block among much text is read (L53)', () => {
    const text = `${'So it is.\n'.repeat(40_000)}\`\`\`json\n{"a":1}\r\n\`\`\`\n${'And so on.\n'.repeat(40_000)}`;
    expect(parseStructuredOutput(text)).toEqual({ kind: 'value', value: { a: 1 } });
    expect(parseStructuredOutput(`${text}\n\`\`\`\n1\n\`\`\``)).toMatchObject({
      problem: expect.stringContaining('2 fenced'),
    });
  });
});
