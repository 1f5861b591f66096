// Implements "always allow": proposes rules with a question, and keeps what the program grants in
// its answer. A grant holds at once and as long as the query. A run keeps the rules that it was
// opened with, so its calls still ask, and are answered here.
import { resolve } from 'node:path';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { createAlwaysRules, ruleFor } from '../faces/rules.ts';
import { isListedAs } from '../faces/tools.ts';
import { parseRule, permissionsProblem } from '../faces/options.ts';
import type { PermissionRules, WaitingApproval } from '../faces/types.ts';
import { inwardRules, outwardName } from './names.ts';
import { modeInEffect } from './permission-modes.ts';
import type { PermissionMode, PermissionRuleValue, PermissionUpdate } from './shapes/permissions.ts';

type Call = Pick<WaitingApproval, 'tool' | 'input' | 'question'>;

export type Grants = {
  /** Returns the rules that the program may grant for the call. */
  suggestions(call: Call): PermissionUpdate[];
  /** Returns what an earlier grant decides about the call, or null when the program must decide. */
  answerTo(call: Call): { readonly kind: 'allow' } | { readonly kind: 'deny'; readonly reason: string } | null;
  /** Throws ClientProblem `refused` for a rule that is not valid. */
  add(updates: readonly PermissionUpdate[]): void;
};

/** The grants of the program. They apply from the session's next message on. */
export type SessionGrant = {
  readonly mode?: PermissionMode;
  readonly directories?: readonly string[];
  readonly rules?: Required<PermissionRules>;
};

/** `onGrant` receives what applies only from the next message on. */
export function createGrants(cwd: string, onGrant: (what: SessionGrant) => void): Grants {
  const rules: Record<'allow' | 'deny' | 'ask', string[]> = { allow: [], deny: [], ask: [] };
  let mode: PermissionMode | undefined;
  const covers = (behavior: keyof typeof rules, call: Call): boolean => {
    const always = createAlwaysRules();
    always.in(cwd);
    for (const rule of rules[behavior]) always.add(rule);
    return always.ruleThatCovers(call) !== null;
  };
  const applyUpdate = (update: PermissionUpdate): void => {
    switch (update.type) {
      case 'setMode':
        mode = modeInEffect(update.mode);
        return onGrant({ mode });
      case 'addDirectories':
        return onGrant({ directories: update.directories.map((path) => resolve(cwd, path)) });
      case 'removeDirectories':
        return;
      default: {
        const updateRules = update.rules.flatMap((rule) => inwardRules(textOf(rule)));
        const problem = permissionsProblem({ allow: updateRules });
        if (problem !== undefined) throw new ClientProblem('refused', `updatedPermissions: ${problem}`);
        const remaining = rules[update.behavior].filter((rule) => !updateRules.includes(rule));
        const before = update.type === 'replaceRules' ? [] : remaining;
        rules[update.behavior] = update.type === 'removeRules' ? remaining : [...before, ...updateRules];
        onGrant({ rules: structuredClone(rules) });
      }
    }
  };
  return {
    suggestions: (call) => suggestionsFor(call),
    answerTo: (call) => {
      if (call.question) return null;
      if (covers('deny', call))
        return { kind: 'deny', reason: 'a rule that the program gave in this session denies it' };
      // A rule may cover a part of the call, which the program has to judge.
      if ([...rules.deny, ...rules.ask].some((rule) => isAboutTool(rule, call.tool))) return null;
      const byMode = mode === 'bypassPermissions' || (mode === 'acceptEdits' && ['edit', 'write'].includes(call.tool));
      return byMode || covers('allow', call) ? { kind: 'allow' } : null;
    },
    add: (updates) => updates.forEach(applyUpdate),
  };
}

function isAboutTool(rule: string, tool: string): boolean {
  const named = parseRule(rule)?.tool ?? rule;
  return named.includes('*') || isListedAs(named, tool);
}

function suggestionsFor(call: Call): PermissionUpdate[] {
  if (call.question) return [];
  const rule = ruleFor(call);
  if (rule === null) return [];
  const at = rule.indexOf('(');
  const toolName = outwardName(at < 0 ? rule : rule.slice(0, at));
  const value = present({ toolName, ruleContent: at < 0 ? undefined : rule.slice(at + 1, -1) });
  return [{ type: 'addRules', rules: [value], behavior: 'allow', destination: 'session' }];
}

function textOf({ toolName, ruleContent }: PermissionRuleValue): string {
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;
}
