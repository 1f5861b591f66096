// Looks at all that waits for a person, for as long as somebody has the inbox open: one look for
// all viewers. What was decided here disappears at once.
import { pause } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf, showUnseen } from '../../system/text.ts';
import type { WaitingApproval } from '../../client/faces/types.ts';
import { ofAgent } from '../../client/faces/words.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { holdAnswers, type PagePorts } from '../ports.ts';
import { changeRing, frameChanges, type FramePart, type Ring } from '../feed/ring.ts';
import { createTroubles, readWaiting, type Trouble } from '../feed/troubles.ts';
import { Icon } from '../primitives.tsx';
import { Age, formatNumber } from '../figures.tsx';
import { htmlOf } from '../layout.tsx';
import { Banner } from '../session/frame.tsx';
import { inboxItems, type InboxItem, type ItemSession } from './inbox-items.ts';

export const INBOX = { banners: 'banners', list: 'inbox-list', head: 'inbox-head' } as const;

const LOOK_MS = 2_000;
/** Most items to show. */
const MOST = 200;
/** Milliseconds for which a session's title and tags are reused. */
const SESSION_HOLD_MS = 60_000;
const MOST_SETTLED = 2_000;

export class InboxFeed {
  readonly ring: Ring = changeRing();
  readonly #ports: PagePorts;
  readonly #trouble = createTroubles();
  readonly #drawn = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #settled = new RecentMap<string, true>(MOST_SETTLED);
  readonly #sessions: (session: string) => Promise<ItemSession>;
  #waiting: readonly WaitingApproval[] = [];
  #known = new Map<string, ItemSession>();
  #items: readonly InboxItem[] = [];
  #parts: readonly FramePart[] = [];

  private constructor(ports: PagePorts) {
    this.#ports = ports;
    this.#sessions = holdAnswers(
      (session: string) => readItemSession(ports, session),
      (found) => (found.cwd === '' ? 0 : SESSION_HOLD_MS),
    );
  }

  /** Resolves when it has looked once. */
  static async open(ports: PagePorts): Promise<InboxFeed> {
    const feed = new InboxFeed(ports);
    await feed.#look();
    feed.#draw();
    frameChanges(feed.#drawn, feed.#parts);
    void feed.#lookOn();
    return feed;
  }

  get parts(): readonly FramePart[] {
    return this.#parts;
  }

  get items(): readonly InboxItem[] {
    return this.#items;
  }

  find(session: string, call: string): InboxItem | undefined {
    return this.#items.find(({ approval }) => approval.session === session && approval.call === call);
  }

  /** Takes decided calls out at once, before the server lists them no more. */
  settle(decided: readonly Pick<WaitingApproval, 'session' | 'call'>[]): void {
    for (const one of decided) this.#settled.set(settleKey(one), true);
    this.#show();
  }

  close(): void {
    this.#stop.abort();
  }

  async #look(): Promise<void> {
    this.#waiting = await readWaiting(this.#ports, this.#trouble);
    const found = this.#waiting.map(async ({ session }) => [session, await this.#sessions(session)] as const);
    this.#known = new Map(await Promise.all(found));
  }

  async #lookOn(): Promise<void> {
    while (await pause(LOOK_MS, this.#stop.signal)) {
      try {
        await this.#look();
        this.#trouble.set('server', null);
      } catch (error) {
        this.#trouble.set('server', reasonOf(error));
      }
      this.#show();
    }
  }

  #draw(): void {
    const open = this.#waiting.filter((one) => !this.#settled.has(settleKey(one)));
    const all = inboxItems(open, ({ session }) => this.#known.get(session) ?? unknownSession(session), Date.now());
    this.#items = all.slice(0, MOST);
    this.#parts = inboxParts(this.#items, open.length, this.#trouble.list());
  }

  #show(): void {
    this.#draw();
    const changes = frameChanges(this.#drawn, this.#parts);
    const ids = this.#parts.flatMap(({ id, into }) => (into === INBOX.list ? [id] : []));
    if (changes.length > 0) this.ring.push(...changes, { do: 'order', into: INBOX.list, ids });
  }
}

const settleKey = ({ session, call }: Pick<WaitingApproval, 'session' | 'call'>): string => `${session} ${call}`;

const unknownSession = (session: string): ItemSession => ({ title: session, cwd: '', tags: [] });

