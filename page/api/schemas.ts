// The shapes of the HTTP API: requests are checked against these schemas, and docs/openapi.v1.json
// tells what answers have.
import { z } from 'zod';
import { eventSchema, resultSchema } from '../../client/faces/reading.ts';
import { CHANGEABLE, overlapPolicies } from '../../client/faces/schedules.ts';
import { changedFile, count, forkedFrom, prompt, optionsShape, text } from '../../client/operations/operation.ts';

const moment = z.number().describe('milliseconds since the epoch');

export const start = z.strictObject({
  prompt,
  session: text.describe('an open session takes the prompt as its next message; a new one gets this id').optional(),
  options: optionsShape.optional(),
});

/** Values in an address are all texts; the document names their real types. */
const whole = text
  .regex(/^\d{1,15}$/, 'is no whole number')
  .transform(Number)
  .meta({ written: { type: 'integer', minimum: 0 } });
const yes = z
  .enum(['true', 'false'])
  .transform((word) => word === 'true')
  .meta({ written: { type: 'boolean' } });
export const listing = z.strictObject({
  filter: text.describe('as in docs/finding.md: phase:waiting cost>1 sort:-cost').optional(),
  open: yes.describe('only those that are not closed').optional(),
  size: whole.describe('of the page: 1 to 1,000; absent: 50').optional(),
  after: text.describe('`next` of the page before').optional(),
});
export const reading = z.strictObject({
  from: whole.describe('position of the first entry; absent: 0').optional(),
  size: whole.describe('entries: 1 to 1,000; absent: 200').optional(),
});
const point = text.describe('the position of an entry, or RUN.ITERATION; absent: the first or last snapshot');
export const diffing = z.strictObject({
  from: point.optional(),
  to: point.optional(),
  path: text.describe('one file or folder: absolute, or relative to the folder of the session').optional(),
  stat: yes.describe('leaves the patch out').optional(),
});
export const whichRun = z.strictObject({ run: whole.describe('absent: the last that ended').optional() });
export const following = z.strictObject({
  message: text.describe('to the end of the run that answers it').optional(),
  after: text
    .regex(/^\d{1,9}(?:\.\d{1,9})?$/, 'is neither RUN nor RUN.ITERATION')
    .describe('RUN: the first run after it; RUN.ITERATION: that run, from behind the iteration')
    .optional(),
});

// The schemas of answers follow. Each may get more fields within this version.
export const problem = z.looseObject({
  type: text.describe('urn:perdure:KIND'),
  title: text,
  status: z.int(),
  detail: text.describe('one sentence: what happened, and what to do'),
  kind: text,
});
export const done = z.looseObject({ session: text });
export const decided = z.looseObject({ session: text, call: text });

const waiting = z.looseObject({
  session: text,
  call: text,
  tool: text,
  reason: text,
  input: z.unknown(),
  deadline: moment,
});
export const approvals = z.looseObject({ approvals: z.array(waiting) });

export const session = z.looseObject({
  session: text,
  status: z.enum(['open', 'cancelled', 'terminated', 'failed', 'timed_out', 'completed']),
  phase: z.enum(['running', 'waiting_worker', 'waiting_approval', 'parked', 'idle', 'closed']),
  title: text,
  cwd: text,
  runs: count.describe('opened so far'),
  startedAt: moment,
  closedAt: moment.nullable(),
  taskQueue: text,
  last: z.looseObject({ run: count, terminal: z.looseObject({ reason: text }), turns: count }).nullable(),
  forkedFrom: forkedFrom.optional().describe('of a fork'),
  forkFiles: z
    .looseObject({ state: z.enum(['pending', 'done', 'refused']), folder: text })
    .optional()
    .describe('of a fork with files of its own'),
});
export const page = z.looseObject({
  sessions: z.array(session),
  next: text.nullable().describe('for the next page'),
  note: text.optional(),
});
export const transcript = z.looseObject({
  entries: z.array(z.looseObject({ position: count, entry: z.looseObject({ kind: text }) })),
  next: count.nullable().describe('`from` of the next piece'),
});
export const captures = z.looseObject({
  captures: z.array(
    z.looseObject({
      position: count.describe('of its entry in the transcript'),
      at: moment,
      roots: z.array(
        z.looseObject({
          root: text,
          id: text,
          parent: text.nullable().describe('null: the first one of this folder'),
          files: count,
          added: count,
          changed: count,
          deleted: count,
          insertions: count.describe('lines'),
          deletions: count.describe('lines'),
          names: z.array(text).describe('of changed files, the first 50'),
        }),
      ),
      calls: z
        .array(z.looseObject({ name: text, input: z.unknown() }))
        .describe('that changed them; empty where a person or another program did'),
    }),
  ),
});
export const diff = z.looseObject({
  files: z.array(changedFile),
  patch: text.nullable().describe('for `git apply`; null when it is larger than 64 MB or left out'),
  uncaptured: z
    .array(z.looseObject({ root: text, path: text, why: text }))
    .describe('files that are no longer captured, or were not before: they are in neither')
    .optional(),
});

