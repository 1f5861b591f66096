// Times that the model gives, as they are handed over to the workflow: a worker that is away in
// between moves none.
import { expect, test } from 'vitest';
import { createAskUserTool, createWaitTool } from '../../../tools/builtin/builtin-tools.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { beginDelegation } from '../../../workflows/delegated/carry-out.ts';
import { Delegations } from '../../../workflows/delegated/delegations.ts';
import type { Delegation, QuestionWork, WaitWork } from '../../../workflows/contract/delegation.ts';
import type { CallKey } from '../../../workflows/contract/ids.ts';
import { makeQuestion } from '../../../workflows/updates/open-questions.ts';

const NOW = Date.parse('2027-01-01T00:00:00Z');
const DAYS = 24 * 3_600_000;
const context = {} as ToolContext;

const waits = async (input: object) => (await createWaitTool(() => NOW).delegate!(input, context)) as WaitWork;
const asks = async (input: object) =>
  (await createAskUserTool(() => NOW).delegate!({ question: 'Which?', ...input }, context)) as QuestionWork;

/** When a wait is over that the workflow has begun. */
async function overAt(wait: Delegation): Promise<number | undefined> {
  const session = { delegations: new Delegations(), inbox: { count: 0 }, resumed: false } as never;
  return (await beginDelegation(session, { key: 'c.h.0' as CallKey, index: 0, name: '1.1.0' }, wait as WaitWork)).until;
}

test('a wait is handed over with the time at which it is over, whenever the workflow hears of it (L82)', async () => {
  const until = '2027-01-02T00:00:00Z';
  expect(await overAt(await waits({ until }))).toBe(Date.parse(until));
  expect(await overAt(await waits({ seconds: 60 }))).toBe(NOW + 60_000);
  expect(await overAt(await waits({ until: '2026-01-01T00:00:00Z' }))).toBe(Date.parse('2026-01-01T00:00:00Z'));
});

test('a wait for a message alone lasts as long as a wait may (L82)', async () => {
  expect(await waits({ message: true })).toMatchObject({ until: NOW + 366 * DAYS, message: true });
  expect(createWaitTool().description).toContain('366 days');
  for (const input of [{}, { message: false }]) await expect(waits(input)).rejects.toThrow('message: true');
  await expect(waits({ seconds: 1, until: '2027-01-02T00:00:00Z' })).rejects.toThrow('either');
  await expect(waits({ until: '2028-02-01T00:00:00Z', message: true })).rejects.toThrow('366 days');
});

test('what an earlier release handed over is over so many seconds after the workflow heard of it (L82)', async () => {
  const before = Date.now();
  const until = (await overAt({ kind: 'wait', seconds: 60, message: false })) ?? 0;
  expect(until).toBeGreaterThanOrEqual(before + 60_000);
  expect(until).toBeLessThanOrEqual(Date.now() + 60_000);
});

test('a question is handed over with its deadline, whenever the workflow hears of it (L81)', async () => {
  const place = { run: 1, iteration: 1, head: 'h', index: 0, tool: 'ask_user', now: NOW + 5_000, approvalMs: 7_000 };
  const deadlineOf = (asked: QuestionWork): number => makeQuestion(place as never, asked, null).deadline;
  const deadline = '2027-01-02T00:00:00Z';
  expect(deadlineOf(await asks({ deadline }))).toBe(Date.parse(deadline));
  expect(deadlineOf(await asks({}))).toBe(NOW + 12_000);
  expect(deadlineOf({ kind: 'question', seconds: 60 })).toBe(NOW + 65_000);
  await expect(asks({ deadline: '2026-12-31T00:00:00Z' })).rejects.toThrow('has passed');
  await expect(asks({ deadline: '2028-02-01T00:00:00Z' })).rejects.toThrow('366 days');
});
