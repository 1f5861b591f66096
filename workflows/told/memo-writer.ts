// Writes the memo and the search attributes of a session, which show it when no worker is alive. It
// writes once an activation has settled, and only differences: a hundred calls that begin to wait
// together cost one write.
import {
  CancellationScope,
  condition,
  patched,
  setCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { nextRound } from '../delegated/pauses.ts';
import { MEMO_KEY, type SessionInput, type SessionMemo } from '../contract/session.ts';
import { ATTRIBUTES, type AttributeKey, type AttributeValues, attributeValues } from '../contract/visibility.ts';

/** Sessions of 0.1.0 wrote their phase alone, and their histories must replay. */
const WITH_FACTS = 'perdure-facts';

/** `onWrite` is called when the session has changed, before its memo is made. */
type MemoSource = { memo(withFacts: boolean): SessionMemo; onWrite(): void };

export class MemoWriter {
  /** Whether the memo has the session's numbers, and all attributes are written (O1). */
  readonly withFacts = patched(WITH_FACTS);
  private readonly source: MemoSource;
  private readonly input: SessionInput;
  /** `changes`: so far; `seen`: how many of them were looked at. */
  private changes = 0;
  private seen = 0;
  /** The memo as it was written last. */
  private written = '';
  private values: Partial<AttributeValues> = {};

  constructor(input: SessionInput, source: MemoSource) {
    this.source = source;
    this.input = input;
    void CancellationScope.nonCancellable(() => this.writeChanges());
  }

  markChanged(): void {
    this.changes += 1;
  }

  /**
   * Writes what differs. Call it before the workflow ends: nothing settles after the last command.
   */
  write(): void {
    this.seen = this.changes;
    this.source.onWrite();
    const memo = this.source.memo(this.withFacts);
    setCurrentDetails(renderDetails(memo));
    const now = JSON.stringify(memo);
    if (now === this.written) return;
    this.written = now;
    upsertMemo({ [MEMO_KEY]: memo });
    if (this.input.visibility) this.writeAttributes(memo);
  }

  /** Writes the attributes that have changed since they were written. */
  private writeAttributes(memo: SessionMemo): void {
    const all = attributeValues(memo, this.input.sealed === true);
    const values = this.withFacts && this.input.attributes ? all : { phase: all.phase };
    const pairs = attributePairs(values, this.values);
    if (pairs.length > 0) upsertSearchAttributes([...pairs]);
    this.values = values;
  }

  /**
   * Waits until a whole round of conditions has changed nothing: one change wakes others, which may
   * change more.
   */
  private async writeChanges(): Promise<never> {
    for (;;) {
      await condition(() => this.changes > this.seen);
      while (this.changes > this.seen) {
        this.seen = this.changes;
        await nextRound();
      }
      await nextRound();
      if (this.changes === this.seen) this.write();
    }
  }
}

/** Returns the attributes of `values` that differ from the written ones. */
function attributePairs(
  values: Partial<AttributeValues>,
  written: Partial<AttributeValues>,
): readonly SearchAttributeUpdatePair[] {
  const before = new Map(Object.entries(written));
  return Object.entries(values)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before.get(key)))
    .map(([key, value]) => {
      const { name, type } = ATTRIBUTES[key as AttributeKey];
      return { key: defineSearchAttributeKey(name, type), value } as SearchAttributeUpdatePair;
    });
}

/**
 * Renders the current details of a session in Temporal's own UI (O2). A worker answers them when
 * asked, so they leave no event. They tell nothing of a conversation but its title, and put what is
 * not ours in code, where Markdown means nothing.
 */
function renderDetails({ title, phase, cwd, runs, last, facts, approvals = [] }: SessionMemo): string {
  const { model, turns = 0, tokens = 0, cents = null } = facts ?? {};
  const cost = cents === null ? '' : ` · $${(cents / 100).toFixed(2)}`;
  const lines = [
    `**${phase.replaceAll('_', ' ')}** · ${inCode(title)}`,
    `${runs} runs · ${turns} turns · ${tokens} tokens${cost}${model === undefined ? '' : ` · ${inCode(model)}`}`,
    `in ${inCode(cwd)}`,
    ...approvals.map(
      ({ call, tool, question }) =>
        `- waits for ${question ? 'an answer' : 'a decision'}: ${inCode(tool)}, call ${inCode(call)}`,
    ),
    ...(last === null ? [] : [`run ${last.run} ended: ${last.terminal.reason}`]),
  ];
  return lines.join('\n\n');
}

/**
 * Puts a text in code, with a fence longer than any run of backticks in it. Options may come from
 * any Temporal client, so a folder may not be a text.
 */
function inCode(text: unknown): string {
  const line = String(text).replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}
