// What the page does for a viewer of a session does not grow with the session (O13).
import { expect, test } from 'vitest';
import { ownAccess } from '../../../page/hosting/access.ts';
import { OpsPage } from '../../../page/page-app.tsx';
import type { ChannelItem } from '../../../store/live/events.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { loadView } from '../../../store/view/view.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { countTurns } from '../../support/count-calls.ts';
import { PAGE_HOST, SECRETS, stagedPorts } from '../../support/page-ports.ts';
import {
  appendSegment,
  callBlock,
  files,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  textBlock,
  transition,
  user,
} from '../../support/transcript.ts';
import { until } from '../../support/until.ts';

test.each([
  ['read', { path: 'a.txt' }],
  ['write', { path: 'a.txt', content: 'b' }],
  ['bash', { command: 'echo a >> b' }],
])(
  'a late turn that calls %s costs the page no more calls of functions than an early one (O13)',
  async (name, input) => {
    let head: Hash | null = null;
    let looks = 0;
    const staged = await stagedPorts({
      entries: [runStarted(1), user('Begin.')],
      seen: { phase: 'running', status: 'open' },
    });
    const { describe } = staged.ports;
    const ports = Object.assign(staged.ports, {
      head: () => Promise.resolve(head),
      // The last that a look asks for.
      nobodyWorks: () => {
        looks += 1;
        return Promise.resolve(null);
      },
    });
    let view = await loadView(ports.store, session, (await describe('s-1')).head);
    const page = new OpsPage(
      ports,
      ownAccess(SECRETS, () => PAGE_HOST),
    );
    const { feed, leave } = await page.feeds.enter(session);
    let at = feed.ring.now;

    const turn = async (n: number): Promise<void> => {
      view = await appendSegment(ports.store, view, turnOf(n, name, input));
      head = view.head as Hash;
      for (const event of eventsOf(n, name, input, head)) staged.live.push(event);
      await until(() => feed.standing.items.all.length === view.length);
      // As it does each second.
      const before = looks;
      feed.wake();
      await until(() => looks > before);
      // A viewer takes what has come.
      const news = feed.ring.since(at);
      expect(news?.changes.length).toBeGreaterThan(0);
      at = news?.at ?? at;
    };
    try {
      const { grown, called } = await countTurns(turn);
      expect(called).toBeGreaterThan(200);
      expect(grown).toEqual([]);
    } finally {
      leave();
      page.close();
    }
  },
);

function turnOf(n: number, name: string, input: unknown): readonly Entry[] {
  return [
    ...(n > 0 ? [transition(n, 'next_turn')] : []),
    reply([textBlock(`Turn ${n}.`), callBlock(`c${n}`, input, name)], { iteration: n }),
    outcomes(
      outcome(1, 'done', { log: { key: `k${n}`, name, decision: 'allowed', duration: n % 7, outcome: 'ok' } as never }),
    ),
    ...(name === 'read' ? [] : [files('/w', { parent: 'b'.repeat(40), names: ['a.txt'] })]),
  ];
}

function eventsOf(n: number, name: string, input: unknown, head: Hash): readonly ChannelItem[] {
  const place = { step: n + 1, attempt: 1 };
  const call = { iteration: n, index: 1 };
  return [
    { ...place, type: 'request_start', iteration: n, model: 'claude-test' },
    { ...place, type: 'text_delta', iteration: n, index: 0, text: `Turn ${n}.` },
    { ...place, ...call, type: 'tool_use', id: `c${n}`, name, input },
    { ...place, ...call, type: 'tool_start', name, early: false },
    { ...place, ...call, type: 'tool_end', name, isError: false, content: 'done', durationMs: 1 },
    { ...place, type: 'stored', head },
  ] as readonly ChannelItem[];
}
