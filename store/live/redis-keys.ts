// Where the live channel lies in a Redis: a stream for each attempt, and one for each session that
// lists its attempts in the order in which they began. All keys of a session are in one slot of a
// cluster, and all expire.
import { createHash } from 'node:crypto';
import type { LiveHeader } from './events.ts';

/** Seconds after the last word of a session: then nothing of it is left. */
export const KEPT_S = 24 * 3_600;
/** Attempts of a session that are listed. */
export const MOST_LISTED = 5_000;

/**
 * `nonce`: an attempt's number comes again after a reset of its workflow, and what the first one
 * said is void.
 */
export type StreamName = { readonly step: number; readonly attempt: number; readonly nonce: string };

/**
 * A header takes the place of the first line of a file: it is there also when the beginning of its
 * stream is not any more.
 */
export type Listed = StreamName & { readonly header: LiveHeader };

export type SessionKeys = {
  /** Also the name of the channel on which it is told what has grown. */
  readonly list: string;
  stream(name: StreamName): string;
};

/** `scope`: the place of the store, for two stores may have sessions of one name. */
export function keysOf(scope: string): (session: string) => SessionKeys {
  const of = createHash('sha256').update(scope.replace(/\/$/, '')).digest('hex').slice(0, 12);
  return (session) => {
    const list = `perdure:live:${of}:{${session}}`;
    return { list, stream: (name) => `${list}:${streamName(name)}` };
  };
}

export function streamName({ step, attempt, nonce }: StreamName): string {
  return `${step}.${attempt}.${nonce}`;
}

export function listedFields({ nonce, header }: Listed): readonly string[] {
  return ['nonce', nonce, 'header', JSON.stringify(header)];
}

/** Null for what nobody of us has written. */
export function listedIn(fields: readonly string[]): Listed | null {
  const [, nonce = '', , text = ''] = fields;
  try {
    const header = JSON.parse(text) as LiveHeader;
    const { step, attempt } = header;
    return Number.isSafeInteger(step) && Number.isSafeInteger(attempt) ? { step, attempt, nonce, header } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Whole lines of an attempt; `at`: the byte at which they begin. */
export type Chunk = { readonly at: number; readonly text: string };

export const chunkFields = ({ at, text }: Chunk): readonly string[] => ['at', String(at), 'lines', text];

export function chunkIn(fields: readonly string[]): Chunk {
  const [, at = '', , text = ''] = fields;
  return { at: Number(at), text };
}
