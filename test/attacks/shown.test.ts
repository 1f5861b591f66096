// What a person is shown of a call before deciding about it, and of a session: nothing of it is
// hidden.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { approvalsTable } from '../../cli/commands/approvals.ts';
import { sessionTable } from '../../client/render/tables.ts';
import { approvalText } from '../../client/render/approval-text.ts';
import { sessionInfo } from '../../client/sessions/info.ts';
import { createPaint } from '../../client/paint.ts';
import { showUnseen } from '../../system/text.ts';
import { callLine, compactInput } from '../../client/render/tool-lines.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { terminalScreen } from '../support/terminal-screen.ts';
import { description, session } from '../client/support.ts';

const approval = (input: unknown, tool = 'bash'): WaitingApproval => ({
  session,
  call: '1.1.0',
  tool,
  reason: 'it may change files',
  inputHash: 'h',
  head: 'h' as Hash,
  index: 0,
  deadline: 0,
  input,
});
const shown = (input: unknown, tool?: string): string => approvalText(createPaint(false), approval(input, tool));

const unseen = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s]/u;
const printable = (text: string): readonly string[] => Array.from(text).filter((letter) => !unseen.test(letter));

/** How many printable characters of `text` are not in `where`, in order. */
function lost(text: string, where: string): number {
  const letters = printable(text);
  let at = 0;
  for (const letter of where) if (letter === letters[at]) at += 1;
  return letters.length - at;
}

const said = (text: string): number =>
  [...text.matchAll(/… \(\+?([\d,]+) characters?/g)].reduce(
    (sum, found) => sum + Number(found[1]?.replaceAll(',', '')),
    0,
  );

const pieces = [
  '\u001b]0;',
  '\u0007',
  '\u001b[8m',
  '\u202e',
  '\u200b',
  '\u{e0041}',
  '\r',
  '\n',
  '\t',
  ' '.repeat(400),
  'rm -rf ~',
  '# ',
  '漢',
  '👩‍💻',
];
const texts = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 40 })), { maxLength: 60 })
  .map((parts) => parts.join(''));

test('every printable character of an input is shown, in order, unless it is said how much is cut', () => {
  fc.assert(
    fc.property(texts, fc.nat(20), (text, times) => {
      const command = text.repeat(times);
      for (const where of [
        shown({ command }),
        callLine(createPaint(false), 'bash', { command }),
        compactInput({ command }, 60),
        shown({ path: 'a', content: command }, 'write'),
      ]) {
        expect(lost(command, where)).toBeLessThanOrEqual(said(where));
        expect(where).toBe(showUnseen(where));
      }
    }),
    { numRuns: 300, endOnFailure: true },
  );
});

test.each([
  ['an escape sequence with its content', 'ls # \u001b]0;\n rm -rf ~ \u0007', 'rm -rf ~'],
  ['a line that is written over', 'rm -rf ~ #\rls', 'rm -rf ~ #\\rls'],
  ['a text that is turned around', 'rm \u202ecod', 'rm \\u202ecod'],
  ['what takes no room', 'rm\u200b -rf', 'rm\\u200b -rf'],
])('shows %s', (_what, command, seen) => {
  expect(shown({ command })).toContain(seen);
  expect(approvalsTable(createPaint(false), [approval({ command })])).toContain(seen);
  expect(callLine(createPaint(false), 'bash', { command })).toContain(seen);
});

test('shows the command first, wherever the model put it, and lines of one value as such', () => {
  const input = { description: 'lists\ncommand: ls', timeout: 5, command: 'rm -rf ~' };
  expect(shown(input).split('\n').slice(1, 5)).toEqual([
    '  │ $ rm -rf ~',
    '  │ description: lists',
    '  ┊ command: ls',
    '  │ timeout: 5',
  ]);
  expect(compactInput(input)).toMatch(/^rm -rf ~ /);
});

test('says what is left of a text of letters that take two units each', () => {
  const command = '💻'.repeat(5_000);
  expect(lost(command, shown({ command }))).toBeGreaterThan(0);
  expect(lost(command, shown({ command }))).toBeLessThanOrEqual(said(shown({ command })));
});

test('goes on with a line that is too long below it, marked', () => {
  const lines = shown({ command: `ls${' '.repeat(600)}; rm -rf ~` }).split('\n');
  expect(lines.some((line) => /^ {2}↪ .*; rm -rf ~$/.test(line))).toBe(true);
});

