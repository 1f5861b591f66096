// The last step of L33 before recording: turns a verdict into the outcome that the model reads,
// bounded and well-formed (L6).
import { createHash } from 'node:crypto';
import { toUSVString } from 'node:util';
import type { Outcome } from '../../store/log/entries.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { estimateTokens } from '../../workflows/contract/loop.ts';
import type { Store } from '../../store/values/store.ts';
import type { RecordedOutcome } from './journal.ts';
import { RESULT_LIMIT, PREVIEW_LIMIT, resultName, previewText } from '../../store/transcript/preview.ts';
import type { StoredMedium } from '../../workflows/contract/people.ts';
import { examineMedia, fitsMessage, TOO_MANY_MEDIA } from '../../store/transcript/media.ts';
import { outcomeCharacters } from '../../store/view/microcompact.ts';
import type { CallBlock } from './call-port.ts';
import type { CallVerdict } from './verdict.ts';
import { present } from '../../workflows/contract/present.ts';

/**
 * Tokens. A smaller outcome is left out of the estimate of what is newer than the last usage (L10).
 */
const WORTH_SAYING = 100;

type CallIdentity = Pick<CallBlock, 'index' | 'id' | 'name'> & { readonly key: CallKey | null };

/** Formats and stores an outcome. `duration` is in milliseconds. Throws StoreError. */
export async function formatOutcome(
  store: Store,
  call: CallIdentity,
  verdict: CallVerdict,
  duration: number,
): Promise<RecordedOutcome> {
  const { notes, media } = await keepMedia(store, verdict);
  const joined = [verdict.content, ...notes].filter((part) => part.trim() !== '').join('\n');
  const text = joined === '' ? '(no output)' : toUSVString(joined);
  const { approved, ran, deniedBy } = verdict;
  const outcome: Outcome = {
    index: call.index,
    toolUseId: call.id,
    isError: verdict.isError,
    ...(await boundText(store, text)),
    ...(media.length === 0 ? {} : { media }),
    ...present({ seen: verdict.seen, found: verdict.found }),
    log: {
      key: call.key,
      name: call.name,
      decision: verdict.decision,
      ...present({ approved, ran, deniedBy }),
      duration: Math.round(duration),
      outcome: verdict.outcome,
    },
  };
  const tokens = estimateTokens(outcomeCharacters(outcome));
  const result = hasResult(verdict) ? hashResult(outcome) : undefined;
  return { outcome, facts: { ...verdict.facts, ...(tokens < WORTH_SAYING ? {} : { tokens }), ...present({ result }) } };
}

/** A call that was stopped, or whose end is unknown, gave no result. */
const hasResult = ({ outcome }: CallVerdict): boolean => outcome !== 'cancelled' && outcome !== 'unknown';

/** Hashes what the model reads. The hash is short, as that of a call is, for the same reason. */
function hashResult({ content, media = [] }: Outcome): string {
  const json = JSON.stringify([content, media.map(({ hash }) => hash)]);
  return createHash('sha256').update(json).digest('base64url').slice(0, 6);
}

async function boundText(store: Store, text: string): Promise<Pick<Outcome, 'content' | 'whole'>> {
  if (text.length <= RESULT_LIMIT) return { content: text };
  const bytes = Buffer.from(text);
  const hash = await store.put(bytes);
  return { content: previewText(text, PREVIEW_LIMIT, resultName(hash)), whole: { hash, bytes: bytes.length } };
}

const NO_BYTES = Buffer.alloc(0);
const UNKNOWN_MEDIUM = {
  kind: 'refused',
  problem: 'is neither an image that the model takes (png, jpeg, gif, webp) nor a PDF',
} as const;

type KeptMedia = { readonly notes: readonly string[]; readonly media: readonly StoredMedium[] };

/**
 * Stores the media that the API takes and writes a line on each (L85); an error carries no media. A
 * tool's values need not be what their type says.
 */
async function keepMedia(store: Store, { media: items, isError }: CallVerdict): Promise<KeptMedia> {
  if (!Array.isArray(items)) return { notes: [], media: [] };
  const notes: string[] = [];
  const media: StoredMedium[] = [];
  for (const each of items as readonly unknown[]) {
    const bytes = each instanceof Uint8Array ? Buffer.from(each.buffer, each.byteOffset, each.byteLength) : NO_BYTES;
    const found = examineMedia(bytes) ?? UNKNOWN_MEDIUM;
    if (found.kind === 'refused') {
      notes.push(`[something that is not shown: it ${found.problem}]`);
      continue;
    }
    const { mediaType, characters, note } = found;
    const medium = { bytes: bytes.length, mediaType, characters };
    if (isError) notes.push(`${note} (not shown: the call failed)`);
    else if (!fitsMessage([...media, medium])) notes.push(`${note} (not shown: ${TOO_MANY_MEDIA})`);
    else {
      media.push({ hash: await store.put(bytes), ...medium });
      notes.push(note);
    }
  }
  return { notes, media };
}
