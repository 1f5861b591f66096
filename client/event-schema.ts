// The schema of the events that `query()`, `follow` and `--json` give (Q12). docs/events.v1.schema.json is made from it, and every event that a
// test collects is held to it. A change that takes something away, or gives it another meaning, is another version.
import { z } from 'zod';

const count = z.int().nonnegative();
const usage = z.strictObject({ input: count, output: count, cacheRead: count, cacheWrite: count });
const usd = z.number().nullable().describe('US dollars; null when a price is not known');
const agents = z
  .array(
    z.strictObject({
      session: z.string(),
      type: z.string(),
      title: z.string(),
      spend: z.strictObject({ usage, usd }),
    }),
  )
  .readonly()
  .describe('agents of the run that have ended, with what each took, which is in the sums');

const reasons = [
  'next_turn',
  'collapse_drain_retry',
  'reactive_compact_retry',
  'max_output_tokens_escalate',
  'max_output_tokens_recovery',
  'stop_hook_blocking',
  'token_budget_continuation',
  'model_fallback',
  'structured_output_retry',
] as const;
const transition = z.strictObject({ iteration: count, reason: z.enum(reasons) });

const detailed = [
  'prompt_too_long',
  'image_error',
  'max_output_tokens',
  'blocking_limit',
  'stop_hook_prevented',
  'hook_stopped',
  'permission_denied',
  'fatal_tool_error',
  'structured_output_failed',
] as const;
const stop = z.enum(['interrupt', 'message', 'cancel', 'timeout']);
const terminal = z.union([
  z.strictObject({ reason: z.literal('completed') }),
  z.strictObject({ reason: z.literal('max_turns'), limit: count, turnNotTaken: count }),
  z.strictObject({ reason: z.enum(['aborted_streaming', 'aborted_tools']), by: stop }),
  z.strictObject({ reason: z.enum(detailed), detail: z.string() }),
  z.strictObject({ reason: z.literal('model_error'), detail: z.string(), status: z.int().optional() }),
  z.strictObject({ reason: z.literal('budget_exceeded'), limitUsd: z.number(), spentUsd: z.number() }),
  z.strictObject({ reason: z.literal('budget_exceeded'), limitTokens: count, spentTokens: count }),
  z.strictObject({ reason: z.literal('timeout'), limitMs: count }),
]);
const ends = [
  ...detailed,
  'completed',
  'max_turns',
  'aborted_streaming',
  'aborted_tools',
  'model_error',
  'budget_exceeded',
  'timeout',
] as const;

const seenFile = z.strictObject({
  path: z.string(),
  mtimeMs: z.number(),
  size: count,
  gone: z.literal(true).optional(),
});

/** `kind`, and texts under these names. */
const texts = <Kind extends string, Name extends string>(kind: Kind, names: readonly Name[]) =>
  z.strictObject({
    kind: z.literal(kind),
    ...(Object.fromEntries(names.map((name) => [name, z.string()])) as Record<Name, z.ZodString>),
  });

const notice = z.discriminatedUnion('kind', [
  texts('interrupted', []),
  texts('continue', []),
  texts('call_cut', []),
  z.strictObject({ kind: z.literal('max_turns_reached'), limit: count, turnNotTaken: count }),
  z.strictObject({ kind: z.literal('wrap_up'), limit: z.enum(['cost', 'tokens', 'time', 'turns']) }),
  texts('error', ['text']),
  z.strictObject({
    kind: z.literal('model_switched'),
    from: z.string(),
    to: z.string(),
    calls: z.array(z.string()).readonly(),
    detail: z.string(),
  }),
  texts('stop_hook', ['text']),
  z.strictObject({ kind: z.literal('token_budget'), spent: count, budget: count }),
  texts('structured_output', ['problem']),
  texts('hook_context', ['hook', 'text']),
  z.strictObject({
    kind: z.literal('files_changed'),
    paths: z.array(z.string()).readonly(),
    files: z.array(seenFile).readonly().optional(),
  }),
  texts('attachment', ['source', 'text']),
  texts('batch_summary', ['text']),
  z.strictObject({ kind: z.literal('compaction_failed'), detail: z.string(), spent: z.boolean() }),
  texts('repaired', ['lost']),
  texts('hook_failed', ['hook', 'detail']),
]);

const runEnded = z.strictObject({
  run: count,
  terminal,
  turns: count,
  iterations: count,
  messages: z.array(z.string()).readonly(),
  spend: z.strictObject({ usage, usd }),
  agents: agents.optional(),
  durationMs: z.number(),
  at: z.number().describe('milliseconds since the epoch'),
});

