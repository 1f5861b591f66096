// The face of a session from outside, with no worker alive: its memo and its search attributes.
// Written once an activation has settled, and only when it differs: a hundred calls that begin to
// wait together change it once.
import {
  CancellationScope,
  condition,
  patched,
  setCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { MEMO_KEY, type SessionInput, type SessionMemo } from '../contract/session.ts';
import { ATTRIBUTES, type AttributeKey, type AttributeValues, attributeValues } from '../contract/visibility.ts';

/**
 * Sessions of 0.1.0 told their phase alone: what is scheduled when must stay as it was in histories
 * of theirs.
 */
const WITH_FACTS = 'perdure-facts';

export class Told {
  /** The memo has the session's numbers, and the attributes are all of them (O1). */
  readonly withFacts = patched(WITH_FACTS);
  private readonly memo: (withFacts: boolean) => SessionMemo;
  private readonly input: SessionInput;
  /** Changes so far, and how many of them were looked at. */
  private changes = 0;
  private seen = 0;
  /** As it was written last. */
  private written = '';
  private values: Partial<AttributeValues> = {};

  constructor(memo: (withFacts: boolean) => SessionMemo, input: SessionInput) {
    this.memo = memo;
    this.input = input;
    void CancellationScope.nonCancellable(() => this.tellChanges());
  }

  change(): void {
    this.changes += 1;
  }

  /** Before the workflow ends: nothing settles after its last command. */
  tell(): void {
    this.seen = this.changes;
    const memo = this.memo(this.withFacts);
    setCurrentDetails(detailsOf(memo));
    const now = JSON.stringify(memo);
    if (now === this.written) return;
    this.written = now;
    upsertMemo({ [MEMO_KEY]: memo });
    if (this.input.visibility) this.tellAttributes(memo);
  }

  /** Those alone that have changed since they were told. */
  private tellAttributes(memo: SessionMemo): void {
    const all = attributeValues(memo, this.input.sealed === true);
    const values = this.withFacts && this.input.attributes ? all : { phase: all.phase };
    const pairs = attributePairs(values, this.values);
    if (pairs.length > 0) upsertSearchAttributes([...pairs]);
    this.values = values;
  }

  /**
   * One change wakes others, who change more: it is told when a whole round of conditions has
   * changed nothing.
   */
  private async tellChanges(): Promise<never> {
    for (;;) {
      await condition(() => this.changes > this.seen);
      while (this.changes > this.seen) {
        this.seen = this.changes;
        await nextRound();
      }
      await nextRound();
      if (this.changes === this.seen) this.tell();
    }
  }
}

/**
 * A condition is looked at when it is made, and from then on whenever nothing else of the
 * activation is left to run.
 */
function nextRound(): Promise<void> {
  let looks = 0;
  return condition(() => (looks += 1) > 1);
}

/** Those of `values` that differ from `told`. */
function attributePairs(
  values: Partial<AttributeValues>,
  told: Partial<AttributeValues>,
): readonly SearchAttributeUpdatePair[] {
  const before = new Map(Object.entries(told));
  return Object.entries(values)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before.get(key)))
    .map(([key, value]) => {
      const { name, type } = ATTRIBUTES[key as AttributeKey];
      return { key: defineSearchAttributeKey(name, type), value } as SearchAttributeUpdatePair;
    });
}

// The current details of a session in Temporal's own UI (O2): Markdown for whoever looks there. A
// worker answers it when it is asked, so that it leaves no event.

/**
 * Nothing of a conversation but the session's title; what is not ours stands in code, where
 * Markdown means nothing.
 */
function detailsOf({ title, phase, cwd, runs, last, facts, approvals = [] }: SessionMemo): string {
  const { model, turns = 0, tokens = 0, cents = null } = facts ?? {};
  const cost = cents === null ? '' : ` · $${(cents / 100).toFixed(2)}`;
  const lines = [
    `**${phase.replaceAll('_', ' ')}** · ${code(title)}`,
    `${runs} runs · ${turns} turns · ${tokens} tokens${cost}${model === undefined ? '' : ` · ${code(model)}`}`,
    `in ${code(cwd)}`,
    ...approvals.map(
      ({ call, tool, question }) =>
        `- waits for ${question ? 'an answer' : 'a decision'}: ${code(tool)}, call ${code(call)}`,
    ),
    ...(last === null ? [] : [`run ${last.run} ended: ${last.terminal.reason}`]),
  ];
  return lines.join('\n\n');
}

/**
 * A fence is longer than any run of backticks in it. Options may come from any Temporal client: a
 * folder may be no text.
 */
function code(text: unknown): string {
  const line = String(text).replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}
