// The input of each hook, in addition to the facts that all hooks get.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { AlertKind, CompactionTrigger, SystemPart, WaitingCall } from '../../workflows/contract/activities.ts';
import type { AgentFacts } from '../../workflows/contract/facts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { TerminalReason } from '../../workflows/contract/loop.ts';
import type { PermissionMode } from '../../workflows/contract/session.ts';

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
  | 'silent'
  | AlertKind;

/** `toolUseId` is the model's own id of the call, `mode` the run's permission mode. */
export type HookCallFacts = { readonly toolUseId?: string; readonly mode?: PermissionMode };

export type HookPayloads = {
  /** `agent`: of an agent's session; absent where a person began it. */
  readonly sessionStart: { readonly agent?: AgentFacts & { readonly id: string } };
  readonly promptSubmitted: { readonly prompts: readonly string[] };
  readonly preTool: HookCallFacts & { readonly tool: string; readonly input: unknown };
  readonly postTool: HookCallFacts & {
    readonly tool: string;
    readonly input: unknown;
    readonly content: string;
    readonly isError: boolean;
  };
  readonly postSampling: { readonly message: Message };
  /** `instructions` are those of the person who asked for it. */
  readonly preCompact: {
    readonly trigger: CompactionTrigger;
    readonly tokens: number;
    readonly instructions?: string;
  };
  readonly postCompact: {
    readonly trigger: CompactionTrigger;
    readonly before: number;
    readonly after: number;
    readonly summary: string;
  };
  /**
   * `text` is the last reply, whole where it was cut and continued. `active`: a stop hook has
   * blocked in this run before. `system` has the parts of the run's system prompt, the caller's and
   * each context, by their names. `transcript` is a file with the text of the run, while the hook
   * runs, for a hook that asks for it.
   */
  readonly stop: {
    readonly text: string;
    readonly active: boolean;
    readonly system: readonly SystemPart[];
    readonly transcript?: string;
  };
  readonly agentIdle: {
    readonly text: string;
    readonly active: boolean;
    readonly agent: AgentFacts & { readonly id: string };
  };
  readonly sessionEnd: object;
  /**
   * Times in milliseconds since the epoch. A call may be decided by the time that the hook is told.
   */
  readonly waiting: { readonly title: string; readonly calls: readonly WaitingCall[] };
  /** `costUsd` is null when a price is not known. */
  readonly failed: {
    readonly title: string;
    readonly run: number;
    readonly reason: TerminalReason;
    readonly detail: string | null;
    readonly status: number | null;
    readonly turns: number;
    readonly costUsd: number | null;
    readonly durationMs: number;
  };
  /**
   * Times in milliseconds, `lastSign` since the epoch. `doing` is what it does, in words, where
   * that is known.
   */
  readonly silent: {
    readonly title: string;
    readonly lastSign: number;
    readonly silentMs: number;
    readonly doing: string | null;
  };
  /**
   * `reason` is null when the agent was stopped before it began, or left no report. `text` is its
   * last message. `costUsd` is that of all its runs and agents.
   */
  readonly agentEnded: {
    readonly title: string;
    readonly agent: {
      readonly id: string;
      readonly session: SessionId;
      readonly type: string;
      readonly title: string;
      readonly background: boolean;
    };
    readonly reason: TerminalReason | null;
    readonly detail: string | null;
    readonly text: string;
    readonly turns: number;
    readonly tokens: number;
    readonly costUsd: number | null;
  };
};

export type HookPayload<Name extends HookName> = HookPayloads[Name];
