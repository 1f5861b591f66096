// Says what may stand at the cursor of a chat: commands and their arguments, and the files of the
// workspace as the search tools see them, without what git ignores, and no more than a person can
// choose from.
import { spawn } from 'node:child_process';
import { importApart } from '../../system/process/import-apart.mjs';
import { childEnvironment } from '../../system/process/environment.ts';
import { showUnseen } from '../../system/text.ts';
import type { Complete, CompletionItem, Completions } from '../typing/completion.ts';
import { type SlashCommandHelp, slashArguments } from './slash-commands.ts';

const MOST_FILES = 50_000;
const FRESH_MS = 5_000;
const LONGEST_MS = 3_000;

type WorkspaceFiles = () => Promise<readonly string[]>;

/** A listing is kept for a few seconds, since every key asks for one. */
export function listWorkspaceFiles(cwd: string, now: () => number = Date.now): WorkspaceFiles {
  let listing: { readonly at: number; readonly files: Promise<readonly string[]> } | null = null;
  return () => {
    if (listing === null || now() - listing.at > FRESH_MS) listing = { at: now(), files: listOnce(cwd) };
    return listing.files;
  };
}

/** Returns what was found when the time is up; nothing where ripgrep cannot be started. */
async function listOnce(cwd: string): Promise<readonly string[]> {
  const { rgPath } = (await importApart('@vscode/ripgrep')) as { readonly rgPath: string };
  const args = ['--no-config', '--files', '--no-require-git', '--glob=!node_modules', '--color=never', '.'];
  return new Promise((resolve) => {
    const child = spawn(rgPath, args, {
      cwd,
      env: childEnvironment(process.env, { cwd, callId: '' }),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const timer = setTimeout(() => child.kill(), LONGEST_MS);
    const files: string[] = [];
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      files.push(...lines.map((line) => line.replace(/^\.\//, '')));
      if (files.length > MOST_FILES) child.kill();
    });
    const end = (): void => {
      clearTimeout(timer);
      resolve(files.slice(0, MOST_FILES));
    };
    child.once('error', end);
    child.once('close', end);
  });
}

/** Most files to offer. */
const OFFERED = 50;

/**
 * Returns the files that fit what was typed, best first: those whose name begins so, then those
 * with it anywhere, then those with its letters in this order.
 */
export function matchFiles(files: readonly string[], typed: string): readonly string[] {
  const wanted = typed.toLowerCase();
  const ranked = files.flatMap((file) => {
    const rank = rankOf(file.toLowerCase(), wanted);
    return rank === null ? [] : [{ file, rank }];
  });
  const order = ranked.toSorted(
    (one, other) => one.rank - other.rank || one.file.length - other.file.length || (one.file < other.file ? -1 : 1),
  );
  return order.slice(0, OFFERED).map(({ file }) => file);
}

function rankOf(file: string, wanted: string): number | null {
  if (file.startsWith(wanted)) return 0;
  if (file.slice(file.lastIndexOf('/') + 1).startsWith(wanted)) return 1;
  if (file.includes(wanted)) return 2;
  let at = 0;
  for (const letter of wanted) {
    at = file.indexOf(letter, at) + 1;
    if (at === 0) return null;
  }
  return 3;
}

type CompletionSources = {
  readonly commands: readonly SlashCommandHelp[];
  readonly files: WorkspaceFiles;
};

export function completeChat({ commands, files }: CompletionSources): Complete {
  return async (before) => completeCommand(commands, before) ?? (await completeFile(files, before));
}

function completeCommand(commands: readonly SlashCommandHelp[], before: string): Completions | null {
  const [, name] = /^\/([a-z-]*)$/.exec(before) ?? [];
  if (name !== undefined) {
    const fitting = commands.filter((command) => command.name.startsWith(name));
    const items = fitting.map(({ name: one, takes, does }): CompletionItem => {
      const insert = `/${one}${takes === '' ? '' : ' '}`;
      return { insert, label: `/${one} ${takes}`.trimEnd(), about: does };
    });
    return { from: 0, items };
  }
  const [, command = '', typed = ''] = /^\/([a-z-]+) +(\S*)$/.exec(before) ?? [];
  const fitting = slashArguments(command).filter(([value]) => value.startsWith(typed) && value !== typed);
  if (fitting.length === 0) return null;
  const items = fitting.map(([value, about]) => ({ insert: value, label: value, about }));
  return { from: before.length - typed.length, items };
}

async function completeFile(files: WorkspaceFiles, before: string): Promise<Completions | null> {
  const [, typed] = /(?:^|\s)@(\S*)$/.exec(before) ?? [];
  if (typed === undefined) return null;
  // A name that a terminal would obey is neither shown nor written into the row.
  const found = matchFiles(await files(), typed).filter((file) => showUnseen(file) === file);
  const from = before.length - typed.length - 1;
  // A path that is complete needs no list any longer.
  if (found.length === 1 && found[0] === typed) return null;
  return { from, items: found.map((file) => ({ insert: `@${file} `, label: file, about: '' })) };
}
