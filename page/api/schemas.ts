// The shapes of the HTTP API: requests are checked against these schemas, and docs/openapi.v1.json
// tells what answers have.
import { z } from 'zod';
import { eventSchema, resultSchema } from '../../client/event-schema.ts';
import { LIMITS, type NewLimits, type OptionKind, RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
import { IMAGE_TYPES } from '../../workflows/contract/people.ts';
import { CHANGEABLE } from '../../client/schedules/change-schedule.ts';
import { overlapPolicies } from '../../client/schedules/plan.ts';
import type { Prompt } from '../../client/sessions/prompt.ts';

const count = z.int().nonnegative();
const moment = z.number().describe('milliseconds since the epoch');
const text = z.string();
const list = z.array(text).readonly();

const image = z.strictObject({ type: z.literal('base64'), media_type: z.enum(IMAGE_TYPES), data: text });
const document = z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: text });
const textDocument = z.strictObject({
  type: z.literal('document'),
  source: z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: text }),
  title: text.optional(),
  context: text.optional(),
});
const prompt: z.ZodType<Prompt> = z.union([
  text,
  z
    .array(
      z.union([
        z.strictObject({ type: z.literal('text'), text }),
        z.strictObject({ type: z.literal('image'), source: image }),
        z.strictObject({ type: z.literal('document'), source: document }),
        textDocument,
      ]),
    )
    .readonly(),
]);

const number = z.number();
const pairs = z.record(text, text);
/** The client checks the bounds of all options, so their fields have types only. */
const shapesOfKinds: Readonly<Record<OptionKind, z.ZodType>> = {
  choice: text,
  folder: text,
  folders: list,
  list,
  names: list,
  number,
  pairs,
  rules: z.strictObject({ allow: list.optional(), deny: list.optional(), ask: list.optional() }),
  schema: z.record(text, z.unknown()),
  switch: z.boolean(),
  text,
  time: number,
};
const optionFields = Object.entries(RUN_OPTIONS).map(([name, { kind, says, values }]): [string, z.ZodType] => {
  const value = values ? z.enum(values) : shapesOfKinds[kind];
  const more = { folder: '; an absolute path on the machine that works', time: ', in milliseconds' };
  const about = `${says}${kind === 'folder' || kind === 'time' ? more[kind] : ''}`;
  // The workspace alone cannot be taken back.
  return [name, (name === 'cwd' ? value.optional() : value.nullish()).describe(about)];
});

/** The client refuses unknown names and suggests the one that was meant. */
export const options = z
  .looseObject(Object.fromEntries(optionFields))
  .describe('options of a run, as docs/client.md lists them; null takes one back');

export const start = z.strictObject({
  prompt,
  session: text.describe('an open session takes the prompt as its next message; a new one gets this id').optional(),
  options: options.optional(),
});
export const message = z.strictObject({
  prompt,
  now: z.boolean().describe('interrupts what runs').optional(),
  options: options.optional(),
});
export const fork = z.strictObject({
  at: text
    .describe('a position of an entry, RUN.ITERATION or a message’s id: what was before it; absent: all there is now')
    .optional(),
  prompt: prompt.optional(),
  files: z
    .union([text, z.literal(false)])
    .describe('absolute path of a new folder for its files; false: it works in the same folder')
    .optional(),
  worktree: z.boolean().describe('the folder becomes a git work tree on a branch of its own').optional(),
  options: options.optional(),
});
export const nothing = z.strictObject({});
export const approval = z.strictObject({
  input: z.unknown().describe('runs with this instead of what the model wrote').optional(),
});
export const denial = z.strictObject({ reason: text, interrupt: z.boolean().optional() });
export const answerBody = z.strictObject({ text });
const limitFields = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { raises }]) => [name, number.describe(raises).optional()]),
) as Readonly<Record<keyof NewLimits, z.ZodOptional<z.ZodNumber>>>;
export const limits = z.strictObject({ ...limitFields, exact: z.literal(true).optional() });
export const ruleChanges = z.strictObject({
  allow: z.array(text).readonly().optional(),
  drop: z.array(text).readonly().optional(),
  lasts: z.literal('session').optional(),
});
export const snipBody = z.strictObject({ entries: z.array(count).readonly() });
export const aside = z.strictObject({ question: text });

/** Values in an address are all texts; the document names their real types. */
const whole = text
  .regex(/^\d{1,15}$/, 'is no whole number')
  .transform(Number)
  .meta({ written: { type: 'integer', minimum: 0 } });
