// MCP servers at an address: streamable HTTP and SSE, and what such a server does wrong (F11).
import { describe, expect, test } from 'vitest';
import { createBoundedFetch } from '../../../tools/mcp/bounded-fetch.ts';
import type { McpServers } from '../../../tools/mcp/servers.ts';
import { everythingAt, holdingAt, noSandbox, oddAddress, oddEvents } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';
import { until } from '../../support/until.ts';

async function opened(servers: McpServers, bounds = {}) {
  const all = await openTestServers(servers, { sandbox: noSandbox, bounds });
  await all.registry.refresh?.();
  return all;
}

describe.each(['http', 'sse'] as const)('server-everything over %s (L74)', (type) => {
  test('lists its tools, answers, and shows progress', async () => {
    const { names, call } = await opened({ every: await everythingAt(type) });
    await until(() => names().length > 5);
    expect((await call('mcp__every__echo', { message: 'hello' })).content).toBe('Echo: hello');
    const shown: string[] = [];
    const slow = { duration: 0.6, steps: 2 };
    await call('mcp__every__trigger-long-running-operation', slow, { progress: (text) => void shown.push(text) });
    expect(shown[0]).toMatch(/1 of 2/);
  });
});

test('headers that a server repeats are shown to nobody (L74)', async () => {
  const secret = 'tok-0123456789';
  const { settings } = await oddAddress({}, { headers: () => ({ authorization: `Bearer ${secret}` }) });
  const { call } = await opened({ odd: settings });
  const { content, isError } = await call('mcp__odd__fails', { text: `no ${secret}` });
  expect([content, isError]).toEqual(['no [redacted]', true]);
  await expect(call('mcp__odd__refuses', { text: `no ${secret}` })).rejects.toThrow('refused it: no [redacted]');
});

test('a list is asked for again of a server at an address, which may have no way to tell of a change (L75)', async () => {
  const { settings } = await oddAddress();
  const { registry, call, names } = await opened({ odd: settings }, { pollMs: 1 });
  await call('mcp__odd__grow_quietly');
  await until(async () => {
    await registry.refresh?.();
    return names().includes('mcp__odd__grown_1');
  });
});

test.each(['http', 'sse'] as const)(
  'a server of the official SDK is told over %s of a call that is stopped or late, and serves the next (L77)',
  async (type) => {
    const told: string[] = [];
    let open = 0;
    const settings = await holdingAt(type, async ({ signal }) => {
      open += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      told.push(String(signal.reason));
      return { content: [] };
    });
    const { call, names } = await opened({ sdk: settings, hasty: { ...settings, timeoutMs: 2_000 } });
    await until(() => names().includes('mcp__sdk__hold') && names().includes('mcp__hasty__hold'));
    for (const _ of [1, 2]) {
      const [stop, before, heard] = [new AbortController(), open, told.length];
      const holding = call('mcp__sdk__hold', {}, { signal: stop.signal });
      holding.catch(() => undefined);
      await until(() => open > before);
      stop.abort('interrupt');
      await expect(holding).rejects.toBe('interrupt');
      await until(() => told.length > heard);
    }
    await expect(call('mcp__hasty__hold')).rejects.toThrow('was told to stop: it did not answer within 2000 ms');
    await until(() => told.length === 3);
  },
);

describe('a server over SSE, whose answers come over one stream', () => {
  test('is connected anew when that has broken off, and its calls end at once (L75)', async () => {
    const { settings, streams } = await oddEvents();
    const { call } = await opened({ odd: settings });
    await expect(call('mcp__odd__die')).rejects.toThrow(/was lost while it worked: its stream of events broke off/);
    await until(async () => (await call('mcp__odd__note').catch(() => ({ content: '' }))).content === 'noted note');
    expect(streams()).toBe(2);
  });

  test('fails the call of an answer that is too large, and no other (F11)', async () => {
    const { settings, streams } = await oddEvents();
    const { call } = await opened({ odd: settings });
    const stop = new AbortController();
    const other = call('mcp__odd__hang', {}, { signal: stop.signal });
    other.catch(() => undefined);
    await expect(call('mcp__odd__long')).rejects.toThrow(/is too large: a message is longer than 8388608 bytes/);
    expect((await call('mcp__odd__note')).content).toBe('noted note');
    stop.abort('interrupt');
    await expect(other).rejects.toBe('interrupt');
    expect(streams()).toBe(1);
  });
});