async function readItemSession(ports: Pick<PagePorts, 'describe'>, session: string): Promise<ItemSession> {
  try {
    const { title, cwd, facts } = await ports.describe(session);
    const tags = Object.entries(facts?.tags ?? {}).map(([name, value]) => (value === '' ? name : `${name}=${value}`));
    return { title: title || session, cwd, tags };
  } catch (error) {
    // It has ended meanwhile: the next look lists it no more.
    if (!(error instanceof ClientProblem)) throw error;
    return unknownSession(session);
  }
}

function inboxParts(items: readonly InboxItem[], waiting: number, troubles: readonly Trouble[]): readonly FramePart[] {
  const part = (id: string, into: string, node: unknown): FramePart => ({ id, into, html: htmlOf(node) });
  const soon = items.filter(({ isSoon }) => isSoon);
  const rest = items.filter(({ isSoon }) => !isSoon);
  const isSplit = soon.length > 0 && rest.length > 0;
  const row = (item: InboxItem, at: number, all: readonly InboxItem[]): FramePart => {
    const before = all[at - 1];
    const isRepeated = before !== undefined && item.alike.includes(before.approval);
    return part(item.id, INBOX.list, <ItemRow item={item} isRepeated={isRepeated} />);
  };
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, INBOX.banners, <Banner trouble={trouble} />)),
    part('inbox-count', INBOX.head, <InboxCount waiting={waiting} visible={items.length} />),
    ...(isSplit ? [part('group-soon', INBOX.list, <Group id="group-soon" name="Auto-denied within the hour" />)] : []),
    ...soon.map(row),
    ...(isSplit ? [part('group-rest', INBOX.list, <Group id="group-rest" name="Waiting" />)] : []),
    ...rest.map(row),
  ];
}

function InboxCount({ waiting, visible }: { readonly waiting: number; readonly visible: number }) {
  const more = waiting > visible ? `, ${formatNumber(visible)} shown` : '';
  return (
    <span id="inbox-count">
      {waiting === 0 ? 'Nothing is waiting' : `${waiting.toLocaleString('en')} waiting, most urgent first${more}`}
    </span>
  );
}

function Group({ id, name }: { readonly id: string; readonly name: string }) {
  return (
    <li id={id} class="inbox-group">
      {name}
    </li>
  );
}

type RowProps = {
  readonly item: InboxItem;
  /** The row above it is alike: this one says less. */
  readonly isRepeated: boolean;
};

function ItemRow({ item: { id, approval, session, summary, alike, isSoon }, isRepeated }: RowProps) {
  const { askedAt, call, deadline, inputHash, problem } = approval;
  const folder = session.cwd.split('/').filter(Boolean).at(-1) ?? '';
  const agent = ofAgent(approval);
  return (
    <li id={id} class={isRepeated ? 'repeated' : undefined}>
      <a
        class="inbox-item"
        href={`/inbox?${itemQuery(approval)}`}
        data-item={id}
        data-session={approval.session}
        data-call={call}
        data-hash={inputHash}
        data-alike={alike.length}
      >
        <Icon name={summary.icon} />
        <span class="cut task">{showUnseen(session.title.slice(0, 200))}</span>
        <span class="quiet">
          <Age at={isSoon ? deadline : (askedAt ?? deadline)} />
        </span>
        <span class="cut what">
          <b>{showUnseen(summary.tool.slice(0, 60))}</b> {showUnseen(summary.what.slice(0, 200))}
        </span>
        <span class="row marks">
          {summary.risk === undefined ? null : <span class="bad">{summary.risk}</span>}
          {problem === undefined ? null : <span class="bad">can’t be read</span>}
          {agent === '' ? null : <span class="quiet cut">{showUnseen(agent.trim().slice(0, 80))}</span>}
          {folder === '' ? null : <span class="chip tag">{showUnseen(folder)}</span>}
          {session.tags.slice(0, 3).map((tag) => (
            <span class="chip tag">{showUnseen(tag.slice(0, 60))}</span>
          ))}
          {alike.length === 0 ? null : <span class="quiet">{`${alike.length + 1} alike`}</span>}
        </span>
      </a>
    </li>
  );
}

const itemQuery = ({ session, call }: Pick<WaitingApproval, 'session' | 'call'>): string =>
  new URLSearchParams({ session, call }).toString();
