// Tells whether allow rules let a shell command run (L55): each of its simple commands begins with
// a rule's words, or only reads. A command that cannot be read for certain is never allowed: a
// wrong no costs a question.
import { isHarmlessRedirect } from '../builtin/shell/read-only-shell.ts';
import type { SimpleCommand } from '../shell-command.ts';
import type { RuleSubject } from '../tool.ts';

export type CommandSubject = Extract<RuleSubject, { kind: 'command' }>;

/**
 * These change the shell (its folder, PATH, names), and with it the meaning of a command after
 * them, which its name cannot tell then.
 */
const CHANGE_SHELL = new Set(
  (
    '. alias bind builtin cd command declare enable eval exec export getopts hash let local mapfile popd printf pushd read ' +
    'readarray readonly set shopt source trap typeset unalias unset'
  ).split(' '),
);

export function isAllowedCommand(patterns: readonly string[], { commands, readsOnly }: CommandSubject): boolean {
  if (commands === null) return false;
  const rules = groupRules(patterns.map(parseCommandPattern));
  const named = new Set(
    commands.filter((command) => rules.get(command.words[0]?.text ?? '')?.some((rule) => isCoveredBy(rule, command))),
  );
  if (named.size === 0 || named.size === commands.length) return named.size > 0;
  if ([...named].some(isShellChange)) return false;
  // Commands are judged where they stand: a `cd` counts for the commands after it, and not within a
  // pipeline.
  return readsOnly(commands.map((command) => (named.has(command) ? replaceByTrue(command) : command)));
}

function groupRules(rules: readonly CommandPattern[]): ReadonlyMap<string, readonly CommandPattern[]> {
  const byName = new Map<string, CommandPattern[]>();
  for (const rule of rules) {
    const [name = ''] = rule.words;
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [rule]);
    else known.push(rule);
  }
  return byName;
}

function replaceByTrue({ joint }: SimpleCommand): SimpleCommand {
  return { joint, words: [{ text: 'true', literal: true, glob: -1 }], redirects: [] };
}

/**
 * Tells whether a rule covers a command. A redirection to a file does not belong to what a rule
 * names.
 */
function isCoveredBy({ words, open }: CommandPattern, command: SimpleCommand): boolean {
  if (command.words.length < words.length || (!open && command.words.length > words.length)) return false;
  if (!command.redirects.every(isHarmlessRedirect)) return false;
  return words.every((word, at) => command.words[at]?.literal === true && command.words[at].text === word);
}

function isShellChange({ words: [name] }: SimpleCommand): boolean {
  return name === undefined || CHANGE_SHELL.has(name.text) || name.text.includes('=');
}

/**
 * The pattern of a rule for shell commands: `git status` is those words and no more, `git status:*`
 * those and any that follow.
 */
export type CommandPattern = { readonly words: readonly string[]; readonly open: boolean };

export function parseCommandPattern(pattern: string): CommandPattern {
  const open = pattern.endsWith(':*');
  return { words: (open ? pattern.slice(0, -2) : pattern).trim().split(/\s+/), open };
}