describe('a server that misbehaves (F11)', () => {
  test.each([
    [400, 'refused it', 1],
    [413, 'refused it', 1],
    [422, 'refused it', 1],
    [429, 'refused it', 1],
    [403, 'Not run: the MCP server odd refused it: it does not allow this with its credentials', 2],
    [502, 'was lost while it worked', 2],
  ])('one that answers a call with status %d: %s, and it is connected %d times (L75)', async (status, words, times) => {
    let failing: number | undefined;
    const { settings, connections } = await oddAddress({ status: () => failing });
    const { call } = await opened({ odd: settings });
    failing = status;
    await expect(call('mcp__odd__note')).rejects.toThrow(words);
    failing = undefined;
    await until(async () => (await call('mcp__odd__note').catch(() => ({ content: '' }))).content === 'noted note');
    expect(connections()).toBe(times);
  });

  test.each([
    ['hangs', 'hang'],
    ['answers with a wrong id', 'wrong_id'],
    ['sends half an event', 'half'],
  ])('one that %s costs an error outcome in time (L75)', async (_, tool) => {
    const { settings } = await oddAddress({}, { timeoutMs: 300 });
    const { call } = await opened({ odd: settings });
    await expect(call(`mcp__odd__${tool}`)).rejects.toThrow(/The MCP server odd/);
  });

  test('one that answers three times is heard once', async () => {
    const { settings } = await oddAddress();
    const { call } = await opened({ odd: settings });
    expect((await call('mcp__odd__repeated')).content).toBe('answer 1');
    expect((await call('mcp__odd__note')).content).toBe('noted note');
  });

  test.each([false, true])('an answer of 100 MiB costs no memory and an error outcome (json: %s)', async (json) => {
    const { settings } = await oddAddress({ json }, { timeoutMs: 300_000 });
    const { call } = await opened({ odd: settings });
    await expect(call('mcp__odd__long')).rejects.toThrow(/is too large: a message is longer than 8388608 bytes/);
    expect((await call('mcp__odd__note')).content).toBe('noted note');
  });

  test('one that breaks off costs an error outcome, and the next call another connection (L75)', async () => {
    const { settings } = await oddAddress({}, { timeoutMs: 60_000 });
    const { call } = await opened({ odd: settings });
    await expect(call('mcp__odd__die')).rejects.toThrow(/The MCP server odd/);
    await until(async () => (await call('mcp__odd__note').catch(() => ({ content: '' }))).content === 'noted note');
  });
});

describe('what comes from an address is bounded', () => {
  const answered = (parts: readonly string[], type: string, limit = 10): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of parts) controller.enqueue(Buffer.from(part));
        controller.close();
      },
    });
    const response = new Response(body, { headers: { 'content-type': type } });
    return createBoundedFetch({ limit, fetch: () => Promise.resolve(response) })('http://x/');
  };

  test('an answer by all of it', async () => {
    const type = 'application/json';
    expect(await (await answered(['12345', '67890'], type)).text()).toBe('1234567890');
    await expect((await answered(['12345', '678901'], type)).text()).rejects.toThrow(/longer than 10 bytes/);
  });

  test('a stream of events by each of them, wherever it is cut', async () => {
    const events = ['data: 1\n', '\ndata: 2\n\n', 'data: 3\r\n\r\n', 'data: 4\n\n'];
    expect(await (await answered(events, 'text/event-stream')).text()).toBe(events.join(''));
    const long = ['data: 123', '45678\n', '\ndata: 2\n\n'];
    expect(await (await answered(long, 'text/event-stream')).text()).toBe('data: 123\n\n\ndata: 2\n\n');
  });

  test('an answer that is too large is told apart from others of its stream by its id, at either end (F11)', async () => {
    const long = `"result":{"text":"${'x'.repeat(400)}"}`;
    for (const message of [`{"jsonrpc":"2.0","id":7,${long}}`, `{"jsonrpc":"2.0",${long},"id":7}`]) {
      const events = `event: message\ndata: ${message}\n\ndata: next\n\n`;
      const text = await (await answered(events.match(/[^]{1,40}/g) ?? [], 'text/event-stream', 200)).text();
      expect(text).toMatch(/\n\ndata: \{"jsonrpc":"2.0","id":7,"error":.*too large.*\n\n/);
      expect(text.endsWith('\n\ndata: next\n\n')).toBe(true);
    }
  });
});

test('a token that could not be had is asked for anew by the next request (L74)', async () => {
  let asked = 0;
  const headers = () =>
    (asked += 1) === 1 ? Promise.reject(new Error('down')) : Promise.resolve({ authorization: 'Bearer 2' });
  const seen: (string | null)[] = [];
  const base = (_url: unknown, init: RequestInit = {}): Promise<Response> => {
    seen.push(new Headers(init.headers).get('authorization'));
    return Promise.resolve(new Response('{}'));
  };
  const ask = createBoundedFetch({ headers, limit: 100, fetch: base });
  await expect(ask('http://127.0.0.1/')).rejects.toThrow('down');
  expect((await ask('http://127.0.0.1/')).status).toBe(200);
  expect(seen).toEqual(['Bearer 2']);
});

test('an event whose bytes come with a carriage return and its line feed apart is bounded all the same (F11)', async () => {
  const encoder = new TextEncoder();
  const parts = Array.from({ length: 20 }, (_, n) =>
    encoder.encode(n % 2 ? `\ndata: ${'x'.repeat(20)}` : `${'y'.repeat(20)}\r`),
  );
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const ask = createBoundedFetch({ limit: 200, fetch: () => Promise.resolve(response) });
  expect((await (await ask('http://127.0.0.1/')).text()).length).toBeLessThan(250);
});
