// A session as a file: lines of JSON, first what it is, then its values under their hashes, last how many there were and a checksum of all
// before. Written and read a line at a time; nothing of it is used before all of it was checked.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { codeOf, reasonOf } from '../../activities/text.ts';
import { hashOf } from '../../activities/transcript/store/store.ts';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import type { RunOptions, RunSummary } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import { sessionIdProblem } from '../sessions/info.ts';

export type SessionHeader = {
  readonly perdure: 'session';
  readonly v: 1;
  readonly session: string;
  readonly title: string;
  readonly head: Hash;
  /** Runs that it has had. */
  readonly runs: number;
  readonly last: RunSummary | null;
  /** As its next run would have opened with. */
  readonly options: RunOptions;
};

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

const first = z.object({ perdure: z.literal('session'), v: z.number() });
const hash = z.custom<Hash>(isHash);
const header = z.object({
  session: z.string().refine((id) => sessionIdProblem(id) === undefined),
  title: z.string(),
  head: hash,
  runs: z.number().int().min(0),
  last: z.looseObject({ run: z.number(), terminal: z.looseObject({ reason: z.string() }) }).nullable(),
  options: z.looseObject({ cwd: z.string() }),
});
const value = z.object({ value: hash, base64: z.string() });
const end = z.object({ end: z.number(), sha256: z.string() });

/** Reads all of `path`, and gives each value to `take` once it was checked. Throws ClientProblem with one sentence for what is not whole. */
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
      const ended = end.safeParse(read).data;
      if (isWhole) throw damaged(path, at, 'comes after its end');
      if (ended) isWhole = ended.end === count && ended.sha256 === sum.copy().digest('hex');
      if (ended && !isWhole) throw damaged(path, at, 'does not fit what is before it');
      if (!ended) {
        const { value: name, base64 } = value.safeParse(read).data ?? {};
        const bytes = Buffer.from(base64 ?? '', 'base64');
        if (name === undefined || hashOf(bytes) !== name) throw damaged(path, at, 'is no whole value');
        count += 1;
        await take({ hash: name, bytes });
      }
    }
    sum.update(`${line}\n`);
  }
  if (!found) throw foreign(path);
  if (!isWhole)
    throw new ClientProblem('refused', `${path} ends after line ${at}, before its end: export the session again`);
  return found;
}

async function* linesOf(path: string): AsyncIterable<string> {
  const file = createReadStream(path);
  try {
    for await (const line of createInterface({ input: file, crlfDelay: 0 })) yield line;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    throw new ClientProblem('refused', `${path} cannot be read: ${reasonOf(error)}`, { cause: error });
  } finally {
    file.destroy();
  }
}

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
  if (!known) throw foreign(path);
  if (known.v !== 1) {
    const what = `${path} was written by a newer Perdure (version ${known.v}, this one reads 1)`;
    throw new ClientProblem('refused', `${what}: update this one`);
  }
  const found = header.safeParse(read).data;
  if (!found) throw damaged(path, 1, 'does not say which session it is');
  return { perdure: 'session', v: 1, ...found } as SessionHeader;
}

function foreign(path: string): ClientProblem {
  return new ClientProblem('refused', `${path} is no exported session: \`perdure export ID\` writes one`);
}

function damaged(path: string, line: number, how: string): ClientProblem {
  return new ClientProblem('refused', `${path} is damaged: line ${line} ${how}; export the session again`);
}
