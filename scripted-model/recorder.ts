// Remembers the requests to the model: the request, the reply that answered it, and its end. Never
// a key.
import type { IncomingHttpHeaders } from 'node:http';
import type { ResponseEnd } from './answer/playback.ts';

export type RequestRetention = 'all' | 'last' | 'none';

/** The record is filled in as the request goes on. */
export type RecordedRequest = {
  /** 1 for the first request to /v1/messages. */
  readonly n: number;
  /** Milliseconds since the epoch, when its headers had arrived. */
  readonly at: number;
  /** The headers without keys, which are only said to be set. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as sent; null until it is read, and when it is not JSON. */
  body: unknown;
  /** The status of the response; null until it has one. */
  status: number | null;
  /**
   * Position of the reply in the script, from 0; null when a function gave it, or when no reply was
   * given.
   */
  step: number | null;
  ended: ResponseEnd | 'open';
};

export type Recorder = {
  readonly requests: readonly RecordedRequest[];
  begin(headers: IncomingHttpHeaders): RecordedRequest;
  /**
   * Resolves with the `n`-th request (from 1) as soon as its body has been read. Rejects when it
   * came and was not kept.
   */
  waitFor(n: number): Promise<RecordedRequest>;
  /** Call this when the body has been read. */
  arrived(record: RecordedRequest): void;
};

const SECRET = new Set(['x-api-key', 'authorization']);

export function createRecorder(keep: RequestRetention): Recorder {
  const requests: RecordedRequest[] = [];
  const waiting = new Map<number, ((record: RecordedRequest) => void)[]>();
  const known = new Map<number, RecordedRequest>();
  let count = 0;
  let latest = 0;
  return {
    requests,
    begin(headers) {
      count += 1;
      const record: RecordedRequest = {
        n: count,
        at: Date.now(),
        headers: hideKeys(headers),
        body: null,
        status: null,
        step: null,
        ended: 'open',
      };
      if (keep === 'last') requests.length = 0;
      if (keep !== 'none') requests.push(record);
      return record;
    },
    arrived(record) {
      if (keep === 'last') known.clear();
      if (keep !== 'none') known.set(record.n, record);
      latest = Math.max(latest, record.n);
      for (const resolve of waiting.get(record.n) ?? []) resolve(record);
      waiting.delete(record.n);
    },
    waitFor(n) {
      const record = known.get(n);
      if (record !== undefined) return Promise.resolve(record);
      if (n <= latest && keep !== 'all')
        return Promise.reject(new Error(`request ${n} came, and keep: '${keep}' dropped it`));
      return new Promise((resolve) => {
        waiting.set(n, [...(waiting.get(n) ?? []), resolve]);
      });
    },
  };
}

function hideKeys(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    return [[name, SECRET.has(name) ? '(set)' : String(value)]];
  });
  return Object.fromEntries(entries);
}
