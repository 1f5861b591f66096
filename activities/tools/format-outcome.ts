// The last step of L33 before recording: what a call came to, as the model will read it, bounded and well-formed (L6).
import { toUSVString } from 'node:util';
import type { CallKey } from '../../workflows/contract/ids.ts';
import type { Outcome } from '../transcript/log/entries.ts';
import { estimateTokens } from '../../workflows/contract/tokens.ts';
import type { Store } from '../transcript/store/store.ts';
import type { RecordedOutcome } from './journal.ts';
import { preview, PREVIEW_LIMIT, RESULT_LIMIT, resultName } from './preview.ts';
import type { Verdict } from './verdict.ts';

/** Tokens: below, an outcome is left out of the estimate of what is newer than the last usage (L10). */
const WORTH_SAYING = 100;

export type CallIdentity = {
  readonly index: number;
  readonly toolUseId: string;
  readonly name: string;
  readonly key: CallKey | null;
};

/** `duration` in milliseconds. Throws StoreError. */
export async function formatOutcome(
  store: Store,
  call: CallIdentity,
  verdict: Verdict,
  duration: number,
): Promise<RecordedOutcome> {
  const text = verdict.content.trim() === '' ? '(no output)' : toUSVString(verdict.content);
  const { approved } = verdict;
  const outcome: Outcome = {
    index: call.index,
    toolUseId: call.toolUseId,
    isError: verdict.isError,
    ...(await bounded(store, text)),
    ...(verdict.seen === undefined ? {} : { seen: verdict.seen }),
    log: {
      key: call.key,
      name: call.name,
      decision: verdict.decision,
      ...(approved === undefined ? {} : { approved }),
      duration: Math.round(duration),
      outcome: verdict.outcome,
    },
  };
  const tokens = estimateTokens(outcome.content.length);
  return { outcome, facts: tokens < WORTH_SAYING ? verdict.facts : { ...verdict.facts, tokens } };
}

async function bounded(store: Store, text: string): Promise<Pick<Outcome, 'content' | 'whole'>> {
  if (text.length <= RESULT_LIMIT) return { content: text };
  const bytes = Buffer.from(text);
  const hash = await store.put(bytes);
  return { content: preview(text, PREVIEW_LIMIT, resultName(hash)), whole: { hash, bytes: bytes.length } };
}
