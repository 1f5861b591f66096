// The state of a session for all its viewers: the transcript read so far, what waits for a person,
// what is wrong; and the changes on the screen when more is known.
import type {
  RunConfig,
  View,
  ItemFold,
  RecentRequests,
  BackgroundCommand,
  BackgroundStart,
  Item,
  Items,
  SessionDescription,
  SessionInfo,
  WaitingApproval,
  Hash,
  MessageId,
  SessionId,
} from '../../client/faces/types.ts';
import { createConfigReader, backgroundCommands, findBackgroundCommands } from '../../client/faces/history.ts';
import { transcriptItems, findAgentCalls, matchAgents, foldItems, filesLines } from '../../client/faces/turns.ts';
import { createBodyReader } from '../../client/faces/words.ts';
import { isDamage, StoreError } from '../../client/faces/sessions.ts';
import { emptyView, loadView, loadWorkingView, createViewCache } from '../../client/faces/reading.ts';
import { createLimit } from '../../system/async.ts';
import type { RecentMap } from '../../system/recent-map.ts';
import { reasonOf } from '../../system/text.ts';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { type CallPlace, readPlace } from '../call-views/call-place.ts';
import { cardOf, isDrawn, type ItemContext, itemId, ItemView } from '../transcript/item-view.tsx';
import { type Trouble, createTroubles } from './troubles.ts';
import { ITEMS, type LivePieces } from './live-pieces.ts';
import { type Change, frameChanges, type FramePart, type Ring } from './ring.ts';

/** Everything to draw around the transcript. */
export type Standing = {
  readonly seen: SessionDescription;
  readonly items: Items;
  readonly approvals: readonly WaitingApproval[];
  /** Where calls that wait would run, by call; only for those that a person is shown first. */
  readonly places: ReadonlyMap<string, CallPlace>;
  readonly troubles: readonly Trouble[];
  /** Configuration of the newest run that has begun. */
  readonly config: RunConfig | null;
  /** Messages sent and not taken yet. */
  readonly pending: readonly PendingMessage[];
  readonly recent: RecentRequests;
  /** Background commands of the session (L84). */
  readonly background: readonly BackgroundCommand[];
  /** Sessions of agents that this one began, as they were last seen. */
  readonly agents: readonly SessionInfo[];
};

/** `compact`: it asks for a compaction, and no transcript will have it. */
export type PendingMessage = {
  readonly id: MessageId;
  readonly text: string;
  readonly now: boolean;
  readonly compact?: true;
};

/** Output of attempts that died, with the number of items before it (L16). */
export type VoidOutput = { readonly after: number; readonly html: string };

/** Draws what stands around the transcript. */
export type Frame = (standing: Standing) => readonly FramePart[];

export type State = {
  readonly session: SessionId;
  readonly ports: PagePorts;
  readonly ring: Ring;
  items: ReturnType<typeof transcriptItems>;
  readonly pieces: LivePieces;
  readonly bodies: ReturnType<typeof createBodyReader>;
  readonly cache: ReturnType<typeof createViewCache>;
  readonly trouble: ReturnType<typeof createTroubles>;
  readonly frame: Frame;
  readonly drawn: Map<string, string>;
  readonly config: ReturnType<typeof createConfigReader>;
  readonly inTurn: ReturnType<typeof createLimit>;
  readonly voided: VoidOutput[];
  pending: readonly PendingMessage[];
  recent: RecentRequests;
  /** Time when `recent` was read; 0 means that it must be read again. */
  recentAt: number;
  /** Messages that the session has taken and the transcript may not have yet. */
  readonly tookUp: RecentMap<MessageId, true>;
  background: readonly BackgroundCommand[];
  agents: readonly SessionInfo[];
  /** Time when the agents were read; 0 means that it must be read again. */
  agentsAt: number;
  /** Background commands found in the first `items` items. */
  started: { readonly items: number; readonly closed: boolean; readonly commands: readonly BackgroundStart[] };
  runConfig: RunConfig | null;
  seen: SessionDescription;
  approvals: readonly WaitingApproval[];
  places: ReadonlyMap<string, CallPlace>;
  /** Time when the places were read. */
  placesAt: number;
  view: View;
  run: number;
  heard: number;
  /** True once viewers may watch. */
  opened: boolean;
  /**
   * Replies, by `run.iteration`, that were stored when the feed opened and that the channel may
   * tell again.
   */
  readonly toldAgain: Set<string>;
  /** The reply that the channel is telling, by the same name. */
  hearing: string;
};

export function standingOf(state: State): Standing {
  const {
    seen: description,
    items,
    approvals,
    places,
    trouble,
    runConfig: config,
    pending,
    recent,
    background,
    agents,
  } = state;
  return {
    seen: description,
    items,
    approvals,
    places,
    troubles: trouble.list(),
    config,
    pending,
    recent,
    background,
    agents,
  };
}

