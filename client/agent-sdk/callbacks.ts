// Callbacks of the program: hooks as those of its worker, and `canUseTool` as who decides about calls that wait. Both are asked where the
// program is, and waited for while it is gone.
import type {
  FunctionHook,
  HookAnswers,
  HookConfig,
  HookInput as OurInput,
  HookName,
} from '../../activities/hooks/hooks.ts';
import { z } from 'zod';
import type { OnApproval, OnQuestion } from '../answer-approvals.ts';
import { reasonOf } from '../../activities/text.ts';
import { inwardInput, outwardInput, outwardName } from './names.ts';
import type { SyncHookJSONOutput } from './shapes/hook-answers.ts';
import type { HookCallbackMatcher, HookEvent, HookInput, Hooks } from './shapes/hooks.ts';
import type { CanUseTool } from './shapes/permissions.ts';

/** By those of their events that come here, ours. */
const EVENTS = {
  PreToolUse: 'preTool',
  PostToolUse: 'postTool',
  PostToolUseFailure: 'postTool',
  UserPromptSubmit: 'promptSubmitted',
  SessionStart: 'sessionStart',
  SessionEnd: 'sessionEnd',
  Stop: 'stop',
  PreCompact: 'preCompact',
} as const satisfies Partial<Record<HookEvent, HookName>>;

type Heard = keyof typeof EVENTS;

/** The events of `hooks` that never come here. */
export function unknownEvents(hooks: object): readonly string[] {
  return Object.keys(hooks).filter((event) => !Object.hasOwn(EVENTS, event));
}

/** `say`: gets the messages of hooks to a person. */
export function hooksOf(hooks: Hooks, say: (line: string) => void): HookConfig {
  const config: Partial<Record<HookName, FunctionHook<HookName>[]>> = {};
  for (const [event, name] of Object.entries(EVENTS) as [Heard, HookName][])
    for (const matcher of hooks[event] ?? []) (config[name] ??= []).push(...callbacks(event, matcher, say));
  return config as HookConfig;
}

type Any = OurInput<HookName> & Readonly<Record<string, unknown>>;

function callbacks(
  event: Heard,
  { matcher, hooks, timeout }: HookCallbackMatcher,
  say: (line: string) => void,
): FunctionHook<HookName>[] {
  const isMeant = matcherOf(matcher);
  return hooks.map((callback, at) => ({
    name: `${event}${hooks.length > 1 ? `-${at + 1}` : ''}`,
    ...(timeout === undefined ? {} : { timeoutMs: Math.ceil(timeout * 1_000) }),
    run: async (given, options) => {
      const input = given as Any;
      if (!isMeant(typeof input['tool'] === 'string' ? outwardName(input['tool']) : null) || !fits(event, input))
        return null;
      const said = await callback(toldOf(event, input), undefined, options);
      // What it does beside the run is its own affair.
      if ('async' in said) return null;
      if (said.systemMessage !== undefined) say(said.systemMessage);
      return answerOf(event, said, input);
    },
  }));
}

/** A name, or a regular expression for whole names; absent, empty and `*`: all. */
function matcherOf(matcher: string | undefined): (tool: string | null) => boolean {
  if (matcher === undefined || matcher === '' || matcher === '*') return () => true;
  const pattern = new RegExp(`^(?:${matcher})$`);
  return (tool) => tool === null || pattern.test(tool);
}

/** One kind of ours stands for a call that went well and for one that failed. */
function fits(event: Heard, input: Any): boolean {
  if (event === 'PostToolUse') return input['isError'] === false;
  return event === 'PostToolUseFailure' ? input['isError'] === true : true;
}

function toldOf(event: Heard, input: Any): HookInput {
  const { session, cwd } = input;
  const common = { hook_event_name: event, session_id: session, transcript_path: '', cwd: cwd ?? '' };
  return { ...common, ...toldMore[event]?.(input) } as HookInput;
}

const toolFacts = (input: Any): Record<string, unknown> => ({
  tool_name: outwardName(String(input['tool'])),
  tool_input: outwardInput(String(input['tool']), input['input']),
});

const toldMore: Partial<Record<Heard, (input: Any) => Record<string, unknown>>> = {
  PreToolUse: toolFacts,
  PostToolUse: (input) => ({ ...toolFacts(input), tool_response: input['content'] }),
  PostToolUseFailure: (input) => ({ ...toolFacts(input), error: input['content'] }),
  UserPromptSubmit: (input) => ({ prompt: (input['prompts'] as readonly string[]).join('\n\n') }),
  SessionStart: () => ({ source: 'startup' }),
  Stop: (input) => ({ stop_hook_active: input['active'], last_assistant_message: input['text'] }),
  PreCompact: () => ({ trigger: 'auto', custom_instructions: null }),
};

