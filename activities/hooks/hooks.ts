// The hooks of a worker as the activities see them: by name, each with its input and its possible
// answers. Hooks that crash or time out are listed in `failed`, reported, and change nothing.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { AlertKind, Notice, StopHooksRan } from '../../workflows/contract/activities.ts';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { HookCallFacts, HookName, HookPayload } from './payloads.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { LiveWriter } from '../../store/live/events.ts';

export type HookContext = {
  readonly session: SessionId;
  readonly queryId: string;
  readonly depth: number;
  readonly iteration: number;
  /**
   * The workspace root, null without a run (sessionEnd); `folders` are the other folders of the
   * run, absent for a run without others.
   */
  readonly cwd: string | null;
  readonly folders?: readonly string[] | undefined;
  /** How the prompt came that opened the run; absent where the sender did not say. */
  readonly querySource?: QuerySource | undefined;
  readonly signal: AbortSignal;
  /** Called as each hook starts and ends, for watchers (L60). */
  readonly watch?: (event: HookProgress) => void;
};

export type HookProgress =
  | { readonly type: 'start'; readonly hook: string }
  | { readonly type: 'end'; readonly hook: string; readonly result: string };

export type HookFailure = { readonly hook: string; readonly detail: string };

export type FailedHooks = { readonly failed: readonly HookFailure[] };

/** The texts that hooks add to the conversation, each with its hook's name. */
export type HookText = { readonly hook: string; readonly text: string };

export type PreToolVerdict = {
  /** The strictest answer of all hooks; null: no opinion. */
  readonly decision:
    | { readonly kind: 'allow' }
    | { readonly kind: 'ask'; readonly why: string }
    | { readonly kind: 'deny'; readonly why: string; readonly fatal?: true }
    | null;
  /** Replaces the input, which is then checked by the schema again. Undefined: unchanged. */
  readonly input: unknown;
  /** Ends the run after this call's outcome (L41). */
  readonly stop: string | null;
  readonly failed: readonly HookFailure[];
};

export type PostToolVerdict = {
  readonly context: readonly HookText[];
  readonly stop: string | null;
  readonly failed: readonly HookFailure[];
};

export type PromptVerdict = {
  readonly context: readonly HookText[];
  /** Ends the run before the model is called. */
  readonly stop: string | null;
  readonly failed: readonly HookFailure[];
};

export type NotifiedHooks = { has(hook: string): boolean; add(hook: string): void };

/** Never throws for what a hook does. */
export type HookRunner = {
  /**
   * Tells whether any hook of this kind, and for this tool if one is named, is configured: without
   * one nothing is called.
   */
  has(name: HookName, tool?: string): boolean;
  /** The kind and name of each hook that can deny a call or a prompt, or say how a run ends. */
  readonly deciding: readonly string[];
  sessionStart(
    context: HookContext,
    started?: HookPayload<'sessionStart'>,
  ): Promise<Pick<PromptVerdict, 'context' | 'failed'>>;
  promptSubmitted(context: HookContext, prompts: readonly string[]): Promise<PromptVerdict>;
  preTool(
    context: HookContext,
    call: HookCallFacts & { readonly name: string; readonly input: unknown },
  ): Promise<PreToolVerdict>;
  postTool(
    context: HookContext,
    call: HookCallFacts & {
      readonly name: string;
      readonly input: unknown;
      readonly content: string;
      readonly isError: boolean;
    },
  ): Promise<PostToolVerdict>;
  /** Tells a stored reply, with inputs as observers see them (L18, L21). */
  postSampling(context: HookContext, message: Message): Promise<FailedHooks>;
  preCompact(
    context: HookContext,
    compaction: HookPayload<'preCompact'>,
  ): Promise<{ readonly instructions: readonly HookText[]; readonly failed: readonly HookFailure[] }>;
  postCompact(context: HookContext, compaction: HookPayload<'postCompact'>): Promise<FailedHooks>;
  /**
   * `transcript` renders the run as a text, for hooks that ask for it; absent: none may. Rejects as
   * it does.
   */
  stop(
    context: HookContext,
    reply: Omit<HookPayload<'stop'>, 'transcript'>,
    transcript?: () => Promise<string>,
  ): Promise<StopHooksRan>;
  /** Asks, in an agent's session, once no stop hook objects. */
  agentIdle(context: HookContext, idle: HookPayload<'agentIdle'>): Promise<StopHooksRan>;
  sessionEnd(context: HookContext): Promise<FailedHooks>;
  /**
   * `notified` says which hooks have been told already, and records each that now is: a later
   * attempt does not tell them again.
   */
  alert<Name extends AlertKind | 'silent'>(
    name: Name,
    context: HookContext,
    payload: HookPayload<Name>,
    notified: NotifiedHooks,
  ): Promise<FailedHooks>;
  /** Ends what still runs when the worker has stopped: only hooks that no caller waits for. */
  close(): Promise<void>;
};

/**
 * Builds the facts that every hook of a run is told. With `live`, watchers see each hook start and
 * end (L60).
 */
export function buildHookContext(
  {
    session,
    queryId,
    depth,
    cwd,
    folders,
    querySource,
  }: Pick<RunConfig, Exclude<keyof HookContext, 'iteration' | 'signal' | 'watch'>>,
  { iteration, signal }: Pick<HookContext, 'iteration' | 'signal'>,
  live?: Pick<LiveWriter, 'write'>,
): HookContext {
  const more = { ...(folders && { folders }), ...(querySource && { querySource }) };
  const context = { session, queryId, depth, iteration, cwd, ...more, signal };
  return live ? { ...context, watch: watchHooks(live, iteration) } : context;
}

export function hookFailureNotice({ hook, detail }: HookFailure): { readonly kind: 'notice'; readonly notice: Notice } {
  return { kind: 'notice', notice: { kind: 'hook_failed', hook, detail } };
}

function watchHooks(live: Pick<LiveWriter, 'write'>, iteration: number): (event: HookProgress) => void {
  return (event) => {
    if (event.type === 'start') live.write({ type: 'hook_start', iteration, hook: event.hook });
    else live.write({ type: 'hook_end', iteration, hook: event.hook, result: event.result });
  };
}
