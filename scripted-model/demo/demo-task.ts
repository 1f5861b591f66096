// The one task that the scripted model can do without a key, and how a prompt is recognised as it.

export const DEMO_TASK =
  'List the source folders of this project, count the lines of each, and write the table to LINES.md';

/** Recognises the task. Spaces, line breaks, capitals and a final full stop make no difference. */
export function isDemoTask(text: string): boolean {
  return normalizeTask(text) === normalizeTask(DEMO_TASK);
}

function normalizeTask(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replace(/\.$/, '').toLowerCase();
}
