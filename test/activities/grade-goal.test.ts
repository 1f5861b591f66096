// The grader of a run's goal (X10, G72): what it is shown, how its answer is read, what is stored.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APIError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { gradeGoal } from '../../activities/grade-goal.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Goal } from '../../workflows/contract/goals.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { callBlock, outcome, outcomes, reply, textBlock, user } from '../support/transcript.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type Answer, attemptOf, compactionBench, hanging } from './compaction/support.ts';

const goal: Goal = { rubric: { kind: 'text', text: 'The file says hello.' }, rounds: 2 };
const started: Entry = { kind: 'run_started', run: 1, config: 'c' as Hash, at: 0 };
const says = (grade: string, why = 'It says bye.'): string => JSON.stringify({ grade, why });
const grading = { kind: 'notice', notice: { kind: 'grading', round: 1 } } as const;

async function bench(
  answers: readonly Answer[],
  more: Partial<{ entries: readonly Entry[]; goal: Goal; round: number }> = {},
) {
  const wrote = [reply([callBlock('a', { path: 'a.txt', content: 'bye' }, 'write')]), outcomes(outcome(0, 'wrote'))];
  const prompt = { ...user('Write it.'), goal } as Entry;
  const entries = [started, prompt, ...wrote, reply([textBlock('It says hello.')]), ...(more.entries ?? [])];
  const made = await compactionBench({ entries, answers });
  const input = { ...made.request, append: [grading], goal: more.goal ?? goal, round: more.round ?? 1 };
  return { ...made, input, grade: (attempt = attemptOf()) => gradeGoal(made.deps)(attempt, input) };
}

describe('the grade', () => {
  test.each([
    ['met', 1, 'met'],
    ['not_met', 1, 'not_met'],
    ['not_met', 2, 'rounds_spent'],
    ['not_applicable', 2, 'not_applicable'],
  ])(
    'of an answer "%s" in round %i of 2 is stored as "%s", with why, cost and time (X10)',
    async (said, round, grade) => {
      const { grade: run, entries } = await bench([says(said)], { round });
      const result = await run();
      expect(result).toMatchObject({ kind: 'graded', grade, text: 'It says bye.', spend: { usage: { input: 1_000 } } });
      if (result.kind !== 'graded') throw new Error(result.kind);
      expect((await entries(result.head)).slice(-2)).toEqual([
        grading,
        { kind: 'notice', notice: { kind: 'graded', round, grade, text: 'It says bye.', spend: result.spend, at: 0 } },
      ]);
    },
  );

  test('is asked for once: an attempt after it was stored returns the same, and asks nobody (X10)', async () => {
    const { grade, asked } = await bench([says('met')]);
    const first = await grade();
    expect(await grade(attemptOf(2))).toEqual(first);
    expect(asked).toHaveLength(1);
  });

  test('may stand in a fenced block; another form is asked for again, three times in all (X10 L15)', async () => {
    const fenced = await bench([`Here:\n\`\`\`json\n${says('met')}\n\`\`\``]);
    expect(await fenced.grade()).toMatchObject({ grade: 'met' });
    const { grade, asked } = await bench(['I like it.', says('perhaps'), '{}']);
    let attempt = attemptOf();
    await expect(grade(attempt)).rejects.toThrow('the reply was empty');
    await expect(grade((attempt = attemptOf(2, attempt.left())))).rejects.toThrow('the reply was empty');
    expect(await grade(attemptOf(3, attempt.left()))).toMatchObject({ kind: 'failed' });
    expect(asked).toHaveLength(3);
  });
});

describe('the grader', () => {
  test('is shown the rubric as its task, and what was asked, done and said, in a context of its own (X10)', async () => {
    const { grade, asked, texts } = await bench([says('met')]);
    await grade();
    const [text = ''] = texts();
    expect(text.indexOf('Write it.')).toBeLessThan(text.indexOf('The rubric:\nThe file says hello.'));
    expect(text).toContain('"content":"bye"');
    expect(text).toContain('It says hello.');
    expect(text.split('The file says hello.')).toHaveLength(2);
    expect(asked).toMatchObject([{ model: 'claude-small', messages: [{ role: 'user' }] }]);
  });

  test('reads files that the run changed as they are, and none outside its folders (X10)', async () => {
    const root = join(tempDir(), 'work');
    mkdirSync(root);
    writeFileSync(join(root, 'a.txt'), 'hello there');
    writeFileSync(join(root, '..', 'secret.txt'), 'a secret');
    const names = ['a.txt', 'gone.txt', '../secret.txt'];
    const counts = { files: 3, bytes: 1, added: 3, changed: 0, deleted: 0, insertions: 1, deletions: 0 };
    const files: Entry = {
      kind: 'files',
      roots: [{ root, id: 'b'.repeat(40), parent: 'a'.repeat(40), ...counts, names }],
      at: 0,
    };
    const { deps, input, texts } = await bench([says('met')], { entries: [files] });
    const config = { ...(await deps.config(input.config)), cwd: root };
    await gradeGoal({ ...deps, config: Object.assign(async () => config, deps.config) })(attemptOf(), input);
    const [text = ''] = texts();
    expect(text).toContain(`The file ${join(root, 'a.txt')}:\nhello there`);
    expect(text).toContain(`The file ${join(root, 'gone.txt')} is not there.`);
    expect(text).not.toContain('a secret');
  });

  test('cannot grade by a rubric that it cannot hold (X10)', async () => {
    const rubric = { kind: 'text', text: 'x'.repeat(100_000) } as const;
    const { grade, asked } = await bench([], { goal: { ...goal, rubric } });
    expect(await grade()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('100000 characters') });
    expect(asked).toHaveLength(0);
  });

  test('that is overloaded is asked again by the next attempt, which knows its bill (X10 L14)', async () => {
    const overloaded = APIError.generate(529, { error: { message: 'busy' } }, 'no', new Headers());
    const { grade } = await bench([overloaded, says('met')]);
    const attempt = attemptOf();
    await expect(grade(attempt)).rejects.toThrow('busy');
    expect(await grade(attemptOf(2, attempt.left()))).toMatchObject({ kind: 'graded' });
  });

  test('that is told to wait long parks the run; one that may not be asked ends it (X10 L14 L20)', async () => {
    const limited = APIError.generate(429, {}, 'no', new Headers({ 'retry-after': '7200' }));
    expect(await (await bench([limited])).grade()).toMatchObject({ kind: 'parked', failures: 1 });
    const wrong = APIError.generate(401, { error: { message: 'invalid x-api-key' } }, 'no', new Headers());
    expect(await (await bench([wrong])).grade()).toMatchObject({ kind: 'failed', status: 401 });
  });

  test('that is stopped leaves nothing, and its cost is counted (X10 L47)', async () => {
    const attempt = attemptOf();
    const { grade } = await bench([hanging(() => attempt.abort('stop'))]);
    expect(await grade(attempt)).toMatchObject({ kind: 'nothing', spend: { usage: { input: 1_000 } } });
  });
});
