// Permission rules: what matches a call, and what `always allow` would write.
export { createAlwaysRules, ruleFor, rulesFor } from '../sessions/always-allow.ts';
export { builtinNames } from '../../tools/builtin/builtin-names.ts';
export { parseShell } from '../../tools/builtin/shell/parse-shell.ts';
export { mayReadByRules, mistakenRule } from '../../tools/rules/match-rules.ts';
export { createTouchTest } from '../../tools/rules/touched-commands.ts';
