// What becomes of the connections to MCP servers at an address while the machine sleeps (L75).
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { HttpServer } from '../../../tools/mcp/servers.ts';
import { forgetfulEverythingAt, holdingAt, noSandbox } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';
import { until } from '../../support/until.ts';

const SLEPT_MS = 45 * 60_000;
/** A limit that a living server keeps on a busy machine, and one that is over soon. */
const [AMPLE_MS, SHORT_MS] = [60_000, 400];

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** The timers of a machine that sleeps stand still, and its clock does not. */
function sleepAndWake(): void {
  vi.setSystemTime(Date.now() + SLEPT_MS);
  vi.advanceTimersByTime(2_000);
}

/** Stands before a server; what `freeze` says arrives nowhere from then on, and nobody hears of it. */
async function behindNetwork(settings: HttpServer) {
  const { port, pathname } = new URL(settings.url);
  const sockets = new Set<Socket>();
  const frozen = new Set<Socket>();
  let isDown = false;
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (bytes: Buffer) => void (frozen.has(from) || to.write(bytes)));
    from.on('error', () => undefined);
    from.on('close', () => void (frozen.has(from) || to.destroy()));
  };
  const server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    pass(near, far);
    pass(far, near);
    if (isDown) [near, far].forEach((each) => frozen.add(each));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  const freeze = (which: 'open connections' | 'all'): void => {
    sockets.forEach((socket) => frozen.add(socket));
    isDown = which === 'all';
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`;
  return { settings: { ...settings, url }, freeze };
}

type Hold = { readonly settings: HttpServer; readonly open: () => number; readonly answer: () => void };

/** A server whose tool `hold` answers when told. */
async function serveHolding(type: HttpServer['type']): Promise<Hold> {
  let open = 0;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const settings = await holdingAt(type, async () => {
    open += 1;
    await answered;
    return { content: [{ type: 'text', text: 'held' }] };
  });
  return { settings, open: () => open, answer };
}

async function callHolding(settings: HttpServer, open: () => number, wakeMs: number) {
  const { call, names } = await openTestServers({ sdk: settings }, { sandbox: noSandbox, bounds: { wakeMs } });
  await until(() => names().includes('mcp__sdk__hold'));
  const outcome = call('mcp__sdk__hold').then(
    ({ content }) => content,
    (error: Error) => error.message,
  );
  await until(() => open() === 1);
  return { call, outcome };
}

test.each([
  ['http', 'all'],
  ['sse', 'all'],
  ['sse', 'open connections'],
] as const)('a call over %s is given up soon after a sleep that broke %s (L75)', async (type, broken) => {
  const { settings: direct, open } = await serveHolding(type);
  const { settings, freeze } = await behindNetwork(direct);
  const { outcome } = await callHolding(settings, open, SHORT_MS);
  freeze(broken);
  sleepAndWake();
  expect(await outcome).toMatch(
    /^The MCP server sdk was lost while it worked: this machine slept, or its clock was set, by 2700 s, and after that: it did not answer in time\. It may have taken effect/,
  );
});

test.each(['http', 'sse'] as const)(
  'a call over %s whose server answers after a sleep has its usual time (L75)',
  async (type) => {
    const { settings, open, answer } = await serveHolding(type);
    const { outcome } = await callHolding(settings, open, AMPLE_MS);
    sleepAndWake();
    sleepAndWake();
    answer();
    expect(await outcome).toBe('held');
  },
);

test('after a sleep that broke its stream a server over SSE is connected anew (L75)', async () => {
  const { settings: direct, open, answer } = await serveHolding('sse');
  const { settings, freeze } = await behindNetwork(direct);
  const { call, outcome } = await callHolding(settings, open, SHORT_MS);
  freeze('open connections');
  sleepAndWake();
  await outcome;
  answer();
  await until(async () => (await call('mcp__sdk__hold').catch(() => ({ content: '' }))).content === 'held');
});

test('a call to a server that forgot its session during a sleep is given up at once (L75)', async () => {
  const { settings, forget } = await forgetfulEverythingAt('http');
  const { call, names } = await openTestServers({ every: settings }, { sandbox: noSandbox });
  await until(() => names().includes('mcp__every__trigger-long-running-operation'));
  let isShown = false;
  const outcome = call(
    'mcp__every__trigger-long-running-operation',
    { duration: 600, steps: 6_000 },
    {
      progress: () => void (isShown = true),
    },
  ).catch((error: Error) => error.message);
  await until(() => isShown);
  forget();
  sleepAndWake();
  expect(await outcome).toMatch(/^The MCP server every was lost while it worked: this machine slept/);
});
