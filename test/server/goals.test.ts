// Goals of runs on a real server (X10): brought by a message, graded over a parking, by a command
// that the rules of the run hold, and stopped.
import { expect, test } from 'vitest';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Goal } from '../../workflows/contract/goals.ts';
import { clientOf, harness, type HarnessOptions } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const opened = (script: HarnessOptions['script'], more: Partial<HarnessOptions> = {}) => harness({ script, ...more });
const says = (grade: string) => reply(JSON.stringify({ grade, why: `It is ${grade}.` }));
const goal: Goal = { rubric: { kind: 'text', text: 'It is done.' }, rounds: 2 };

const gradesIn = (entries: readonly Entry[]): readonly string[] =>
  entries.flatMap((entry) => (entry.kind === 'notice' && entry.notice.kind === 'graded' ? [entry.notice.grade] : []));

test('a goal that a message brings holds for its run alone, and one of the options for each run (X10)', async () => {
  const h = await opened([reply('One.'), says('met'), reply('Two.'), reply('Three.'), says('met')]);
  const session = await h.open('Go.', {}, { goal });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  await session.send('More.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.bodies()).toHaveLength(3);
  await session.send('And more.', { options: { goal: 'It is all done.' } });
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(gradesIn(await session.entries())).toEqual(['met', 'met']);
  expect(JSON.stringify(h.bodies()[3])).toContain('It is all done.');
  await keepHistory('a goal that a message brings, and one of the options (X10)', session.handle);
});

test('a goal that comes while a run works is taken up with its next turn (X10)', async () => {
  let release = (): void => undefined;
  const hold = new Promise<void>((resolve) => (release = resolve));
  const glob = reply([toolUse('glob', { pattern: '*' })], { hold });
  const h = await opened([glob, reply('Done.'), says('not_met'), reply('Done now.'), says('met')]);
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 1);
  await session.send('Let it be graded.', { goal });
  release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect(gradesIn(await session.entries())).toEqual(['not_met', 'met']);
  await keepHistory('a goal that comes while a run works (X10)', session.handle);
});

test('a grader that has to wait parks the run, and is asked again after that, or at once by a resume (X10 L14)', async () => {
  const h = await opened([reply('Done.'), fault({ status: 429, retryAfter: 7_200 }), says('met')]);
  const session = await h.open('Go.', { goal: 'It is done.' });
  await until(async () => (await session.memo())?.phase === 'parked');
  expect(h.bodies()).toHaveLength(2);
  await clientOf(h).resume(session.id);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await session.entries()).filter((entry) => entry.kind === 'notice')).toMatchObject([
    { notice: { kind: 'grading', round: 1 } },
    { notice: { kind: 'graded', grade: 'met' } },
  ]);
  await keepHistory('a goal whose grader parks the run (X10 L14)', session.handle);
});

test('a stop while the grader is asked ends the run, and the grading stays without an end (X10 L47)', async () => {
  const h = await opened([reply('Done.'), fault({ silence: true })]);
  const session = await h.open('Go.', { goal: 'It is done.' });
  await until(() => h.bodies().length === 2);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
  const entries = await session.entries();
  expect(gradesIn(entries)).toEqual([]);
  expect(entries).toContainEqual({ kind: 'notice', notice: { kind: 'grading', round: 1 } });
  await keepHistory('a stop while a goal is graded (X10 L47)', session.handle);
});

const graded = { goal: 'The check passes.', goalRounds: 1 };

test('a command grades by its exit status, also where that is an answer of its own, with its output as why (X10)', async () => {
  const h = await opened([reply('Done.'), reply('It fails.')]);
  const goalCommand = 'echo hello > a.txt; echo looked; grep -q bye a.txt';
  const session = await h.open('Go.', { ...graded, goalCommand, permissionMode: 'default' });
  expect(await session.ended(1)).toMatchObject({
    terminal: { reason: 'goal_not_met', detail: expect.stringContaining('looked\n(exit status 1)') },
  });
  expect(h.bodies()).toHaveLength(2);
});

test('a command that a rule of the run denies, or asks about, grades nothing: the run ends with an error (X10 L55)', async () => {
  const h = await opened([reply('Done.'), reply('Done.')]);
  const denied = await h.open('Go.', { ...graded, goalCommand: 'true', permissions: { deny: ['bash(true)'] } });
  expect(await denied.ended(1)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining('could not be graded') },
  });
  const permissions = { ask: ['bash(true)'] };
  const asked = await h.open('Go.', { ...graded, goalCommand: 'true', permissionMode: 'default', permissions });
  expect(await asked.ended(1)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining('nobody can be asked') },
  });
});
