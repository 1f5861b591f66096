// The type of a tool. `defineTool` types a tool by its input schema; the registry and the executor
// see the untyped `Tool`.
import '../system/process/supported.ts';
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { SeenFile } from '../workflows/contract/activities.ts';
import type { TerminalReason } from '../workflows/contract/loop.ts';
import type { PermissionMode } from '../workflows/contract/session.ts';
import type { ActivityChoices, DelegatedEnd, Delegation, WorkflowChoices } from '../workflows/contract/delegation.ts';
import type { AskPeople } from './people/ask-people.ts';
import type { ChildRecord } from '../system/process/identity.ts';
import type { InputOf, InputSchema } from '../system/schema/input-schema.ts';
import type { JsonSchema } from '../system/schema/json-schema.ts';
import type { SessionFiles } from '../store/values/files.ts';
import { ToolFailure } from './failures.ts';
import type { RuleSubject } from './shell-command.ts';
import { compileRetryPolicy } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import { reasonOf } from '../system/text.ts';
import { present } from '../workflows/contract/present.ts';

export type { InputOf, InputSchema, StandardResult, StandardSchema } from '../system/schema/input-schema.ts';
export type { JsonSchema } from '../system/schema/json-schema.ts';
export { FatalToolFailure, Superseded, ToolFailure } from './failures.ts';
export type { AskPeople, PeopleAnswer, PeopleQuestion } from './people/ask-people.ts';
export type { RuleSubject, ShellOperator, ShellRedirect, ShellWord, SimpleCommand } from './shell-command.ts';
export type { ChildRecord } from '../system/process/identity.ts';
export type { SessionFiles } from '../store/values/files.ts';
export type { SeenFile } from '../workflows/contract/append.ts';
export type {
  ActivityChoices,
  AgentCounts,
  AgentEnd,
  AgentRequest,
  AgentRun,
  AgentWork,
  DelegatedEnd,
  DelegatedWork,
  Delegation,
  Isolation,
  OutsideKind,
  OutsideResult,
  OutsideWork,
  QuestionWork,
  WaitWork,
  WorkflowChoices,
  WorktreeEnd,
} from '../workflows/contract/delegation.ts';

/** The effect that a call can have on the world, judged per call. `external` leaves the machine. */
export type Risk = 'read' | 'write' | 'execute' | 'external';

/**
 * The recovery of a call that was claimed and has no result (L40): it runs again, `verify` is asked
 * whether it did anything, a person is asked, or its outcome is reported as unknown.
 */
export type Recovery = 'rerun' | 'verify' | 'ask' | 'report';

/** The context in which a tool judges an input, before anything runs. */
export type JudgeContext = {
  /** The workspace root: an absolute real path. */
  readonly cwd: string;
  /** Where relative paths begin: the root, or what a context modifier made it (L38). */
  readonly dir: string;
  /**
   * The other folders of the run (`additionalDirectories`): absolute real paths. Absent: no others.
   */
  readonly folders?: readonly string[];
  /** What the tools of the session see below /mnt/session (G66). Absent: nothing. */
  readonly sessionFiles?: SessionFiles;
};

