// The pattern of a rule for shell commands: `git status` is those words and no more, `git status:*` those and whatever follows.

export type CommandPattern = { readonly words: readonly string[]; readonly open: boolean };

export function commandPattern(pattern: string): CommandPattern {
  const open = pattern.endsWith(':*');
  return { words: (open ? pattern.slice(0, -2) : pattern).trim().split(/\s+/), open };
}
