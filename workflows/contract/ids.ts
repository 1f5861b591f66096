// Branded ids and hashes. A brand costs nothing at run time, and keeps a hash from being passed as
// a session id.
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** SHA-256 of a stored value, 64 lowercase hex digits. */
export type Hash = Branded<'Hash'>;

/** Accepts any value, for anything that a client may send. */
export function isHash(value: unknown): value is Hash {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

/** The workflow id of a session, which is one conversation. */
export type SessionId = Branded<'SessionId'>;

/** The sender chooses it: the same id sent twice is one message (L61). */
export type MessageId = Branded<'MessageId'>;

/**
 * Names a run for tools, hooks, logs and traces (L13): Temporal's id of the session's first
 * workflow run, and the run's number.
 */
export function queryIdOf(chain: string, run: number): string {
  return `${chain}.${run}`;
}

/**
 * Whether a value is a `traceparent` header of W3C's trace context: the span that a run is below
 * (O15). Accepts anything that a client may send.
 */
export function isTraceparent(value: unknown): value is string {
  return (
    typeof value === 'string' && /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(value)
  );
}

/** Returns null without a `traceparent`. */
export function callingSpan(
  traceparent: string | undefined,
): { readonly traceId: string; readonly spanId: string } | null {
  if (traceparent === undefined) return null;
  const [, traceId = '', spanId = ''] = traceparent.split('-');
  return { traceId, spanId };
}

/**
 * Returns a sentence that says what is wrong with a `traceparent`, or undefined; an absent one is
 * fine.
 */
export function traceparentProblem(value: unknown): string | undefined {
  if (value === undefined || isTraceparent(value)) return undefined;
  return `traceparent is ${JSON.stringify(value)?.slice(0, 80)}, and no trace context as W3C writes it: give one such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, or none`;
}

/** Characters of the root's id at the beginning of an agent's: a session's id has at most 100. */
const OF_ROOT = 60;

/** Returns the id of an agent's session. `root`: the session that a person began. */
export function agentSessionId(root: string, name: string): SessionId {
  return `${root.slice(0, OF_ROOT)}.${name}` as SessionId;
}

/**
 * Returns the end of an agent's session id, which is its name for people and for its parent's
 * model.
 */
export function agentName(session: string): string {
  return /\.(agent-[^.]*)$/.exec(session)?.[1] ?? session;
}

/**
 * Perdure's own name for one call: chain, head of the reply, block index (L40). Ids from a model
 * may repeat; these do not.
 */
export type CallKey = Branded<'CallKey'>;

/**
 * Names the call at block `index` of the reply that produced `head`, in the chain of workflow runs
 * that began with `chain`.
 */
export function callKey(chain: string, head: Hash, index: number): CallKey {
  return `${chain}.${head}.${index}` as CallKey;
}

/**
 * Names the subject of a decision: the SHA-256 of an input as JSON and, for a call that was started
 * before, which start it would be (L40, L55). A decision about one start does not count for
 * another.
 */
export function questionHash(inputHash: string, start: number): string {
  return start === 1 ? inputHash : `${inputHash}.${start}`;
}

/** Reverses `questionHash`. The hash is null when it is not one of an input. */
export function questionParts(question: string): { readonly inputHash: Hash | null; readonly start: number } {
  const [inputHash, start = '1'] = question.split('.');
  return { inputHash: isHash(inputHash) ? inputHash : null, start: Number(start) };
}

/** Returns the head in a key made by `callKey`; null for anything else. */
export function keyHead(key: string): Hash | null {
  return (/\.([0-9a-f]{64})\.\d+$/.exec(key)?.[1] ?? null) as Hash | null;
}
