// Summaries of batches that come too late for anyone: nobody reads them, and they are billed all
// the same.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { largestSummarySpend } from '../../activities/compaction/summarize.ts';
import { gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

const SUMMARY_TOKENS = 700;
const isSummary = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');

async function summariesAtWork({ client }: Harness, { id }: OpenSession): Promise<number> {
  const { pendingActivities } = (await client.workflow.getHandle(id).describe()).raw;
  return (pendingActivities ?? []).filter(({ activityType }) => activityType?.name === 'perdure.summarizeBatch').length;
}

test('what is left of a limit is for the next model call where it would not pay for a summary too (L42 L51)', async () => {
  const estimate = largestSummarySpend({ price: null }).usage;
  const usage = { input_tokens: 1_000, output_tokens: 0 };
  const replies = [reply([toolUse('read', { path: 'a.txt' })], { usage }), reply('Done.', { usage })];
  let calls = 0;
  const script = (request: ParsedRequest): Reply | undefined =>
    isSummary(request) ? reply('Read a.txt') : replies[calls++];
  const h = await harness({ script, worker: { config: { batchSummaries: true } } });
  writeFileSync(join(h.cwd, 'a.txt'), 'hello');
  const session = await h.open('Go.', { maxTokens: 1_000 + estimate.input + estimate.output });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const { events } = await session.handle.fetchHistory();
  const asked = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  expect(asked).not.toContain('perdure.summarizeBatch');
  expect(h.bodies().filter(isSummary)).toEqual([]);
});

test('a summary that the next batch overtakes counts as billed, one that the run leaves behind as an estimate (L42 L51)', async () => {
  const never = gate();
  const [second, third] = [gate(), gate()];
  const look = toolUse('read', { path: 'a.txt' });
  const usage = { input_tokens: 10, output_tokens: 1 };
  const replies = [
    reply([look], { usage }),
    reply([look], { usage, hold: second.hold }),
    reply('Done.', { usage, hold: third.hold }),
  ];
  let calls = 0;
  const script = (request: ParsedRequest): Reply | undefined =>
    isSummary(request)
      ? reply('Late.', { usage: { input_tokens: SUMMARY_TOKENS, output_tokens: 1 }, hold: never.hold })
      : replies[calls++];
  const h = await harness({ script, worker: { config: { batchSummaries: true } } });
  writeFileSync(join(h.cwd, 'a.txt'), 'hello');
  const session = await h.open('Go.');
  const summariesAsked = (count: number) => until(() => h.bodies().filter(isSummary).length === count);
  await summariesAsked(1);
  second.release();
  await summariesAsked(2);
  // The first has said what it was billed.
  await until(async () => (await summariesAtWork(h, session)) === 1);
  third.release();
  await session.ended(1);
  const entries = await session.entries();
  const own = entries.reduce((sum, entry) => sum + (entry.kind === 'reply' ? entry.spend.usage.input : 0), 0);
  const ended = entries.find((entry) => entry.kind === 'run_ended');
  const estimate = largestSummarySpend({ price: null }).usage.input;
  expect(ended?.kind === 'run_ended' && ended.ended.spend.usage.input).toBe(own + SUMMARY_TOKENS + estimate);
  never.release();
});