/** Of an event that an attempt of a step tells. Step 0: it is told from the transcript. */
const place = { step: count, attempt: count };
const told = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape, ...place });
const iteration = count;
const index = count;

const watched = [
  told('run_start', {
    run: count,
    queryId: z.string(),
    depth: count,
    cwd: z.string(),
    model: z.string(),
    window: count.optional().describe('the model’s context window, in tokens'),
    scripted: z.boolean().describe('no real model is behind it'),
  }),
  told('user', { id: z.string(), text: z.string() }),
  told('transition', { iteration, reason: z.enum(reasons) }),
  told('notice', { notice }),
  told('request_start', { iteration, model: z.string() }),
  told('text_delta', { iteration, index, text: z.string() }),
  told('thinking_delta', { iteration, index, text: z.string() }),
  told('tool_use', { iteration, index, id: z.string(), name: z.string(), input: z.unknown() }),
  told('tool_start', { iteration, index, name: z.string(), early: z.boolean() }),
  told('tool_progress', { iteration, index, text: z.string() }),
  told('tool_end', {
    iteration,
    index,
    name: z.string(),
    isError: z.boolean(),
    content: z.string(),
    durationMs: z.number(),
    untimed: z.literal(true).optional(),
  }),
  told('retry', { iteration, failures: count, delayMs: z.number(), error: z.string() }),
  told('reply', {
    iteration,
    stopReason: z.string().nullable(),
    fate: z.enum(['whole', 'cut', 'interrupted']),
    spend: z.strictObject({ usage, usd }).optional().describe('of all attempts of its call'),
  }),
  told('compaction_start', { iteration, trigger: z.enum(['auto', 'reactive']) }),
  told('compaction_end', { iteration, before: count, after: count, kept: count, summary: z.string() }),
  told('collapse_staged', { iteration, savings: z.array(z.number()).readonly() }),
  told('hook_start', { iteration, hook: z.string() }),
  told('hook_end', { iteration, hook: z.string(), result: z.string() }),
  told('run_end', { ended: runEnded, head: z.string() }),
  told('tombstone', {
    iteration: count.nullable(),
    why: z.string().describe('everything that this attempt of this step told is void'),
    retold: z.literal(true).optional().describe('it is not void, and is told again'),
  }),
] as const;

export const resultSchema = z.strictObject({
  type: z.literal('result'),
  sessionId: z.string(),
  run: count,
  reason: z.enum(ends),
  turns: count,
  iterations: count,
  transitions: z.array(transition).readonly(),
  text: z.string(),
  usage,
  costUsd: usd,
  agents: agents.optional(),
  durationMs: z.number(),
  detail: z.string().optional(),
  output: z.unknown().optional(),
});

/**
 * The events of this version of Perdure. A field or a type that is not in it fails: other programs read docs/events.v1.schema.json, which
 * allows more.
 */
export const eventSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('session'), sessionId: z.string() }),
  ...watched,
  z.strictObject({
    type: z.enum(['approval', 'question']),
    session: z.string(),
    call: z.string(),
    tool: z.string(),
    reason: z.string(),
    inputHash: z.string(),
    head: z.string(),
    index,
    askedAt: z.number().optional().describe('milliseconds since the epoch'),
    agent: z
      .strictObject({ session: z.string(), call: z.string(), path: z.array(z.string()).readonly() })
      .optional()
      .describe('it waits in the session of an agent; the titles on the way to it'),
    deadline: z
      .number()
      .describe('milliseconds since the epoch; then it counts as denied, and a question goes unanswered'),
    toolUseId: z.string().optional().describe('of the tool_use block; absent when the transcript cannot be read'),
    input: z.unknown(),
    problem: z.string().optional().describe('why the input is not known for certain'),
    question: z
      .strictObject({ options: z.array(z.string()).readonly().optional() })
      .optional()
      .describe('of a question: its text and its options stand in the input'),
  }),
  z.strictObject({ type: z.literal('approval_settled'), session: z.string(), call: z.string() }),
  resultSchema,
]);

export const EVENTS_VERSION = 1;

/** For people and programs that read events: they pass over fields and types that a later version adds. */
export function eventJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(eventSchema, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return {
    $schema,
    $id: `perdure/events.v${EVENTS_VERSION}.schema.json`,
    title: `An event of Perdure, version ${EVENTS_VERSION}`,
    ...schema,
  };
}
