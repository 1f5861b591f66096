// Providers of attachments: asked ahead, never waited for, and what they say is lost only with the
// worker.
import { type Log, formatLog } from '../../../system/log.ts';
import { expect, test } from 'vitest';
import { createPrefetch, type AttachmentProvider } from '../../../activities/attachments/prefetch.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { until } from '../../support/until.ts';

const run = (session = 's-1') => ({ session: session as SessionId, queryId: 'chain.1', depth: 0, run: 1, cwd: '/w' });
const session = run().session;

function deferred() {
  let settle: (text: string | null) => void = () => {};
  const said = new Promise<string | null>((resolve) => (settle = resolve));
  return { said, settle };
}

function ahead(providers: readonly AttachmentProvider[], sessions?: number) {
  const warnings: string[] = [];
  const log: Log = (_, message, fields) => void warnings.push(formatLog(message, fields));
  return { ...createPrefetch(providers, { log, ...(sessions === undefined ? {} : { sessions }) }), warnings };
}

test('only what has settled is taken, and what is slow is not asked twice meanwhile (L43)', async () => {
  const slow = deferred();
  let asked = 0;
  const { start, take } = ahead([
    { name: 'slow', collect: () => (asked++, slow.said) },
    { name: 'fast', collect: () => 'news' },
  ]);
  start(run());
  await until(() => take(session, 0).length > 0);
  expect(take(session, 0)).toEqual([{ source: 'fast', text: 'news' }]);
  start(run());
  slow.settle('memory');
  await until(() => take(session, 1).length > 1);
  expect(take(session, 1)).toEqual([
    { source: 'slow', text: 'memory' },
    { source: 'fast', text: 'news' },
  ]);
  expect(asked).toBe(1);
});

test('what was taken for a request that came to nothing is given again, and never for the next (L43)', async () => {
  const { start, take } = ahead([{ name: 'fast', collect: () => 'news' }]);
  start(run());
  await until(() => take(session, 4).length > 0);
  expect(take(session, 4)).toEqual([{ source: 'fast', text: 'news' }]);
  expect(take(session, 7)).toEqual([]);
});

test('a provider that fails, takes too long or has nothing new adds nothing; the first two are reported (L13)', async () => {
  const { start, take, warnings } = ahead([
    { name: 'bad', collect: () => Promise.reject(new Error('boom')) },
    { name: 'late', timeoutMs: 10, collect: () => new Promise(() => {}) },
    { name: 'quiet', collect: () => null },
    { name: 'blank', collect: () => ' \n' },
  ]);
  start(run());
  await until(() => warnings.length === 2);
  expect(warnings).toEqual([
    'attachment bad: boom (session s-1, query chain.1, depth 0, run 1)',
    'attachment late: timed out after 10 ms (session s-1, query chain.1, depth 0, run 1)',
  ]);
  expect(take(session, 0)).toEqual([]);
});

test('a session that is forgotten is told so and warns of nothing', async () => {
  const stopped: string[] = [];
  const { start, take, warnings } = ahead(
    [
      {
        name: 'slow',
        collect: (context) =>
          new Promise((resolve) =>
            context.signal.addEventListener('abort', () => {
              stopped.push(context.session);
              resolve(null);
            }),
          ),
      },
    ],
    1,
  );
  start(run('s-1'));
  await Promise.resolve();
  start(run('s-2'));
  await until(() => stopped.length === 1);
  expect({ stopped, taken: take(session, 0), warnings }).toEqual({ stopped: ['s-1'], taken: [], warnings: [] });
});
