// A call that waits, as it is shown to whoever decides.
import { expect, test } from 'vitest';
import type { WaitingApproval } from '../../../client/sessions/waiting-approval.ts';
import { approvalsTable } from '../../../cli/commands/approvals.ts';
import { approvalText, parseQuestion } from '../../../client/render/approval-text.ts';
import { chooseAnswer } from '../../../cli/approving/pick-decision.ts';
import { createPaint } from '../../../client/paint.ts';
import { showUnseen } from '../../../system/text.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { session } from '../support.ts';

const approval = (changes: Partial<WaitingApproval> = {}): WaitingApproval => ({
  session,
  call: '1.1.0',
  tool: 'bash',
  reason: 'it may change files',
  inputHash: 'h',
  head: 'h' as Hash,
  index: 0,
  deadline: Date.UTC(2030, 0, 2, 3, 4, 5),
  input: { command: 'rm -rf build\nls', timeout: 5 },
  ...changes,
});

test('shows the tool, its whole input, why it is asked and until when (L55)', () => {
  expect(approvalText(createPaint(false), approval()).split('\n')).toEqual([
    '? bash waits for a decision',
    '  │ $ rm -rf build',
    '  ┊ ls',
    '  │ timeout: 5',
    '  because: it may change files',
    '  call 1.1.0, auto-denied 2030-01-02 03:04:05 UTC',
  ]);
});

test('shows an edit as what it takes out and puts in, in colours where there are some (O18)', () => {
  const input = { path: 'a.ts', old_string: 'one\ntwo', new_string: 'one\n2', replace_all: true };
  const lines = approvalText(createPaint(false), approval({ tool: 'edit', input })).split('\n');
  expect(lines.slice(1, 5)).toEqual(['  │ a.ts (wherever it stands)', '  │   one', '  │ - two', '  │ + 2']);
  const painted = approvalText(createPaint(true), approval({ tool: 'edit', input }));
  expect(painted).toContain('\u001b[31m- two\u001b[39m');
});

test('hides nothing of an edit without saying how much: a long line goes on in the next row (L55)', () => {
  const edit = (new_string: string, more = {}) =>
    approvalText(
      createPaint(false),
      approval({ tool: 'edit', input: { path: 'a', old_string: 'b', new_string, ...more } }),
    );
  const wide = edit(`${'x'.repeat(100)} rm -rf ~`).split('\n');
  expect(wide.slice(3, 5)).toEqual([`  │ + ${'x'.repeat(73)}`, `  ↪ + ${'x'.repeat(27)} rm -rf ~`]);
  expect(edit('y\n'.repeat(100))).toMatch(/… \(\d+ characters more, \d+ of JSON in all: perdure approvals --json\)/);
  expect(edit('c', { also: 'this' })).toContain('also: this');
});

test('bounds a large input, and says where all of it is (L55)', () => {
  const lines = approvalText(createPaint(false), approval({ input: { content: 'x\n'.repeat(5_000) } })).split('\n');
  expect(lines).toHaveLength(34);
  expect(lines.at(-3)).toMatch(/^ {2}… \([\d,]+ characters more, 15014 of JSON in all: perdure approvals --json\)$/);
  const wide = approvalText(createPaint(false), approval({ input: { content: 'y'.repeat(1_000_000) } }));
  expect(wide.length).toBeLessThan(20_000);
  expect(wide).toContain('(991,009 characters more, 1000014 of JSON in all');
});

test('says when the input is not known for certain', () => {
  const problem = 'a hook has changed this input';
  expect(approvalText(createPaint(false), approval({ problem }))).toContain('\n  a hook has changed this input\n');
});

test('lists what waits in columns, why it is asked last (L55)', () => {
  const lost = approval({
    call: '1.1.1',
    input: null,
    problem: 'lost',
    reason: 'nothing has run;\n' + 'x'.repeat(500),
  });
  expect(approvalsTable(createPaint(false), [approval(), lost]).split('\n')).toEqual([
    'SESSION  CALL   TOOL  WAITING UNTIL            WHAT             REASON',
    's-1      1.1.0  bash  2030-01-02 03:04:05 UTC  rm -rf build ls  it may change files',
    `s-1      1.1.1  bash  2030-01-02 03:04:05 UTC  (not certain)    nothing has run; ${'x'.repeat(183)}… (+317 characters)`,
    '',
  ]);
  const [, wide] = approvalsTable(createPaint(false), [approval({ input: { command: 'y'.repeat(500) } })]).split('\n');
  expect(wide).toContain(`${'y'.repeat(60)}… (+440 characters)  it may change files`);
});

test('lets nothing of a call act on the terminal', () => {
  const evil = '\u001b]0;x\u0007\u009b2J';
  const text = approvalText(
    createPaint(false),
    approval({ tool: evil, reason: evil, call: evil, input: { [evil]: evil }, problem: evil }),
  );
  expect(text).toBe(showUnseen(text));
});

test('offers no numbers where options are numbers: what is typed means the option that is written so (L81)', () => {
  const shown = (options: readonly string[]): string =>
    approvalText(createPaint(false), approval({ question: {}, input: { question: 'How many?', options } }));
  expect(shown(['red', '1 more'])).toContain('\n  1  red\n  2  1 more\n');
  expect(shown(['2', '1', 'none'])).toContain('\n  -  2\n  -  1\n  -  none\n');
  const options = ['2', '1', 'none'];
  expect(['1', '2', 'none'].map((given) => chooseAnswer({ options }, given))).toEqual(['1', '2', 'none']);
  expect(() => chooseAnswer({ options }, '3')).toThrow('3 is not offered: give one of the options, as it is written');
  expect(() => chooseAnswer({ options: ['red'] }, '2')).toThrow('2 is not offered: give a number from 1 to 1');
});

test('shows the options of a question as they are offered, without blanks around them (L81)', () => {
  expect(parseQuestion({ question: ' Which? ', options: ['red ', ' green'] })).toEqual({
    question: 'Which?',
    options: ['red', 'green'],
  });
});