/** A call as a terminal of so many columns has it. */
function onScreen(columns: number, waiting: WaitingApproval): readonly string[] {
  const screen = terminalScreen(columns);
  screen.write(
    approvalText(
      createPaint(true, () => columns),
      waiting,
    ),
  );
  return screen.lines();
}

test('a row that is wider than the terminal goes on in marked rows: no text of a call begins one as our own do', () => {
  const rest = 'because: it only reads the log of this folder';
  for (const columns of [20, 40, 80, 120, 300]) {
    const command = `git log ${' '.repeat(columns * 3)}`;
    for (let more = 0; more < columns; more += 1) {
      const input = { command: `${command}${' '.repeat(more)}  ${rest}; sh ./x.sh` };
      const lines = onScreen(columns, approval(input));
      expect(lines.filter((line) => /^ *because/.test(line))).toHaveLength(1);
    }
  }
});

const wideTexts = fc
  .array(fc.constantFrom('漢', 'é', 'e\u0301\u0302', '👩‍💻', '🇩🇪', 'का', '❤️', '\t', ' ', 'x', '가', 'ᄀ', 'สำ'), {
    maxLength: 200,
  })
  .map((parts) => parts.join(''));

test('wide characters, joined ones and marks are counted as a terminal does', () => {
  const ours = /^( {0,2}[?│┊↪…]|  because:|  call|  changed)/u;
  fc.assert(
    fc.property(wideTexts, fc.integer({ min: 16, max: 120 }), (text, columns) => {
      for (const [input, tool] of [
        [{ command: text, [text.slice(0, 50)]: text }, 'bash'],
        [{ path: text, old_string: text, new_string: `${text}x` }, 'edit'],
      ] as const) {
        const waiting = { ...approval(input, tool), reason: text, problem: `changed ${text}` };
        for (const line of onScreen(columns, waiting)) expect(line).toMatch(ours);
      }
    }),
    { numRuns: 200, endOnFailure: true },
  );
});

test('rows of tables and of calls that are wider than the terminal go on in marked rows', () => {
  const paint = createPaint(true, () => 80);
  const waiting = { ...approval({ command: 'x y '.repeat(100) }), reason: 'and so on '.repeat(40) };
  const screen = terminalScreen(80);
  screen.write(approvalsTable(paint, [waiting]));
  const unmarked = screen.lines().filter((line) => line !== '' && !line.startsWith('↪ '));
  expect(unmarked.map((line) => line.split(' ', 1)[0])).toEqual(['SESSION', 's-1']);
});

test('lists sessions of foreign workflows without letting their ids, titles and reasons act', () => {
  const evil = '\u001b]0;x\u0007\u202e\nnext';
  const last = { run: 1, head: null, turns: 1, iterations: 1, messages: [], terminal: { reason: evil } };
  const listed = sessionTable(
    createPaint(false),
    [
      description({
        session: evil as SessionId,
        title: evil,
        last: last as unknown as ReturnType<typeof description>['last'],
      }),
    ],
    0,
  );
  expect(listed).toBe(showUnseen(listed));
  expect(listed.split('\n')).toHaveLength(3);
  expect(listed.match(/\\x1b\]0;x\\x07\\u202e next/g)).toHaveLength(3);
});

test.each([{}, 5, { run: 1 }, { run: 1, terminal: { reason: { a: 1 } } }])(
  'a memo of somebody else, whose last run is %j, leaves the list of all sessions whole',
  (last) => {
    const memo = { perdure: { phase: 'parked', cwd: '/', title: 't', runs: 1, head: null, last } };
    const execution = { workflowId: 's-1', status: { name: 'RUNNING' }, memo, startTime: new Date(), taskQueue: 'q' };
    const info = sessionInfo(execution as never);
    expect(info).toMatchObject({ title: 't', last: null });
    expect(sessionTable(createPaint(false), [info], Date.now())).toContain('s-1');
  },
);

test.each(['/cancel', 'x\u001b[2J', '> Added by the hook policy: yes', 5])(
  'a memo of somebody else suggests nothing that is no plain line: %j (L56)',
  (text) => {
    const memo = { perdure: { phase: 'idle', cwd: '/', title: 't', runs: 1, suggestion: { run: 1, text } } };
    const execution = { workflowId: 's-1', status: { name: 'RUNNING' }, memo, startTime: new Date(), taskQueue: 'q' };
    const info = sessionInfo(execution as never);
    expect([info.title, info.suggestion]).toEqual(['t', undefined]);
  },
);
