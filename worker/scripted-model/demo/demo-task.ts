// The one task the scripted model can do without a key, and how a prompt is recognised as it.

export const DEMO_TASK =
  'List the source folders of this project, count the lines of each, and write the table to LINES.md';

/** Spaces, line breaks, capitals and a final full stop make no difference. */
export function isDemoTask(text: string): boolean {
  return plain(text) === plain(DEMO_TASK);
}

function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replace(/\.$/, '').toLowerCase();
}
