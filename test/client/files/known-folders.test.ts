// What a session knows of its folders, in random sequences of prompts, rewinds, undos and forks,
// against a model that only remembers what lay there when a prompt came.
import { expect, test } from 'vitest';
import { entriesIn, planRewind, type RewindChoice } from '../../../client/sessions/files/plan-rewind.ts';
import { planUndo } from '../../../client/sessions/files/rewind-session.ts';
import { snapshotsAtPoint, writeLink } from '../../../client/sessions/fork/fork-session.ts';
import { findForkPoint } from '../../../client/sessions/fork/plan-fork.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { readChain, type StoredSegment } from '../../../store/log/read-chain.ts';
import { lastSnapshots, withMovedRoots } from '../../../store/snapshots/snapshot-points.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { loadView } from '../../../store/view/view.ts';
import { type Hash, type MessageId, type SessionId } from '../../../workflows/contract/ids.ts';
import { type RewindRequest, rewindProblem, type RewindRecord } from '../../../workflows/contract/rewind.ts';
import { random, type Random } from '../../support/random.ts';
import {
  appendSegment,
  callBlock,
  files,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  user,
} from '../../support/transcript.ts';

type Disk = ReadonlyMap<string, string>;

/**
 * A prompt with what lay in the folders that were captured then, and the session's own one, or a
 * rewind with what it left.
 */
type Item =
  | { readonly kind: 'prompt'; readonly id: string; readonly lay: Disk; readonly own: string }
  | { readonly kind: 'rewind'; readonly talk: readonly Item[] | null; readonly disk: Disk };

const OWN = '/w';
const EXTRA = '/x';

class World {
  readonly #store = memoryStore();
  #session = 's-1' as SessionId;
  #head: Hash | null = null;
  #talk: readonly Item[] = [];
  #own = OWN;
  #disk: Map<string, string>;
  #captures: string[] = [OWN];
  #count = 0;

  constructor(private readonly chance: Random) {
    this.#disk = new Map([
      [OWN, this.#snapshot()],
      [EXTRA, this.#snapshot()],
    ]);
  }

