// Looks at all that waits for a person, for as long as somebody has the inbox open: one look for
// all viewers. What was decided here disappears at once.
import { pause } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf, showUnseen } from '../../system/text.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { ofAgent } from '../../client/render/approval-text.ts';
import { ClientProblem } from '../../client/problem.ts';
import { holdAnswers, type PagePorts } from '../ports.ts';
import { changeRing, frameChanges, type FramePart, type Ring } from '../feed/ring.ts';
import { readWaiting } from '../feed/read-waiting.ts';
import { createTroubles, type Trouble } from '../feed/troubles.ts';
import { Icon } from '../icons.tsx';
import { htmlOf, Moment } from '../layout.tsx';
import { Banner } from '../session/frame.tsx';
import { inboxItems, type InboxItem, type ItemSession } from './inbox-items.ts';

export const INBOX = { banners: 'banners', list: 'inbox-list', head: 'inbox-head' } as const;

export type InboxFeed = {
  readonly ring: Ring;
  readonly parts: readonly FramePart[];
  readonly items: readonly InboxItem[];
  find(session: string, call: string): InboxItem | undefined;
  /** Takes decided calls out at once, before the server lists them no more. */
  settle(decided: readonly Pick<WaitingApproval, 'session' | 'call'>[]): void;
  close(): void;
};

const LOOK_MS = 2_000;
/** Most items to show. */
const MOST = 200;
/** Milliseconds for which a session's title and tags are reused. */
const SESSION_HOLD_MS = 60_000;
const MOST_SETTLED = 2_000;

export async function openInboxFeed(ports: PagePorts): Promise<InboxFeed> {
  const ring = changeRing();
  const trouble = createTroubles();
  const drawn = new Map<string, string>();
  const stop = new AbortController();
  const settled = new RecentMap<string, true>(MOST_SETTLED);
  const sessions = holdAnswers(
    (session: string) => readItemSession(ports, session),
    (found) => (found.cwd === '' ? 0 : SESSION_HOLD_MS),
  );
  let waiting: readonly WaitingApproval[] = [];
  let known = new Map<string, ItemSession>();
  let items: readonly InboxItem[] = [];
  let parts: readonly FramePart[] = [];
  const look = async (): Promise<void> => {
    waiting = await readWaiting(ports, trouble);
    const found = await Promise.all(waiting.map(async (one) => [one.session, await sessions(one.session)] as const));
    known = new Map(found);
  };
  const draw = (): void => {
    const open = waiting.filter((one) => !settled.has(settleKey(one)));
    items = inboxItems(open, ({ session }) => known.get(session) ?? unknownSession(session), Date.now()).slice(0, MOST);
    parts = inboxParts(items, open.length, trouble.list());
  };
  const show = (): void => {
    draw();
    const changes = frameChanges(drawn, parts);
    const ids = parts.flatMap(({ id, into }) => (into === INBOX.list ? [id] : []));
    if (changes.length > 0) ring.push(...changes, { do: 'order', into: INBOX.list, ids });
  };
  await look();
  draw();
  frameChanges(drawn, parts);
  const goOn = async (): Promise<void> => {
    while (await pause(LOOK_MS, stop.signal)) {
      try {
        await look();
        trouble.set('server', null);
      } catch (error) {
        trouble.set('server', reasonOf(error));
      }
      show();
    }
  };
  void goOn();
  return {
    ring,
    get parts() {
      return parts;
    },
    get items() {
      return items;
    },
    find: (session, call) => items.find(({ approval }) => approval.session === session && approval.call === call),
    settle: (decided) => {
      for (const one of decided) settled.set(settleKey(one), true);
      show();
    },
    close: () => stop.abort(),
  };
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
  const row = (item: InboxItem): FramePart => part(item.id, INBOX.list, <ItemRow item={item} />);
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, INBOX.banners, <Banner trouble={trouble} />)),
    part('inbox-count', INBOX.head, <InboxCount waiting={waiting} shown={items.length} />),
    ...(isSplit
      ? [part('group-soon', INBOX.list, <Group id="group-soon" name="Denied by itself within the hour" />)]
      : []),
    ...soon.map(row),
    ...(isSplit ? [part('group-rest', INBOX.list, <Group id="group-rest" name="Waiting" />)] : []),
    ...rest.map(row),
  ];
}

function InboxCount({ waiting, shown }: { readonly waiting: number; readonly shown: number }) {
  const more = waiting > shown ? `, ${shown} shown` : '';
  return (
    <span id="inbox-count">{waiting === 0 ? 'Nothing waits' : `${waiting} waiting, most urgent first${more}`}</span>
  );
}

function Group({ id, name }: { readonly id: string; readonly name: string }) {
  return (
    <li id={id} class="inbox-group">
      {name}
    </li>
  );
}

function ItemRow({ item: { id, approval, session, summary, alike, isSoon } }: { readonly item: InboxItem }) {
  const { askedAt, call, deadline, inputHash, problem } = approval;
  const folder = session.cwd.split('/').filter(Boolean).slice(-2).join('/');
  const agent = ofAgent(approval);
  return (
    <li id={id}>
      <a
        class="inbox-item"
        href={`/inbox?${itemQuery(approval)}`}
        data-item={id}
        data-session={approval.session}
        data-call={call}
        data-hash={inputHash}
      >
        <Icon name={summary.icon} />
        <span class="task">{showUnseen(session.title.slice(0, 200))}</span>
        <span class="age">{isSoon ? <Moment at={deadline} /> : <Moment at={askedAt ?? deadline} />}</span>
        <span class="what">
          <b>{showUnseen(summary.tool.slice(0, 60))}</b> {showUnseen(summary.what.slice(0, 200))}
        </span>
        <span class="marks">
          {folder === '' ? null : <span class="chip tag">{showUnseen(folder)}</span>}
          {session.tags.slice(0, 3).map((tag) => (
            <span class="chip tag">{showUnseen(tag.slice(0, 60))}</span>
          ))}
          {alike.length === 0 ? null : <span class="quiet">{`${alike.length + 1} alike`}</span>}
          {agent === '' ? null : <span class="quiet">{showUnseen(agent.trim().slice(0, 80))}</span>}
          {summary.risk === undefined ? null : <span class="bad">{summary.risk}</span>}
          {problem === undefined ? null : <span class="bad">cannot be read</span>}
        </span>
      </a>
    </li>
  );
}

export const itemQuery = ({ session, call }: Pick<WaitingApproval, 'session' | 'call'>): string =>
  new URLSearchParams({ session, call }).toString();