export function drawStoredCard(
  items: Items,
  anchor: string,
  context: ItemContext,
): { readonly id: string; readonly html: string } | null {
  const [run = '', iteration = '', index = ''] = anchor.split('-');
  const item = items.reply(`${run}.${iteration}`);
  if (!item || (item.outcomes.has(Number(index)) && context.agent?.(anchor) === undefined)) return null;
  return cardOf(item, Number(index), context);
}

export async function readBodies(
  state: State,
  entries: Parameters<State['bodies']>[0],
): Promise<ReadonlyMap<Hash, string>> {
  try {
    return await state.bodies(entries);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return new Map();
  }
}

/**
 * Reads the transcript up to `head` and shows what is new. Errors of the store become a trouble and
 * are not thrown.
 */
export function refreshTranscript(state: State, head: Hash | null): Promise<void> {
  return state.inTurn(() => readOn(state, head));
}

async function readOn(state: State, head: Hash | null): Promise<void> {
  if (head === null || head === state.view.head) return;
  const { ports, session, cache, trouble } = state;
  try {
    const view = await loadView(ports.store, session, head, cache).catch(async (error: unknown) => {
      if (!isDamage(error)) throw error;
      trouble.set('damaged', reasonOf(error));
      return loadWorkingView(ports.store, session, head);
    });
    trouble.set('store', null);
    if (!isSameBeginning(view, state.view)) startOver(state);
    // An older head than the shown one: the channel repeats what it told before.
    else if (view.length <= state.view.length) return;
    const { added, changed } = state.items.add(view.from(state.view.length));
    state.view = view;
    state.run = Math.max(state.run, added.at(-1)?.run ?? 0);
    const started = added.findLast(({ entry }) => entry.kind === 'run_started')?.entry;
    if (started?.kind === 'run_started') state.runConfig = await state.config(started.config);
    for (const { entry } of added) {
      if (entry.kind === 'user') noteTaken(state, entry.id);
      if (entry.kind === 'boundary' && entry.trigger === 'manual') noteCompacted(state);
    }
    // A later viewer gets the page, which draws its own window.
    if (state.opened) state.ring.push(...(await drawItems(state, changed)), ...(await drawItems(state, added)));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    trouble.set('store', reasonOf(error));
  }
}

/** Tells whether one of two views continues the other, as none does after going back. */
function isSameBeginning(one: View, other: View): boolean {
  const last = Math.min(one.length, other.length) - 1;
  return last < 0 || JSON.stringify(one.from(last)[0]) === JSON.stringify(other.from(last)[0]);
}

function startOver(state: State): void {
  state.view = emptyView(state.session);
  state.items = transcriptItems();
  state.voided.length = 0;
  state.runConfig = null;
  state.ring.forget();
}

async function drawItems(state: State, items: readonly Item[]): Promise<Change[]> {
  const visible = items.filter(isDrawn);
  const bodies = await readBodies(
    state,
    visible.map(({ entry }) => entry),
  );
  const context: ItemContext = { ...itemContext(state), bodies };
  return visible.map((item) => ({
    do: 'put',
    id: itemId(item.position),
    into: ITEMS,
    html: htmlOf(<ItemView item={item} context={context} />),
  }));
}

/** Returns what items are drawn with, apart from texts that are stored by themselves. */
export function itemContext(state: State): ItemContext {
  const { items } = state;
  const agents = matchAgents(findAgentCalls(items.all), state.agents);
  const first = items.all.find(({ entry }) => entry.kind === 'user');
  return {
    session: state.session,
    ...(first && { first: first.position }),
    bodies: new Map(),
    progress: (anchor) => state.pieces.progress(anchor),
    agent: (anchor) => agents.get(anchor),
    filesLines: (position) => filesLines(items.entries, position - (items.all[0]?.position ?? 0)),
  };
}

/** Milliseconds between reads of agents that work. */
const AGENTS_MS = 4_000;
/** Most agents of a session that are looked at, the newest ones. */
const MOST_AGENTS = 100;

/**
 * Reads the agents while one of them works or a call is without one, and draws their calls anew.
 */
export async function lookAtAgents(state: State): Promise<void> {
  const { ports, session, items, agents, pieces } = state;
  const calls = findAgentCalls(items.all);
  const isSettled = agents.length >= calls.length && agents.every(({ phase }) => phase === 'closed');
  if (calls.length === 0 || isSettled || Date.now() - state.agentsAt < AGENTS_MS) return;
  state.agentsAt = Date.now();
  const { sessions } = await ports.page({ filter: `parent:${session}`, size: MOST_AGENTS });
  if (JSON.stringify(sessions) === JSON.stringify(agents)) return;
  state.agents = sessions;
  if (state.opened) state.ring.push(...pieces.redraw(calls.map(({ anchor }) => anchor)));
}

