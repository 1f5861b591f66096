// The events of a session, each declared once by the schemas of its fields: LiveEvent and
// RunOutcome are their types, and docs/events.v1.schema.json is made from them. A change that
// removes something or gives it another meaning needs another version of that file.
import { z } from 'zod';
import type { CompactionTrigger } from '../../workflows/contract/activities.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import {
  agents,
  notice,
  runEnded,
  spend,
  standFor,
  steered,
  terminalReason,
  transitionReason,
  usage,
  usd,
  wholeNumber,
} from './event-parts.ts';

const text = z.string();
const hash = standFor<Hash>()(text);
const iteration = wholeNumber;
const index = wholeNumber;

/** The events of the live channel, by their types. */
export const eventShapes = {
  run_start: {
    run: wholeNumber,
    /** L13. */
    queryId: text,
    depth: wholeNumber,
    cwd: text,
    model: text,
    /** The model's context window, in tokens. Absent when an older worker wrote the event. */
    window: wholeNumber.optional().describe('the model’s context window, in tokens'),
    scripted: z.boolean().describe('no real model is behind it'),
  },
  user: { id: standFor<MessageId>()(text), text },
  transition: { iteration, reason: transitionReason },
  notice: { notice },
  steered: { steered },
  request_start: { iteration, attempt: wholeNumber, model: text },
  text_delta: { iteration, index, text },
  thinking_delta: { iteration, index, text },
  /** The block is complete. */
  tool_use: {
    iteration,
    index,
    id: text,
    name: text,
    /** The input as observers see it; the stored one is untouched (L18). */
    input: z.unknown(),
  },
  /** The API searches the web by itself while it replies (L88). */
  web_search: { iteration, index, query: text },
  tool_start: { iteration, index, name: text, early: z.boolean() },
  tool_progress: { iteration, index, text },
  tool_end: {
    iteration,
    index,
    name: text,
    isError: z.boolean(),
    content: text,
    durationMs: z.number(),
    /** `durationMs` is not a tool's: the tool did not run, or not here. */
    untimed: z.literal(true).optional(),
  },
  retry: {
    iteration,
    /** Attempts of this call, also those without any words (L15). */
    failures: wholeNumber,
    /** The wait before which the retry is announced (L14). */
    delayMs: z.number(),
    error: text,
  },
  reply: {
    iteration,
    stopReason: text.nullable(),
    fate: z.enum(['whole', 'cut', 'interrupted']),
    /**
     * The head that the reply is stored under; its calls may still run. Absent where it is not
     * known yet whether it stays, and when an older worker wrote the event.
     */
    head: hash.optional().describe('it is stored under it, and what it calls may still run'),
    /** The cost of all attempts of its call. Absent when an older worker wrote the event. */
    spend: spend.optional().describe('of all attempts of its call'),
  },
  /** Tokens are estimates (L60). */
  compaction_start: { iteration, trigger: standFor<CompactionTrigger>()(z.enum(['auto', 'reactive', 'manual'])) },
  compaction_end: {
    iteration,
    before: wholeNumber,
    after: wholeNumber,
    kept: wholeNumber,
    summary: text,
    /** The API made the summary. */
    signed: z.literal(true).optional().describe('the API made the summary'),
    /** Later thinking is still sent to models that check what came before it. */
    keepsThinking: z
      .literal(true)
      .optional()
      .describe('thinking since is sent on to models that check what stood before it'),
  },
  collapse_staged: { iteration, savings: z.array(z.number()).readonly() },
  /** The oldest staged short forms are shown from here on (L9). */
  collapse_committed: { count: wholeNumber },
  /** Old tool results are shown as a marker from here on (L8). */
  microcompact: {
    before: wholeNumber.describe('results of replies before this entry are shown as a marker'),
    freed: wholeNumber.describe('tokens, an estimate'),
    results: wholeNumber.optional().describe('so many results'),
  },
  /** The model no longer sees these entries (L7). */
  snip: { entries: z.array(wholeNumber).readonly() },
  hook_start: { iteration, hook: text },
  hook_end: { iteration, hook: text, result: text },
  run_end: { ended: runEnded, head: hash },
};

export const eventTypes = Object.keys(eventShapes) as readonly (keyof typeof eventShapes)[];

/** A watcher is told with it what became void (L16). */
export const tombstoneShape = {
  iteration: wholeNumber.nullable(),
  why: text.describe('everything that this attempt of this step told is void'),
  /** The attempt's events are not void: they are stored, and told again. */
  retold: z.literal(true).optional().describe('it is not void, and is told again'),
};

export const resultShape = {
  type: z.literal('result'),
  sessionId: standFor<SessionId>()(text),
  /** Number of the run in the session, from 1. */
  run: wholeNumber,
  reason: terminalReason,
  turns: wholeNumber,
  iterations: wholeNumber,
  transitions: z.array(z.strictObject({ iteration, reason: transitionReason }).readonly()).readonly(),
  /** Text of the last reply, with the pieces of a recovered one joined (L27). */
  text,
  usage,
  /** US dollars; null when a price is not known. */
  costUsd: usd,
  /**
   * Agents of the run that have ended, with the spend of each, which `usage` and `costUsd` include;
   * absent without any (L69).
   */
  agents: agents.optional(),
  durationMs: z.number(),
  /** Details of the terminal reason, for people. */
  detail: text.optional(),
  /** Value of the final answer when the run had an output schema and completed (L53). */
  output: z.unknown().optional(),
};

/** The type of an event with these fields, where an absent one is left out. */
export type FieldsOf<Shape extends z.ZodRawShape> = {
  readonly [Name in keyof Shape as Shape[Name] extends z.ZodOptional ? never : Name]: z.output<Shape[Name]>;
} & {
  readonly [Name in keyof Shape as Shape[Name] extends z.ZodOptional ? Name : never]?: Exclude<
    z.output<Shape[Name]>,
    undefined
  >;
};