type Answer = HookAnswers[HookName] | null;

/** Whatever event it is of. */
type Specific = {
  readonly additionalContext?: string;
  readonly permissionDecision?: 'allow' | 'deny' | 'ask' | 'defer';
  readonly permissionDecisionReason?: string;
  readonly updatedInput?: Record<string, unknown>;
};

function answerOf(event: Heard, said: SyncHookJSONOutput, input: Any): Answer {
  const reason = said.reason ?? said.stopReason ?? `a ${event} hook of the program said so`;
  const stop = said.continue === false ? (said.stopReason ?? reason) : undefined;
  const blocks = said.decision === 'block';
  const specific = (said.hookSpecificOutput ?? {}) as Specific;
  const { additionalContext, permissionDecision, permissionDecisionReason, updatedInput } = specific;
  switch (event) {
    case 'PreToolUse': {
      const older = blocks ? 'deny' : said.decision === 'approve' ? 'allow' : undefined;
      const changed = updatedInput && inwardInput(String(input['tool']), updatedInput);
      // Left to who is asked.
      const decision = permissionDecision === 'defer' ? 'ask' : (permissionDecision ?? older);
      return { decision, reason: decision && (permissionDecisionReason ?? said.reason), input: changed, stop };
    }
    case 'PostToolUse':
    case 'PostToolUseFailure':
      return { context: joined(additionalContext, blocks ? reason : undefined), stop };
    case 'UserPromptSubmit':
      return { context: additionalContext, stop: stop ?? (blocks ? reason : undefined) };
    case 'Stop':
      return { block: blocks ? reason : undefined, prevent: stop };
    case 'SessionStart':
      return { context: additionalContext };
    case 'PreCompact':
    case 'SessionEnd':
      return null;
  }
}

function joined(...texts: readonly (string | undefined)[]): string | undefined {
  const all = texts.filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join('\n');
}

/** Its answer in our words. When it throws, the call is denied: the model reads why. */
export function approvalBy(canUseTool: CanUseTool | undefined, say: (line: string) => void): OnApproval {
  return async ({ call, tool, input, toolUseId = '', reason }, { signal }) => {
    const shown = outwardInput(tool, input);
    const asked = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions: [] };
    try {
      const said = await canUseTool?.(outwardName(tool), structuredClone(shown), asked);
      if (said === undefined || said === null) return { kind: 'deny', reason: 'the program does not answer' };
      if (said.behavior === 'deny')
        return { kind: 'deny', reason: said.message || 'the program denied it', interrupt: said.interrupt ?? false };
      if (said.updatedPermissions !== undefined) say('updatedPermissions are passed over: give rules as allowedTools');
      const { updatedInput } = said;
      const isEdited = updatedInput !== undefined && JSON.stringify(updatedInput) !== JSON.stringify(shown);
      return isEdited ? { kind: 'allow', input: inwardInput(tool, updatedInput) } : { kind: 'allow' };
    } catch (error) {
      say(`canUseTool failed about ${outwardName(tool)}: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not decide: ${reasonOf(error)}` };
    }
  };
}

const asked = z.object({ question: z.string(), options: z.array(z.string()).optional() });
const answered = z.object({ answers: z.record(z.string(), z.string()) });

/** A question as such programs know it: a call of `AskUserQuestion`, which they allow with the answer in its input. */
export function questionBy(canUseTool: CanUseTool | undefined, say: (line: string) => void): OnQuestion {
  return async ({ call, input, toolUseId = '', reason }, { signal }) => {
    const { question, options = [] } = asked.parse(input);
    const labels = options.map((label) => ({ label, description: '' }));
    const shown = { questions: [{ question, header: '', options: labels, multiSelect: false }] };
    try {
      const context = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions: [] };
      const said = await canUseTool?.('AskUserQuestion', shown, context);
      const text =
        said?.behavior === 'allow' ? answered.safeParse(said.updatedInput).data?.answers[question] : undefined;
      if (text !== undefined) return { kind: 'answer', text };
      const message = said?.behavior === 'deny' ? said.message : '';
      return { kind: 'deny', reason: message || 'the program does not answer' };
    } catch (error) {
      say(`canUseTool failed about a question: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not answer: ${reasonOf(error)}` };
    }
  };
}
