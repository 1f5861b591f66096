// Turns the program's hooks into hooks of the worker. They run in the program's process, and the
// session waits while it is gone.
import type {
  HookName,
  FunctionHook,
  HookAnswers,
  HookConfig,
  HookInput as OurInput,
  HookPayload as HookInputs,
  PermissionMode as OurMode,
} from '../faces/types.ts';
import { runWithin } from '../../system/async.ts';
import {
  createHookRelay,
  hookName,
  type HookRelay,
  matcherOf,
  MOST_WAIT_MS,
  PROGRAM_EVENTS,
  tellHook,
  TIMEOUT_MS,
} from './program-hooks.ts';
import { toInwardInput, outwardInput, outwardName, outwardNames } from './names.ts';
import type { HookCallbackMatcher, HookEvent, HookInput, Hooks, SyncHookJSONOutput } from './shapes/hooks.ts';
import type { PermissionMode } from './shapes/facts.ts';
import { toolResponse } from './tool-responses.ts';

/** Maps the SDK events that occur here to our hook names. */
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

type HeardEvent = keyof typeof EVENTS;

/** Returns the events of `hooks` that never occur here. */
export function unknownEvents(hooks: object): readonly string[] {
  return Object.keys(hooks).filter(
    (event) => !Object.hasOwn(EVENTS, event) && !PROGRAM_EVENTS.includes(event as HookEvent),
  );
}

type HookContext = {
  /** Receives the messages that hooks have for a person. */
  readonly say: (line: string) => void;
  /** The mode of the query, for hooks that are not about a call. */
  readonly mode: PermissionMode;
  /** Tells how the session begins. */
  readonly source: 'startup' | 'clear';
  readonly relay: HookRelay;
};

export function toHookConfig(
  hooks: Hooks,
  say: (line: string) => void,
  {
    mode = 'default',
    source = 'startup',
    relay = createHookRelay(),
  }: Partial<Pick<HookContext, 'mode' | 'source' | 'relay'>> = {},
): HookConfig {
  const config: Partial<Record<HookName, FunctionHook<HookName>[]>> = {};
  for (const [event, name] of Object.entries(EVENTS) as [HeardEvent, HookName][])
    for (const matcher of hooks[event] ?? [])
      (config[name] ??= []).push(...toFunctionHooks(event, matcher, { say, mode, source, relay }));
  return config as HookConfig;
}

type AnyInput = OurInput<HookName> & Readonly<Record<string, unknown>>;

function toFunctionHooks(
  event: HeardEvent,
  { matcher, hooks, timeout }: HookCallbackMatcher,
  { say, mode, source, relay }: HookContext,
): FunctionHook<HookName>[] {
  const isMeant = matcherOf(matcher);
  const ms = timeout ? Math.ceil(timeout * 1_000) : TIMEOUT_MS;
  return hooks.map((callback, at) => {
    const name = hookName(event, at, hooks.length);
    return {
      name,
      timeoutMs: ms + MOST_WAIT_MS,
      run: async (rawInput, { signal }) => {
        const input = rawInput as AnyInput;
        const subjects = event === 'SessionStart' ? [source] : subjectsOf(event, input);
        if (!subjects.some(isMeant) || !isInputOf(event, input)) return null;
        const toolUseId = typeof input['toolUseId'] === 'string' ? input['toolUseId'] : undefined;
        if (toolUseId !== undefined) await relay.order.awaitCall(input.session, toolUseId, signal);
        const sdkInput = buildHookInput(event, input, { mode, source });
        const output = await tellHook(relay, { name, event }, () =>
          runWithin(ms, signal, (either) => callback(sdkInput, toolUseId, { signal: either })),
        );
        // An asynchronous hook works apart from the run, so its answer does not count.
        if ('async' in output) return null;
        if (output.systemMessage !== undefined) say(output.systemMessage);
        return toHookAnswer(event, output, input);
      },
    };
  });
}

/** Returns what matchers are compared with: the names of the tool, or the type of the agent. */
function subjectsOf(event: HeardEvent, input: AnyInput): readonly (string | null)[] {
  if (event === 'SubagentStart' || event === 'SubagentStop') return [agentIn(input)?.type ?? null];
  return typeof input['tool'] === 'string' ? outwardNames(input['tool']) : [null];
}

