// Changes of the conversation: entries that the model no longer sees, an earlier point of it, and a
// session of its own from there.
import { z } from 'zod';
import type { ActOptions } from '../sessions/waiting-approval.ts';
import type { RewindOptions, RewindResult, UndoOptions, UndoResult } from '../sessions/files/rewind-session.ts';
import type { ForkOptions, ForkResult } from '../sessions/fork/fork-session.ts';
import type { Snipped } from '../sessions/snip.ts';
import { changedFile, count, defineOperation, forkedFrom, optionsShape, prompt, text } from './operation.ts';

// Loaded when they are used: a command that lists sessions needs none of them.
const loadSnip = () => import('../sessions/snip.ts');
const loadRewind = () => import('../sessions/files/rewind-session.ts');

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

export const fork = defineOperation<ForkOptions, ForkResult>({
  name: 'fork',
  target: 'session',
  role: 'steer',
  summary: 'Begins a session of its own from a point of this one, which may run meanwhile; durable when it answers.',
  status: 201,
  body: z.strictObject({
    at: text
      .describe('a position of an entry, RUN.ITERATION or a message’s id: what was before it; absent: all there is now')
      .optional(),
    prompt: prompt.optional(),
    files: z
      .union([text, z.literal(false)])
      .describe('absolute path of a new folder for its files; false: it works in the same folder')
      .optional(),
    worktree: z.boolean().describe('the folder becomes a git work tree on a branch of its own').optional(),
    options: optionsShape.optional(),
  }),
  options: ['messageId', 'newId', 'workers'],
  answer: z.looseObject({
    session: text,
    forkedFrom,
    cwd: text,
    files: z.boolean().describe('whether it has files of its own: a worker checks them out before its first run'),
    messageId: text.nullable(),
  }),
  done: 'Forked.',
  async run(means, session, options) {
    const { startFork } = await import('../sessions/fork/fork-session.ts');
    const ports = { ...means.options, look: means.look, step: means.newestStep };
    return startFork(ports, session, { ...options, by: means.actor(options) });
  },
});

export const snip = defineOperation<ActOptions & { readonly entries: readonly number[] }, Snipped>({
  name: 'snip',
  target: 'session',
  role: 'steer',
  summary: 'The model no longer sees these entries, by position.',
  takes: ['entries'],
  body: z.strictObject({ entries: z.array(count).readonly() }),
  answer: z.looseObject({ later: z.boolean() }),
  problemOf: async ({ entries }) => (await loadSnip()).snipProblem(entries),
  async run(means, session, { entries, ...options }) {
    const { snipEntries } = await loadSnip();
    return snipEntries(means, session, entries, means.actor(options));
  },
});

export const rewind = defineOperation<RewindOptions, RewindResult>({
  name: 'rewind',
  target: 'session',
  role: 'steer',
  summary: 'Takes a session at rest back to an earlier point: conversation, files, or both.',
  body: z.strictObject({
    to: text
      .describe('a position, RUN.ITERATION or the id of a message: it goes back to before it; absent: the last prompt')
      .optional(),
    conversation: z.boolean().describe('false leaves the conversation as it is').optional(),
    files: z.boolean().describe('false leaves the files as they are').optional(),
    force: z
      .boolean()
      .describe('overwrites what others have changed since the last step, or have open for writing')
      .optional(),
    dryRun: z.boolean().describe('only says what would be done, after a look at the folders as they are').optional(),
  }),
  answer: z.looseObject({
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
  }),
  answerOf: (plan) => ({ ...plan, rewind: undefined }),
  async run(means, session, options) {
    const { rewindSession } = await loadRewind();
    return rewindSession(means, session, { ...options, by: means.actor(options) });
  },
});

export const undoRewind = defineOperation<UndoOptions, UndoResult>({
  name: 'undoRewind',
  target: 'session',
  role: 'steer',
  path: 'rewind/undo',
  summary: 'Undoes the last rewind, also one that was an undo.',
  body: z.strictObject({ force: z.boolean().optional() }),
  answer: z.looseObject({
    rewound,
    turns: count.describe('replies since the rewind, which are left behind in its place'),
  }),
  answerOf: ({ turns, ...record }) => ({ rewound: record, turns }),
  async run(means, session, options) {
    const { undoLastRewind } = await loadRewind();
    return undoLastRewind(means, session, { ...options, by: means.actor(options) });
  },
});