const yes = z
  .enum(['true', 'false'])
  .transform((given) => given === 'true')
  .meta({ written: { type: 'boolean' } });
export const none = z.strictObject({});
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
export const sent = z.looseObject({ session: text, messageId: text });
export const done = z.looseObject({ session: text });
export const decided = z.looseObject({ session: text, call: text });
export const snipped = z.looseObject({ later: z.boolean() });
export const answeredAside = z.looseObject({
  answer: text,
  cut: z.boolean().describe('there was more of it'),
  model: text,
  usage: z.looseObject({ input: z.int(), output: z.int(), cacheRead: z.int(), cacheWrite: z.int() }),
  costUsd: z.number().nullable().describe('null: a price is not known'),
});

const waiting = z.looseObject({
  session: text,
  call: text,
  tool: text,
  reason: text,
  input: z.unknown(),
  deadline: moment,
});
export const approvals = z.looseObject({ approvals: z.array(waiting) });

const forkedFrom = z.looseObject({
  session: text,
  position: count.describe('the first entry of that session that this one does not have'),
});
export const forked = z.looseObject({
  session: text,
  forkedFrom,
  cwd: text,
  files: z.boolean().describe('whether it has files of its own: a worker checks them out before its first run'),
  messageId: text.nullable(),
});
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
const flag = z.boolean();
const changedFile = z.looseObject({
  root: text.describe('the folder of the session in which it lies'),
  path: text,
  kind: z.enum(['added', 'changed', 'deleted']),
  insertions: count.nullable().describe('lines; null: it is not text'),
  deletions: count.nullable(),
});
const changedFiles = z.array(changedFile);
export const diff = z.looseObject({
  files: changedFiles,
  patch: text.nullable().describe('for `git apply`; null when it is larger than 64 MB or left out'),
  uncaptured: z
    .array(z.looseObject({ root: text, path: text, why: text }))
    .describe('files that are no longer captured, or were not before: they are in neither')
    .optional(),
});

export const rewindBody = z.strictObject({
  to: text
    .describe('a position, RUN.ITERATION or the id of a message: it goes back to before it; absent: the last prompt')
    .optional(),
  conversation: flag.describe('false leaves the conversation as it is').optional(),
  files: flag.describe('false leaves the files as they are').optional(),
  force: flag.describe('overwrites what others have changed since the last step, or have open for writing').optional(),
  dryRun: flag.describe('only says what would be done, after a look at the folders as they are').optional(),
});
export const undoBody = z.strictObject({ force: flag.optional() });
const untaken = z
  .looseObject({ count, first: z.array(z.looseObject({ path: text, why: text })) })
  .describe(
    'files that stay, for they were not captured then, and git’s own folders that were made or have gone since',
  );
const inUse = z.array(text).describe('programs that have files open, or work there, in words');
const rewound = z.looseObject({
  from: text.describe('the head that was left'),
  to: text
    .nullable()
    .describe('the head it went back to; null: an empty conversation; absent where the conversation stays')
    .optional(),
  files: z
    .array(
      z.looseObject({
        root: text,
        before: text,
        to: text,
        after: text.describe('what lies there now, where that is not `to`').optional(),
        files: count.describe('written or deleted'),
        untaken: untaken.optional(),
        inUse: inUse.optional(),
      }),
    )
    .optional(),
});
export const rewindAnswer = z.looseObject({
  position: count.describe('of the first entry that is left behind'),
  prompt: text.nullable().describe('its first words; null within a run'),
  turns: count.describe('replies that are left behind'),
  effects: z
    .array(
      z.looseObject({
        name: text,
        input: z.unknown(),
        outcome: text,
        filesGoBack: z.literal(true).describe('files that it has changed go back').optional(),
      }),
    )
    .describe('calls that may have done what no snapshot holds: it stays done'),
  files: z
    .array(changedFile.extend({ unnamed: z.literal(true).describe('no call of the session names it').optional() }))
    .nullable()
    .describe('null: the snapshots lie on another machine'),
  moreFiles: count.describe('files that differ and are not listed'),
  notLooked: text
    .nullable()
    .describe('why no worker has looked at the folders as they are; null: one has, or none has to'),
  problems: z.array(text).describe('what would stop it, for a dry run'),
  untaken,
  inUse,
  rewound: rewound.nullable().describe('null for a dry run'),
});
export const undoAnswer = z.looseObject({
  rewound,
  turns: count.describe('replies since the rewind, which are left behind in its place'),
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
  options: options.optional(),
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
