// Values that are stored as JSON and say which version they have. What a newer Perdure wrote is no damage: in a deploy that goes
// from worker to worker it is left to those that are newer already.
import { StoreError } from './transcript/store/store.ts';

/** Undefined when it is no JSON. */
export function parseStored(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What shows that a newer Perdure wrote it; undefined for the version that is read here, and for what is none at all. */
export function newerVersion(value: unknown): string | undefined {
  const v = (value as { readonly v?: unknown } | null | undefined)?.v;
  return Number.isSafeInteger(v) && (v as number) > 1 ? `version ${String(v)}, this one reads 1` : undefined;
}

/** `sign`: what shows it. */
export function newerValue(what: string, sign: string): StoreError {
  return new StoreError(
    'newer',
    `${what} was written by a newer Perdure (${sign}): update this one, or leave it to workers of that version`,
  );
}

// How deep JSON is nested, without recursion: what is asked about may be built to overflow a stack.

export function deeperThan(value: unknown, limit: number): boolean {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > limit) return true;
    for (const child of Object.values(next.value)) open.push({ value: child, depth: next.depth + 1 });
  }
  return false;
}
