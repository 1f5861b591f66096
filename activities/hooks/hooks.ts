// The hooks of a worker as the activities see them: by name, each with what it is told and what it
// may answer. Hooks that crash or time out are listed in `failed`, reported, and change nothing.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { AlertKind, CompactionTrigger, StopHooksRan } from '../../workflows/contract/activities.ts';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { CallFacts, Payloads } from './payloads.ts';

export type HookName =
  | 'sessionStart'
  | 'promptSubmitted'
  | 'preTool'
  | 'postTool'
  | 'postSampling'
  | 'preCompact'
  | 'postCompact'
  | 'stop'
  | 'agentIdle'
  | 'sessionEnd'
  | AlertKind;

export type HookContext = {
  readonly session: SessionId;
  readonly queryId: string;
  readonly depth: number;
  readonly iteration: number;
  /**
   * The workspace root, null where there is no run (sessionEnd); `folders`: the others of the run,
   * absent: none.
   */
  readonly cwd: string | null;
  readonly folders?: readonly string[] | undefined;
  /** How the prompt came that opened the run; absent where nobody said it. */
  readonly querySource?: QuerySource | undefined;
  readonly signal: AbortSignal;
  /** Told as each hook starts and ends, for watchers (L60). */
  readonly watch?: (event: HookEvent) => void;
};

export type HookEvent =
  | { readonly type: 'start'; readonly hook: string }
  | { readonly type: 'end'; readonly hook: string; readonly result: string };

export type HookFailure = { readonly hook: string; readonly detail: string };

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

export type ToldHooks = { has(hook: string): boolean; add(hook: string): void };

/** Never throws for what a hook does. */
export type HookRunner = {
  /**
   * Whether any hook of this kind, and for this tool if one is named, is configured: without one
   * nothing is called.
   */
  has(name: HookName, tool?: string): boolean;
  /** Kind and name of each hook that can deny a call or a prompt, or say how a run ends. */
  readonly deciding: readonly string[];
  sessionStart(
    context: HookContext,
    started?: HookPayload<'sessionStart'>,
  ): Promise<Pick<PromptVerdict, 'context' | 'failed'>>;
  promptSubmitted(context: HookContext, prompts: readonly string[]): Promise<PromptVerdict>;
  preTool(
    context: HookContext,
    call: CallFacts & { readonly name: string; readonly input: unknown },
  ): Promise<PreToolVerdict>;
  postTool(
    context: HookContext,
    call: CallFacts & {
      readonly name: string;
      readonly input: unknown;
      readonly content: string;
      readonly isError: boolean;
    },
  ): Promise<PostToolVerdict>;
  /** Tells a stored reply, with inputs as observers see them (L18, L21). */
  postSampling(context: HookContext, message: Message): Promise<{ readonly failed: readonly HookFailure[] }>;
  preCompact(
    context: HookContext,
    compaction: HookPayload<'preCompact'>,
  ): Promise<{ readonly instructions: readonly HookText[]; readonly failed: readonly HookFailure[] }>;
  postCompact(
    context: HookContext,
    compaction: {
      readonly trigger: CompactionTrigger;
      readonly before: number;
      readonly after: number;
      readonly summary: string;
    },
  ): Promise<{ readonly failed: readonly HookFailure[] }>;
  /**
   * `transcript`: what was said in the run, as a text, for hooks that ask for it; absent: none may.
   * Rejects as that does.
   */
  stop(
    context: HookContext,
    reply: { readonly text: string; readonly active: boolean },
    transcript?: () => Promise<string>,
  ): Promise<StopHooksRan>;
  /** In an agent's session, once no stop hook objects. */
  agentIdle(context: HookContext, idle: HookPayload<'agentIdle'>): Promise<StopHooksRan>;
  sessionEnd(context: HookContext): Promise<{ readonly failed: readonly HookFailure[] }>;
  /**
   * `told`: says which hooks have been told already, and is told of each that now is: a later
   * attempt does not tell them again.
   */
  alert<Name extends AlertKind>(
    name: Name,
    context: HookContext,
    payload: HookPayload<Name>,
    told: ToldHooks,
  ): Promise<{ readonly failed: readonly HookFailure[] }>;
  /** The worker has stopped: ends what still runs, which only hooks do that nobody waits for. */
  close(): Promise<void>;
};

