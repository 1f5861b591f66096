// What executing a call works with: what the calls of a run share, the call itself, and one run of it.
import type { Ask, Decision } from '../../workflows/contract/activities.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import type { LiveEvent } from '../live/events.ts';
import type { Attempt } from '../attempt.ts';
import type { Host } from '../host.ts';
import type { Store } from '../transcript/store/store.ts';
import type { CallSettings, NamedInput } from './prepare.ts';
import type { ToolRegistry } from './registry.ts';
import type { AbortCause } from './tool.ts';

/** What the calls of a run share. */
export type Workbench = CallSettings & {
  readonly registry: ToolRegistry;
  readonly hooks: HookRunner;
  readonly store: Store;
  readonly session: SessionId;
  readonly host: Host;
  /** L13. */
  readonly queryId: string;
  readonly depth: number;
};

/** A tool_use block of a reply. */
export type CallRequest = NamedInput & { readonly index: number; readonly toolUseId: string };

export type EarlyRun = {
  /** Unique to this attempt: the call's own key needs the head of a reply that is not stored yet. */
  readonly id: string;
  /** Aborted with an AbortCause. */
  readonly signal: AbortSignal;
  readonly iteration: number;
  /** The call is about to run: itself, or the check of whether it did (L40). */
  begins(): void;
  progress(text: string): void;
  say(event: LiveEvent): void;
};

export type CallRun = Omit<EarlyRun, 'id'> & {
  readonly key: CallKey;
  /** As the call was judged with its reply: beside what it runs, and that it needs no claim, was decided by it (L35). */
  readonly safe: boolean;
  /** Whether this attempt is still the one that counts: asked right before an effect. */
  readonly fence: Attempt['fence'];
  /** An earlier attempt may have: of a call without a claim, what it left running is killed first. */
  readonly mayHaveBegun: boolean;
  /** Someone was asked about this call (L55). */
  readonly decision?: Decision;
};

/**
 * The attempt was stopped, the run was not (L50): nothing is recorded, another attempt runs the call or reports it. `tool`: it was not
 * called, or had not come back; otherwise it has ended.
 */
export type Void = { readonly kind: 'void'; readonly cause: AbortCause; readonly tool?: 'untouched' | 'hung' };

/** Nothing has run, nothing is recorded: someone must be asked first (L55). */
export type Asked = { readonly kind: 'ask'; readonly ask: Ask };
