// The task list as the model writes it and everyone reads it (L83).
import { expect, test } from 'vitest';
import { createTodoTool } from '../../../tools/builtin/builtin-tools.ts';
import { checkInput } from '../../../system/schema/input-schema.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { taskListOf } from '../../../store/view/task-list.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { createPaint } from '../../../client/paint.ts';
import { transcriptText } from '../../../cli/render/transcript.ts';
import { resultLines } from '../../../client/render/tool-lines.ts';
import { description } from '../../client/support.ts';
import { boundary, callBlock, outcome, outcomes, reply } from '../../support/transcript.ts';
import { stagedPage } from '../../support/page-ports.ts';

const tool = createTodoTool();
const context = {} as ToolContext;
const list = (texts: readonly string[]) => ({ tasks: texts.map((text) => ({ text, state: 'open' })) });

const called = (content: string): Entry[] => [
  reply([callBlock('t', {}, 'todo')]),
  outcomes({
    ...outcome(0, content),
    log: { key: null, name: 'todo', decision: 'allowed', duration: 1, outcome: 'ok' },
  }),
];

test('each call answers the whole list, a line a task; an empty one says so (L83)', async () => {
  const tasks = [
    { text: 'find\nit', state: 'done' },
    { text: 'fix it', state: 'doing' },
    { text: 'say so', state: 'open' },
  ];
  expect(await tool.call({ tasks }, context)).toEqual({ content: '[x] find it\n[>] fix it\n[ ] say so' });
  expect(await tool.call({ tasks: [] }, context)).toEqual({ content: 'There are no tasks.' });
});

test('a list that is too long, a task without a text and a state that there is not are refused (L83)', async () => {
  expect(await tool.validate?.(list(Array.from({ length: 100 }, () => 'x'.repeat(100))), context)).toContain('8000');
  for (const input of [list(['']), list(['x'.repeat(401)]), { tasks: [{ text: 'a', state: 'gone' }] }, { tasks: 1 }])
    expect(checkInput(tool.inputSchema, input).ok).toBe(false);
});

test('the list is that of the last call, also of one that a summary stands for, until it is emptied (L83)', () => {
  expect(taskListOf([...called('[ ] a'), ...called('[x] a')])).toBe('[x] a');
  expect(taskListOf([...called('[ ] a'), { ...boundary('s', 2), tasks: '[ ] a' } as Entry])).toBe('[ ] a');
  expect(taskListOf([...called('[ ] a'), boundary('s', 2)])).toBeNull();
  expect(taskListOf([...called('[ ] a'), ...called('There are no tasks.')])).toBeNull();
});

test('show, watchers and the page show all of the list, and nothing of it moves a terminal or is markup (L83)', async () => {
  const rows = Array.from({ length: 12 }, (_, at) => `[ ] <b>task ${at}</b>\u001b[2J`);
  const entries = called(rows.join('\n'));
  const shown = transcriptText(createPaint(false), {
    description: description(),
    entries,
    bodies: new Map(),
    runs: [],
    first: 0,
    problems: [],
  });
  expect(shown.slice(shown.lastIndexOf('Tasks')).match(/task \d+/g)).toHaveLength(12);
  expect(shown).not.toContain('\u001b');
  const result = { content: rows.join('\n'), isError: false, durationMs: 1 };
  expect(resultLines(createPaint(false), { ...result, name: 'todo' })).toContain('task 11');
  const { text } = await stagedPage({ entries });
  const page = await text('/sessions/s-1');
  expect(page).toMatch(/<ul id="tasks"[^>]*>.*task 11.*<\/ul>/s);
  expect(page).not.toContain('<b>task');
  expect(page).not.toContain('\u001b');
});
