// Says what may stand at the cursor of a chat: commands and their arguments, files of the
// workspace.
import { showUnseen } from '../../system/text.ts';
import type { Complete, CompletionItem, Completions } from '../typing/completion.ts';
import { matchFiles, type WorkspaceFiles } from './workspace-files.ts';
import { type SlashCommandHelp, slashArguments } from './slash-commands.ts';

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
