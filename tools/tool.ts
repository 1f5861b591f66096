// The type of a tool. `defineTool` types a tool by its input schema; the registry and the executor
// see the untyped `Tool`.
import '../system/process/supported.ts';
import type { SeenFile } from '../workflows/contract/activities.ts';
import type { TerminalReason } from '../workflows/contract/loop.ts';
import type { PermissionMode } from '../workflows/contract/session.ts';
import type { ActivityChoices, DelegatedEnd, Delegation, WorkflowChoices } from '../workflows/contract/delegation.ts';
import type { AskPeople } from './people/ask-people.ts';
import type { ChildRecord } from '../system/process/identity.ts';
import type { InputOf, InputSchema } from '../system/schema/input-schema.ts';
import type { JsonSchema } from '../system/schema/json-schema.ts';
import { ToolFailure } from './failures.ts';
import { checkWorkOptions, type DelegatedTo, workOf } from './delegated-work.ts';
import type { RuleSubject } from './shell-command.ts';

export type { InputOf, InputSchema, StandardSchema } from '../system/schema/input-schema.ts';
export type { JsonSchema } from '../system/schema/json-schema.ts';
export { FatalToolFailure, Superseded, ToolFailure } from './failures.ts';
export type { RuleSubject } from './shell-command.ts';

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
  /** The other folders of the run (`additionalDirectories`): absolute real paths. Absent: none. */
  readonly folders?: readonly string[];
};

export type ToolContext = {
  /** The workspace root: an absolute real path. Nothing outside it and `folders` is touched. */
  readonly cwd: string;
  /**
   * The working directory: the root, or what a context modifier made it (L38). An absolute real
   * path inside the workspace.
   */
  readonly dir: string;
  /** The other folders of the run (`additionalDirectories`): absolute real paths. Absent: none. */
  readonly folders?: readonly string[];
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
  /** The session's id, and whether it is known to be over: for what goes on after the call. */
  readonly session?: string;
  readonly sessionIsOver?: () => Promise<boolean>;
  /**
   * Whether this call may use what its path leads to now, by its real path, or its name leads to: a
   * link may have changed since. `mayRead`: the tool `read`.
   */
  readonly mayUse?: (subject: string) => boolean;
  readonly mayRead?: (path: string) => boolean;
  /** Whether a search may tell of a file that it found, by its real path. Absent: of any. */
  readonly mayShow?: (path: string) => boolean;
  /**
   * How files were when file tools of the session last saw one, the newest last; `told`: the agent
   * was only told of a change. None: it never did.
   */
  readonly lastSeen?: (path: string) => Promise<readonly (SeenFile & { readonly told?: true })[]>;
  /** An earlier attempt may have begun this call, and done some of it. */
  readonly mayHaveBegun?: boolean;
  /**
   * Asks the run's small model, where the tool's `asksModel` said so. What it costs counts in the
   * run.
   */
  readonly askModel?: (question: ModelQuestion) => Promise<ModelAnswer>;
  /** Asks people while the call runs and holds its slot, where the tool's `asksPeople` said so. */
  readonly askPeople?: AskPeople;
  /** Shown to watchers while the call runs; never stored. */
  progress(text: string): void;
  /**
   * A whole result, or an image, that is stored and no longer sent, by the name that was given
   * (L6). Null: there is none.
   */
  readStored(name: string): Promise<Uint8Array | null>;
  /**
   * Await it right before an effect, after seconds of work: throws, to be let pass, when another
   * attempt may have run the call since.
   */
  fence(): Promise<void>;
  /**
   * Announce the process group of a child, so that a later attempt can kill what is left of it
   * (L40).
   */
  spawned(child: ChildRecord): Promise<void>;
};

/**
 * `text` is what it is about, and cut to what the model has room for. `maxTokens`: of the answer.
 */
export type ModelQuestion = { readonly system: string; readonly text: string; readonly maxTokens: number };

/** `partial`: not all of the text had room. Null: there is none, and `problem` says why. */
export type ModelAnswer =
  { readonly text: string; readonly partial: boolean } | { readonly text: null; readonly problem: string };

export type AbortCause = 'interrupt' | 'sibling' | 'deploy' | 'timeout' | 'superseded';

export type ToolOutput = {
  /** The text that the model reads. */
  readonly content: string;
  /**
   * Files of images (png, jpeg, gif, webp) and PDF: shown to the model after the text, at most 20;
   * none with an error.
   */
  readonly media?: readonly Uint8Array[];
  readonly isError?: boolean;
  /** Set by a shell call that failed: siblings are cancelled (L36). */
  readonly cancelsSiblings?: boolean;
  /** The call was stopped by the signal after it had begun; it may have partly run (L48). */
  readonly stopped?: boolean;
  /**
   * Files that were read or written, as they are now: a later change by someone else is told to the
   * model (L43). At most 50.
   */
  readonly seen?: readonly SeenFile[];
  /** Ends the run after this result: why (L41). */
  readonly stopRun?: string;
  readonly modify?: ContextModifier;
};

/**
 * For the calls after this one (L38). `cwd`: a folder in the workspace, relative to the working
 * directory or absolute. `allowedTools`: at most 100 names.
 */
export type ContextModifier = { readonly cwd?: string; readonly allowedTools?: readonly string[] };

/**
 * The known facts about the start of a call whose result was lost. `at`: milliseconds since the
 * epoch. `times`: it was started, at least 1.
 */
export type StartedCall = { readonly at: number; readonly host: string; readonly times: number };