// How hooks are written down: per kind a list of functions or commands, each with what it is told
// and what it may answer. A command gets what a function gets, as one line of JSON, and answers the
// same.

/**
 * The facts that every hook is told. `cwd` is the workspace, null where there is no run; `folders`
 * are the others of the run, absent: none.
 */
type Told<Name extends HookName> = Pick<HookContext, 'cwd' | 'folders' | 'querySource'> & {
  readonly hook: Name;
  readonly session: string;
  readonly queryId: string;
  readonly depth: number;
  readonly iteration: number;
};

export type HookPayload<Name extends HookName> = Payloads[Name];

export type HookInput<Name extends HookName> = Told<Name> & Payloads[Name];

/** Nothing at all is an answer too: no opinion. */
export type HookAnswers = {
  readonly sessionStart: { readonly context?: string | undefined };
  readonly promptSubmitted: { readonly context?: string | undefined; readonly stop?: string | undefined };
  readonly preTool: {
    /** `ask` counts for nothing in permission mode `bypass`, which asks nothing (L55). */
    readonly decision?: 'allow' | 'ask' | 'deny' | undefined;
    readonly reason?: string | undefined;
    /** With `deny`: the denial ends the run (L34). */
    readonly fatal?: boolean | undefined;
    /** Replaces the tool's input. */
    readonly input?: Readonly<Record<string, unknown>> | undefined;
    readonly stop?: string | undefined;
  };
  readonly postTool: { readonly context?: string | undefined; readonly stop?: string | undefined };
  readonly postSampling: object;
  readonly preCompact: { readonly instructions?: string | undefined };
  readonly postCompact: object;
  readonly stop: { readonly block?: string | undefined; readonly prevent?: string | undefined };
  readonly agentIdle: { readonly block?: string | undefined; readonly prevent?: string | undefined };
  readonly sessionEnd: object;
  readonly waiting: object;
  readonly failed: object;
  readonly agentEnded: object;
};

type Common = {
  /** For people; a function's or a command's own name when absent. */
  readonly name?: string | undefined;
  /** Milliseconds, 60,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Only for calls of these tools (preTool, postTool); `*` stands for any text. Absent: all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Only for `stop`: it is told a file with what was said in the run. Not with `sandbox`, which
   * keeps such files out of reach.
   */
  readonly transcript?: boolean | undefined;
};

type Answer<Name extends HookName> = HookAnswers[Name] | null | undefined | void;

/**
 * The signal is aborted when the time is up or the run is stopped. What it throws is reported and
 * changes nothing.
 */
export type HookFunction<Name extends HookName> = (
  input: HookInput<Name>,
  options: { readonly signal: AbortSignal },
) => Answer<Name> | Promise<Answer<Name>>;

/**
 * A text is run by the shell, a list is a program and its arguments. `sandbox`: held as commands of
 * the agent are, for it runs what the agent wrote (tests, linters).
 */
export type CommandHook = Common & {
  readonly command: string | readonly string[];
  readonly sandbox?: boolean | undefined;
};

export type FunctionHook<Name extends HookName> = Common & { readonly run: HookFunction<Name> };

export type Hook<Name extends HookName> = HookFunction<Name> | FunctionHook<Name> | CommandHook;

/**
 * All hooks of a worker. Those of a kind run side by side; preTool hooks one after the other, each
 * on the input the last left.
 */
export type HookConfig = { readonly [Name in HookName]?: readonly Hook<Name>[] | undefined };
