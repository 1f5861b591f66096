// The row that stays below what is typed: model, folder with its git branch, turns, cost, context,
// mode.
import { displayWidth, formatMoney, formatTokens } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import type { PermissionMode } from '../../client/faces/types.ts';
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { codeOf } from '../../system/text.ts';

export type FooterFacts = {
  readonly model: string | null;
  readonly folder: string;
  readonly branch: string | null;
  readonly turns: number | null;
  readonly tokens: number | null;
  /** US dollars; null when a price is not known. */
  readonly usd: number | null;
  /** Share of the window that is used, from 0 to 1; null when unknown. */
  readonly context: number | null;
  readonly mode: PermissionMode;
  /** The mode counts from the next run on, since the one under way has another. */
  readonly isModeNext: boolean;
  readonly running: boolean;
};

/** Parts are left out from the least important one on, until the rest fits. */
export function footerText(facts: FooterFacts, columns: number): string {
  const { model, folder, branch, turns, tokens, usd, context, mode, isModeNext, running } = facts;
  const parts: readonly (readonly [rank: number, text: string | null])[] = [
    [3, model === null ? null : oneLine(model.replace(/^claude-/, ''), 30)],
    [4, `${oneLine(folder, 30)}${branch === null ? '' : ` (${oneLine(branch, 30)})`}`],
    [6, turns === null ? null : `turn ${turns}`],
    [7, tokens === null || tokens === 0 ? null : formatTokens(tokens)],
    [1, usd === null && turns === null ? null : formatMoney(usd)],
    [2, context === null ? null : `ctx ${drawBar(context)} ${Math.round(context * 100)}%`],
    [0, `${mode}${isModeNext ? ' from the next run' : ''}`],
    [5, '(⇧Tab)'],
    [8, running ? 'Esc stops' : '/help'],
  ];
  const there = parts.flatMap(([rank, text]) => (text === null ? [] : [{ rank, text }]));
  for (let most = 8; most >= 0; most -= 1) {
    const visible = there.filter(({ rank }) => rank <= most);
    const text = ` ${visible.map((part) => part.text).join(' · ')}`.replace(' · (⇧Tab)', ' (⇧Tab)');
    if (displayWidth(text) < columns) return text;
  }
  return '';
}

const BAR = 6;

function drawBar(share: number): string {
  const full = Math.max(0, Math.min(BAR, Math.round(share * BAR)));
  return '▓'.repeat(full) + '░'.repeat(BAR - full);
}

/** Returns null outside of a repository, and for a commit that no branch names. */
export function readGitBranch(cwd: string): string | null {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const head = readHead(join(folder, '.git'));
    if (head !== null) return /^ref: refs\/heads\/(.+)$/.exec(head.trim())?.[1] ?? null;
    if (dirname(folder) === folder) return null;
  }
}

/** A worktree has a file in the place of the folder, which names the folder. */
function readHead(place: string): string | null {
  try {
    if (statSync(place).isDirectory()) return readStart(join(place, 'HEAD'));
    const [, folder = ''] = /^gitdir: (.+)$/m.exec(readStart(place) ?? '') ?? [];
    return folder === '' ? null : readStart(join(resolve(dirname(place), folder), 'HEAD'));
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return null;
  }
}

/** Bytes; a branch's name has fewer. */
const LONGEST_HEAD = 4_096;

/**
 * Reads the beginning of a plain file; null for anything else. Whoever made the folder may have put
 * a pipe or a device there, which would keep this process waiting.
 */
function readStart(path: string): string | null {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return null;
    const bytes = Buffer.alloc(LONGEST_HEAD);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, LONGEST_HEAD, 0));
  } finally {
    closeSync(file);
  }
}
