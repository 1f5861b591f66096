// Collects what a session did to files from the inputs and outcomes of its calls: which call
// changed which file, who allowed it, what was only read, and which commands may have changed
// more. Of captures it knows the names. Pure.
import type { Outcome } from '../../../store/log/entries.ts';
import {
  callsOf,
  foldItems,
  isReply,
  type Item,
  type ItemFold,
  type OpenCall,
  type OpenCalls,
  takeCalls,
} from './items.ts';

/** One change of a file, as a call asked for it. */
export type FileEdit = {
  /** Name of the call in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly tool: string;
  /** The text before; null for a file that was written whole. */
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
type ReadFile = { readonly path: string; readonly times: number };
type RunCommand = { readonly command: string; readonly times: number; readonly anchor: string };

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** `standing`: the number of the edits that have ended well. */
type EditedFile = { readonly edits: FileEdit[]; standing: number };

type Found = {
  readonly open: OpenCalls;
  /** The edits that open calls asked for, from an index on. */
  readonly asked: Map<OpenCall, { readonly file: EditedFile; readonly from: number; readonly count: number }>;
  edited: Map<string, EditedFile>;
  /** Names of files that captures have found changed, from their folder on. */
  readonly names: Set<string>;
  /** The folders of captures, each with a slash. */
  readonly folders: Set<string>;
  /** The number of files; null when it must be counted anew. */
  count: number | null;
};

const found: ItemFold<Found> = {
  begin: () => ({
    open: new Map(),
    asked: new Map(),
    edited: new Map(),
    names: new Set(),
    folders: new Set(),
    count: null,
  }),
  add(state, item) {
    addNames(state, item);
    const { asked: requested, ended: completed } = takeCalls(state.open, item);
    if (requested.length > 0) state.asked.clear();
    for (const call of requested) addEdits(state, call);
    for (const { call, outcome } of completed) endEdits(state, call, outcome);
  },
};

function addNames(state: Found, item: Item): void {
  const { entry } = item;
  const moved = findMove(item);
  if (moved) {
    state.edited = renameKeys(state.edited, moved);
    state.count = null;
  }
  if (entry.kind !== 'files') return;
  const before = state.names.size + state.folders.size;
  for (const { root, parent, names } of entry.roots) {
    state.folders.add(`${root}/`);
    if (parent !== null) for (const name of names) state.names.add(name);
  }
  if (state.names.size + state.folders.size > before) state.count = null;
}

function addEdits(state: Found, call: OpenCall): void {
  const path = text(call.input['path']) ?? text(call.input['file_path']);
  const edits = path === null ? [] : editsOf(call.name, call.input);
  if (path === null || edits.length === 0) return;
  const file = state.edited.get(path) ?? { edits: [], standing: 0 };
  state.edited.set(path, file);
  state.asked.set(call, { file, from: file.edits.length, count: edits.length });
  file.edits.push(
    ...edits.map((edit) => ({ ...edit, anchor: call.anchor, tool: call.name, done: null, replaced: false })),
  );
}

function endEdits(state: Found, call: OpenCall, { isError, log }: Outcome): void {
  const place = state.asked.get(call);
  if (!place) return;
  const { file, from, count } = place;
  const by = log.approved?.by;
  const done = !isError && log.decision === 'allowed';
  const replaced = log.ran !== undefined || log.approved?.editedHash !== undefined;
  for (let at = from; at < from + count; at += 1)
    file.edits[at] = { ...(file.edits[at] as FileEdit), done, replaced, ...(by !== undefined && { by }) };
  if (!done) return;
  if (file.standing === 0) state.count = null;
  file.standing += count;
}

/** Returns the files that calls have changed, without calls that wait, failed or were refused. */
export function listTouchedFiles(items: readonly Item[]): readonly TouchedFile[] {
  return standingFiles(foldItems(found, items)).map(([path, { edits }]) => ({ path, edits }));
}

const standingFiles = ({ edited }: Found): readonly (readonly [path: string, file: EditedFile])[] =>
  [...edited].filter(([, { standing: remaining }]) => remaining > 0);

/** Returns the number of files that calls or captures name. */
export function countTouchedFiles(items: readonly Item[]): number {
  const state = foldItems(found, items);
  return (state.count ??= countFiles(state));
}

/** A capture names files from its folder on; a fork has the same ones in a folder of its own. */
function countFiles(state: Found): number {
  const folders = [...state.folders];
  const nameOf = (path: string): string => path.slice(folders.find((one) => path.startsWith(one))?.length ?? 0);
  return new Set([...state.names, ...standingFiles(state).map(([path]) => nameOf(path))]).size;
}

/** Returns the files that were read and that no call has changed. */
export function listReadFiles(items: readonly Item[]): readonly ReadFile[] {
  const { edited } = foldItems(found, items);
  let read = new Map<string, number>();
  for (const item of items) {
    const moved = findMove(item);
    if (moved) read = renameKeys(read, moved);
    for (const { name, input } of isReply(item) ? callsOf(item) : []) {
      const path = text(input['path']) ?? text(input['file_path']);
      if (name === 'read' && path !== null) read.set(path, (read.get(path) ?? 0) + 1);
    }
  }
  return [...read].flatMap(([path, times]) => ((edited.get(path)?.standing ?? 0) > 0 ? [] : [{ path, times }]));
}

/** Returns the commands that ran and may have changed files, each with its last call. */
export function listCommands(items: readonly Item[]): readonly RunCommand[] {
  const commands = new Map<string, { times: number; anchor: string }>();
  for (const item of items.filter(isReply))
    for (const { name, input, index, anchor } of callsOf(item)) {
      const command = name === 'bash' ? text(input['command']) : null;
      if (command === null || item.outcomes.get(index)?.log.decision !== 'allowed') continue;
      commands.set(command, { times: (commands.get(command)?.times ?? 0) + 1, anchor });
    }
  return [...commands].map(([command, { times, anchor }]) => ({ command, times, anchor }));
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
