// The shapes that events are made of: how a run ended, notices, who steered the session. The
// contract has their types, and a workflow loads it without schemas: these are copies, and the
// compiler refuses one that lacks something (`standFor`).
import { z } from 'zod';
import type { AgentSpending } from '../../workflows/contract/delegation.ts';
import type { Notice, RunEnded } from '../../workflows/contract/activities.ts';
import type { Spend, TerminalReason, TransitionReason, Usage } from '../../workflows/contract/loop.ts';
import type { SteeringRecord } from '../../workflows/contract/steered.ts';

/** Gives a schema the type of the contract that it stands for, and which it takes all values of. */
export const standFor =
  <Type>() =>
  <Schema extends z.ZodType>(schema: [Type] extends [z.input<Schema>] ? Schema : never): z.ZodType<Type> =>
    schema as unknown as z.ZodType<Type>;

export const wholeNumber = z.int().nonnegative();
export const usage = standFor<Usage>()(
  z.strictObject({ input: wholeNumber, output: wholeNumber, cacheRead: wholeNumber, cacheWrite: wholeNumber }),
);
export const usd = z.number().nullable().describe('US dollars; null when a price is not known');
export const spend = standFor<Spend>()(z.strictObject({ usage, usd }));
export const agents = standFor<readonly AgentSpending[]>()(
  z.array(z.strictObject({ session: z.string(), type: z.string(), title: z.string(), spend })).readonly(),
).describe('agents of the run that have ended, with what each took, which is in the sums');

const reasons = [
  'next_turn',
  'collapse_drain_retry',
  'reactive_compact_retry',
  'max_output_tokens_escalate',
  'max_output_tokens_recovery',
  'stop_hook_blocking',
  'goal_revision',
  'token_budget_continuation',
  'model_fallback',
  'structured_output_retry',
  'call_as_text_retry',
] as const;
export const transitionReason = standFor<TransitionReason>()(z.enum(reasons));

const detailed = [
  'prompt_too_long',
  'image_error',
  'max_output_tokens',
  'blocking_limit',
  'stop_hook_prevented',
  'hook_stopped',
  'goal_not_met',
  'permission_denied',
  'fatal_tool_error',
  'structured_output_failed',
] as const;
const stop = z.enum(['interrupt', 'message', 'cancel', 'timeout']);
const terminal = z.union([
  z.strictObject({ reason: z.literal('completed') }),
  z.strictObject({ reason: z.literal('max_turns'), limit: wholeNumber, turnNotTaken: wholeNumber }),
  z.strictObject({ reason: z.enum(['aborted_streaming', 'aborted_tools']), by: stop }),
  z.strictObject({ reason: z.enum(detailed), detail: z.string() }),
  z.strictObject({ reason: z.literal('model_error'), detail: z.string(), status: z.int().optional() }),
  z.strictObject({
    reason: z.literal('budget_exceeded'),
    limitUsd: z.number(),
    spentUsd: z.number(),
    reservedUsd: z.number().optional(),
  }),
  z.strictObject({
    reason: z.literal('budget_exceeded'),
    limitTokens: wholeNumber,
    spentTokens: wholeNumber,
    reservedTokens: wholeNumber.optional(),
  }),
  z.strictObject({ reason: z.literal('timeout'), limitMs: wholeNumber }),
]);
export const ends = [
  ...detailed,
  'completed',
  'max_turns',
  'aborted_streaming',
  'aborted_tools',
  'model_error',
  'budget_exceeded',
  'timeout',
] as const;
export const terminalReason = standFor<TerminalReason>()(z.enum(ends));

const seenFile = z.strictObject({
  path: z.string(),
  mtimeMs: z.number(),
  size: wholeNumber,
  gone: z.literal(true).optional(),
});

/** A notice with its `kind` and texts under these names. */
const textNotice = <Kind extends string, Name extends string>(kind: Kind, names: readonly Name[]) =>
  z.strictObject({
    kind: z.literal(kind),
    ...(Object.fromEntries(names.map((name) => [name, z.string()])) as Record<Name, z.ZodString>),
  });

