// Whether allow rules let a shell command run (L55): each of its simple commands begins with a rule's words, or only reads. What
// cannot be read for certain is never allowed: a wrong no costs a question.
import { isHarmless } from '../builtin/shell/read-only-shell.ts';
import type { SimpleCommand } from '../builtin/shell/parse-shell.ts';
import type { RuleSubject } from '../tool.ts';
import { commandPattern, type CommandPattern } from './command-pattern.ts';

type CommandSubject = Extract<RuleSubject, { kind: 'command' }>;

/** What these do to the shell (its folder, PATH, names) changes what a command after them is, so it is not judged by its name. */
const CHANGE_SHELL = new Set(
  (
    '. alias bind builtin cd command declare enable eval exec export getopts hash let local mapfile popd printf pushd read ' +
    'readarray readonly set shopt source trap typeset unalias unset'
  ).split(' '),
);

export function allowedCommand(patterns: readonly string[], { commands, readsOnly }: CommandSubject): boolean {
  if (commands === null) return false;
  const rules = rulesByName(patterns.map(commandPattern));
  const named = new Set(
    commands.filter((command) => rules.get(command.words[0]?.text ?? '')?.some((rule) => covers(rule, command))),
  );
  if (named.size === 0 || named.size === commands.length) return named.size > 0;
  if ([...named].some(changesShell)) return false;
  // Judged where they stand: a `cd` counts for what comes after it, and not within a pipeline.
  return readsOnly(commands.map((command) => (named.has(command) ? nothing(command) : command)));
}

function rulesByName(rules: readonly CommandPattern[]): ReadonlyMap<string, readonly CommandPattern[]> {
  const byName = new Map<string, CommandPattern[]>();
  for (const rule of rules) {
    const [name = ''] = rule.words;
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [rule]);
    else known.push(rule);
  }
  return byName;
}

function nothing({ joint }: SimpleCommand): SimpleCommand {
  return { joint, words: [{ text: 'true', literal: true, glob: -1 }], redirects: [] };
}

/** A redirection to a file is no part of what a rule names. */
function covers({ words, open }: CommandPattern, command: SimpleCommand): boolean {
  if (command.words.length < words.length || (!open && command.words.length > words.length)) return false;
  if (!command.redirects.every(isHarmless)) return false;
  return words.every((word, at) => command.words[at]?.literal === true && command.words[at].text === word);
}

function changesShell({ words: [name] }: SimpleCommand): boolean {
  return name === undefined || CHANGE_SHELL.has(name.text) || name.text.includes('=');
}
