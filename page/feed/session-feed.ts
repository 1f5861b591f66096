// Follows one session for all its viewers in this process. The live channel tells what happens, a
// look each second tells how the session stands, and the store has what counts: anything the
// channel loses is read from there, so that a viewer has no gap.
import type { ChannelItem, SessionDescription, SessionId } from '../../client/faces/types.ts';
import { createConfigReader } from '../../client/faces/history.ts';
import { isReply, transcriptItems } from '../../client/faces/turns.ts';
import { createBodyReader } from '../../client/faces/words.ts';
import { emptyView, createViewCache, noRecentRequests } from '../../client/faces/reading.ts';
import { StoreError } from '../../client/faces/sessions.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { isUnderWay, withRunning } from '../../client/faces/lists.ts';
import { createLimit, pause } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf } from '../../system/text.ts';
import type { PagePorts } from '../ports.ts';
import type { ItemContext } from '../transcript/item-view.tsx';
import { LivePieces } from './live-pieces.ts';
import { changeRing, type Ring } from './ring.ts';
import {
  type Frame,
  itemContext,
  keepVoid,
  lookAtAgents,
  lookAtBackground,
  MOST_TAKEN,
  type PendingMessage,
  readApprovals,
  readBodies,
  readLately,
  redrawFrame,
  refreshTranscript,
  standingOf,
  type Standing,
  type State,
  drawStoredCard,
  noteTaken,
  type VoidOutput,
} from './standing.tsx';
import { createTroubles } from './troubles.ts';

const LOOK_MS = 1_000;
/** Milliseconds without news of the live channel after which the store is read. */
const QUIET_MS = 2_000;

/** Everything that the viewers of a session share. */
export class SessionFeed {
  readonly #state: State;
  readonly #stop = new AbortController();
  readonly #waker = createWaker();

