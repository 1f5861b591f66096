// Finds the task list of a session (L83): the result of its last call of the todo tool. Summaries
// and short forms keep it word for word.
import type { Entry } from '../log/entries.ts';

/** The tool's result when the list was emptied. */
export const NO_TASKS = 'There are no tasks.';

/**
 * Returns the list as the model wrote it, or null without one. For entries that a summary stands
 * for, the boundary has it.
 */
export function taskListOf(entries: readonly Entry[]): string | null {
  for (let position = entries.length - 1; position >= 0; position -= 1) {
    const tasks = tasksIn(entries[position] as Entry);
    if (tasks !== undefined) return tasks;
  }
  return null;
}

/** Returns the list after one more entry. */
export function tasksAfter(before: string | null, entry: Entry): string | null {
  const tasks = tasksIn(entry);
  return tasks === undefined ? before : tasks;
}

/** Returns the list that an entry tells; undefined when it tells none. */
function tasksIn(entry: Entry): string | null | undefined {
  if (entry.kind === 'boundary') return entry.tasks ?? null;
  if (entry.kind !== 'outcomes') return undefined;
  const last = entry.outcomes.findLast(({ log }) => log.name === 'todo' && log.outcome === 'ok');
  return last && (last.content === NO_TASKS ? null : last.content);
}

/** Appends the list to a text that stands for hidden entries. */
export function withTaskList(text: string, tasks: string | null | undefined): string {
  return tasks ? `${text}\n\nThe task list, as the last call of todo in this part left it:\n${tasks}` : text;
}
