// What can be seen of a session from outside, with no worker alive: its memo, and its phase as a search attribute. Written once an
// activation has settled, and only when it differs: a hundred calls that begin to wait together change it once.
import { CancellationScope, condition, upsertMemo, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { MEMO_KEY, PHASE_ATTRIBUTE, type SessionMemo } from './contract/session.ts';

const phaseKey = defineSearchAttributeKey(PHASE_ATTRIBUTE, SearchAttributeType.KEYWORD);

export class Told {
  private readonly memo: () => SessionMemo;
  private readonly visibility: boolean;
  /** Changes so far, and how many of them were looked at. */
  private changes = 0;
  private seen = 0;
  /** As it was written last. */
  private written = '';
  private phase: SessionMemo['phase'] | null = null;

  /** `visibility`: the server has the search attribute. */
  constructor(memo: () => SessionMemo, visibility: boolean) {
    this.memo = memo;
    this.visibility = visibility;
    void CancellationScope.nonCancellable(() => this.tellChanges());
  }

  change(): void {
    this.changes += 1;
  }

  /** Before the workflow ends: nothing settles after its last command. */
  tell(): void {
    this.seen = this.changes;
    const memo = this.memo();
    const now = JSON.stringify(memo);
    if (now === this.written) return;
    this.written = now;
    upsertMemo({ [MEMO_KEY]: memo });
    if (memo.phase !== this.phase && this.visibility) upsertSearchAttributes([{ key: phaseKey, value: memo.phase }]);
    this.phase = memo.phase;
  }

  /** What changed wakes others, who change more: it is told when a whole round of conditions has changed nothing. */
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

/** A condition is looked at when it is made, and from then on whenever nothing else of the activation is left to run. */
function nextRound(): Promise<void> {
  let looks = 0;
  return condition(() => (looks += 1) > 1);
}