  constructor(state: State) {
    this.#state = state;
    void listenLive(state, this.#stop.signal);
    void lookOn(state, this.#stop.signal, this.#waker);
  }

  get ring(): Ring {
    return this.#state.ring;
  }

  get standing(): Standing {
    return standingOf(this.#state);
  }

  get pieces(): LivePieces {
    return this.#state.pieces;
  }

  get voided(): readonly VoidOutput[] {
    return this.#state.voided;
  }

  /** Returns the context for items `from` up to but not including `to`. */
  async context(from: number, to: number): Promise<ItemContext> {
    const entries = this.#state.items.all.slice(from, to).map(({ entry }) => entry);
    return { ...itemContext(this.#state), bodies: await readBodies(this.#state, entries) };
  }

  /** Looks again now because something was sent, perhaps a message. */
  wake(message?: PendingMessage): void {
    const state = this.#state;
    if (message && !state.tookUp.has(message.id)) state.pending = [...state.pending, message];
    state.recentAt = 0;
    this.#waker.wake();
  }

  close(): void {
    this.#stop.abort();
  }
}

/**
 * Resolves when the session can be drawn. Throws ClientProblem when it does not exist or the server
 * does not answer.
 */
export async function openSessionFeed(ports: PagePorts, session: SessionId, frame: Frame): Promise<SessionFeed> {
  const state = newState({ ports, session, frame, seen: await lookAt(ports, session) });
  await refreshTranscript(state, await ports.head(session).catch(() => state.seen.head));
  await readApprovals(state);
  await readLately(state);
  await lookAtBackground(state);
  await lookAtAgents(state).catch((error: unknown) => state.trouble.set('server', reasonOf(error)));
  for (const { id, html } of frame(standingOf(state))) state.drawn.set(id, html);
  state.opened = true;
  for (const item of state.items.all)
    if (isReply(item) && item.run === state.seen.runs) state.toldAgain.add(`${item.run}.${item.entry.iteration}`);
  return new SessionFeed(state);
}

/** Describes a session, with what its run under way does now. */
async function lookAt({ describe, running }: PagePorts, session: SessionId): Promise<SessionDescription> {
  const description = await describe(session);
  return isUnderWay(description) ? withRunning(description, (await running([description])).get(session)) : description;
}

function newState(about: Pick<State, 'ports' | 'session' | 'frame' | 'seen'>): State {
  const { ports, session, seen: description } = about;
  const state: State = {
    ...about,
    ring: changeRing(),
    items: transcriptItems(),
    pieces: new LivePieces((anchor) => drawStoredCard(state.items, anchor, itemContext(state))),
    bodies: createBodyReader(ports.store),
    cache: createViewCache({ maxBytes: 1 }),
    trouble: createTroubles(),
    drawn: new Map(),
    config: createConfigReader(ports.store),
    inTurn: createLimit(1),
    voided: [],
    pending: [],
    recent: noRecentRequests,
    recentAt: 0,
    tookUp: new RecentMap(MOST_TAKEN),
    background: [],
    agents: [],
    agentsAt: 0,
    started: { items: 0, closed: false, commands: [] },
    runConfig: null,
    approvals: [],
    places: new Map(),
    placesAt: 0,
    view: emptyView(session),
    run: description.runs,
    heard: Date.now(),
    opened: false,
    toldAgain: new Set(),
    hearing: '',
  };
  return state;
}

async function listenLive(state: State, signal: AbortSignal): Promise<void> {
  try {
    for await (const event of state.ports.live(state.session, signal)) await hearEvent(state, event);
  } catch (error) {
    if (!signal.aborted) state.trouble.set('live', reasonOf(error));
  }
}

async function hearEvent(state: State, event: ChannelItem): Promise<void> {
  state.heard = Date.now();
  state.trouble.set('live', null);
  if (event.type === 'run_start') [state.run, state.recentAt] = [event.run, 0];
  // Show what is stored first, then remove the pieces it replaces.
  if (event.type === 'stored') await refreshTranscript(state, event.head);
  if (event.type === 'run_end') await refreshTranscript(state, event.head);
  const changes = state.pieces.tell(event, state.run, isToldAgain(state, event));
  for (const change of changes) if (change.do === 'put' && change.id.startsWith('void-')) keepVoid(state, change.html);
  state.ring.push(...changes);
  // From now on its iteration tells news: the run is summed up.
  if (event.type === 'stored') state.toldAgain.delete(state.hearing);
  if (event.type === 'user') noteTaken(state, event.id);
  if (event.type === 'stored' || event.type === 'run_end' || event.type === 'user') redrawFrame(state);
}

const SAYING: ReadonlySet<string> = new Set(['request_start', 'text_delta', 'thinking_delta', 'tool_use']);

/** The channel begins with what is already stored of the steps that it still has. */
function isToldAgain(state: State, event: ChannelItem): boolean {
  if (!SAYING.has(event.type) || !('iteration' in event)) return false;
  state.hearing = `${state.run}.${event.iteration}`;
  return state.toldAgain.has(state.hearing);
}

type Waker = { wake(): void; wait(ms: number, signal: AbortSignal): Promise<boolean> };

function createWaker(): Waker {
  let current = new AbortController();
  return {
    wake: () => {
      current.abort();
      current = new AbortController();
    },
    wait: async (ms, signal) => {
      await pause(ms, AbortSignal.any([signal, current.signal]));
      return !signal.aborted;
    },
  };
}

async function lookOn(state: State, signal: AbortSignal, waker: Waker): Promise<void> {
  let isStoreDown = false;
  while (await waker.wait(LOOK_MS, signal)) {
    try {
      await lookOnce(state);
      if (isStoreDown) state.trouble.set('store', null);
      isStoreDown = false;
    } catch (error) {
      isStoreDown = error instanceof StoreError;
      if (error instanceof ClientProblem && error.kind === 'no_session') state.trouble.set('gone', error.message);
      else state.trouble.set(isStoreDown ? 'store' : 'server', reasonOf(error));
    }
    redrawFrame(state);
  }
}

async function lookOnce(state: State): Promise<void> {
  const { ports, session, trouble } = state;
  state.seen = await lookAt(ports, session);
  trouble.set('server', null);
  trouble.set('gone', null);
  state.run = Math.max(state.run, state.seen.runs);
  await readApprovals(state);
  await readLately(state);
  await lookAtBackground(state);
  await lookAtAgents(state);
  if (Date.now() - state.heard > QUIET_MS) {
    const head = await ports.head(session);
    const behind = head !== null && head !== state.view.head;
    await refreshTranscript(state, head);
    trouble.set('live', behind && isUnderWay(state.seen) ? 'it says nothing, and the session goes on' : null);
  }
  const needed = isUnderWay(state.seen) || state.seen.unseen;
  trouble.set('worker', needed ? await ports.nobodyWorks(state.seen) : null);
}
