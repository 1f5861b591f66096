// The ops page as its own process, on a server with many sessions and one that is long: how soon
// pages come, how soon a word reaches a watcher, and what watchers cost. Asked over HTTP, as a
// browser does; what a browser takes to draw is not in it (O13).
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimit } from '../../system/async.ts';
import { fileLive } from '../../store/live/file-live.ts';
import { type OpenedServer, openWholeServer } from '../../client/runtime/open-server.ts';
import { installRuntime } from '../../worker/install-runtime.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { cpuMs, residentBytes, spawnPage } from './page-process.ts';
import { enterPage, type Visitor } from './visitor.ts';
import { median, renderTable } from '../table.ts';
import { reply, startScriptedModel, toolUse } from '../../scripted-model/index.ts';
import { createClient } from '../../client/client.ts';
import { startWorker } from '../../worker/start-worker.ts';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { LiveChannel } from '../../store/live/events.ts';
import type { Entry } from '../../store/log/entries.ts';
import { nextSegment } from '../../store/view/append.ts';
import { openStore } from '../../store/values/open-store.ts';
import { emptyView } from '../../store/view/view.ts';
import { startCarried } from '../../client/sessions/send.ts';
import { carryInput } from '../../client/store-care/carry-session.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';

export type PageRow = { readonly what: string; readonly aim: string; readonly found: string };

export type PageLoad = { readonly sessions: number; readonly iterations: number };

const VIEWERS = 100;
const SESSIONS = 20;
const WORDS = 100;
const TOGETHER = 32;
/** Beyond whatever the session has stored: what is said there is news. */
const STEP = 1_000_000;

export async function measurePage(say: (line: string) => void, load: PageLoad): Promise<readonly PageRow[]> {
  installRuntime(() => undefined);
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const env = { ...process.env, PERDURE_DATA: join(root, 'data'), NO_COLOR: '1' };
  const opened = await openWholeServer({ env, role: 'dev', say });
  try {
    say(`${load.sessions} sessions, and one of ${load.iterations} iterations`);
    await startSessions(opened, root, load.sessions);
    await startLongSession(opened, root, load.iterations);
    const cwd = join(root, 'workspace');
    await mkdir(cwd);
    const waiting = await startWaiting(opened, env, { cwd, count: SESSIONS });
    try {
      return await measured(opened, env, { say, waiting: waiting.calls });
    } finally {
      await waiting.close();
    }
  } finally {
    await opened.close();
    await rm(root, { recursive: true, force: true });
  }
}

/** One in twenty is open, and nothing works on it; the others have ended. */
async function startSessions({ sessions, temporal }: OpenedServer, cwd: string, count: number): Promise<void> {
  const few = createLimit(TOGETHER);
  const start = async (n: number): Promise<void> => {
    const { session } = await sessions.start(`Task number ${n}`, { cwd, permissionMode: 'dontAsk' });
    if (n % 20 !== 0) await temporal.client.workflow.getHandle(session).terminate('the bench wants it closed');
  };
  await Promise.all(Array.from({ length: count }, (_, n) => few(() => start(n))));
}

