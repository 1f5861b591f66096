// What a transcript tells of one session: its calls and on which host each may have run, what was
// captured where, and what each move to another host says is lost.
import type { StoredSegment } from '../../../store/log/read-chain.ts';
import type { Entry, Outcome, ReplyEntry } from '../../../store/log/entries.ts';
import type { FilesEntry } from '../../../store/snapshots/files-entry.ts';
import type { HostChanged } from '../../../workflows/contract/hosts.ts';
import { effectOf } from './plans.ts';

export type Call = {
  readonly name: string;
  /** The id of the effect that it makes; null for another call. */
  readonly effect: string | null;
  outcome: Outcome | null;
  /** The hosts that had the session from its reply until the next one. */
  readonly hosts: Set<string>;
  /** Its changes to files are in no snapshot that the session was restored from. */
  isLost: boolean;
};

/**
 * `uncaptured`: names of the calls whose changes the restored snapshot does not have. `captured`:
 * so many captures came before.
 */
export type Move = {
  readonly notice: HostChanged;
  readonly host: string;
  readonly uncaptured: readonly string[];
  readonly captured: number;
};

/** `at` as its entry says; `covered`: of so many calls it has the changes. */
type Capture = {
  readonly by: string | undefined;
  readonly host: string;
  readonly at: number;
  readonly covered: number;
};

export type Story = {
  readonly calls: readonly Call[];
  readonly moves: readonly Move[];
  /** Captures, each by the host that made it and the one that had the session. */
  readonly captures: readonly Capture[];
  /** Texts of messages, in order. */
  readonly messages: readonly string[];
  /** How each run has ended. */
  readonly ends: readonly string[];
};

/** A move from one host to another, or a restore where the first has lost its folders. */
export type Hop = { readonly from: string; readonly to: string };

/** Returns the host on which a transcript has begun, as its first capture or move says. */
export function firstHostIn(chain: readonly StoredSegment[]): string {
  for (const { segment } of chain)
    for (const entry of segment.entries) {
      if (entry.kind === 'files' && entry.host !== undefined) return entry.host;
      if (entry.kind === 'notice' && entry.notice.kind === 'host_changed') return entry.notice.from;
    }
  return '';
}

/** `host`: the one that it began on. */
export function tellStory(chain: readonly StoredSegment[], host: string): Story {
  const teller = new Teller(host);
  for (const { segment } of chain) teller.hearSegment(segment.entries);
  return teller;
}

const EFFECTFUL = new Set(['bash', 'write', 'edit', 'agent']);

class Teller implements Story {
  readonly calls: Call[] = [];
  readonly moves: Move[] = [];
  readonly captures: Capture[] = [];
  readonly messages: string[] = [];
  readonly ends: string[] = [];
  #host: string;
  /** Calls of the last reply, by their places in it. */
  #round = new Map<number, Call>();

  constructor(host: string) {
    this.#host = host;
  }

  hearSegment(entries: readonly Entry[]): void {
    let hasReplied = false;
    for (const entry of entries) {
      hasReplied ||= entry.kind === 'reply';
      if (entry.kind === 'reply') this.#hearReply(entry);
      else if (entry.kind === 'outcomes') for (const one of entry.outcomes) this.#hearOutcome(one);
      else if (entry.kind === 'files') this.#hearCapture(entry, hasReplied);
      else if (entry.kind === 'notice' && entry.notice.kind === 'host_changed') this.#hearMove(entry.notice);
      else if (entry.kind === 'user' && entry.body.kind === 'text') this.messages.push(entry.body.text);
      else if (entry.kind === 'run_ended') this.ends.push(entry.ended.terminal.reason);
    }
  }

  #hearReply({ message }: ReplyEntry): void {
    this.#round = new Map();
    for (const [index, block] of message.content.entries()) {
      if (block.type !== 'tool_use') continue;
      const { name } = block;
      const call = { name, effect: effectOf(block), outcome: null, hosts: new Set([this.#host]), isLost: false };
      this.#round.set(index, call);
      this.calls.push(call);
    }
  }

  #hearOutcome(outcome: Outcome): void {
    const call = this.#round.get(outcome.index);
    if (call) call.outcome = outcome;
  }

  /** A capture that is stored with a reply was taken before that reply. */
  #hearCapture({ host: by, at }: FilesEntry, hasReplied: boolean): void {
    const covered = this.calls.length - (hasReplied ? this.#round.size : 0);
    this.captures.push({ by, host: this.#host, at, covered });
  }

  #hearMove(notice: HostChanged): void {
    const restored = this.captures.findLast(({ at }) => at <= notice.at);
    const lost = this.calls.slice(restored?.covered ?? 0);
    const uncaptured = lost.flatMap(({ name }) => (EFFECTFUL.has(name) ? [name] : []));
    this.moves.push({ notice, host: this.#host, uncaptured, captured: this.captures.length });
    for (const call of lost) call.isLost = true;
    this.#host = notice.to;
    for (const call of this.#round.values()) call.hosts.add(notice.to);
  }
}
