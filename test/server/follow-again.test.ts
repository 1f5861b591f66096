// A follower that comes again, with the live channel of its first time, without it, or while the
// run goes on.
import { expect, test } from 'vitest';
import { fileLive } from '../../store/live/file-live.ts';
import type { ChannelItem } from '../../store/live/events.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { createClient } from '../../client/client.ts';
import type { Followed } from '../../client/follow/news.ts';
import type { FollowOptions } from '../../client/follow/follow.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { harness, type Harness } from '../support/harness.ts';

const look = toolUse('glob', { pattern: '*' });
const said = (words: string) => reply([text(words), look]);

async function* live({ liveDir }: Harness, session: SessionId, signal: AbortSignal): AsyncIterable<ChannelItem> {
  for await (const { cursor: _, ...event } of fileLive({ dir: liveDir }).follow(session, { signal })) yield event;
}

const clientOf = (h: Harness, hasLive = true) =>
  createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: (session, signal) => (hasLive ? live(h, session, signal) : none()),
    visibility: () => Promise.resolve(true),
    lookMs: 50,
  });

async function* none(): AsyncIterable<ChannelItem> {}

async function all(events: AsyncIterable<Followed>): Promise<Followed[]> {
  const seen: Followed[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** The texts, calls and outcomes of it, which are told from the store too. */
const kept = (events: readonly Followed[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type === 'text_delta') return [`${event.iteration} ${event.text}`];
    if (event.type === 'tool_use' || event.type === 'tool_end') return [`${event.iteration} ${event.type}`];
    return event.type === 'run_start' || event.type === 'result' ? [event.type] : [];
  });

test('one that has seen an iteration whole is told the run from behind it, once, from the store too (Q10)', async () => {
  const h = await harness({ script: [said('One.'), said('Two.'), reply('Three.'), reply('Four.')] });
  const session = await h.open('Look.');
  await session.ended(1);
  await session.send('And then?');
  await session.ended(2);
  const iteration = ['text_delta', 'tool_use', 'tool_end'];
  for (const hasLive of [true, false]) {
    const again = async (after: FollowOptions['after']) =>
      kept(await all(clientOf(h, hasLive).follow(session.id, { after })));
    expect(await again({ run: 1, iteration: 1 })).toEqual(['2 Two.', '2 tool_use', '2 tool_end', '3 Three.', 'result']);
    expect(await again({ run: 1, iteration: 2 })).toEqual(['3 Three.', 'result']);
    expect(await again({ run: 1, iteration: 3 })).toEqual(['result']);
    expect(await again({ run: 2, iteration: 1 })).toEqual(['result']);
    expect(await again({ run: 3, iteration: 1 })).toEqual([]);
    expect((await again({ run: 1, iteration: 0 })).filter((one) => one !== 'run_start')).toHaveLength(
      2 * iteration.length + 2,
    );
  }
  await expect(all(clientOf(h).follow(session.id, { after: { run: 0, iteration: 1 } }))).rejects.toThrow('0 is no run');
  await expect(all(clientOf(h).follow(session.id, { after: { run: 1, iteration: 0.5 } }))).rejects.toMatchObject({
    kind: 'refused',
    message: '0.5 is no iteration: give a whole number from 0',
  });
});

test('one that left in the middle of a reply is told that reply from its beginning, and nothing before it (Q10 L16)', async () => {
  const held = gate();
  const h = await harness({ script: [said('One.'), reply('Two and more.', { hold: held.hold, holdAfterEvent: 4 })] });
  const session = await h.open('Look.');
  let whole = 0;
  for await (const event of clientOf(h).follow(session.id)) {
    if (!('iteration' in event) || event.iteration === null) continue;
    whole = event.iteration - 1;
    if (event.type === 'text_delta' && event.iteration === 2) break;
  }
  expect(whole).toBe(1);
  const seen: Followed[] = [];
  for await (const event of clientOf(h).follow(session.id, { after: { run: 1, iteration: whole } })) {
    seen.push(event);
    if (event.type === 'text_delta') held.release();
  }
  const texts = seen.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
  expect(texts.join('')).toBe('Two and more.');
  expect(seen.some((event) => event.type === 'run_start' || ('iteration' in event && event.iteration === 1))).toBe(
    false,
  );
  expect(seen.at(-1)).toMatchObject({ type: 'result', run: 1, text: 'Two and more.' });
});
