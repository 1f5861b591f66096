// Tells whether a shell command only reads the folders of its run (L55): a list of simple commands
// from a table, with arguments that are known to the letter and lead nowhere else. When in doubt it
// does not: a wrong no costs a question, a wrong yes a file.
import { isAbsolute, join, resolve } from 'node:path';
import { isInReach, type Reach } from '../../../system/process/places.ts';
import { isReadOnlyCommand } from './reading-commands.ts';
import { parseShell } from './parse-shell.ts';
import type { ShellRedirect, SimpleCommand, ShellWord } from '../../shell-command.ts';
import type { ShellPath } from '../files/leaves-workspace.ts';

export type ShellJudgement =
  /**
   * `paths` are those that its words may name, absolute; a link among them may still lead out of
   * the workspace. Git may be started in each of the folders `gitIn`, absolute too.
   */
  | { readonly readOnly: true; readonly paths: readonly ShellPath[]; readonly gitIn: readonly string[] }
  | { readonly readOnly: false };

const NO: ShellJudgement = { readOnly: false };
/** Folders that a command may be in after its `cd`s, counting those that might fail. */
const MAX_FOLDERS = 16;
/** Paths that its words may name, each of which is looked up. */
const MAX_PATHS = 2_000;

/**
 * Judges a command. `dir` is where it begins: an absolute real path. Pure: nothing is looked up.
 */
export function judgeShell(command: string, reach: Reach, dir = reach.cwd): ShellJudgement {
  const commands = parseShell(command);
  return judgeParsed(commands, reach, dir);
}

/** Judges a parsed text; null, for one that could not be read for certain, is never read-only. */
export function judgeParsed(commands: readonly SimpleCommand[] | null, reach: Reach, dir = reach.cwd): ShellJudgement {
  return commands === null ? NO : judgeCommands(commands, reach, dir);
}

export function judgeCommands(commands: readonly SimpleCommand[], reach: Reach, dir = reach.cwd): ShellJudgement {
  let folders: readonly string[] = [dir];
  const paths: ShellPath[] = [];
  const gitIn = new Set<string>();
  for (const [at, simple] of commands.entries()) {
    if (!simple.redirects.every(isHarmlessRedirect)) return NO;
    const found = findPaths(simple, reach, folders);
    if (found === null) return NO;
    if (paths.length + found.length > MAX_PATHS) return NO;
    paths.push(...found);
    const name = simple.words[0]?.text;
    if (name === 'git') folders.forEach((folder) => gitIn.add(folder));
    if (name !== 'cd') continue;
    // In a pipeline it would change the folder of nothing but itself.
    if (simple.joint === '|' || commands[at + 1]?.joint === '|') return NO;
    folders = [...new Set([...folders, ...found.map(({ path }) => path)])];
    if (folders.length > MAX_FOLDERS) return NO;
  }
  return { readOnly: true, paths, gitIn: [...gitIn] };
}

/** Tells whether a redirection goes to nowhere, or from one of the two outputs to the other. */
export function isHarmlessRedirect({ operator, target }: ShellRedirect): boolean {
  if (!target.literal || target.glob !== -1) return false;
  if (/^[12]?>&$/.test(operator)) return target.text === '1' || target.text === '2';
  return /^(?:[12]?>>?|&>>?|<)$/.test(operator) && target.text === '/dev/null';
}

/** Returns the paths that the arguments may name, or null when the command does more than read. */
function findPaths({ words }: SimpleCommand, reach: Reach, folders: readonly string[]): readonly ShellPath[] | null {
  const [name, ...args] = words;
  if (name === undefined || !name.literal || (name.glob !== -1 && name.text !== '[')) return null;
  if (!args.every((word) => word.literal && !isOpenOption(word)) || !isReadOnlyCommand(name.text, args)) return null;
  if ((name.text === 'echo' || name.text === 'printf') && args.every((word) => word.glob === -1)) return [];
  const paths: ShellPath[] = [];
  const pattern = findPatternWord(name.text, args);
  for (const word of args.filter((arg) => arg !== pattern)) {
    const named = findPathsInWord(word);
    if (named === null) return null;
    const entries = word.glob !== -1;
    const bare = name.text === 'ls' && word.glob === 0 ? ({ bare: true } as const) : {};
    for (const path of named.map((text) => (entries ? parentFolder(text) : text))) {
      for (const folder of folders) {
        const full = isAbsolute(path) ? resolve(path) : join(folder, path);
        if (!isInReach(reach, full)) return null;
        // diff compares the content of folders, and follows links there.
        if (paths.push({ path: full, entries: entries || name.text === 'diff', ...bare }) > MAX_PATHS) return null;
      }
    }
  }
  return paths;
}

/**
 * Tells whether a pattern stands in an option: a file's name may make it another one. In the value
 * of a long option the option's name stays.
 */
function isOpenOption({ text, glob }: ShellWord): boolean {
  return glob !== -1 && text.startsWith('-') && !/^--[A-Za-z0-9-]+=/.test(text.slice(0, glob));
}

/**
 * Returns the paths that may be in a word: all of it, also of an option, or an option's value. Null
 * when it could lead anywhere.
 */
function findPathsInWord({ text, glob }: ShellWord): readonly string[] | null {
  if (text.split('/').includes('..')) return null;
  if (glob !== -1 && (text.indexOf('/', glob) !== -1 || /(?:^|\/)\.{1,2}$/.test(text.slice(0, glob)))) return null;
  if (!text.startsWith('-')) return [text];
  const value = /^--[A-Za-z0-9-]+=(.*)$/s.exec(text)?.[1];
  if (value !== undefined) return value.split('/').includes('..') ? null : [text, value];
  if (text.includes('/')) return null;
  // The value of a letter follows it at once, and letters may stand before it: `-nfFILE`.
  if (text.startsWith('--')) return [text];
  // No name is longer than 255.
  return Array.from({ length: Math.min(text.length, 256) }, (_, n) => text.slice(text.length - 1 - n));
}

/**
 * Returns the word that grep and rg take as the pattern, which is not a path however it looks.
 * Undefined when in doubt: where an option may hold the pattern, a file may stand in its place.
 */
function findPatternWord(name: string, args: readonly ShellWord[]): ShellWord | undefined {
  if (!/^(?:[ef]?grep|rg)$/.test(name)) return undefined;
  const options = args.filter(({ text }) => text.startsWith('-'));
  if (!options.every(({ text }) => /^-[^-ef][^ef]*$|^--(?!reg|file)[a-z-]+=/.test(text))) return undefined;
  const first = args.find(({ text }) => !text.startsWith('-'));
  return first?.glob === -1 ? first : undefined;
}

function parentFolder(pattern: string): string {
  return pattern.slice(0, pattern.lastIndexOf('/') + 1);
}