async function measured(
  opened: OpenedServer,
  env: NodeJS.ProcessEnv,
  { say, waiting }: { readonly say: (line: string) => void; readonly waiting: readonly WaitingApproval[] },
): Promise<readonly PageRow[]> {
  const page = await spawnPage(env);
  try {
    const visitor = await enterPage(page.entry);
    const initial = residentBytes(page.pid);
    const beginCpu = cpuMs(page.pid);
    const fleet = await fleetTimes(visitor);
    const fleetCpu = cpuMs(page.pid) - beginCpu;
    const decisions = await decisionTimes(visitor, waiting);
    const path = `/sessions/${LONG_SESSION}`;
    const cpuBefore = cpuMs(page.pid);
    const session = await timesOf(visitor, path, 1);
    const sessionCpu = cpuMs(page.pid) - cpuBefore;
    session.push(...(await timesOf(visitor, path, 3)));
    const afterSession = residentBytes(page.pid);
    const timeline = await timesOf(visitor, `${path}/timeline`, 4);
    say('one watcher');
    const alone = await watch(visitor, opened, path, 1);
    say(`${VIEWERS} watchers`);
    const watched = await watch(visitor, opened, path, VIEWERS);
    const rss = residentBytes(page.pid);
    return [
      { what: 'all sessions, each with another filter, p95', aim: '500 ms', found: ms(quantile(fleet, 0.95)) },
      { what: 'all sessions, CPU of the page for one', aim: '', found: ms(fleetCpu / SESSIONS) },
      { what: 'a decision, p95', aim: '150 ms', found: ms(quantile(decisions, 0.95)) },
      { what: 'the long session, first', aim: '1 s', found: ms(session[0] ?? NaN) },
      { what: 'the long session, first, CPU of the page', aim: '', found: ms(sessionCpu) },
      { what: 'the long session, again', aim: '', found: ms(median(session.slice(1))) },
      { what: 'its timeline, first', aim: '1 s', found: ms(timeline[0] ?? NaN) },
      { what: 'its timeline, again', aim: '', found: ms(median(timeline.slice(1))) },
      { what: 'a word to one watcher, median', aim: '15 ms', found: ms(median(alone)) },
      { what: `a word to all of ${VIEWERS} watchers, median`, aim: '', found: ms(median(watched)) },
      { what: `a word to all of ${VIEWERS} watchers, p95`, aim: '', found: ms(quantile(watched, 0.95)) },
      { what: 'memory of the page when it has begun', aim: '', found: megabytes(initial) },
      { what: 'memory of the page after the long session', aim: '200 MB', found: megabytes(afterSession) },
      { what: `memory of the page with ${VIEWERS} watchers`, aim: '200 MB', found: megabytes(rss) },
    ];
  } finally {
    await page.stop();
  }
}

/** Each a view of its own: one that somebody watches is in memory. */
async function fleetTimes(visitor: Visitor): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < SESSIONS; n += 1)
    times.push(...(await timesOf(visitor, `/?q=${encodeURIComponent(`turns<${1_000 + n}`)}`, 1)));
  return times;
}

/** Milliseconds from a decision to the answer that it counts, as one key of the page sends it. */
async function decisionTimes(visitor: Visitor, waiting: readonly WaitingApproval[]): Promise<readonly number[]> {
  const times: number[] = [];
  for (const { session, call, inputHash } of waiting) {
    const from = performance.now();
    await visitor.post(`/sessions/${session}/approve`, { call, inputHash });
    times.push(performance.now() - from);
  }
  return times;
}

async function timesOf(visitor: Visitor, path: string, times: number): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const from = performance.now();
    await visitor.read(path);
    found.push(performance.now() - from);
  }
  return found;
}

/**
 * Milliseconds from a word's being written by a worker to the last of the watchers that hears it.
 */
async function watch(
  visitor: Visitor,
  { folder }: OpenedServer,
  path: string,
  count: number,
): Promise<readonly number[]> {
  const place = /data-from="([^"]*)"/.exec(await visitor.read(path))?.[1] ?? '';
  const viewers = await Promise.all(
    Array.from({ length: count }, () => visitor.listen(`${path}/live?from=${encodeURIComponent(place)}`)),
  );
  const live = fileLive({ dir: folder.liveDir });
  const writer = live.open({ session: LONG_SESSION, step: STEP + count, attempt: 1, activity: 'callModel' });
  const times: number[] = [];
  for (let n = 0; n < WORDS; n += 1) {
    const word = `word-${count}-${n}.`;
    const received = Promise.all(viewers.map((viewer) => viewer.hear(word)));
    const from = performance.now();
    writer.write({ type: 'text_delta', iteration: STEP, index: 0, text: word });
    await received;
    times.push(performance.now() - from);
    await sleep(20);
  }
  // The first opens the file and the element.
  return times.slice(1);
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)] ?? NaN;

