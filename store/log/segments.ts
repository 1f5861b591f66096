// Encodes and decodes segments. The order of fields is the order they were given in, never sorted:
// a tool input goes back to the model as it came, or the prompt cache is lost. Equal inputs in
// equal order give equal hashes.
import { type Hash, isHash, type SessionId } from '../../workflows/contract/ids.ts';
import { type Behind, type Entry, NEAR, PAGE, type Segment } from './entries.ts';
import { isSnapshotId } from '../snapshots/shadow.ts';
import { findNewerVersion, newerValue, parseStored, StoreError } from '../values/store.ts';
import type { Notice } from '../../workflows/contract/activities.ts';

/**
 * Where a segment was looked for: `entry` is its last entry's position, or null for the head, which
 * nothing points to yet.
 */
export type SegmentPlace = { readonly session: SessionId; readonly entry: number | null };

export function formatSegmentPlace({ session, entry }: SegmentPlace): string {
  return entry === null ? `session ${session}, head` : `session ${session}, entry ${entry}`;
}

export function encodeSegment(segment: Segment): Uint8Array {
  const { v, session, parent, n, first, page, near, behind, entries } = segment;
  const links = { ...(page && { page }), ...(near && { near }), ...(behind && { behind }) };
  return Buffer.from(JSON.stringify({ v, session, parent, n, first, ...links, entries }));
}

/**
 * Throws StoreError `newer` for a segment of a later version, and `corrupt` for a value that is not
 * a segment. Of the contents of entries only ids of snapshots are checked.
 */
export function decodeSegment(bytes: Uint8Array, hash: Hash, where: SegmentPlace): Segment {
  const value = parseStored(bytes);
  const what = `${formatSegmentPlace(where)}: stored value ${hash}`;
  const newer = findNewerSign(value);
  if (newer !== undefined) throw newerValue(what, newer);
  const problem = segmentProblem(value);
  if (problem !== undefined) throw new StoreError('corrupt', `${what} is no segment of a transcript: ${problem}`);
  return value as Segment;
}

function findNewerSign(value: unknown): string | undefined {
  const { entries, behind } = (value ?? {}) as Partial<Record<keyof Segment, unknown>>;
  const carried = isBehind(behind) ? behind.entries.map(([, entry]) => entry) : [];
  return (
    findNewerVersion(value) ?? findUnknownKind([...(Array.isArray(entries) ? (entries as unknown[]) : []), ...carried])
  );
}

function segmentProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'it is not a JSON object';
  const { v, session, parent, n, first, page, near, behind, entries } = value as Partial<
    Record<keyof Segment, unknown>
  >;
  if (v !== 1) return `its version is ${JSON.stringify(v) ?? 'missing'}, this Perdure reads 1`;
  if (typeof session !== 'string') return 'it names no session';
  if (!isCount(n) || !isCount(first)) return 'its place is not given';
  if (n === 0 ? parent !== null || first !== 0 : !isHash(parent)) return 'its parent is not given';
  if (hasPage(n) ? !Array.isArray(page) || page.length !== PAGE || !page.every(isHash) : page !== undefined) {
    return 'its page of earlier hashes is not whole';
  }
  if (near !== undefined && !(Array.isArray(near) && near.length === n % PAGE && near.every(isHash)))
    return 'its list of hashes near it is not whole';
  if (behind !== undefined && !isBehind(behind)) return 'what it keeps of earlier entries is not whole';
  if (!Array.isArray(entries) || entries.length === 0) return 'it has no entries';
  if (!entries.every((entry) => kindOf(entry) !== undefined)) return 'it has an entry without a kind';
  const carried = isBehind(behind) ? behind.entries.map(([, entry]) => entry) : [];
  return [...(entries as unknown[]), ...carried].every(namesSnapshots)
    ? undefined
    : 'it names a snapshot by what is no id of one';
}

/** Its ids are given to git. */
function namesSnapshots(entry: unknown): boolean {
  if (kindOf(entry) !== 'files') return true;
  const { roots } = entry as { readonly roots?: unknown };
  if (!Array.isArray(roots)) return false;
  return roots.every((root: unknown) => {
    const { id, parent } = (root ?? {}) as { readonly id?: unknown; readonly parent?: unknown };
    return isSnapshotId(id) && (parent === null || isSnapshotId(parent));
  });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isBehind(value: unknown): value is Behind {
  const { from, entries } = (value ?? {}) as Partial<Record<keyof Behind, unknown>>;
  if (!isCount(from) || !Array.isArray(entries)) return false;
  return entries.every(
    (each: unknown) => Array.isArray(each) && isCount(each[0]) && each[0] < from && kindOf(each[1]) !== undefined,
  );
}

export function hasPage(n: number): boolean {
  return n > 0 && n % PAGE === 0;
}

/** Earlier releases wrote no such list, so readers do not count on it. */
export function hasNear(n: number): boolean {
  return n % NEAR === 0 && !hasPage(n) && n > 0;
}

// The kinds of entries and of notices that this version knows. The hash vouches for what is stored,
// so an unknown kind comes from a newer version: leaving it out of a request would change what the
// model is told.
const ENTRY_KINDS: Readonly<Record<Entry['kind'], true>> = {
  run_started: true,
  user: true,
  reply: true,
  outcomes: true,
  boundary: true,
  microcompact: true,
  collapse_staged: true,
  collapse_committed: true,
  snip: true,
  wait: true,
  settled: true,
  budget: true,
  steered: true,
  epoch: true,
  files: true,
  notice: true,
  transition: true,
  run_ended: true,
  session_closed: true,
};

const NOTICE_KINDS: Readonly<Record<Notice['kind'], true>> = {
  interrupted: true,
  continue: true,
  call_cut: true,
  max_turns_reached: true,
  wrap_up: true,
  budget_spent: true,
  error: true,
  model_switched: true,
  stop_hook: true,
  grading: true,
  graded: true,
  token_budget: true,
  structured_output: true,
  call_as_text: true,
  same_results: true,
  hook_context: true,
  files_changed: true,
  attachment: true,
  batch_summary: true,
  about_model: true,
  about_skills: true,
  about_tools: true,
  server_away: true,
  compaction_failed: true,
  repaired: true,
  hook_failed: true,
  workers_silent: true,
  preamble_changed: true,
  system_message: true,
  forked: true,
  host_changed: true,
};

/** Returns the first unknown kind in words, for a sentence; undefined when all are known. */
function findUnknownKind(entries: readonly unknown[]): string | undefined {
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (kind !== undefined && !Object.hasOwn(ENTRY_KINDS, kind)) return `an entry of kind ${JSON.stringify(kind)}`;
    const notice = kind === 'notice' ? kindOf((entry as { readonly notice?: unknown }).notice) : undefined;
    if (notice !== undefined && !Object.hasOwn(NOTICE_KINDS, notice))
      return `a notice of kind ${JSON.stringify(notice)}`;
  }
  return undefined;
}

/** Returns undefined for a value without a kind, which is not an entry of any version. */
function kindOf(value: unknown): string | undefined {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === 'string' ? kind : undefined;
}
