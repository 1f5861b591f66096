// The todo tool (L83): the run's task list. Each call replaces it, and its result is the list: an
// entry of the transcript as any other.
import { z } from 'zod';
import { onOneLine } from '../../system/text.ts';
import { NO_TASKS } from '../../store/view/task-list.ts';
import { defineTool, type Tool } from '../tool.ts';

const MOST_TASKS = 100;
/** Characters of a task, and of the list. */
const LONGEST_TASK = 400;
const LONGEST_LIST = 8_000;

const MARKS = { open: '[ ]', doing: '[>]', done: '[x]' } as const;

export function createTodoTool(): Tool {
  return defineTool({
    name: 'todo',
    description:
      'Keeps the list of tasks of this run, which the user sees. Give the whole list each time: it replaces the one before. ' +
      'Use it for work of several steps, keep one task in state doing, and set a task to done as soon as it is.',
    inputSchema: z.strictObject({
      tasks: z
        .array(
          z.strictObject({
            text: z.string().trim().min(1).max(LONGEST_TASK),
            state: z.enum(['open', 'doing', 'done']),
          }),
        )
        .max(MOST_TASKS),
    }),
    risk: 'read',
    recovery: 'rerun',
    validate: async ({ tasks }) => {
      const { length } = renderTasks(tasks);
      return length <= LONGEST_LIST ? undefined : `The list has ${length} characters: keep it below ${LONGEST_LIST}.`;
    },
    call: async ({ tasks }) => ({ content: tasks.length === 0 ? NO_TASKS : renderTasks(tasks) }),
  });
}

function renderTasks(tasks: readonly { readonly text: string; readonly state: keyof typeof MARKS }[]): string {
  return tasks.map(({ text, state }) => `${MARKS[state]} ${onOneLine(text)}`).join('\n');
}
