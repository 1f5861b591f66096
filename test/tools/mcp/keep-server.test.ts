// A server over the life of its worker: what is waited for, how long, and what its end does (L75).
import { expect, onTestFinished, test, vi } from 'vitest';
import { ServerAway, McpError } from '../../../tools/mcp/failures.ts';
import { KeptServer } from '../../../tools/mcp/keep-server.ts';
import type { Link, OpenLink } from '../../../tools/mcp/link.ts';
import { mcpBounds, type McpBounds } from '../../../tools/mcp/servers.ts';
import { until } from '../../support/until.ts';

type FakeLink = Link & { readonly end: (reason: string) => void; isClosed: boolean; lists: number };

const never = (): Promise<never> => new Promise(() => undefined);
const idle = new AbortController().signal;

function fakeLink(list: () => Promise<readonly string[]>, tellsOfChanges = true): FakeLink {
  let end: (reason: string) => void = () => undefined;
  const closed = new Promise<string>((resolve) => (end = resolve));
  const link: FakeLink = {
    instructions: 'Be kind.',
    offers: { tools: true, resources: false, tellsOfChanges, tasks: false },
    async request() {
      link.lists += 1;
      return { tools: (await list()).map((name) => ({ name, inputSchema: { type: 'object' } })) } as never;
    },
    closed,
    lastWords: () => '',
    printed: () => '',
    redact: (text) => text,
    close: () => Promise.resolve(void (link.isClosed = true)),
    end,
    isClosed: false,
    lists: 0,
  };
  return link;
}

function kept(open: OpenLink, bounds: Partial<McpBounds> = {}, connectTimeoutMs?: number) {
  const warnings: string[] = [];
  let clock = 1_000_000;
  const server = new KeptServer(
    'odd',
    { command: 'x', ...(connectTimeoutMs !== undefined && { connectTimeoutMs }) },
    {
      open,
      bounds: { ...mcpBounds, listMs: 20, ...bounds },
      log: (_, line) => void warnings.push(line),
      now: () => clock,
    },
  );
  onTestFinished(() => server.close());
  const names = (): readonly string[] | undefined => server.tools?.map(({ name }) => name);
  return { server, warnings, names, pass: (ms: number) => void (clock += ms) };
}

test('the first refresh waits for the first list, and others find nothing to wait for', async () => {
  const link = fakeLink(() => Promise.resolve(['a']));
  const { server, names } = kept(() => Promise.resolve(link));
  await server.refresh();
  const before = server.tools;
  await server.refresh();
  expect([names(), link.lists]).toEqual([['a'], 1]);
  expect(server.tools).toBe(before);
  expect(server.instructions).toBe('Be kind.');
});

test('a connection that takes its time is waited for once, for as long as a list, and counts when it stands', async () => {
  let connect: (link: Link) => void = () => undefined;
  const { server, names, warnings } = kept(() => new Promise((resolve) => (connect = resolve)), { listMs: 5 });
  await server.refresh();
  await server.refresh();
  expect([names(), warnings.length]).toEqual([undefined, 1]);
  connect(fakeLink(() => Promise.resolve(['a'])));
  await server.arrive(idle);
  expect(names()).toEqual(['a']);
});

test('a list that hangs leaves the last one, and the connection serves calls', async () => {
  let answer = (): Promise<readonly string[]> => Promise.resolve(['a']);
  let changed = (): void => undefined;
  const link = fakeLink(() => answer());
  const { server, names } = kept((_, news) => ((changed = news.toolsChanged), Promise.resolve(link)), { listMs: 5 });
  await server.refresh();
  answer = never;
  changed();
  await server.refresh();
  await server.refresh();
  expect([names(), link.lists, link.isClosed]).toEqual([['a'], 2, false]);
  expect(await server.link(idle)).toBe(link);
});

test('a list that fails is asked for again beside the runs, which wait for none until one has come', async () => {
  let answer = (): Promise<readonly string[]> => Promise.resolve(['a']);
  let changed = (): void => undefined;
  const link = fakeLink(() => answer());
  const { server, names } = kept((_, news) => ((changed = news.toolsChanged), Promise.resolve(link)), {
    listMs: 60_000,
  });
  await server.refresh();
  answer = () => Promise.reject(new McpError('late', 'it did not answer in time', null));
  changed();
  await server.refresh();
  answer = never;
  await server.refresh();
  await server.refresh();
  expect([names(), link.lists]).toEqual([['a'], 3]);
});

test('a server that does not tell of changes is asked now and then, and not waited for', async () => {
  const lists = [['a'], ['a', 'b']];
  const link = fakeLink(() => Promise.resolve(lists.shift() ?? []), false);
  const { server, names, pass } = kept(() => Promise.resolve(link));
  await server.refresh();
  await server.refresh();
  expect(link.lists).toBe(1);
  pass(mcpBounds.pollMs);
  await server.refresh();
  await until(() => names()?.length === 2);
  await server.refresh();
  expect(link.lists).toBe(2);
});

