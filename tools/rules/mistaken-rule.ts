// Finds a permission rule whose tool is a slip of another tool's name: it guards nothing.
import { nearName } from '../../workflows/contract/did-you-mean.ts';
import { parseRule, type PermissionRules } from '../../workflows/contract/permission-rules.ts';
import { isAboutSome } from './match-rules.ts';

/** Returns the rules that are about none of these tools. */
export function findIdleRules({ deny = [], ask = [], allow = [] }: PermissionRules, tools: readonly string[]) {
  return [...deny, ...ask, ...allow].filter((rule) => !isAboutSome(rule, tools));
}

/** Returns a sentence about the first rule that must have meant one of these tools, or undefined. */
export function mistakenRule(rules: PermissionRules, tools: readonly string[]): string | undefined {
  for (const rule of findIdleRules(rules, tools)) {
    const near = nearName(parseRule(rule)?.tool ?? '', tools);
    if (near !== undefined)
      return `permission rule ${JSON.stringify(rule.slice(0, 80))} names no tool: did you mean ${near}?`;
  }
  return undefined;
}