export type ToolContext = {
  /** The workspace root: an absolute real path. Nothing outside it and `folders` is touched. */
  readonly cwd: string;
  /**
   * The working directory: the root, or what a context modifier made it (L38). An absolute real
   * path inside the workspace.
   */
  readonly dir: string;
  /**
   * The other folders of the run (`additionalDirectories`): absolute real paths. Absent: no others.
   */
  readonly folders?: readonly string[];
  /** What the tools of the session see below /mnt/session (G66). Absent: nothing. */
  readonly sessionFiles?: SessionFiles;
  /**
   * The variables that the session and the worker's configuration (`toolEnv`) give to tools: for
   * processes that a tool starts.
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Aborted on interrupt, cancel, deploy or a failing sibling; `signal.reason` is an AbortCause.
   */
  readonly signal: AbortSignal;
  /**
   * Unique to this call for ever, the same on every attempt: give it to services that deduplicate
   * (L40).
   */
  readonly idempotencyKey: string;
  /**
   * For logs and traces: the run's query id and depth (L13), and W3C's trace context of the
   * iteration where runs are traced (O15).
   */
  readonly queryId: string;
  readonly depth: number;
  readonly traceparent?: string;
  /** The session's id, and whether it is known to be over: for work that goes on after the call. */
  readonly session?: string;
  readonly sessionIsOver?: () => Promise<boolean>;
  /**
   * Tells whether this call may use the real path that its path leads to now, or the name that its
   * name leads to: a link may have changed since. `mayRead` tells the same for the tool `read`.
   */
  readonly mayUse?: (subject: string) => boolean;
  readonly mayRead?: (path: string) => boolean;
  /** Tells whether a search may name a file that it found, by its real path. Absent: any file. */
  readonly mayShow?: (path: string) => boolean;
  /**
   * Returns the states of a file when file tools of the session last saw it, the newest last;
   * `told`: the agent was only told of a change. Empty: no tool saw it.
   */
  readonly lastSeen?: (path: string) => Promise<readonly (SeenFile & { readonly told?: true })[]>;
  /**
   * Tells whether the run has a tool of this name: by the list that it was opened with (L57), and
   * what earlier calls left (L38). Absent: it has all.
   */
  readonly isOffered?: (tool: string) => boolean;
  /** An earlier attempt may have begun this call, and done some of it. */
  readonly mayHaveBegun?: boolean;
  /**
   * Asks the run's small model, where the tool's `asksModel` said so. Its cost counts in the run.
   */
  readonly askModel?: (question: ModelQuestion) => Promise<ModelAnswer>;
  /** Asks people while the call runs and holds its slot, where the tool's `asksPeople` said so. */
  readonly askPeople?: AskPeople;
  /**
   * Returns the conversation as the model was shown it for the reply that makes this call, in the
   * form of the Messages API: a copy, made when it is asked for.
   */
  readonly messages?: () => Promise<readonly MessageParam[]>;
  /** Shows a text to watchers while the call runs; it is never stored. */
  progress(text: string): void;
  /**
   * Reads a whole result, or an image, that is stored and no longer sent, by the name that was
   * given (L6). Null: no such result exists.
   */
  readStored(name: string): Promise<Uint8Array | null>;
  /**
   * Await it right before an effect, after seconds of work. Throws Superseded when another attempt
   * may have run the call since; let it pass.
   */
  fence(): Promise<void>;
  /**
   * Announce the process group of a child, so that a later attempt can kill what is left of it
   * (L40).
   */
  spawned(child: ChildRecord): Promise<void>;
};

/** `text` is the material, cut to what the model has room for. `maxTokens` limits the answer. */
export type ModelQuestion = { readonly system: string; readonly text: string; readonly maxTokens: number };

/**
 * `partial`: the model had no room for all of the text. A null text means no answer, and `problem`
 * says why.
 */
export type ModelAnswer =
  { readonly text: string; readonly partial: boolean } | { readonly text: null; readonly problem: string };

export type AbortCause = 'interrupt' | 'sibling' | 'deploy' | 'timeout' | 'superseded';

export type ToolOutput = {
  /** The text that the model reads. */
  readonly content: string;
  /**
   * Images (png, jpeg, gif, webp) and PDF files: shown to the model after the text, at most 20; an
   * error carries none.
   */
  readonly media?: readonly Uint8Array[];
  readonly isError?: boolean;
  /** Set by a shell call that failed: siblings are cancelled (L36). */
  readonly cancelsSiblings?: boolean;
  /** The call was stopped by the signal after it had begun; it may have partly run (L48). */
  readonly stopped?: boolean;
  /**
   * Files that were read or written, as they are now: the model is told of a later change by
   * someone else (L43). At most 50.
   */
  readonly seen?: readonly SeenFile[];
  /**
   * Names of tools of MCP servers that the model is to have from its next reply on, where their
   * number keeps them out of requests. At most 50.
   */
  readonly found?: readonly string[];
  /** Ends the run after this result; the text says why (L41). */
  readonly stopRun?: string;
  readonly modify?: ContextModifier;
};