test('a server that ended is connected again after a back-off that doubles, with its tools kept', async () => {
  const links: FakeLink[] = [];
  let isBroken = false;
  const { server, names, pass } = kept(() => {
    if (isBroken) return Promise.reject(new Error('it cannot be started'));
    links.push(fakeLink(() => Promise.resolve(['a'])));
    return Promise.resolve(links.at(-1)!);
  });
  await server.refresh();
  isBroken = true;
  links[0]?.end('its process ended with status 3');
  await links[0]?.closed;
  await expect(server.link(idle)).rejects.toThrow(
    'The MCP server odd is away: its process ended with status 3. It is connected again in 1 s.',
  );
  for (const seconds of [1, 2, 4]) {
    pass(seconds * 1_000);
    await expect(server.link(idle)).rejects.toThrow(ServerAway);
    await expect(server.link(idle)).rejects.toThrow(`again in ${seconds * 2} s`);
  }
  expect(names()).toEqual(['a']);
  isBroken = false;
  pass(8_000);
  expect(await server.link(idle)).toBe(links[1]);
});

test('a link of no use is closed only when the calls on it have ended, and the next call gets another', async () => {
  const links: FakeLink[] = [];
  const { server, pass } = kept(() => Promise.resolve(links[links.push(fakeLink(() => Promise.resolve(['a']))) - 1]!));
  await server.refresh();
  const first = (await server.link(idle)) as FakeLink;
  let answer = (): void => undefined;
  const call = server.using(first, () => new Promise<void>((resolve) => (answer = resolve)));
  server.retire(first, new Error('fetch failed'));
  expect(first.isClosed).toBe(false);
  pass(1_000);
  expect(await server.link(idle)).not.toBe(first);
  answer();
  await call;
  expect(first.isClosed).toBe(true);
});

test('a session that the server forgot is begun again at once, and one that was begun again in its time', async () => {
  const links: FakeLink[] = [];
  const forgotten = new McpError('forgotten', 'Session not found', null);
  const list = (): Promise<never> => Promise.reject(forgotten);
  const { server, pass } = kept(() => Promise.resolve(links[links.push(fakeLink(list)) - 1]!));
  await until(() => server.away !== null);
  expect([links.length, links.map(({ isClosed }) => isClosed)]).toEqual([2, [true, true]]);
  await expect(server.link(idle)).rejects.toThrow('is away: Session not found. It is connected again in 1 s.');
  pass(1_000);
  await server.link(idle);
  expect(links).toHaveLength(3);
});

test('a call that is given up has another link made, but not once its worker ends', async () => {
  const links: FakeLink[] = [];
  const { server } = kept(() => Promise.resolve(links[links.push(fakeLink(() => Promise.resolve(['a']))) - 1]!));
  const first = await server.link(idle);
  server.retire(first, null);
  const second = await server.link(idle);
  expect([links.length, first === second, links[0]?.isClosed]).toEqual([2, false, true]);
  await server.close();
  server.retire(second, null);
  await Promise.resolve();
  expect([links.length, server.away?.message]).toEqual([2, expect.stringContaining('is away')]);
});

test('a server that does not connect in its time says what it printed instead', async () => {
  const { server } = kept((_, { began }) => (began(() => 'it printed "Loading..."'), never()), {}, 1);
  await until(() => server.away !== null);
  expect(server.away?.message).toContain('is away: it did not connect within 1 ms; it printed "Loading...". It is');
});

test('a stop of a call that waits for a connection is heeded', async () => {
  const { server } = kept(never);
  const stop = new AbortController();
  const waiting = server.link(stop.signal);
  stop.abort('interrupt');
  await expect(waiting).rejects.toBe('interrupt');
});

test('a connection that a call uses is kept, and ends once nothing has used it for a while (G54)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const links = [fakeLink(() => Promise.resolve(['a'])), fakeLink(() => Promise.resolve(['a']))];
  let opened = 0;
  const open: OpenLink = () => Promise.resolve(links[opened++]!);
  const about = { open, bounds: mcpBounds, log: () => undefined, idleMs: 60_000 };
  const server = new KeptServer('odd', { command: 'x' }, about);
  onTestFinished(() => server.close());
  await server.refresh();
  const link = await server.link(idle);
  let end = (): void => undefined;
  const call = server.using(link, () => new Promise<void>((resolve) => (end = resolve)));
  await vi.advanceTimersByTimeAsync(600_000);
  expect(links[0]?.isClosed).toBe(false);
  end();
  await call;
  await vi.advanceTimersByTimeAsync(59_000);
  expect(links[0]?.isClosed).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([links[0]?.isClosed, server.away, server.tools?.map(({ name }) => name)]).toEqual([true, null, ['a']]);
  expect(await server.link(idle)).toBe(links[1]);
});
