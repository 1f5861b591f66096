// The fields of the query language (O3): how each is written, and its value in a session.
import type { TerminalReason } from '../../../workflows/contract/loop.ts';
import type { SeenPhase, SessionInfo, SessionStatus } from '../info.ts';
import { silenceOf } from '../running/with-running.ts';

/** `time` is a span until now in milliseconds. `money` is US dollars, kept as cents. */
type FieldKind = 'choice' | 'text' | 'tag' | 'number' | 'money' | 'time';

export type FieldName = keyof typeof fields;

type Value = string | number | null | undefined;

type Field = {
  readonly kind: FieldKind;
  readonly value: (session: SessionInfo, now: number) => Value;
  /** All values of a choice. */
  readonly choices?: readonly string[];
  readonly sorts?: true;
};

const phases: Readonly<Record<SeenPhase, true>> = {
  running: true,
  waiting_worker: true,
  waiting_approval: true,
  parked: true,
  idle: true,
  closed: true,
};

const statuses: Readonly<Record<SessionStatus, true>> = {
  open: true,
  cancelled: true,
  terminated: true,
  failed: true,
  timed_out: true,
  completed: true,
};

const reasons: Readonly<Record<TerminalReason, true>> = {
  completed: true,
  max_turns: true,
  aborted_streaming: true,
  aborted_tools: true,
  prompt_too_long: true,
  image_error: true,
  max_output_tokens: true,
  model_error: true,
  blocking_limit: true,
  stop_hook_prevented: true,
  hook_stopped: true,
  goal_not_met: true,
  budget_exceeded: true,
  timeout: true,
  permission_denied: true,
  fatal_tool_error: true,
  structured_output_failed: true,
};

/** A term for sessions whose last run ended badly, or that a failure ended. */
export const FAILED = 'failed';

export const fields = {
  phase: { kind: 'choice', choices: [...Object.keys(phases), FAILED], value: ({ phase }) => phase, sorts: true },
  status: { kind: 'choice', choices: Object.keys(statuses), value: ({ status }) => status },
  reason: { kind: 'choice', choices: Object.keys(reasons), value: ({ last }) => last?.terminal.reason },
  model: { kind: 'text', value: ({ facts }) => facts?.model, sorts: true },
  agent: { kind: 'text', value: ({ facts }) => facts?.agent?.type },
  parent: { kind: 'text', value: ({ facts }) => facts?.agent?.parent },
  root: { kind: 'text', value: ({ facts }) => facts?.agent?.root },
  id: { kind: 'text', value: ({ session }) => session, sorts: true },
  title: { kind: 'text', value: ({ title }) => title, sorts: true },
  folder: { kind: 'text', value: ({ cwd }) => cwd },
  error: { kind: 'text', value: errorOf },
  tag: { kind: 'tag', value: () => undefined },
  runs: { kind: 'number', value: ({ runs }) => runs, sorts: true },
  turns: { kind: 'number', value: ({ facts }) => facts?.turns, sorts: true },
  tokens: { kind: 'number', value: ({ facts }) => facts?.tokens, sorts: true },
  cost: { kind: 'money', value: ({ facts }) => facts?.cents, sorts: true },
  waiting: { kind: 'time', value: ({ facts }, now) => timeSince(facts?.waitingSince, now), sorts: true },
  idle: { kind: 'time', value: (session, now) => silenceOf(session, now) ?? undefined, sorts: true },
  age: { kind: 'time', value: ({ startedAt }, now) => timeSince(startedAt, now), sorts: true },
} as const satisfies Readonly<Record<string, Field>>;

export const fieldOf = (name: FieldName): Field => fields[name];

/** Short forms that people write for a phase. */
export const shortChoices: Readonly<Record<string, string>> = { waiting: 'waiting_approval' };

/** Words that mean a phase, not a text, where they stand alone in a filter. */
export const phaseWords: readonly string[] = [...fields.phase.choices, ...Object.keys(shortChoices)];

function timeSince(at: number | undefined, now: number): number | undefined {
  return at === undefined ? undefined : now - at;
}

/** Returns the reason of an end other than `completed`, with its detail. */
function errorOf({ last }: SessionInfo): string | undefined {
  if (last === null || last.terminal.reason === 'completed') return undefined;
  return 'detail' in last.terminal ? `${last.terminal.reason}: ${last.terminal.detail}` : last.terminal.reason;
}
