// query() as far as it goes without a server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Workplace } from '../../client/connect/workplace.ts';
import type { Followed } from '../../client/follow/follow.ts';
import { query } from '../../client/query.ts';
import { ConfigProblem } from '../../worker/config/config.ts';
import { tempDir } from '../support/temp-dir.ts';
import { simpleTool } from '../activities/tools/support.ts';

const opened = vi.hoisted(() => vi.fn<() => Promise<Workplace>>());
vi.mock('../../client/connect/workplace.ts', () => ({ openWorkplace: opened }));

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
  await asking.next();
  stop.abort();
  const ended = asking.return(undefined as never);
  await new Promise(setImmediate);
  fail(new Error('the server is away'));
  await ended;
  expect(interrupt).toHaveBeenCalledOnce();
  expect(said).toEqual(['the interrupt may not have arrived: the server is away', 'closed']);
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