export const notice = standFor<Notice>()(
  z.discriminatedUnion('kind', [
    textNotice('interrupted', []),
    textNotice('continue', []),
    textNotice('call_cut', []),
    z.strictObject({ kind: z.literal('max_turns_reached'), limit: wholeNumber, turnNotTaken: wholeNumber }),
    z.strictObject({ kind: z.literal('wrap_up'), limit: z.enum(['cost', 'tokens', 'time', 'turns']) }),
    z.strictObject({ kind: z.literal('budget_spent'), limit: z.enum(['cost', 'tokens']) }),
    textNotice('error', ['text']),
    z.strictObject({
      kind: z.literal('model_switched'),
      from: z.string(),
      to: z.string(),
      calls: z.array(z.string()).readonly(),
      detail: z.string(),
    }),
    textNotice('stop_hook', ['text']),
    z.strictObject({ kind: z.literal('grading'), round: wholeNumber }),
    z.strictObject({
      kind: z.literal('graded'),
      round: wholeNumber,
      grade: z.enum(['met', 'not_met', 'rounds_spent', 'not_applicable']),
      text: z.string().describe('why'),
      spend: z.strictObject({ usage, usd: z.number().nullable() }).describe('what the grading cost'),
      at: z.number().describe('milliseconds since the epoch'),
    }),
    z.strictObject({ kind: z.literal('token_budget'), spent: wholeNumber, budget: wholeNumber }),
    textNotice('structured_output', ['problem']),
    z.strictObject({ kind: z.literal('call_as_text'), name: z.string(), again: z.literal(true).optional() }),
    z.strictObject({
      kind: z.literal('same_results'),
      calls: z.array(z.string()).readonly(),
      times: wholeNumber,
      forPeople: z.literal(true).optional(),
    }),
    textNotice('hook_context', ['hook', 'text']),
    z.strictObject({
      kind: z.literal('files_changed'),
      paths: z.array(z.string()).readonly(),
      files: z.array(seenFile).readonly().optional(),
    }),
    textNotice('attachment', ['source', 'text']),
    textNotice('batch_summary', ['text']),
    z.strictObject({ kind: z.literal('compaction_failed'), detail: z.string(), spent: z.boolean() }),
    textNotice('repaired', ['lost']),
    textNotice('about_model', ['text']),
    textNotice('about_skills', ['text']),
    textNotice('about_tools', ['text']),
    z.strictObject({
      kind: z.literal('server_away'),
      server: z.string(),
      detail: z.string(),
      unauthorized: z.literal(true).optional(),
    }),
    textNotice('hook_failed', ['hook', 'detail']),
    z.strictObject({
      kind: z.literal('workers_silent'),
      work: z.string().describe('the last item of work'),
      items: wholeNumber.describe('items in a row whose workers sent no heartbeat'),
      at: z.number().describe('milliseconds since the epoch'),
    }),
    textNotice('system_message', ['id', 'text']),
    z.strictObject({
      kind: z.literal('preamble_changed'),
      parts: z
        .array(z.strictObject({ name: z.string(), text: z.string(), foreign: z.literal(true).optional() }))
        .readonly(),
      ended: z.array(z.string()).readonly(),
      toolsGone: z.array(z.string()).readonly(),
      toolsBack: z.array(z.string()).readonly(),
      toolsNew: z.array(z.record(z.string(), z.unknown())).readonly().optional(),
      by: z.enum(['user', 'system', 'tools']).optional().describe('by which message the model was told'),
    }),
    z.strictObject({
      kind: z.literal('forked'),
      session: z.string().describe('the session that this one goes on from'),
      head: z.string().nullable(),
      position: wholeNumber.describe('the first entry of that session that this one does not have'),
      at: z.number().describe('milliseconds since the epoch'),
      by: z.string().optional(),
      moved: z.strictObject({ from: z.string(), to: z.string() }).optional().describe('its folder, and the one before'),
      background: z.literal(true).optional().describe('commands or agents in the background stay with that session'),
    }),
    z.strictObject({
      kind: z.literal('host_changed'),
      from: z.string().describe('the name of the host that the session has left'),
      to: z.string(),
      because: z.enum(['away', 'emptied', 'moved']),
      at: z.number().describe('when the restored files were captured, in milliseconds since the epoch'),
      calls: z.array(z.string()).readonly().describe('names of later calls, whose changes to files are lost'),
    }),
  ]),
);

const rewoundRoot = z.strictObject({
  root: z.string(),
  before: z.string(),
  to: z.string(),
  after: z.string().optional().describe('what lies there now, where that is not `to`'),
  files: wholeNumber,
  untaken: z
    .strictObject({
      count: wholeNumber,
      first: z.array(z.strictObject({ path: z.string(), why: z.string() })).readonly(),
    })
    .optional()
    .describe('files that stay although the snapshot does not have them'),
  inUse: z.array(z.string()).readonly().optional().describe('programs that had files open, in words'),
});

export const steered = standFor<SteeringRecord>()(
  z.strictObject({
    action: z.enum([
      'interrupt',
      'resume',
      'cancel',
      'topUp',
      'setLimits',
      'changeRules',
      'setOptions',
      'snip',
      'repair',
      'rewind',
      'move',
      'relabel',
    ]),
    at: z.number().describe('milliseconds since the epoch'),
    by: z.string().optional().describe('whoever did it; absent where nobody said it'),
    limits: z.record(z.string(), z.number()).optional().describe('of the run under way, as they were set'),
    rules: z.record(z.string(), z.unknown()).optional().describe('given to the run under way, or taken back from it'),
    changes: z.record(z.string(), z.unknown()).optional().describe('options for the next run'),
    untold: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('options that were set as well, whose values are not told'),
    labels: z
      .strictObject({
        title: z.string().nullable().optional(),
        metadata: z.record(z.string(), z.string()).optional(),
        agent: z.string().optional(),
      })
      .optional()
      .describe('title, metadata and agent of a managed session, as far as they were changed'),
    rewound: z
      .strictObject({
        from: z.string().describe('the head that was left behind'),
        to: z
          .string()
          .nullable()
          .optional()
          .describe('the head that the session goes on from; null: an empty conversation; absent: as it was'),
        files: z.array(rewoundRoot).readonly().optional().describe('snapshots of each folder, before and after'),
        known: z
          .array(z.strictObject({ root: z.string(), id: z.string(), first: z.string().optional() }))
          .readonly()
          .optional()
          .describe('the newest snapshots of folders that stay as what was left behind has left them'),
      })
      .optional()
      .describe('where the session has gone back to'),
    earlier: wholeNumber.optional().describe('so many older ones were not kept'),
  }),
);

export const runEnded = standFor<RunEnded>()(
  z.strictObject({
    run: wholeNumber,
    terminal,
    turns: wholeNumber,
    iterations: wholeNumber,
    messages: z.array(z.string()).readonly(),
    spend,
    agents: agents.optional(),
    durationMs: z.number(),
    at: z.number().describe('milliseconds since the epoch'),
  }),
);