/**
 * Changes for the calls after this one (L38). `cwd` is a folder in the workspace, relative to the
 * working directory or absolute. `allowedTools` has at most 100 names.
 */
export type ContextModifier = { readonly cwd?: string; readonly allowedTools?: readonly string[] };

/**
 * The known facts about the start of a call whose result was lost. `at` is in milliseconds since
 * the epoch; `times` counts its starts, at least 1.
 */
export type StartedCall = { readonly at: number; readonly host: string; readonly times: number };

/**
 * The finding of a read-only check about such a call (L40). `done` carries the answer that the call
 * would have given.
 */
export type Verified =
  | { readonly kind: 'done'; readonly output: ToolOutput }
  | { readonly kind: 'not_done' }
  | { readonly kind: 'unknown'; readonly text?: string };

export type PermissionDecision =
  | { readonly kind: 'allow' }
  /**
   * Someone must be asked. `rule` is the rule that says so, `hook` the reason of a hook, `why` the
   * tool's own reason. `unlessAllowed`: an allow rule lets it run; the tool only says why the mode
   * asks.
   */
  | {
      readonly kind: 'ask';
      readonly rule?: string;
      readonly hook?: string;
      readonly why?: string;
      readonly unlessAllowed?: true;
    }
  | { readonly kind: 'deny'; readonly why: string; readonly fatal?: boolean; readonly interrupt?: boolean };

export type ClosedRun = Pick<ToolContext, 'cwd' | 'queryId' | 'depth' | 'signal'> & {
  readonly session: string;
  /** 1 for the session's first run. */
  readonly run: number;
  readonly reason: TerminalReason;
};

/** An input that the tool's schema takes, as JSON. */
export type Validated = { readonly input: unknown };

/**
 * A tool. An input is untrusted: `validate` and `call` get it only after the schema accepted it.
 */