const ms = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`;

export function renderPage(rows: readonly PageRow[]): string {
  return renderTable(
    ['page', 'aim', 'found'],
    rows.map(({ what, aim, found }) => [what, aim, found]),
  );
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

// Sessions whose calls wait for a person, with a worker of their own: the other sessions of the
// bench have none.
const QUEUE = 'bench-decisions';

type WaitingSessions = { readonly calls: readonly WaitingApproval[]; close(): Promise<void> };

/** Resolves when all of them wait. */
async function startWaiting(
  opened: OpenedServer,
  env: NodeJS.ProcessEnv,
  { cwd, count }: { readonly cwd: string; readonly count: number },
): Promise<WaitingSessions> {
  const toolCall = reply([toolUse('write', { path: 'asked.txt', content: 'one' })]);
  const model = await startScriptedModel({
    script: ({ messages }) => (JSON.stringify(messages).includes('tool_result') ? reply('Done.') : toolCall),
  });
  const { storePlace, liveDir, root: dataDir } = opened.folder;
  const own = { ...env, ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: model.url };
  const worker = await startWorker({
    ...opened.target,
    storePlace,
    liveDir,
    dataDir,
    env: own,
    taskQueue: QUEUE,
    log: () => undefined,
  });
  const sealed = opened.target.keys !== undefined;
  const client = createClient({ temporal: opened.temporal.client, env, taskQueue: QUEUE, profile: 'machine', sealed });
  for (let n = 0; n < count; n += 1) await client.start(`Ask first, ${n}`, { cwd, permissionMode: 'default' });
  let calls: readonly WaitingApproval[] = [];
  while (calls.length < count) {
    await sleep(100);
    calls = await client.approvals();
  }
  return {
    calls,
    close: async () => {
      await worker.stop();
      await model.close();
    },
  };
}

const LONG_SESSION = 'bench-long' as SessionId;

async function startLongSession(
  { store, temporal, target, folder }: OpenedServer,
  cwd: string,
  iterations: number,
): Promise<void> {
  const live = fileLive({ dir: folder.liveDir });
  let view = emptyView(LONG_SESSION);
  for (let iteration = 1; iteration <= iterations; iteration += 1) {
    const next = nextSegment(view, turn(iteration));
    await store.put(next.bytes);
    ({ view } = next);
    await tellIteration(live, iteration, next.hash);
  }
  const { head } = view;
  if (head === null) throw new RangeError('a long session has an iteration at least');
  const title = 'a long session';
  const header = { title, head, runs: 1, last: null, options: { cwd } };
  const sealed = target.keys !== undefined;
  await startCarried(temporal.client, {
    session: LONG_SESSION,
    input: carryInput({ cwd, profile: 'machine', sealed, visibility: true }, header),
    workers: { taskQueue: TASK_QUEUE, configuration: null },
    store: await openStore({ ...folder, dataDir: folder.root }).id(),
    now: Date.now(),
    memo: { head, runs: 1, last: null },
  });
}

/** Leaves live files as a run under way has them: they stay until the next run opens. */
async function tellIteration(live: LiveChannel, iteration: number, head: Hash): Promise<void> {
  const writer = live.open({ session: LONG_SESSION, step: iteration, attempt: 1, activity: 'callModel' });
  const at = { iteration, index: 1 };
  writer.write({ type: 'request_start', iteration, attempt: 1, model: 'claude-bench' });
  for (let word = 0; word < PARAGRAPH; word += 1)
    writer.write({ type: 'text_delta', iteration, index: 0, text: `Word ${word} of it. ` });
  writer.write({ type: 'tool_use', ...at, id: `toolu_${iteration}`, name: 'read', input: { path: 'src/a.ts' } });
  writer.write({ type: 'tool_start', ...at, name: 'read', early: false });
  writer.write({ type: 'tool_end', ...at, name: 'read', isError: false, content: 'a line of a file', durationMs: 5 });
  await writer.end({ type: 'fate', fate: 'stored', head });
}

/** Deltas of a reply. */
const PARAGRAPH = 20;

/** A text, a call, and 900 bytes of what it read. */
function turn(iteration: number): readonly Entry[] {
  const id = `toolu_${iteration}`;
  const usage = { input: 100, output: 50, cacheRead: 20_000, cacheWrite: 300 };
  const message = {
    id: `msg_${iteration}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-bench',
    content: [
      { type: 'text', text: `Iteration ${iteration}: the next file. `.repeat(4), citations: null },
      { type: 'tool_use', id, name: 'read', input: { path: `src/file-${iteration}.ts` }, caller: { type: 'direct' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 50 },
  } as unknown as Message;
  const log = { key: null, name: 'read', decision: 'allowed', duration: 5, outcome: 'ok' } as const;
  const content = 'a line of a file\n'.repeat(53);
  return [
    ...(iteration > 1 ? [{ kind: 'transition', iteration, reason: 'next_turn' } as const] : []),
    {
      kind: 'reply',
      fate: 'whole',
      message,
      iteration,
      attempt: 1,
      spend: { usage, usd: 0.01 },
      at: iteration * 1_000,
    },
    { kind: 'outcomes', outcomes: [{ index: 1, toolUseId: id, isError: false, content, log }] },
  ];
}
