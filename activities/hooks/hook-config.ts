// The configuration of hooks: per kind a list of functions or commands, each with its input and its
// possible answers. A command gets a function's input as one line of JSON, and answers in the same
// form.
import type { HookPayloads } from './payloads.ts';
import type { HookContext } from './hooks.ts';
import type { HookName } from './payloads.ts';

/**
 * The facts that every hook is told. `cwd` is the workspace, null without a run; `folders` are the
 * other folders of the run, absent for a run without others.
 */
type HookInputFacts<Name extends HookName> = Pick<HookContext, 'cwd' | 'folders' | 'querySource'> & {
  readonly hook: Name;
  readonly session: string;
  readonly queryId: string;
  readonly depth: number;
  readonly iteration: number;
};

export type HookInput<Name extends HookName> = HookInputFacts<Name> & HookPayloads[Name];

/** The answers of each kind of hook. No answer means no opinion. */
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
  readonly silent: object;
};

type HookOptions = {
  /** A name for people; a function's or a command's own name when absent. */
  readonly name?: string | undefined;
  /** Milliseconds, 60,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Only for calls of these tools (preTool, postTool); `*` stands for any text. Absent: all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Only for `stop`: the hook is told a file with the text of the run. Not with `sandbox`, which
   * keeps such files out of reach.
   */
  readonly transcript?: boolean | undefined;
  /** Only for `silent`: milliseconds without a sign after which it is told; 600,000 when absent. */
  readonly afterMs?: number | undefined;
};

type HookReturn<Name extends HookName> = HookAnswers[Name] | null | undefined | void;

/**
 * A hook as a function. The signal is aborted when the time is up or the run is stopped. An error
 * that it throws is reported and changes nothing.
 */
export type HookFunction<Name extends HookName> = (
  input: HookInput<Name>,
  options: { readonly signal: AbortSignal },
) => HookReturn<Name> | Promise<HookReturn<Name>>;

/**
 * A hook as a command, which gets the same input as a function, as one line of JSON, and answers
 * the same. A text is run by the shell, a list is a program and its arguments. `sandbox`: held as
 * the agent's commands are, because it runs what the agent wrote (tests, linters).
 */
export type CommandHook = HookOptions & {
  readonly command: string | readonly string[];
  readonly sandbox?: boolean | undefined;
};

export type FunctionHook<Name extends HookName> = HookOptions & { readonly run: HookFunction<Name> };

export type Hook<Name extends HookName> = HookFunction<Name> | FunctionHook<Name> | CommandHook;

/**
 * All hooks of a worker. The hooks of a kind run in parallel; preTool hooks run one after the
 * other, each on the input the last left.
 */
export type HookConfig = { readonly [Name in HookName]?: readonly Hook<Name>[] | undefined };
