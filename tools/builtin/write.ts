// The write tool: puts a whole file in place. Writing the same content twice is the same as once,
// so a call that died runs again. A change that someone else made since the agent last saw the file
// is not overwritten, by a call that runs again either.
import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import { z } from 'zod';
import { countLines } from '../../store/transcript/preview.ts';
import { defineTool, ToolFailure, type Tool, type ToolContext } from '../tool.ts';
import type { BuiltinOptions } from './files/options.ts';
import { formatAmount, quoteIfNeeded } from './files/wording.ts';
import { confine, type ConfinedPath, fromRoot, toWorkspace, type Workspace } from './files/confine.ts';
import { quotePath } from './files/fs-failures.ts';
import {
  decodeFile,
  encodeFile,
  isPlainAscii,
  MARK_NAMES,
  detectMark,
  type ByteOrderMark,
  dropPartialEnd,
} from './files/encoding.ts';
import { decideByGuard, checkHiddenGuard, checkHiddenGit, namesGitFolder } from './files/guards.ts';
import { findLikeName } from './files/lookalikes.ts';
import { describeLikeName, openFile, toSeenFile } from './files/open-inside.ts';
import { breaksNotebook } from './files/edit-notebook.ts';
import { isNotebook } from './files/notebook.ts';
import { isWhollyCrlf } from './files/replace-text.ts';
import { refuseRoot, describeParted, writeInside } from './files/write-inside.ts';

/**
 * Bytes of the old file that are looked at: whether they are the new ones, and in which encoding
 * they are.
 */
const MOST_COMPARED = 16 * 1024 * 1024;

export function createWriteTool({ dataDir, sandbox: { places, programs } }: BuiltinOptions): Tool {
  return defineTool({
    name: 'write',
    description:
      'Creates or replaces a file in the workspace with the given content, and makes the folders it needs. ' +
      'To change part of a file, use edit.',
    inputSchema: z.strictObject({
      path: z.string().describe('The file, in the workspace'),
      content: z.string().describe('All of its new content'),
    }),
    risk: ({ path }, context) => (namesGitFolder(fromRoot(path, context)) ? 'execute' : 'write'),
    recovery: 'rerun',
    canUse: ({ path }, context) => decideByGuard(places, path, context),
    subject: ({ path }, context) => ({ kind: 'path', path: fromRoot(path, context) }),
    async call({ path, content }, context) {
      const { signal, fence } = context;
      const workspace = toWorkspace(context, dataDir);
      const target = confine(workspace, path);
      const problem =
        checkHiddenGit(fromRoot(path, context), target.name) ?? checkHiddenGuard(places, path, target.path, context);
      if (problem !== undefined) throw new ToolFailure(problem);
      refuseRoot(target);
      const old = await readOldFile(workspace, target);
      const { bytes, mark } = encodeLike(old, content, target.name);
      requireNotebook(target.name, old, content);
      const isThere = old !== null && old.stats.size === bytes.length && old.start.equals(bytes);
      const knowledge = old && !isThere ? await requireSeen(target, old, context) : 'known';
      const options = { fence, signal, unchanged: old?.stats ?? null, programs };
      const { did, parted, facts } = isThere
        ? ({ did: 'updated', parted: 0, facts: toSeenFile(target.path, old.stats) } as const)
        : await writeInside(workspace, target, bytes, options);
      const size = `${formatAmount(countLines(content), 'line')}, ${formatAmount(bytes.length, 'byte')}`;
      const sameMark = mark === 'none' ? '' : `, ${MARK_NAMES[mark]} as before`;
      const ends = old !== null && isLosingCrlf(old, content) ? '; its lines ended in CRLF and end in LF now' : '';
      const unread = knowledge === 'never' ? '; what it said before had not been read' : '';
      return {
        seen: [facts],
        content: `${did} ${quoteIfNeeded(target.name)} (${size}${sameMark})${ends}${unread}${describeParted(parted)}`,
      };
    },
  });
}

type OldFile = { readonly stats: Stats; readonly start: Buffer };

/**
 * Reads the old file; null for a new one. Throws ToolFailure, also for a new file whose name looks
 * like that of another.
 */
async function readOldFile(workspace: Workspace, target: ConfinedPath): Promise<OldFile | null> {
  const [first] = target.missing;
  if (first !== undefined) {
    const like = await findLikeName(target.existing, first);
    if (like !== null && (like.kind === 'bytes' || like.isSame))
      throw new ToolFailure(`${quotePath(target.name)} ${describeLikeName(like)}.`);
    return null;
  }
  const { handle, stats } = await openFile(workspace, target);
  try {
    const buffer = Buffer.alloc(Math.min(stats.size, MOST_COMPARED));
    return { stats, start: buffer.subarray(0, await handle.read(buffer, 0)) };
  } finally {
    handle.close();
  }
}

/**
 * Encodes with the mark, and in the encoding, of the existing file. Throws ToolFailure where that
 * is unknown and would not be kept.
 */
function encodeLike(
  old: OldFile | null,
  content: string,
  name: string,
): { readonly bytes: Buffer; readonly mark: ByteOrderMark } {
  const mark = old === null ? 'none' : detectMark(old.start);
  if (mark !== 'none') return { bytes: encodeFile(Buffer.from(content.replace(/^\ufeff/, '')), mark), mark };
  if (old !== null && !old.start.includes(0) && !isUtf8(dropPartialEnd(old.start)) && !isPlainAscii(content)) {
    throw new ToolFailure(
      `${quotePath(name)} is no UTF-8, and in which encoding it is nobody says: only ASCII can be written over it. Change it with a command (iconv), or remove it first.`,
    );
  }
  return { bytes: Buffer.from(content), mark };
}

/** Throws ToolFailure for content that takes the place of a notebook and is none. */
function requireNotebook(name: string, old: OldFile | null, content: string): void {
  if (old === null || !isNotebook(name) || !breaksNotebook(old.start.toString('utf8'), content)) return;
  throw new ToolFailure(
    `${quotePath(name)} is a notebook, and this content is none: change the text of a cell with edit, write the JSON of a notebook, or remove the file first.`,
  );
}

/** Tells whether CRLF is lost: a model writes LF, and sees no CRLF. */
function isLosingCrlf({ start }: OldFile, content: string): boolean {
  if (!/(?<!\r)\n/.test(content)) return false;
  const file = decodeFile(start);
  return file.kind === 'text' ? isWhollyCrlf(file.utf8) : file.kind === 'unknown' && isWhollyCrlf(start);
}

/**
 * Throws ToolFailure when someone else has changed the file since a tool of the session last saw
 * it, or may have.
 */
async function requireSeen(
  { path, name }: ConfinedPath,
  { stats }: OldFile,
  { lastSeen, mayHaveBegun }: Pick<ToolContext, 'lastSeen' | 'mayHaveBegun'>,
): Promise<'known' | 'never'> {
  const known = (await lastSeen?.(path)) ?? [];
  const now = toSeenFile(path, stats);
  const isKnown = known.some((file) => !file.told && file.mtimeMs === now.mtimeMs && file.size === now.size);
  if (isKnown) return 'known';
  if (mayHaveBegun === true) {
    throw new ToolFailure(
      `This call was begun before, and what came of it was lost; ${quotePath(name)} now says neither what it was to say nor what you last saw: read it, and write it again if that is still right.`,
    );
  }
  if (known.length > 0) {
    throw new ToolFailure(
      `${quotePath(name)} was changed by something else since you last saw it: read it again before you write it.`,
    );
  }
  return lastSeen === undefined || stats.size === 0 ? 'known' : 'never';
}
