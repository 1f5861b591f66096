// Callbacks of the program: hooks as those of its worker, and `canUseTool` as who decides about
// calls that wait. Both are asked where the program is, and waited for while it is gone.
import type { HookName } from '../../activities/hooks/payloads.ts';
import type {
  FunctionHook,
  HookAnswers,
  HookConfig,
  HookInput as OurInput,
} from '../../activities/hooks/hook-config.ts';
import type { HookPayload as HookInputs } from '../../activities/hooks/payloads.ts';
import { z } from 'zod';
import type { ApprovalAnswer, OnApproval, OnQuestion } from '../runtime/answer-approvals.ts';
import { reasonOf } from '../../system/text.ts';
import { inwardInput, outwardInput, outwardName, outwardNames, questionOf } from './names.ts';
import type { SyncHookJSONOutput } from './shapes/hook-answers.ts';
import type { HookCallbackMatcher, HookEvent, HookInput, Hooks } from './shapes/hooks.ts';
import type { PermissionMode as OurMode } from '../../workflows/contract/session.ts';
import { matcherOf, type ProgramHooks, permissionOf, PROGRAM_EVENTS } from './program-hooks.ts';
import type { Grants } from './grants.ts';
import type { CanUseTool, PermissionMode, PermissionResult } from './shapes/permissions.ts';
import { toolResponse } from './tool-responses.ts';

/** By those of their events that come here, ours. */
const EVENTS = {
  PreToolUse: 'preTool',
  PostToolUse: 'postTool',
  PostToolUseFailure: 'postTool',
  UserPromptSubmit: 'promptSubmitted',
  SessionStart: 'sessionStart',
  Stop: 'stop',
  PreCompact: 'preCompact',
  PostCompact: 'postCompact',
  SubagentStart: 'sessionStart',
  SubagentStop: 'agentEnded',
} as const satisfies Partial<Record<HookEvent, HookName>>;

type Heard = keyof typeof EVENTS;

/** The events of `hooks` that never come here. */
export function unknownEvents(hooks: object): readonly string[] {
  return Object.keys(hooks).filter(
    (event) => !Object.hasOwn(EVENTS, event) && !PROGRAM_EVENTS.includes(event as HookEvent),
  );
}

/**
 * `mode`: of the query, for hooks that are not about a call. `say`: gets the messages of hooks to a
 * person.
 */
export function hooksOf(
  hooks: Hooks,
  say: (line: string) => void,
  mode: PermissionMode = 'default',
  source: 'startup' | 'clear' = 'startup',
): HookConfig {
  const config: Partial<Record<HookName, FunctionHook<HookName>[]>> = {};
  for (const [event, name] of Object.entries(EVENTS) as [Heard, HookName][])
    for (const matcher of hooks[event] ?? [])
      (config[name] ??= []).push(...callbacks(event, matcher, { say, mode, source }));
  return config as HookConfig;
}

type Any = OurInput<HookName> & Readonly<Record<string, unknown>>;

type About = {
  readonly say: (line: string) => void;
  readonly mode: PermissionMode;
  /** It says how the session begins. */
  readonly source: 'startup' | 'clear';
};

function callbacks(
  event: Heard,
  { matcher, hooks, timeout }: HookCallbackMatcher,
  { say, mode, source }: About,
): FunctionHook<HookName>[] {
  const isMeant = matcherOf(matcher);
  return hooks.map((callback, at) => ({
    name: `${event}${hooks.length > 1 ? `-${at + 1}` : ''}`,
    ...(timeout === undefined ? {} : { timeoutMs: Math.ceil(timeout * 1_000) }),
    run: async (given, options) => {
      const input = given as Any;
      const subjects = event === 'SessionStart' ? [source] : subjectsOf(event, input);
      if (!subjects.some(isMeant) || !fits(event, input)) return null;
      const toolUseId = typeof input['toolUseId'] === 'string' ? input['toolUseId'] : undefined;
      const said = await callback(toldOf(event, input, { mode, source }), toolUseId, options);
      // What it does beside the run is its own affair.
      if ('async' in said) return null;
      if (said.systemMessage !== undefined) say(said.systemMessage);
      return answerOf(event, said, input);
    },
  }));
}

/** What matchers are about: a tool, by any of its names, or the type of an agent. */
function subjectsOf(event: Heard, input: Any): readonly (string | null)[] {
  if (event === 'SubagentStart' || event === 'SubagentStop') return [agentIn(input)?.type ?? null];
  return typeof input['tool'] === 'string' ? outwardNames(input['tool']) : [null];
}

/**
 * One kind of ours stands for two of theirs: a call that went well or failed, a session or an agent
 * that starts.
 */
function fits(event: Heard, input: Any): boolean {
  if (event === 'PostToolUse') return input['isError'] === false;
  if (event === 'PostToolUseFailure') return input['isError'] === true;
  if (event === 'SessionStart') return agentIn(input) === undefined;
  return event !== 'SubagentStart' || agentIn(input) !== undefined;
}

/** Returns the session that the program knows. */
function rootOf(input: Any): string | undefined {
  return (input['agent'] as HookInputs<'sessionStart'>['agent'])?.root;
}

function agentIn(input: Any): { readonly id: string; readonly type: string } | undefined {
  return input['agent'] as HookInputs<'sessionStart'>['agent'];
}

