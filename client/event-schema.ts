// The schema of the events that `query()`, `follow` and `--json` give (Q12).
// docs/events.v1.schema.json is made from it, and tests hold every collected event to it. A change
// that removes something or gives it another meaning needs another version.
import { z } from 'zod';
import { wholeNumber } from '../store/live/event-parts.ts';
import { eventShapes, resultShape, tombstoneShape } from '../store/live/event-shapes.ts';

/**
 * Place of an event that an attempt of a step tells. Step 0 means that it is told from the
 * transcript.
 */
const place = { step: wholeNumber, attempt: wholeNumber };

type Shapes = typeof eventShapes & { readonly tombstone: typeof tombstoneShape };
type StepEvent<Type, Shape extends z.ZodRawShape> = z.ZodObject<
  { readonly type: z.ZodLiteral<Type & string> } & Shape & typeof place
>;

const stepEvents = Object.entries({ ...eventShapes, tombstone: tombstoneShape }).map(([type, shape]) =>
  z.strictObject({ type: z.literal(type), ...shape, ...place }),
) as unknown as readonly { [Type in keyof Shapes]: StepEvent<Type, Shapes[Type]> }[keyof Shapes][];

export const resultSchema = z.strictObject(resultShape);

/**
 * The events of this version of Perdure. It fails on unknown fields and types; other programs read
 * docs/events.v1.schema.json, which allows more.
 */
export const eventSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('session'), sessionId: z.string() }),
  ...stepEvents,
  z.strictObject({
    type: z.enum(['approval', 'question']),
    session: z.string(),
    call: z.string(),
    tool: z.string(),
    reason: z.string(),
    inputHash: z.string(),
    head: z.string(),
    index: wholeNumber,
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

const EVENTS_VERSION = 1;

/**
 * Returns the JSON schema for readers of events, which pass over fields and types that a later
 * version adds.
 */
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
