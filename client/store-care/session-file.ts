// Writes and reads a session as a file of JSON lines: first a header, then its values under their
// hashes, last their number and a checksum of all before. Both work a line at a time; a reader
// checks the whole file before it uses any of it.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { codeOf, reasonOf } from '../../system/text.ts';
import { isSnapshotId } from '../../store/snapshots/shadow.ts';
import { hashOf } from '../../store/values/store.ts';
import type { ForkedFrom } from '../../workflows/contract/fork.ts';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import type { RunOptions, RunSummary } from '../../workflows/contract/session.ts';
import { ends } from '../../store/live/event-parts.ts';
import { ClientProblem } from '../problem.ts';
import type { CarriedSnapshots } from './carry-snapshots.ts';
import { sessionIdProblem } from '../sessions/ids.ts';

export type SessionHeader = {
  readonly perdure: 'session';
  readonly v: 1;
  readonly session: string;
  readonly title: string;
  readonly head: Hash;
  /** Number of runs that it has had. */
  readonly runs: number;
  readonly last: RunSummary | null;
  /** Options that its next run would have opened with. */
  readonly options: RunOptions;
  /** The origin of a fork (T10). */
  readonly forkedFrom?: ForkedFrom;
  /** Snapshots of its files, where they are in the file. */
  readonly snapshots?: CarriedSnapshots;
};

const NEWLINE = 0x0a;

type Value = { readonly hash: Hash; readonly bytes: Uint8Array };

export async function* writeLines(header: SessionHeader, values: AsyncIterable<Value>): AsyncIterable<string> {
  const sum = createHash('sha256');
  let count = 0;
  const line = (value: object): string => {
    const text = `${JSON.stringify(value)}\n`;
    sum.update(text);
    return text;
  };
  yield line(header);
  for await (const { hash, bytes } of values) {
    count += 1;
    yield line({ value: hash, base64: Buffer.from(bytes).toString('base64') });
  }
  yield `${JSON.stringify({ end: count, sha256: sum.digest('hex') })}\n`;
}

/** Longest title in characters; titles made here have 120. */
const LONGEST_TITLE = 1_000;
/** Most bytes of the first line, which has the options and the end of the last run. */
const LONGEST_FIRST = 4 * 1024 * 1024;
/** Most bytes of the other lines, which have a value each. */
const LONGEST_LINE = 256 * 1024 * 1024;

const first = z.object({ perdure: z.literal('session'), v: z.number() });
const hash = z.custom<Hash>(isHash);
const header = z.object({
  session: z.string().refine((id) => sessionIdProblem(id) === undefined),
  title: z.string().max(LONGEST_TITLE),
  head: hash,
  runs: z.number().int().min(0),
  last: z
    .looseObject({
      run: z.number().int(),
      terminal: z.looseObject({ reason: z.enum(ends) }),
      turns: z.number(),
      iterations: z.number(),
      head: hash.nullable(),
      messages: z.array(z.string()),
    })
    .nullable(),
  options: z.looseObject({ cwd: z.string() }),
  forkedFrom: z.object({ session: z.string(), position: z.number() }).optional(),
  snapshots: z
    .object({
      pack: hash,
      refs: z.record(z.string().regex(/^[0-9a-f]{16}$/), z.custom<string>(isSnapshotId)),
    })
    .optional(),
});
const value = z.object({ value: hash, base64: z.string() });
const end = z.object({ end: z.number(), sha256: z.string() });

/**
 * Reads all of `path` and gives each checked value to `take`. Throws ClientProblem with one
 * sentence for an incomplete file.
 */
export async function readSessionFile(path: string, take: (value: Value) => Promise<void>): Promise<SessionHeader> {
  const sum = createHash('sha256');
  let found: SessionHeader | undefined;
  let [count, at] = [0, 0];
  let isWhole = false;
  for await (const line of linesOf(path)) {
    at += 1;
    const read = parse(line);
    if (!found) found = headerOf(path, read);
    else {
      const ending = end.safeParse(read).data;
      if (isWhole) throw damageProblem(path, at, 'comes after its end');
      if (ending) isWhole = ending.end === count && ending.sha256 === sum.copy().digest('hex');
      if (ending && !isWhole) throw damageProblem(path, at, 'does not fit what is before it');
      if (!ending) {
        const { value: name, base64 } = value.safeParse(read).data ?? {};
        const bytes = Buffer.from(base64 ?? '', 'base64');
        if (name === undefined || hashOf(bytes) !== name) throw damageProblem(path, at, 'is no whole value');
        count += 1;
        await take({ hash: name, bytes });
      }
    }
    sum.update(`${line}\n`);
  }
  if (!found) throw foreignFileProblem(path);
  if (!isWhole)
    throw new ClientProblem('refused', `${path} ends after line ${at}, before its end: export the session again`);
  return found;
}

async function* linesOf(path: string): AsyncIterable<string> {
  const file = createReadStream(path);
  let [parts, size, at]: [Buffer[], number, number] = [[], 0, 1];
  try {
    for await (const chunk of file as AsyncIterable<Buffer>) {
      let from = 0;
      for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
        yield textOf([...parts, chunk.subarray(from, to)]);
        [parts, size, at, from] = [[], 0, at + 1, to + 1];
      }
      parts.push(chunk.subarray(from));
      size += chunk.length - from;
      const most = at === 1 ? LONGEST_FIRST : LONGEST_LINE;
      if (size > most) throw damageProblem(path, at, `has over ${most / 1024 / 1024} MB`);
    }
    if (size > 0) yield textOf(parts);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    throw new ClientProblem('refused', `${path} cannot be read: ${reasonOf(error)}`, { cause: error });
  } finally {
    file.destroy();
  }
}

const textOf = (parts: readonly Buffer[]): string => Buffer.concat(parts).toString().replace(/\r$/, '');

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The caller says where.
    return undefined;
  }
}

function headerOf(path: string, read: unknown): SessionHeader {
  const known = first.safeParse(read).data;
  if (!known) throw foreignFileProblem(path);
  if (known.v !== 1) {
    const what = `${path} was written by a newer Perdure (version ${known.v}, this one reads 1)`;
    throw new ClientProblem('refused', `${what}: update this one`);
  }
  const { data: found, error } = header.safeParse(read);
  if (!found)
    throw damageProblem(
      path,
      1,
      `does not say which session it is: its ${error.issues[0]?.path.join('.')} will not do`,
    );
  const problem = optionsProblem(found.options);
  if (problem !== undefined) throw damageProblem(path, 1, `has options that will not do (${problem})`);
  return { perdure: 'session', v: 1, ...found } as SessionHeader;
}

function foreignFileProblem(path: string): ClientProblem {
  return new ClientProblem('refused', `${path} is no exported session: \`perdure export ID\` writes one`);
}

function damageProblem(path: string, line: number, how: string): ClientProblem {
  return new ClientProblem('refused', `${path} is damaged: line ${line} ${how}; export the session again`);
}