function toldOf(event: Heard, input: Any, { mode, source }: Pick<About, 'mode' | 'source'>): HookInput {
  const { session, cwd } = input;
  const common = {
    hook_event_name: event,
    session_id: event === 'SubagentStart' ? (rootOf(input) ?? session) : session,
    transcript_path: '',
    cwd: cwd ?? '',
    permission_mode: modeNow(input, mode),
  };
  const more = event === 'SessionStart' ? { source } : toldMore[event]?.(input);
  return { ...common, ...more } as HookInput;
}

/**
 * A session whose program answers nobody denies what would ask: that is no mode that the program
 * gave.
 */
function modeNow(input: Any, given: PermissionMode): PermissionMode {
  const { mode } = input as { readonly mode?: OurMode };
  if (mode === undefined || (mode === 'dontAsk' && given === 'default')) return given;
  return mode === 'bypass' ? 'bypassPermissions' : mode;
}

const toolFacts = (input: Any): Record<string, unknown> => ({
  tool_name: outwardName(String(input['tool'])),
  tool_input: outwardInput(String(input['tool']), input['input']),
  tool_use_id: input['toolUseId'],
});

const responseOf = (input: Any): object =>
  toolResponse(
    outwardName(String(input['tool'])),
    outwardInput(String(input['tool']), input['input']),
    String(input['content']),
  );

const toldMore: Partial<Record<Heard, (input: Any) => Record<string, unknown>>> = {
  PreToolUse: toolFacts,
  PostToolUse: (input) => ({ ...toolFacts(input), tool_response: responseOf(input) }),
  PostToolUseFailure: (input) => ({ ...toolFacts(input), error: input['content'] }),
  UserPromptSubmit: (input) => ({ prompt: (input['prompts'] as readonly string[]).join('\n\n') }),
  Stop: (input) => ({ stop_hook_active: input['active'], last_assistant_message: input['text'] }),
  PreCompact: (input) => ({ trigger: triggerOf(input), custom_instructions: input['instructions'] ?? null }),
  PostCompact: (input) => ({ trigger: triggerOf(input), compact_summary: input['summary'] }),
  SubagentStart: (input) => ({ agent_id: agentIn(input)?.id, agent_type: agentIn(input)?.type }),
  SubagentStop: (input) => {
    const { id, type } = input['agent'] as HookInputs<'agentEnded'>['agent'];
    const last = { stop_hook_active: false, last_assistant_message: input['text'] };
    return { agent_id: id, agent_type: type, agent_transcript_path: '', ...last };
  },
};

const triggerOf = (input: Any): 'auto' | 'manual' => (input['trigger'] === 'manual' ? 'manual' : 'auto');

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
    case 'SubagentStart':
      return { context: additionalContext };
    case 'PreCompact':
    case 'PostCompact':
    case 'SubagentStop':
      return null;
  }
}

function joined(...texts: readonly (string | undefined)[]): string | undefined {
  const all = texts.filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join('\n');
}

/** Who answers for the program, beside `canUseTool`. */
export type Deciding = {
  readonly grants?: Grants;
  readonly hooks?: ProgramHooks;
  readonly say: (line: string) => void;
};

/** Its answer in our words. When it throws, the call is denied: the model reads why. */
export function approvalBy(canUseTool: CanUseTool | undefined, { grants, hooks, say }: Deciding): OnApproval {
  return async (approval, { signal }) => {
    const { call, tool, input, toolUseId = '', reason } = approval;
    const known = grants?.answerTo(approval) ?? null;
    if (known) return known;
    const shown = outwardInput(tool, input);
    const name = outwardName(tool);
    const suggestions = grants?.suggestions(approval) ?? [];
    const facts = { tool_name: name, tool_input: shown, permission_suggestions: suggestions };
    try {
      notify(hooks, `A decision about ${name} is needed: ${reason}`, 'permission_prompt');
      const byHook = permissionOf((await hooks?.tell('PermissionRequest', facts, name)) ?? []);
      const asked = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions };
      const said = byHook ?? (await canUseTool?.(name, structuredClone(shown), asked));
      if (said?.behavior === 'allow') grants?.add(said.updatedPermissions ?? []);
      return answerFor(said, tool, shown);
    } catch (error) {
      say(`canUseTool failed about ${name}: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not decide: ${reasonOf(error)}` };
    }
  };
}

function answerFor(
  said: PermissionResult | null | undefined,
  tool: string,
  shown: Record<string, unknown>,
): ApprovalAnswer {
  if (said === undefined || said === null) return { kind: 'deny', reason: 'the program does not answer' };
  if (said.behavior === 'deny')
    return { kind: 'deny', reason: said.message || 'the program denied it', interrupt: said.interrupt ?? false };
  const { updatedInput } = said;
  const isEdited = updatedInput !== undefined && JSON.stringify(updatedInput) !== JSON.stringify(shown);
  return isEdited ? { kind: 'allow', input: inwardInput(tool, updatedInput) } : { kind: 'allow' };
}

/** Nobody waits for what they do. */
function notify(hooks: ProgramHooks | undefined, message: string, kind: string): void {
  void hooks?.tell('Notification', { message, notification_type: kind }, kind);
}

const asked = z.object({ question: z.string(), options: z.array(z.string()).optional() });
const answered = z.object({ answers: z.record(z.string(), z.string()) });

/**
 * A question as such programs know it: a call of `AskUserQuestion`, which they allow with the
 * answer in its input.
 */
export function questionBy(canUseTool: CanUseTool | undefined, { hooks, say }: Deciding): OnQuestion {
  return async ({ call, input, toolUseId = '', reason }, { signal }) => {
    const given = asked.parse(input);
    const { question } = given;
    const shown = { questions: [questionOf(given)] };
    try {
      notify(hooks, question, 'elicitation_dialog');
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
