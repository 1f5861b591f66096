// Where the live channel lies in a Redis: a stream for each attempt, and one for each session that
// lists its attempts in the order in which they began. All keys of a session are in one slot of a
// cluster, and all expire.
import { createHash } from 'node:crypto';
import type { LiveHeader } from './events.ts';

/** Seconds after the last word of a session, when all its keys expire. */
export const KEPT_S = 24 * 3_600;
/** The most attempts of a session that are listed. */
export const MOST_LISTED = 5_000;

/**
 * `nonce` tells apart attempts of one number: after a reset of its workflow the number comes again,
 * and the words of the first one are void.
 */
export type StreamName = { readonly step: number; readonly attempt: number; readonly nonce: string };

/**
 * The header takes the place of the first line of a file, so it survives trimming of the stream.
 */
export type ListedAttempt = StreamName & { readonly header: LiveHeader };

export type SessionKeys = {
  /**
   * The key of the list, and the name of the channel on which streams that have grown are named.
   */
  readonly list: string;
  stream(name: StreamName): string;
};

/** `scope` is the place of the store, because two stores may have sessions of one name. */
export function createSessionKeys(scope: string): (session: string) => SessionKeys {
  const scopeHash = createHash('sha256').update(scope.replace(/\/$/, '')).digest('hex').slice(0, 12);
  return (session) => {
    const list = `perdure:live:${scopeHash}:{${session}}`;
    return { list, stream: (name) => `${list}:${formatStreamName(name)}` };
  };
}

export function formatStreamName({ step, attempt, nonce }: StreamName): string {
  return `${step}.${attempt}.${nonce}`;
}

export function encodeListed({ nonce, header }: ListedAttempt): readonly string[] {
  return ['nonce', nonce, 'header', JSON.stringify(header)];
}

/** Returns null for an entry that Perdure did not write. */
export function decodeListed(fields: readonly string[]): ListedAttempt | null {
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

/** Whole lines of an attempt; `at` is the byte at which they begin. */
export type Chunk = { readonly at: number; readonly text: string };

export const encodeChunk = ({ at, text }: Chunk): readonly string[] => ['at', String(at), 'lines', text];

export function decodeChunk(fields: readonly string[]): Chunk {
  const [, at = '', , text = ''] = fields;
  return { at: Number(at), text };
}
