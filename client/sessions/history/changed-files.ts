// Collects what a session did to files from the inputs and outcomes of its calls: which call
// changed which file, who allowed it, what was only read, and which commands may have changed
// more. Of captures it knows the names. Pure.
import { isReply, type Item } from './items.ts';

/** One change of a file, as a call asked for it. */
export type FileEdit = {
  /** Name of the call in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly tool: string;
  /** Null for a file that was written whole. */
  readonly before: string | null;
  readonly after: string;
  /** Whether the call has ended well; null while it has not ended. */
  readonly done: boolean | null;
  /** Name of the person who allowed it; absent where no one was asked. */
  readonly by?: string;
  /** A person or a hook put another input in the place of this one, which is not known here. */
  readonly replaced: boolean;
};

export type TouchedFile = { readonly path: string; readonly edits: readonly FileEdit[] };
export type ReadFile = { readonly path: string; readonly times: number };
export type RunCommand = { readonly command: string; readonly times: number; readonly anchor: string };

export type ChangedFiles = {
  /** The number of files that calls or captures name. */
  readonly count: number;
  readonly changed: readonly TouchedFile[];
  readonly read: readonly ReadFile[];
  /** Commands that ran and may have changed files. */
  readonly commands: readonly RunCommand[];
};

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export function listTouchedFiles(items: readonly Item[]): ChangedFiles {
  let changed = new Map<string, FileEdit[]>();
  let read = new Map<string, number>();
  const commands = new Map<string, { times: number; anchor: string }>();
  for (const item of items) {
    const moved = findMove(item);
    if (moved) [changed, read] = [renameKeys(changed, moved), renameKeys(read, moved)];
    if (!isReply(item)) continue;
    const { entry, anchor: reply, outcomes } = item;
    for (const [index, block] of entry.message.content.entries()) {
      if (block.type !== 'tool_use') continue;
      const { name } = block;
      const input = (typeof block.input === 'object' && block.input !== null ? block.input : {}) as Fields;
      const outcome = outcomes.get(index);
      const path = text(input['path']) ?? text(input['file_path']);
      const anchor = `${reply}-${index}`;
      if (path !== null) {
        const by = outcome?.log.approved?.by;
        const facts = {
          anchor,
          tool: name,
          done: outcome ? !outcome.isError && outcome.log.decision === 'allowed' : null,
          replaced: outcome?.log.ran !== undefined || outcome?.log.approved?.editedHash !== undefined,
          ...(by !== undefined && { by }),
        };
        const edits = editsOf(name, input).map((edit) => ({ ...edit, ...facts }));
        if (edits.length > 0) changed.set(path, [...(changed.get(path) ?? []), ...edits]);
        else if (name === 'read') read.set(path, (read.get(path) ?? 0) + 1);
      }
      const command = name === 'bash' ? text(input['command']) : null;
      if (command === null || outcome?.log.decision !== 'allowed') continue;
      const known = commands.get(command);
      commands.set(command, { times: (known?.times ?? 0) + 1, anchor });
    }
  }
  // A call that failed or was refused has changed nothing.
  const made = new Map([...changed].filter(([, edits]) => edits.some(({ done }) => done !== false)));
  return {
    count: countFiles(items, [...made.keys()]),
    changed: [...made].map(([path, edits]) => ({ path, edits })),
    read: [...read].flatMap(([path, times]) => (made.has(path) ? [] : [{ path, times }])),
    commands: [...commands].map(([command, { times, anchor }]) => ({ command, times, anchor })),
  };
}

/** A capture names files from its folder on; a fork has the same ones in a folder of its own. */
function countFiles(items: readonly Item[], touched: readonly string[]): number {
  const roots = items.flatMap(({ entry }) => (entry.kind === 'files' ? entry.roots : []));
  const names = roots.flatMap((root) => (root.parent === null ? [] : root.names));
  const folders = [...new Set(roots.map(({ root }) => `${root}/`))];
  const nameOf = (path: string): string => path.slice(folders.find((one) => path.startsWith(one))?.length ?? 0);
  return new Set([...names, ...touched.map(nameOf)]).size;
}

/** Returns the folder of the origin and the one that a fork has in its place (T10). */
const findMove = ({ entry }: Item) =>
  entry.kind === 'notice' && entry.notice.kind === 'forked' ? entry.notice.moved : undefined;

/** Gives paths in a folder that moved their place in the new one. */
function renameKeys<T>(paths: ReadonlyMap<string, T>, { from, to }: { readonly from: string; readonly to: string }) {
  return new Map(
    [...paths].map(([path, value]) => [path.startsWith(`${from}/`) ? to + path.slice(from.length) : path, value]),
  );
}

/** Returns what a call of `edit`, `write` or a tool with several edits asks for. */
function editsOf(tool: string, input: Fields): readonly Pick<FileEdit, 'before' | 'after'>[] {
  const content = text(input['content']);
  if (tool === 'write' && content !== null) return [{ before: null, after: content }];
  const one = editOf(input);
  if (tool === 'edit' && one) return [one];
  const list = input['edits'];
  return Array.isArray(list) ? list.flatMap((each) => editOf(each as Fields) ?? []) : [];
}

function editOf(fields: Fields | null): Pick<FileEdit, 'before' | 'after'> | null {
  const [before, after] = [text(fields?.['old_string']), text(fields?.['new_string'])];
  return before === null || after === null ? null : { before, after };
}
