// What `perdure/agent-sdk` costs beside `query()`: the same task, turn for turn, alternately by the
// one and by the other in one process.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query as agentQuery } from '../client/agent-sdk/query.ts';
import { openWholeServer } from '../client/runtime/open-server.ts';
import { query } from '../client/runtime/query.ts';
import { makeWorkspace } from './fill-folder.ts';
import { spawnModel } from './processes.ts';
import { median } from './table.ts';

export type SdkRow = {
  readonly subject: 'query()' | 'agent-sdk';
  /**
   * Milliseconds of a turn, and CPU of the process, which is the program and its worker. Medians.
   */
  readonly ms: number;
  readonly cpuMs: number;
  /** As shares of query()'s: the medians of those of each pair. */
  readonly ratio: number;
  readonly cpuRatio: number;
};

const TURNS = 60;

type Timings = { readonly ms: number; readonly cpuMs: number };
type Env = Readonly<Record<string, string | undefined>>;

/** From the first reply on, for a worker starts before it. */
export async function measureSdk(pairs: number, say: (line: string) => void): Promise<readonly SdkRow[]> {
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const cwd = join(root, 'workspace');
  await makeWorkspace(cwd);
  const model = await spawnModel('safe', { turns: TURNS });
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const own = { PERDURE_DATA: join(root, 'data'), ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: model.url };
  const env = { PATH, HOME, XDG_CACHE_HOME, ...own };
  // It stays up between two of them.
  const server = await openWholeServer({ env });
  const results: { readonly plain: Timings; readonly sdk: Timings }[] = [];
  try {
    // The first pair is a young process's.
    for (let pair = 0; pair <= pairs; pair += 1) {
      say(pair === 0 ? 'warming up' : `pair ${pair} of ${pairs}`);
      const measure = {
        plain: () => timed(plainReplies(cwd, env)),
        sdk: () => timed(sdkReplies(cwd, env)),
      };
      // Each is first in every other pair: a process, and a machine, change with time.
      const first = pair % 2 === 0 ? 'plain' : 'sdk';
      const [one, other] = [await measure[first](), await measure[first === 'plain' ? 'sdk' : 'plain']()];
      if (pair > 0) results.push(first === 'plain' ? { plain: one, sdk: other } : { plain: other, sdk: one });
    }
  } finally {
    await server.close();
    await model.stop();
    await rm(root, { recursive: true, force: true });
  }
  const row = (subject: SdkRow['subject'], of: (pair: (typeof results)[number]) => Timings): SdkRow => ({
    subject,
    ms: median(results.map((pair) => of(pair).ms / TURNS)),
    cpuMs: median(results.map((pair) => of(pair).cpuMs / TURNS)),
    ratio: median(results.map((pair) => of(pair).ms / pair.plain.ms)),
    cpuRatio: median(results.map((pair) => of(pair).cpuMs / pair.plain.cpuMs)),
  });
  return [row('query()', ({ plain }) => plain), row('agent-sdk', ({ sdk }) => sdk)];
}

/** From the first item to the last. */
async function timed(replies: AsyncIterable<unknown>): Promise<Timings> {
  let first: { readonly at: number; readonly cpu: NodeJS.CpuUsage } | undefined;
  let last = 0;
  let used: NodeJS.CpuUsage = { user: 0, system: 0 };
  let count = 0;
  for await (const _ of replies) {
    first ??= { at: performance.now(), cpu: process.cpuUsage() };
    [last, used, count] = [performance.now(), process.cpuUsage(first.cpu), count + 1];
  }
  // A turn is a reply; the last is the answer, and then comes the result.
  if (!first || count !== TURNS + 2) throw new Error(`${count} replies came instead of ${TURNS + 2}`);
  return { ms: last - first.at, cpuMs: (used.user + used.system) / 1_000 };
}

async function* plainReplies(cwd: string, env: Env): AsyncIterable<unknown> {
  const options = { cwd, env, permissionMode: 'bypass' as const, maxTurns: TURNS + 2 };
  for await (const event of query({ prompt: 'Begin.', options }))
    if (event.type === 'reply' || event.type === 'result') yield event;
}

async function* sdkReplies(cwd: string, env: Env): AsyncIterable<unknown> {
  const options = { cwd, env, permissionMode: 'bypassPermissions' as const, maxTurns: TURNS + 2 };
  for await (const message of agentQuery({ prompt: 'Begin.', options: { ...options, stderr: () => undefined } }))
    if (message.type === 'assistant' || message.type === 'result') yield message;
}
