// Current events of sessions: the transcript up to the newest head, plus what the step under way
// has stored. Projections are cached and extended, never stored (G1).
import { z } from 'zod';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { createConfigReader } from '../../client/faces/history.ts';
import { isHash } from '../../client/faces/outside.ts';
import { createViewCache, emptyView, loadView } from '../../client/faces/reading.ts';
import { prepareAppend, readStoredHead, readStoredOutcome } from '../../client/faces/stored.ts';
import type {
  Append,
  Bodies,
  BodyReader,
  CallKey,
  Entry,
  Hash,
  MessageBody,
  MessageId,
  NewestStep,
  SessionId,
  View,
} from '../../client/faces/types.ts';
import { createBodyReader } from '../../client/faces/words.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { ManagedPorts } from '../ports.ts';
import { emptyProjection, type EventFact, type Projection } from './parts.ts';
import { projectEntries } from './project.ts';

export type Timeline = {
  readonly facts: readonly EventFact[];
  readonly projection: Projection;
  /** The number of the step that is under way. */
  readonly step?: number | undefined;
};

/** A kept projection with the view that it was made of. `heads`: those on the way to its own. */
type KeptTimeline = Timeline & { readonly view: View; readonly heads: Set<Hash> };

const MOST_TIMELINES = 200;

export class Timelines {
  readonly #ports: Pick<ManagedPorts, 'store' | 'newestStep'>;
  readonly #kept = new RecentMap<string, KeptTimeline>(MOST_TIMELINES);
  readonly #cache = createViewCache();
  readonly #readBodies: BodyReader;
  readonly #config: ReturnType<typeof createConfigReader>;

  constructor(ports: Pick<ManagedPorts, 'store' | 'newestStep'>) {
    this.#ports = ports;
    this.#readBodies = createBodyReader(ports.store);
    this.#config = createConfigReader(ports.store);
  }

  /** Returns the events up to a head that is known to be the session's. Throws StoreError. */
  async upTo(session: string, head: Hash | null): Promise<Timeline> {
    return head === null ? (this.#kept.get(session) ?? nothing(session)) : this.#upTo(session, head);
  }

  async #upTo(session: string, head: Hash): Promise<KeptTimeline> {
    const known = this.#kept.get(session);
    if (known?.heads.has(head)) return known;
    const view = await loadView(this.#ports.store, session as SessionId, head, this.#cache);
    // Another reader may have extended it meanwhile.
    const extended = extend(this.#kept.get(session), view, head);
    this.#kept.set(session, extended);
    return extended;
  }

  /** Returns all events of a session with a workflow, those of a step under way included. */
  async newest(session: string): Promise<Timeline> {
    const step = await this.#ports.newestStep(session as SessionId);
    const head = (await this.#storedHead(session as SessionId, step)) ?? step.head;
    const known = head === null ? undefined : await this.#upTo(session, head);
    const timeline: Timeline = known ?? nothing(session);
    const view = known?.view ?? emptyView(session as SessionId);
    const { step: number } = underWay.safeParse(step.input).data ?? {};
    if (view.head !== step.head) return { ...timeline, step: number };
    const { facts, projection } = projectEntries(timeline.projection, await this.#pending(view, step));
    return { facts: [...timeline.facts, ...facts], projection, step: number };
  }

  /** Returns the head that the step under way has stored already; its later attempts adopt it. */
  async #storedHead(session: SessionId, { input }: NewestStep): Promise<Hash | null> {
    const { config } = underWay.safeParse(input).data ?? {};
    if (!isHash(config)) return null;
    const { chain } = await this.#config(config);
    return readStoredHead(this.#ports.store, { session, chain }, input);
  }

  /** Returns what the step under way stores before anything else, as far as that is known (G32). */
  async #pending(view: View, { input }: NewestStep): Promise<readonly Entry[]> {
    const { store } = this.#ports;
    const readOutcome = (key: CallKey) => readStoredOutcome(store, view.session, key);
    const certain: Append[] = [];
    for (const append of (underWay.safeParse(input).data?.append ?? []) as unknown as readonly Append[]) {
      if (!(await isCertain(append, async (key) => (await readOutcome(key)) !== null))) break;
      certain.push(append);
    }
    return prepareAppend(view, certain, { store, readOutcome });
  }

  /** Reads texts of messages that are stored apart. Throws StoreError. */
  bodies(texts: readonly MessageBody[]): Promise<Bodies> {
    return this.#readBodies(texts.map((body) => ({ kind: 'user', id: '' as MessageId, body })));
  }

  /** Makes the events, with the texts and media that are stored apart. Throws StoreError. */
  async write(facts: readonly EventFact[]): Promise<BetaManagedAgentsSessionEvent[]> {
    const bodies = await this.#readBodies(facts.flatMap(({ entry }) => entry ?? []));
    return facts.map((fact) => fact.make(bodies));
  }
}

const nothing = (session: string): Timeline => ({ facts: [], projection: emptyProjection(session) });

const underWay = z.looseObject({
  append: z.array(z.looseObject({ kind: z.string() })),
  config: z.unknown().optional(),
  step: z.number().optional(),
});

/**
 * Tells whether what is appended is stored as it can be read now: a call's end may not be recorded
 * yet, a boundary may be left out, and an end of a run or a rewind is told once it is stored.
 */
export async function isCertain(append: Append, isRecorded: (key: CallKey) => Promise<boolean>): Promise<boolean> {
  switch (append.kind) {
    case 'run_started':
    case 'user':
    case 'transition':
    case 'notice':
    case 'budget':
      return true;
    case 'steered':
      return append.steered.rewound === undefined;
    case 'outcomes': {
      const items = append.items.map(async ({ key, note, ended }) =>
        key !== undefined && (await isRecorded(key)) ? true : note !== undefined && ended === undefined,
      );
      return (await Promise.all(items)).every(Boolean);
    }
    default:
      return false;
  }
}

/** Extends what is kept where the view grew from its view, and else projects the whole. */
function extend(known: KeptTimeline | undefined, view: View, head: Hash): KeptTimeline {
  const base = known?.view.lineage === view.lineage ? known : undefined;
  const heads = base ? base.heads.add(head) : new Set([head]);
  // A head on the way: what is kept goes further.
  if (base && view.length <= base.view.length) return base;
  const { facts, projection } = projectEntries(
    base?.projection ?? emptyProjection(view.session),
    view.from(base?.projection.position ?? 0),
  );
  return { facts: [...(base?.facts ?? []), ...facts], projection, view, heads };
}
