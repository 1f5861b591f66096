// How hooks are written down: per kind a list of functions or commands, each with what it is told and what it may answer.
// A command gets what a function gets, as one line of JSON, and answers the same.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { HookName } from './hooks.ts';

/** What every hook is told. `cwd` is the workspace, null where there is no run. */
type Told<Name extends HookName> = {
  readonly hook: Name;
  readonly session: string;
  readonly queryId: string;
  readonly depth: number;
  readonly iteration: number;
  readonly cwd: string | null;
};

type Payloads = {
  readonly sessionStart: object;
  readonly promptSubmitted: { readonly prompts: readonly string[] };
  readonly preTool: { readonly tool: string; readonly input: unknown };
  readonly postTool: {
    readonly tool: string;
    readonly input: unknown;
    readonly content: string;
    readonly isError: boolean;
  };
  readonly postSampling: { readonly message: Message };
  readonly preCompact: { readonly trigger: 'auto' | 'reactive'; readonly tokens: number };
  readonly postCompact: {
    readonly trigger: 'auto' | 'reactive';
    readonly before: number;
    readonly after: number;
    readonly summary: string;
  };
  /** `text`: of the last reply, whole where it was cut and continued. `active`: a stop hook has blocked in this run before. */
  readonly stop: { readonly text: string; readonly active: boolean };
  readonly sessionEnd: object;
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
    /** Replaces the tool's input. */
    readonly input?: Readonly<Record<string, unknown>> | undefined;
    readonly stop?: string | undefined;
  };
  readonly postTool: { readonly context?: string | undefined; readonly stop?: string | undefined };
  readonly postSampling: object;
  readonly preCompact: { readonly instructions?: string | undefined };
  readonly postCompact: object;
  readonly stop: { readonly block?: string | undefined; readonly prevent?: string | undefined };
  readonly sessionEnd: object;
};

type Common = {
  /** For people; a function's or a command's own name when absent. */
  readonly name?: string | undefined;
  /** Milliseconds, 60,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Only for calls of these tools (preTool, postTool); `*` stands for any text. Absent: all. */
  readonly tools?: readonly string[] | undefined;
};

type Answer<Name extends HookName> = HookAnswers[Name] | null | undefined | void;

/** The signal is aborted when the time is up or the run is stopped. What it throws is reported and changes nothing. */
export type HookFunction<Name extends HookName> = (
  input: HookInput<Name>,
  options: { readonly signal: AbortSignal },
) => Answer<Name> | Promise<Answer<Name>>;

/**
 * A text is run by the shell, a list is a program and its arguments. `sandbox`: held as commands of the agent are, for it runs
 * what the agent wrote (tests, linters).
 */
export type CommandHook = Common & {
  readonly command: string | readonly string[];
  readonly sandbox?: boolean | undefined;
};

export type FunctionHook<Name extends HookName> = Common & { readonly run: HookFunction<Name> };

export type Hook<Name extends HookName> = HookFunction<Name> | FunctionHook<Name> | CommandHook;

/** All hooks of a worker. Those of a kind run side by side; preTool hooks one after the other, each on the input the last left. */
export type HookConfig = { readonly [Name in HookName]?: readonly Hook<Name>[] | undefined };