/**
 * Tells the two SDK events apart that one hook of ours stands for: a call that succeeded or failed,
 * and a session or an agent that starts.
 */
function isInputOf(event: HeardEvent, input: AnyInput): boolean {
  if (event === 'PostToolUse') return input['isError'] === false;
  if (event === 'PostToolUseFailure') return input['isError'] === true;
  if (event === 'SessionStart') return agentIn(input) === undefined;
  return event !== 'SubagentStart' || agentIn(input) !== undefined;
}

/** Returns the main session of an agent, the one that the program knows. */
function rootOf(input: AnyInput): string | undefined {
  return (input['agent'] as HookInputs<'sessionStart'>['agent'])?.root;
}

function agentIn(input: AnyInput): { readonly id: string; readonly type: string } | undefined {
  return input['agent'] as HookInputs<'sessionStart'>['agent'];
}

function buildHookInput(
  event: HeardEvent,
  input: AnyInput,
  { mode, source }: Pick<HookContext, 'mode' | 'source'>,
): HookInput {
  const { session, cwd } = input;
  const common = {
    hook_event_name: event,
    session_id: event === 'SubagentStart' ? (rootOf(input) ?? session) : session,
    transcript_path: '',
    cwd: cwd ?? '',
    permission_mode: modeNow(input, mode),
  };
  const more = event === 'SessionStart' ? { source } : eventFacts[event]?.(input);
  return { ...common, ...more } as HookInput;
}

/**
 * Returns the mode for a hook. A session whose program cannot answer runs in `dontAsk`, which the
 * program never chose, so the hook reads the given mode instead.
 */
function modeNow(input: AnyInput, programMode: PermissionMode): PermissionMode {
  const { mode } = input as { readonly mode?: OurMode };
  if (mode === undefined || (mode === 'dontAsk' && programMode === 'default')) return programMode;
  return mode === 'bypass' ? 'bypassPermissions' : mode;
}

const toolFacts = (input: AnyInput): Record<string, unknown> => ({
  tool_name: outwardName(String(input['tool'])),
  tool_input: outwardInput(String(input['tool']), input['input']),
  tool_use_id: input['toolUseId'],
});

const responseOf = (input: AnyInput): object =>
  toolResponse(outwardName(String(input['tool'])), outwardInput(String(input['tool']), input['input']), {
    text: String(input['content']),
  });

const eventFacts: Partial<Record<HeardEvent, (input: AnyInput) => Record<string, unknown>>> = {
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

const triggerOf = (input: AnyInput): 'auto' | 'manual' => (input['trigger'] === 'manual' ? 'manual' : 'auto');

type Answer = HookAnswers[HookName] | null;

/** The event-specific fields of any event. */
type Specific = {
  readonly additionalContext?: string;
  readonly permissionDecision?: 'allow' | 'deny' | 'ask' | 'defer';
  readonly permissionDecisionReason?: string;
  readonly updatedInput?: Record<string, unknown>;
};

function toHookAnswer(event: HeardEvent, output: SyncHookJSONOutput, input: AnyInput): Answer {
  const reason = output.reason ?? output.stopReason ?? `a ${event} hook of the program said so`;
  const stop = output.continue === false ? (output.stopReason ?? reason) : undefined;
  const blocks = output.decision === 'block';
  const specific = (output.hookSpecificOutput ?? {}) as Specific;
  const { additionalContext, permissionDecision, permissionDecisionReason, updatedInput } = specific;
  switch (event) {
    case 'PreToolUse': {
      const older = blocks ? 'deny' : output.decision === 'approve' ? 'allow' : undefined;
      const changed = updatedInput && toInwardInput(String(input['tool']), updatedInput);
      // The hook leaves the decision to `canUseTool`.
      const decision = permissionDecision === 'defer' ? 'ask' : (permissionDecision ?? older);
      return { decision, reason: decision && (permissionDecisionReason ?? output.reason), input: changed, stop };
    }
    case 'PostToolUse':
    case 'PostToolUseFailure':
      return { context: joinTexts(additionalContext, blocks ? reason : undefined), stop };
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

function joinTexts(...texts: readonly (string | undefined)[]): string | undefined {
  const all = texts.filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join('\n');
}