export const outcome = z.looseObject({ result: resultSchema.nullable() });

export const schedule = z.strictObject({
  cron: text.describe('five fields, such as 0 6 * * 1, or @daily and its like'),
  task: text.describe('at most 16 KB'),
  name: text.describe('with which the ids of its sessions begin; absent: one is made').optional(),
  session: text.describe('an open session, which gets the task as its next prompt at each firing').optional(),
  timeZone: text.describe('a name such as Europe/Berlin; absent: UTC').optional(),
  overlap: z.enum(overlapPolicies).optional(),
  catchUpMs: count
    .describe(
      'how long after its time a firing that was due while no server ran is made up for, 10 s to 365 days; absent: a day',
    )
    .optional(),
  options: optionsShape.optional(),
});
/** An absent field stays as it is; an option that is null goes back to what the workers say. */
export const scheduleChanges = schedule
  .pick(Object.fromEntries(CHANGEABLE.map((name) => [name, true])) as Record<(typeof CHANGEABLE)[number], true>)
  .extend({ timeZone: text.describe('a name such as Europe/Berlin') })
  .partial();
export const scheduled = z.looseObject({
  name: text,
  cron: text,
  timeZone: text,
  title: text,
  session: text.nullable().describe('that it sends prompts to; null where each firing opens its own'),
  overlap: z.enum(overlapPolicies).nullable(),
  paused: z.boolean(),
  note: text.optional().describe('why it was paused or resumed'),
  next: moment.nullable().describe('milliseconds since the epoch; null while it is paused'),
  coming: z.array(moment).describe('the next firings, at most ten; empty while it is paused'),
  firings: z.array(z.looseObject({ session: text, at: moment })).describe('the newest ten, newest first'),
  catchUpMs: count.describe('how long after its time a firing that was due while no server ran is made up for'),
  clockChanges: z
    .array(
      z.looseObject({
        date: text.describe('in its time zone'),
        kind: z.enum(['left-out', 'doubled']),
        times: z.array(text).describe('times of the day, in its time zone, that the clock leaves out or has twice'),
        fires: z.array(moment).describe('when it fires for them'),
      }),
    )
    .describe('in the year that comes'),
  skipped: count.describe('firings that were dropped because the one before still ran'),
  waitsForWorker: z.boolean(),
  taskQueue: text,
});
export const schedules = z.looseObject({
  schedules: z.array(scheduled),
  more: z.boolean().describe('there are others'),
});
export const triggered = z.looseObject({
  outcome: z.enum(['started', 'waiting', 'skipped']),
  session: text.nullable().describe('that it opened, or sent the task to'),
});
export const onSchedule = z.looseObject({ schedule: text });

const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * Each kind of event by its name in the document: `ToolUseEvent`. Kinds with the same shape share
 * one name.
 */
export const eventKinds = eventSchema.options.map((schema) => {
  const { type } = schema.shape;
  const kinds: readonly string[] = 'options' in type ? type.options : [...type.values];
  return { schema, kinds, name: `${pascalCase(kinds[0] ?? '')}Event` };
});

/** Shapes that several answers have, and kinds of events, by their names in the document. */
export const named: Readonly<Record<string, z.ZodType>> = {
  Event: eventSchema,
  ...Object.fromEntries(eventKinds.map(({ name, schema }) => [name, schema])),
  Problem: problem,
  Schedule: scheduled,
  Session: session,
};
