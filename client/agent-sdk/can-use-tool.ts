// Answers waiting approvals and questions with the program's `canUseTool`. It runs in the program's
// process, and the session waits while it is gone.
import { resolve } from 'node:path';
import { z } from 'zod';
import { reasonOf } from '../../system/text.ts';
import { present } from '../faces/basics.ts';
import { parseRule, permissionsProblem } from '../faces/options.ts';
import { createAlwaysRules, ruleFor } from '../faces/rules.ts';
import { ClientProblem } from '../faces/start.ts';
import { isListedAs } from '../faces/tools.ts';
import type {
  ApprovalAnswer,
  ListedQuestion,
  OnApproval,
  OnQuestion,
  PermissionRules,
  WaitingApproval,
} from '../faces/types.ts';
import { splitQuestions } from '../faces/words.ts';
import { type CallOrder, permissionOf, type ProgramHooks } from './program-hooks.ts';
import { inwardRules, modeInEffect, outwardInput, outwardName, toInwardInput } from './names.ts';
import type {
  CanUseTool,
  PermissionMode,
  PermissionResult,
  PermissionRuleValue,
  PermissionUpdate,
} from './shapes/facts.ts';

/** Grants and hooks decide before `canUseTool` is called. */
export type DecisionPorts = {
  readonly grants?: Grants;
  readonly hooks?: ProgramHooks;
  readonly order?: CallOrder;
  readonly say: (line: string) => void;
};

/**
 * Returns a handler that answers approvals by the grants, the hooks, and `canUseTool`, in this
 * order. When one throws, the call is denied with the reason.
 */
export function createApprovalHandler(
  canUseTool: CanUseTool | undefined,
  { grants, hooks, order, say }: DecisionPorts,
): OnApproval {
  return async (approval, { signal }) => {
    const { session, call, tool, input, toolUseId = '', reason } = approval;
    const known = grants?.answerTo(approval) ?? null;
    if (known) return known;
    await order?.awaitCall(session, toolUseId, signal);
    const sdkInput = outwardInput(tool, input);
    const name = outwardName(tool);
    const suggestions = grants?.suggestions(approval) ?? [];
    const facts = { tool_name: name, tool_input: sdkInput, permission_suggestions: suggestions };
    try {
      notifyHooks(hooks, `A decision about ${name} is needed: ${reason}`, 'permission_prompt');
      const byHook = permissionOf((await hooks?.tell('PermissionRequest', facts, name)) ?? []);
      const options = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions };
      const result = byHook ?? (await canUseTool?.(name, structuredClone(sdkInput), options));
      if (result?.behavior === 'allow') grants?.add(result.updatedPermissions ?? []);
      return toApprovalAnswer(result, tool, sdkInput);
    } catch (error) {
      say(`canUseTool failed about ${name}: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not decide: ${reasonOf(error)}` };
    }
  };
}

function toApprovalAnswer(
  result: PermissionResult | null | undefined,
  tool: string,
  sdkInput: Record<string, unknown>,
): ApprovalAnswer {
  if (result === undefined || result === null) return { kind: 'deny', reason: 'the program does not answer' };
  if (result.behavior === 'deny')
    return { kind: 'deny', reason: result.message || 'the program denied it', interrupt: result.interrupt ?? false };
  const { updatedInput } = result;
  const isEdited = updatedInput !== undefined && JSON.stringify(updatedInput) !== JSON.stringify(sdkInput);
  return isEdited ? { kind: 'allow', input: toInwardInput(tool, updatedInput) } : { kind: 'allow' };
}

/** Calls the Notification hooks without waiting for them. */
function notifyHooks(hooks: ProgramHooks | undefined, message: string, kind: string): void {
  void hooks?.tell('Notification', { message, notification_type: kind }, kind);
}

const questionSchema = z.object({ question: z.string(), options: z.array(z.string()).optional() });
const answersSchema = z.object({ answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])) });

/** Returns the answers as one text, or undefined when the program gave none. */
function answerOf(questions: readonly ListedQuestion[], updatedInput: unknown): string | undefined {
  const answers = answersSchema.safeParse(updatedInput).data?.answers ?? {};
  const pairs = questions.flatMap(({ question }) => {
    const answer = answers[question];
    return answer === undefined ? [] : [{ question, answer: typeof answer === 'string' ? answer : answer.join(', ') }];
  });
  if (questions.length === 1) return pairs[0]?.answer;
  return pairs.length === 0 ? undefined : pairs.map(({ question, answer }) => `${question} ${answer}`).join('\n');
}

/**
 * Returns a handler that presents a question as a call of `AskUserQuestion`. The program allows it
 * with the answer in its input.
 */
export function createQuestionHandler(
  canUseTool: CanUseTool | undefined,
  { hooks, order, say }: DecisionPorts,
): OnQuestion {
  return async ({ session, call, input, toolUseId = '', reason }, { signal }) => {
    const parsed = questionSchema.parse(input);
    const questions = splitQuestions(parsed);
    await order?.awaitCall(session, toolUseId, signal);
    const sdkInput = { questions };
    try {
      notifyHooks(hooks, parsed.question, 'elicitation_dialog');
      const context = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions: [] };
      const result = await canUseTool?.('AskUserQuestion', structuredClone(sdkInput), context);
      const text = result?.behavior === 'allow' ? answerOf(questions, result.updatedInput) : undefined;
      if (text !== undefined && (parsed.options?.includes(text) ?? true)) return { kind: 'answer', text };
      // A question with options takes these alone, and programs let people write other answers.
      if (text !== undefined)
        return { kind: 'deny', reason: `the user chose none of the options, and answered: ${text}` };
      const message = result?.behavior === 'deny' ? result.message : '';
      return { kind: 'deny', reason: message || 'the program does not answer' };
    } catch (error) {
      say(`canUseTool failed about a question: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not answer: ${reasonOf(error)}` };
    }
  };
}

// Implements "always allow": proposes rules with a question, and keeps what the program grants in
// its answer. A grant holds at once and as long as the query. A run keeps the rules that it was
// opened with, so its calls still ask, and are answered here.
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
