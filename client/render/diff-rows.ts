// Shows the change that a call of `edit` or `write` asks for as removed and added lines, for the
// page and for terminals. Pure.
import { diffLines } from 'diff';

/** Most characters of one text that are shown. */
export const SHOWN = 20_000;
const DIFFED = 100_000;
const DIFF_MS = 200;

/** Fields that a diff covers; an input with other fields has more to show. */
const FIELDS = new Set(['path', 'file_path', 'old_string', 'new_string', 'replace_all', 'content']);

export type FileChange = { readonly path: string; readonly before: string; readonly after: string };

/** Returns null for a call of another tool and for an input of another shape. */
export function changeOf(tool: string, input: unknown): FileChange | null {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
  const { file_path, path = file_path, old_string: before, new_string: after, content } = fields;
  if (typeof path !== 'string' || Object.keys(fields).some((name) => !FIELDS.has(name))) return null;
  if (tool === 'edit' && typeof before === 'string' && typeof after === 'string') return { path, before, after };
  return tool === 'write' && typeof content === 'string' ? { path, before: '', after: content } : null;
}

export type DiffRow = { readonly mark: '+' | '-' | ' '; readonly text: string };

/**
 * Returns the lines of a diff that fit. Texts too large to compare are all removed and all added.
 */
export function diffRows(before: string, after: string): { readonly lines: readonly DiffRow[]; readonly left: number } {
  const small = before.length + after.length <= DIFFED;
  const parts = (small ? diffLines(before, after, { timeout: DIFF_MS }) : undefined) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  const lines: DiffRow[] = [];
  let room = SHOWN;
  let left = 0;
  for (const { added, removed, value } of parts) {
    const visible = value.slice(0, Math.max(0, room));
    left += value.length - visible.length;
    room -= visible.length;
    if (visible === '') continue;
    const mark = added ? '+' : removed ? '-' : ' ';
    for (const text of visible.replace(/\n$/, '').split('\n')) lines.push({ mark, text });
  }
  return { lines, left };
}