export type ToolSpec<Schema extends InputSchema> = {
  readonly name: string;
  readonly description: string;
  /**
   * A schema of zod, or of another library with the Standard Schema interface (valibot, arktype),
   * or a JSON schema.
   */
  readonly inputSchema: Schema;
  /**
   * The JSON schema that the model is shown, where the library cannot make one. Absent: made from
   * `inputSchema`.
   */
  readonly inputJsonSchema?: JsonSchema;
  /** A fixed risk, or one judged from the input (L55). */
  readonly risk: Risk | ((input: InputOf<Schema>, context: JudgeContext) => Risk);
  /**
   * Tells whether the call may run in parallel to others (L35). Absent: safe exactly when the risk
   * is `read`.
   */
  readonly safe?: (input: InputOf<Schema>, context: JudgeContext) => boolean;
  readonly recovery: Recovery;
  /**
   * Tells whether the call may ask the small model (`askModel`), or people, who hold it up
   * (`askPeople`). Absent: it may not.
   */
  readonly asksModel?: (input: InputOf<Schema>) => boolean;
  readonly asksPeople?: true;
  /**
   * Checks the input by the tool's own code. Returns a sentence for the model when the input will
   * not do. An input that it returns takes the place of the call's own: held to the schema and
   * judged like that one, it is what people are asked about, what runs and what is recorded.
   */
  readonly validate?: (input: InputOf<Schema>, context: ToolContext) => Promise<string | Validated | undefined>;
  /**
   * Says why the call would fail as things stand, without changing anything; undefined when it
   * would not. It is called before a person is asked about the call, and only where the run may
   * read what the call is about without asking.
   */
  readonly wouldFail?: (input: InputOf<Schema>, context: ToolContext) => Promise<string | undefined>;
  /**
   * The tool's own permission rule, above the mode's: deny > ask > allow. Absent or undefined: the
   * mode decides. In mode `bypass`, which asks nothing, only its `deny` holds. A call whose rule
   * answers later (a promise) is not started while the reply streams.
   */
  readonly canUse?: (
    input: InputOf<Schema>,
    context: JudgeContext & { readonly mode: PermissionMode },
  ) => PermissionDecision | undefined | Promise<PermissionDecision | undefined>;
  /**
   * Returns the subject of permission patterns. Null: no pattern is about this input. Absent: none
   * can be judged, so a deny or ask rule with a pattern holds for every call.
   */
  readonly subject?: (input: InputOf<Schema>, context: JudgeContext) => RuleSubject | null;
  readonly call: (input: InputOf<Schema>, context: ToolContext) => Promise<ToolOutput>;
  /** Returns the work for the workflow, instead of `call` (L62). Throws as `call` may. */
  readonly delegate?: (input: InputOf<Schema>, context: ToolContext) => Delegation | Promise<Delegation>;
  /** With `delegate`: words the end of that work for the model. */
  readonly conclude?: (
    input: InputOf<Schema>,
    end: DelegatedEnd,
    context: ToolContext,
  ) => ToolOutput | Promise<ToolOutput>;
  /**
   * Needed by recovery `verify`: looks, without changing anything, whether a call that was started
   * did its work (L40). Its processes on this host have been ended before. An attempt that froze on
   * another host may still go on.
   */
  readonly verify?: (input: InputOf<Schema>, context: ToolContext, started: StartedCall) => Promise<Verified>;
  /**
   * Called when a run that was offered the tool has ended, however it did, so that the tool lets go
   * of what it holds for it: at least once, after the processes of its calls have ended, by the
   * worker that records the end. It has 5 s; an error becomes a line in the worker's log.
   */
  readonly close?: (run: ClosedRun) => Promise<void> | void;
  /**
   * Returns the input as watchers, hooks and other observers see it (L18). Gets a copy; the input
   * that is sent and run stays as it is.
   */
  readonly backfillObservableInput?: (input: InputOf<Schema>) => unknown;
};

export type Tool = ToolSpec<InputSchema>;

type DelegatedSpec<Schema extends InputSchema> = Omit<ToolSpec<Schema>, 'call' | 'recovery' | 'verify' | 'delegate'> &
  (
    | { readonly activity: DelegatedTo<Schema, ActivityChoices> & { readonly name: string } }
    | { readonly workflow: DelegatedTo<Schema, WorkflowChoices> & { readonly type: string } }
  );

/**
 * Defines a tool. One with recovery `verify` must say how. With `activity` or `workflow` instead of
 * `call`, an activity or a workflow of yours does the work (L65), under its own name, with its own
 * retries and timeouts: at most once for each call of the model, as Temporal starts it. Throws
 * TypeError for options that Temporal would refuse.
 */
export function defineTool<Schema extends InputSchema>(
  spec:
    | DelegatedSpec<Schema>
    | (ToolSpec<Schema> &
        (
          { readonly recovery: 'verify'; readonly verify: object } | { readonly recovery: Exclude<Recovery, 'verify'> }
        )),
): Tool {
  if ('activity' in spec) {
    const { activity, ...tool } = spec;
    checkWorkOptions(tool.name, 'activity', activity.options);
    const kind = { kind: 'activity', name: activity.name } as const;
    return defineDelegatedTool<Schema>({ ...tool, delegate: (input) => ({ ...kind, ...buildWork(activity, input) }) });
  }
  if ('workflow' in spec) {
    const { workflow, ...tool } = spec;
    checkWorkOptions(tool.name, 'workflow', workflow.options);
    const kind = { kind: 'workflow', type: workflow.type } as const;
    return defineDelegatedTool<Schema>({ ...tool, delegate: (input) => ({ ...kind, ...buildWork(workflow, input) }) });
  }
  return spec as unknown as Tool;
}

