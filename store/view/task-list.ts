// The task list of a session (L83): the result of its last call of the todo tool. What is
// summarised or shown short keeps it word by word.
import type { Entry } from '../log/entries.ts';

/** The list was emptied. */
export const NO_TASKS = 'There are no tasks.';

/**
 * As the model wrote it; null where there is none. Of entries that a summary stands for, the
 * boundary has it.
 */
export function taskListOf(entries: readonly Entry[]): string | null {
  for (let position = entries.length - 1; position >= 0; position -= 1) {
    const entry = entries[position] as Entry;
    if (entry.kind === 'boundary') return entry.tasks ?? null;
    if (entry.kind !== 'outcomes') continue;
    const last = entry.outcomes.findLast(({ log }) => log.name === 'todo' && log.outcome === 'ok');
    if (last) return last.content === NO_TASKS ? null : last.content;
  }
  return null;
}

/** Behind the text that stands for what is not shown. */
export function withTaskList(text: string, tasks: string | null | undefined): string {
  return tasks ? `${text}\n\nThe task list, as the last call of todo in this part left it:\n${tasks}` : text;
}