const KEPT_VOIDS = 100;

export function keepVoid({ voided, items }: State, html: string): void {
  voided.push({ after: items.all.length, html });
  if (voided.length > KEPT_VOIDS) voided.shift();
}

/** Number of taken messages to remember. */
export const MOST_TAKEN = 1_000;

export function noteTaken(state: State, id: MessageId): void {
  state.tookUp.set(id, true);
  state.pending = state.pending.filter((message) => message.id !== id);
}

/** Notes that a requested compaction is done. */
function noteCompacted(state: State): void {
  for (const { id, compact } of state.pending) if (compact) noteTaken(state, id);
}

export async function readApprovals(state: State): Promise<void> {
  const { ports, session, seen: description, pieces } = state;
  const pending = description.status === 'open' ? (description.approvals ?? []) : [];
  const known = new Map(state.approvals.map((approval) => [`${approval.call} ${approval.inputHash}`, approval]));
  try {
    const approvals: WaitingApproval[] = [];
    for (const one of pending)
      approvals.push(known.get(`${one.call} ${one.inputHash}`) ?? (await ports.waiting(session, one)));
    state.approvals = approvals;
    await readPlaces(state);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    state.trouble.set('store', reasonOf(error));
  }
  const anchors = new Set(pending.map(({ call }) => (call.split('+')[0] ?? '').replaceAll('.', '-')));
  state.ring.push(...pieces.waits(anchors));
}

/** Milliseconds for which a file that a call would change is not looked at again. */
const PLACE_MS = 5_000;

/** Looks at where the first call that waits would run: the others are not on the screen. */
async function readPlaces(state: State): Promise<void> {
  const { ports, seen: description, places } = state;
  const [first] = state.approvals;
  if (first && places.has(first.call) && Date.now() - state.placesAt < PLACE_MS) return;
  state.placesAt = Date.now();
  const place = first && !first.question ? await readPlace(ports, first, description.cwd) : null;
  state.places = new Map(first && place ? [[first.call, place]] : []);
}

/**
 * Reads only when something is new: a transcript that has grown, the end of the session, a command
 * that runs.
 */
export async function lookAtBackground(state: State): Promise<void> {
  const { ports, session, items, started, background } = state;
  const { length } = items.all;
  const closed = state.seen.status !== 'open';
  const isKnown = length === started.items && closed === started.closed;
  if (isKnown && !background.some(({ running }) => running)) return;
  const commands = length === started.items ? started.commands : findBackgroundCommands(items.all);
  state.started = { items: length, closed, commands };
  if (commands.length === 0) return;
  state.background = await backgroundCommands(commands, ports.background(session), closed, background);
}

export function redrawFrame(state: State): void {
  state.ring.push(...frameChanges(state.drawn, state.frame(standingOf(state))));
}

const messageIds: ItemFold<Set<MessageId>> = {
  begin: () => new Set(),
  add: (ids, { entry }) => void (entry.kind === 'user' && ids.add(entry.id)),
};

/** Milliseconds between reads of what others asked. Requests from here are read at once. */
const RECENT_MS = 15_000;

/**
 * Reads what was asked of the session, with the messages that the transcript does not have: a
 * prompt before its first reply, and waiting ones.
 */
export async function readLately(state: State): Promise<void> {
  if (Date.now() - state.recentAt < RECENT_MS) return;
  state.recentAt = Date.now();
  state.recent = await state.ports.recent(state.session);
  if (state.seen.status !== 'open') return;
  const known = foldItems(messageIds, state.items.all);
  // A session that is idle has taken all that reached it, a compaction without a trace of its own.
  const isIdle = state.seen.phase === 'idle' && !state.seen.unseen;
  const open = state.recent.messages.filter(
    ({ id, compact }) => !known.has(id) && !state.tookUp.has(id) && !(compact && isIdle),
  );
  const bodies = await readBodies(
    state,
    open.map(({ id, body }) => ({ kind: 'user', id, body })),
  );
  const messages = open.map(({ id, body, now, compact }) => ({
    id,
    ...(compact && { compact: true as const }),
    text: body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? `(a prompt of ${body.bytes} bytes)`),
    now: now ?? false,
  }));
  // Messages sent while the history was read are not in it.
  const ids = new Set(messages.map(({ id }) => id));
  const isMore = ({ id }: PendingMessage): boolean => !ids.has(id) && !known.has(id) && !state.tookUp.has(id);
  state.pending = [...messages, ...state.pending.filter(isMore)];
}