/**
 * Defines a tool whose work the workflow carries out (L62). Its `call` rejects: it needs a session.
 */
export function defineDelegatedTool<Schema extends InputSchema>(
  spec: Omit<ToolSpec<Schema>, 'call' | 'recovery' | 'verify'> & Required<Pick<ToolSpec<Schema>, 'delegate'>>,
): Tool {
  const call = (): Promise<never> => Promise.reject(new ToolFailure(`${spec.name} needs a session to carry it out.`));
  return { ...spec, recovery: 'report', call } as unknown as Tool;
}

/** `taskQueue`: absent, the session's own. `args`: absent, the input alone. */
export type DelegatedTo<Schema extends InputSchema, Choices> = {
  readonly taskQueue?: string;
  readonly options?: Choices;
  readonly args?: (input: InputOf<Schema>) => readonly unknown[];
};

function buildWork<Schema extends InputSchema, Choices extends object>(
  { taskQueue, options, args }: DelegatedTo<Schema, Choices>,
  input: InputOf<Schema>,
) {
  return {
    ...present({ taskQueue }),
    args: args?.(input) ?? [input],
    options: options ?? ({} as Choices),
  };
}

/** Throws a sentence that describes what is wrong with an option. */
type Check = (value: unknown) => void;

const retryOptions: Readonly<Record<keyof NonNullable<ActivityChoices['retry']>, Check>> = {
  initialInterval: checkTime,
  maximumInterval: checkTime,
  backoffCoefficient: checkNumberFrom1,
  maximumAttempts: checkNumberFrom1,
  nonRetryableErrorTypes: (value) => {
    if (!Array.isArray(value) || value.some((type) => typeof type !== 'string'))
      throw new Error('give a list of texts');
  },
};
const activityOptions: Readonly<Record<keyof ActivityChoices, Check>> = {
  startToCloseTimeout: checkTime,
  scheduleToCloseTimeout: checkTime,
  scheduleToStartTimeout: checkTime,
  heartbeatTimeout: checkTime,
  retry: (value) => {
    checkAll('retry.', value, retryOptions);
    compileRetryPolicy(value as Parameters<typeof compileRetryPolicy>[0]);
  },
};
const workflowOptions: Readonly<Record<keyof WorkflowChoices, Check>> = {
  workflowRunTimeout: checkTime,
  workflowExecutionTimeout: checkTime,
};

const OPTIONS = { activity: activityOptions, workflow: workflowOptions } as const;

/** Checks the options. Throws TypeError, with the names of the tool and of the option. */
function checkWorkOptions(tool: string, kind: keyof typeof OPTIONS, options: unknown): void {
  try {
    if (options !== undefined) checkAll('', options, OPTIONS[kind]);
  } catch (error) {
    throw new TypeError(`the tool ${JSON.stringify(tool)}: ${kind}.options: ${reasonOf(error)}`, { cause: error });
  }
}

function checkAll(prefix: string, fields: unknown, checks: Readonly<Record<string, Check>>): void {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw new Error('give an object');
  for (const [name, value] of Object.entries(fields)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) throw new Error(`${prefix}${name} is none of ${Object.keys(checks).join(', ')}`);
    try {
      if (value !== undefined) check(value);
    } catch (error) {
      throw new Error(`${name} ${JSON.stringify(value)}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function checkTime(value: unknown): void {
  const right = 'give milliseconds, or a text such as "10 minutes", above 0';
  let ms = NaN;
  try {
    if (typeof value === 'number' || typeof value === 'string') ms = msToNumber(value);
  } catch {
    // Temporal reads no time in it.
  }
  if (!(ms > 0 && Number.isFinite(ms))) throw new Error(right);
}

function checkNumberFrom1(value: unknown): void {
  if (typeof value !== 'number' || !(value >= 1)) throw new Error('give a number, 1 or more');
}