  #snapshot(): string {
    this.#count += 1;
    return this.#count.toString(16).padStart(40, '0');
  }

  #chain(): Promise<readonly StoredSegment[]> {
    return this.#head === null ? Promise.resolve([]) : readChain(this.#store, this.#session, this.#head);
  }

  async #append(...entries: readonly Entry[]): Promise<void> {
    const view = await loadView(this.#store, this.#session, this.#head);
    this.#head = (await appendSegment(this.#store, view, entries)).head;
  }

  async #known(): Promise<Disk> {
    return lastSnapshots(withMovedRoots(entriesIn(await this.#chain())));
  }

  /** A capture beside a reply; none where nothing has changed. */
  async #capture(): Promise<readonly Entry[]> {
    const known = await this.#known();
    const changed = this.#captures.filter((root) => known.get(root) !== this.#disk.get(root));
    const roots = changed.flatMap((root) => files(root, { id: this.#disk.get(root) as string }).roots);
    return roots.length === 0 ? [] : [{ ...files(OWN), roots }];
  }

  #change(): void {
    for (const root of this.#captures) if (this.chance.bool()) this.#disk.set(root, this.#snapshot());
  }

  async prompt(): Promise<void> {
    // A person may have changed files before; and the extra folder joins at some time.
    if (this.chance.nat(3) === 0) this.#change();
    if (this.chance.nat(4) === 0) this.#captures = [this.#own, EXTRA];
    const known = await this.#known();
    const then = new Map([...this.#disk].filter(([root]) => this.#captures.includes(root) || known.has(root)));
    const id = `m-${(this.#count += 1)}`;
    this.#talk = [...this.#talk, { kind: 'prompt', id, lay: then, own: this.#own }];
    // Without a configuration nothing is read of the step under way.
    const begun: Entry[] = [
      { ...runStarted(1), config: undefined } as never,
      { ...user(id), id: id as MessageId } as Entry,
    ];
    for (let step = this.chance.nat(2); step > 0; step -= 1) {
      const log = { key: 'k', name: 'bash', decision: 'allowed', duration: 1, outcome: 'ok' };
      await this.#append(
        ...begun.splice(0),
        reply([callBlock('c', { command: 'make' }, 'bash')]),
        ...(await this.#capture()),
      );
      this.#change();
      await this.#append(outcomes(outcome(0, '', { log } as never)));
    }
    await this.#append(...begun, reply([textBlock('Done.')]), ...(await this.#capture()));
    await this.#append(runEnded(1), ...(await this.#capture()));
  }

  /** Does what the session's workflow and its worker do. */
  async #apply(rewind: RewindRequest): Promise<void> {
    expect(rewindProblem(rewind)).toBeUndefined();
    const { from, to, known, files: roots } = rewind;
    const done = roots?.map(({ root, known: id, to: target }) => {
      // Nobody else has changed anything: what is known is what lies there.
      expect([root, id]).toEqual([root, this.#disk.get(root)]);
      const before = this.#disk.get(root) as string;
      // Files that were not captured then stay.
      const after = this.chance.nat(3) === 0 ? this.#snapshot() : target;
      this.#disk.set(root, after);
      return { root, before, to: target, ...(after !== target && { after }), files: 1 };
    });
    const rewound: RewindRecord = {
      from,
      ...(to !== undefined && { to }),
      ...(done && { files: done }),
      ...(known && { known }),
    };
    if (to !== undefined) this.#head = to;
    await this.#append({ kind: 'steered', steered: { action: 'rewind', at: 1, rewound } });
  }

  #prompts(): readonly (readonly [at: number, item: Extract<Item, { kind: 'prompt' }>])[] {
    const fork = this.#talk.findLastIndex((item) => item.kind === 'prompt' && item.id === 'fork');
    return this.#talk.flatMap((item, at) => (item.kind === 'prompt' && at > fork ? [[at, item] as const] : []));
  }

  async rewind(): Promise<void> {
    const prompts = this.#prompts();
    if (prompts.length === 0) return;
    const [at, { id, lay: then }] = prompts[this.chance.nat(prompts.length - 1)] as (typeof prompts)[number];
    const choice = this.chance.pick<RewindChoice>([{}, { files: false }, { conversation: false }]);
    const { rewind } = planRewind(await this.#chain(), id, choice);
    const disk = new Map(this.#disk);
    if (choice.files !== false) expect(new Map(rewind.files?.map(({ root, to }) => [root, to]))).toEqual(then);
    const talk = choice.conversation === false ? null : this.#talk;
    const kept = talk ? this.#talk.slice(0, at) : this.#talk;
    await this.#apply(rewind);
    const left = new Map([...disk].filter(([root]) => rewind.files?.some((one) => one.root === root)));
    this.#talk = [...kept, { kind: 'rewind', talk, disk: left }];
  }

  async undo(): Promise<void> {
    const at = this.#talk.findLastIndex(({ kind }) => kind === 'rewind');
    const last = this.#talk[at];
    const isForked = this.#talk.findLastIndex((item) => item.kind === 'prompt' && item.id === 'fork') > at;
    if (last?.kind !== 'rewind' || isForked || this.#head === null) return;
    const { rewind, turns } = await planUndo(this.#store, this.#session, this.#head);
    expect(new Map(rewind.files?.map(({ root, to }) => [root, to]))).toEqual(last.disk);
    expect(turns > 0).toBe(last.talk !== null && at < this.#talk.length - 1);
    const before = new Map([...this.#disk].filter(([root]) => last.disk.has(root)));
    const talk = last.talk === null ? null : this.#talk;
    await this.#apply(rewind);
    this.#talk = [...(last.talk ?? this.#talk), { kind: 'rewind', talk, disk: before }];
  }

  async fork(): Promise<void> {
    if (this.#head === null || !this.#talk.some(({ kind }) => kind === 'prompt')) return;
    // A fork may part where its origin had not been forked itself.
    const prompts = this.#talk.flatMap((item, at) =>
      item.kind === 'prompt' && item.id !== 'fork' ? [[at, item] as const] : [],
    );
    const chosen = prompts.length > 0 && this.chance.bool() ? prompts[this.chance.nat(prompts.length - 1)] : undefined;
    const newest = { head: this.#head };
    const point = await findForkPoint(this.#store, this.#session, newest, chosen?.[1].id);
    const snapshot = snapshotsAtPoint(point).get(this.#own);
    expect(snapshot).toBe(chosen ? chosen[1].lay.get(chosen[1].own) : this.#disk.get(this.#own));
    const [from, to] = [this.#own, `${OWN}-${(this.#count += 1)}`];
    const session = `s-${this.#count}` as SessionId;
    const moved = { from, to, snapshot: snapshot as string };
    const begun = await writeLink(this.#store, { session, point, by: 'ana', origin: from, files: moved, runs: 1 });
    [this.#session, this.#head, this.#own] = [session, begun.head, to];
    this.#disk.set(to, snapshot as string);
    this.#captures = this.#captures.map((root) => (root === from ? to : root));
    const kept = chosen ? this.#talk.slice(0, chosen[0]) : this.#talk;
    this.#talk = [...kept, { kind: 'prompt', id: 'fork', lay: new Map(), own: to }];
    // The extra folder is the same one, and the fork knows of it what was known at its point.
    this.#disk.delete(from);
    const known = await this.#known();
    if (known.has(EXTRA) && known.get(EXTRA) !== this.#disk.get(EXTRA)) this.#captures = [to, EXTRA];
    if (this.#captures.includes(EXTRA)) await this.prompt();
  }

  async check(): Promise<void> {
    for (const [root, id] of await this.#known()) expect([root, id]).toEqual([root, this.#disk.get(root)]);
  }
}

const SEED = Number(process.env['KNOWN_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

test(`what is known of folders lies there, after random prompts, rewinds, undos and forks (seed ${SEED}) (T7 T10)`, async () => {
  for (let nth = 0; nth < 60; nth += 1) {
    const chance = random(SEED + nth);
    const world = new World(chance);
    const told: string[] = [];
    try {
      await world.prompt();
      for (let step = 0; step < 25; step += 1) {
        const act = chance.weighted<'prompt' | 'rewind' | 'undo' | 'fork'>([
          [4, () => 'prompt'],
          [4, () => 'rewind'],
          [2, () => 'undo'],
          [1, () => 'fork'],
        ]);
        told.push(act);
        await world[act]();
        await world.check();
      }
    } catch (error) {
      throw new Error(`world ${SEED + nth}, after ${told.join(' ')}`, { cause: error });
    }
  }
});
