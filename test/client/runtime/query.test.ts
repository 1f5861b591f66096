// query() as far as it goes without a server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Workplace } from '../../../client/runtime/workplace.ts';
import type { Followed } from '../../../client/follow/news.ts';
import { query, RunFailed } from '../../../client/runtime/query.ts';
import { ConfigProblem } from '../../../worker/config/config.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { simpleTool } from '../../tools/support.ts';

const opened = vi.hoisted(() => vi.fn<() => Promise<Workplace>>());
vi.mock('../../../client/runtime/workplace.ts', () => ({ openWorkplace: opened }));

test('says before it ends that an interrupt may not have arrived (L47 L52)', async () => {
  const said: string[] = [];
  let fail = (_why: Error): void => {};
  const interrupt = vi.fn(() => new Promise<never>((_resolve, reject) => (fail = reject)));
  const follow = async function* () {
    yield { type: 'text_delta', text: 'Hi.' } as Followed;
  };
  const close = () => Promise.resolve(void said.push('closed'));
  const start = () => Promise.resolve({ session: 's-1', messageId: 'm' });
  const sessions = { start, interrupt, follow };
  opened.mockResolvedValue({ sessions, failed: new AbortController().signal, close } as unknown as Workplace);
  const stop = new AbortController();
  const asking = query({
    prompt: 'do it',
    options: { config: {}, signal: stop.signal, say: (line) => said.push(line) },
  });
  expect((await asking.next()).value).toEqual({ type: 'session', sessionId: 's-1' });
  await asking.next();
  stop.abort();
  const ended = asking.return(undefined as never);
  await new Promise(setImmediate);
  fail(new Error('the server is away'));
  await ended;
  expect(interrupt).toHaveBeenCalledOnce();
  expect(said).toEqual([
    'the interrupt may not have arrived: the server is away',
    'session s-1 goes on when a worker has it: npx perdure watch s-1 follows it',
    'closed',
  ]);
});

/** A query whose run says "Hi." and ends so. */
function answered(outcome: object) {
  const follow = async function* () {
    yield { type: 'text_delta', text: 'Hi.' } as Followed;
    yield { type: 'result', sessionId: 's-1', text: 'Hi.', ...outcome } as Followed;
  };
  const start = () => Promise.resolve({ session: 's-1', messageId: 'm' });
  const close = vi.fn(() => Promise.resolve());
  const workplace = { sessions: { start, follow }, failed: new AbortController().signal, close };
  opened.mockResolvedValue(workplace as unknown as Workplace);
  const said: string[] = [];
  const asking = query({ prompt: 'do it', options: { config: {}, say: (line) => said.push(line) } });
  return { asking, said, close };
}

test('the first event of a query names the session, the last is its result (L52)', async () => {
  const { asking, said, close } = answered({ reason: 'completed' });
  const types: string[] = [];
  for await (const event of asking) types.push(event.type);
  expect(types).toEqual(['session', 'text_delta', 'result']);
  await expect(asking.result()).resolves.toMatchObject({ text: 'Hi.' });
  expect(said).toEqual([]);
  expect(close).toHaveBeenCalledOnce();
});

test('result() runs a query whose events are not read (L52)', async () => {
  const { asking, close } = answered({ reason: 'completed' });
  await expect(asking.result()).resolves.toMatchObject({ reason: 'completed', text: 'Hi.' });
  expect(close).toHaveBeenCalledOnce();
});

test('result() of a run that failed throws its reason in one line, with the outcome (L52)', async () => {
  const { asking } = answered({ reason: 'max_turns', detail: '1 turn' });
  const failed = (await asking.result().catch((error: unknown) => error)) as RunFailed;
  expect(failed).toBeInstanceOf(RunFailed);
  expect(failed.message).toBe('the run of session s-1 ended with max_turns: 1 turn');
  expect(failed.outcome).toMatchObject({ text: 'Hi.', reason: 'max_turns' });
});

test('a query that is left before its end says that its session goes on, and has no result (L52)', async () => {
  const { asking, said } = answered({ reason: 'completed' });
  for await (const { type } of asking) if (type === 'text_delta') break;
  expect(said).toEqual(['session s-1 goes on when a worker has it: npx perdure watch s-1 follows it']);
  await expect(asking.result()).rejects.toThrow('the events of this query() were left before its run ended');
});

test('a configuration that is wrong is refused before anything is made, connected or sent (L52)', async () => {
  const PERDURE_DATA = join(tempDir(), 'data');
  const config = { tools: [simpleTool({ name: 'bash' })] };
  const env = { PERDURE_DATA, ANTHROPIC_API_KEY: 'key' };
  const asking = query({ prompt: 'do it', options: { env, config } }).next();
  await expect(asking).rejects.toThrow(ConfigProblem);
  await expect(asking).rejects.toThrow(/^the configuration: "tools\.0\.name" is "bash": [^\n]*$/);
  expect(existsSync(PERDURE_DATA)).toBe(false);
});