/**
 * The finding of a read-only check about such a call (L40). `done`: the answer it would have given.
 */
export type Verified =
  | { readonly kind: 'done'; readonly output: ToolOutput }
  | { readonly kind: 'not_done' }
  | { readonly kind: 'unknown'; readonly text?: string };

export type PermissionDecision =
  | { readonly kind: 'allow' }
  /**
   * Someone must be asked; `rule` says so, if one does, or a hook, with its reason, or the tool
   * itself, which says `why`. `unlessAllowed`: where no rule allows it; the tool only says why the
   * mode asks.
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

/** JSON that the tool's schema takes. */
export type Validated = { readonly input: unknown };

/** An input is untrusted: `validate` and `call` get it only after the schema accepted it. */
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
  /** L35. Absent: safe exactly when the risk is `read`. */
  readonly safe?: (input: InputOf<Schema>, context: JudgeContext) => boolean;
  readonly recovery: Recovery;
  /**
   * Whether the call may ask the small model (`askModel`), or people, who hold it up (`askPeople`).
   * Absent: it may not.
   */
  readonly asksModel?: (input: InputOf<Schema>) => boolean;
  readonly asksPeople?: true;
  /**
   * The tool's own check; a sentence for the model when the input will not do. One that it returns
   * is taken in the place of the call's own: held to the schema and judged like that, it is what
   * people are asked about, what runs and what is recorded.
   */
  readonly validate?: (input: InputOf<Schema>, context: ToolContext) => Promise<string | Validated | undefined>;
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
   * Null: no pattern is about this input. Absent: none can be judged, so a deny or ask rule with a
   * pattern holds for every call.
   */
  readonly subject?: (input: InputOf<Schema>, context: JudgeContext) => RuleSubject | null;
  readonly call: (input: InputOf<Schema>, context: ToolContext) => Promise<ToolOutput>;
  /** Instead of `call`: what the workflow is to do (L62). Throws as `call` may. */
  readonly delegate?: (input: InputOf<Schema>, context: ToolContext) => Delegation | Promise<Delegation>;
  /** With `delegate`: the text that the model reads of what came of it. */
  readonly conclude?: (
    input: InputOf<Schema>,
    end: DelegatedEnd,
    context: ToolContext,
  ) => ToolOutput | Promise<ToolOutput>;
  /**
   * Needed by recovery `verify`: looks, and changes nothing, whether a call that was started did
   * its work (L40). What was left of it on this host has been ended before. An attempt that froze
   * on another host may still go on.
   */
  readonly verify?: (input: InputOf<Schema>, context: ToolContext, started: StartedCall) => Promise<Verified>;
  /**
   * Told when a run that was offered the tool has ended, however it did, so that it lets go of what
   * it holds for it: at least once, after the processes of its calls have ended, by the worker that
   * records the end. Has 5 s; what it throws is a line in the worker's log.
   */
  readonly close?: (run: ClosedRun) => Promise<void> | void;
  /**
   * Returns the input as watchers, hooks and other observers see it (L18). Gets a copy; the one
   * that is sent and run stays as it is.
   */
  readonly backfillObservableInput?: (input: InputOf<Schema>) => unknown;
};

export type Tool = ToolSpec<InputSchema>;

type Delegated<Schema extends InputSchema> = Omit<ToolSpec<Schema>, 'call' | 'recovery' | 'verify' | 'delegate'> &
  (
    | { readonly activity: DelegatedTo<Schema, ActivityChoices> & { readonly name: string } }
    | { readonly workflow: DelegatedTo<Schema, WorkflowChoices> & { readonly type: string } }
  );

/**
 * A tool with recovery `verify` must say how. With `activity` or `workflow` instead of `call` an
 * activity or a workflow of yours does the work (L65), under its own name, with its own retries and
 * timeouts: at most once for each call of the model, as Temporal starts it. Throws TypeError for
 * options of theirs that Temporal would refuse.
 */
export function defineTool<Schema extends InputSchema>(
  spec:
    | Delegated<Schema>
    | (ToolSpec<Schema> &
        (
          { readonly recovery: 'verify'; readonly verify: object } | { readonly recovery: Exclude<Recovery, 'verify'> }
        )),
): Tool {
  if ('activity' in spec) {
    const { activity, ...tool } = spec;
    checkWorkOptions(tool.name, 'activity', activity.options);
    const kind = { kind: 'activity', name: activity.name } as const;
    return defineDelegatedTool<Schema>({ ...tool, delegate: (input) => ({ ...kind, ...workOf(activity, input) }) });
  }
  if ('workflow' in spec) {
    const { workflow, ...tool } = spec;
    checkWorkOptions(tool.name, 'workflow', workflow.options);
    const kind = { kind: 'workflow', type: workflow.type } as const;
    return defineDelegatedTool<Schema>({ ...tool, delegate: (input) => ({ ...kind, ...workOf(workflow, input) }) });
  }
  return spec as unknown as Tool;
}

/**
 * A tool whose work the workflow carries out (L62). Its `call` is for whoever runs it without one.
 */
export function defineDelegatedTool<Schema extends InputSchema>(
  spec: Omit<ToolSpec<Schema>, 'call' | 'recovery' | 'verify'> & Required<Pick<ToolSpec<Schema>, 'delegate'>>,
): Tool {
  const call = (): Promise<never> => Promise.reject(new ToolFailure(`${spec.name} needs a session to carry it out.`));
  return { ...spec, recovery: 'report', call } as unknown as Tool;
}
