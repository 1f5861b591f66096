// What is taken on from view to view is what all entries say.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { readMarks } from '../../../store/transcript/marks.ts';
import { beginEpoch, currentEpoch, tellPreamble, toolsIn } from '../../../store/transcript/preamble.ts';
import { inView } from '../../../store/view/in-view.ts';
import { countRequestCharacters } from '../../../store/transcript/request-size.ts';
import { planMicrocompact } from '../../../store/view/microcompact.ts';
import { createMemo, openProjection, project } from '../../../store/view/project.ts';
import { emptyView, type View } from '../../../store/view/view.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { steps, transcriptOf } from '../../support/any-transcript.ts';
import { boundary, outcome, outcomes, reply, textBlock, user } from '../../support/transcript.ts';

const models = [
  undefined,
  { name: 'claude-test' },
  { name: 'claude-test', checksPrefix: true, compaction: true, thinking: {} },
  { name: 'other', systemMessages: true, webSearch: true },
] as const;

const grow = (view: View, entries: readonly Entry[]): View =>
  view.grow({ hash: `h${view.segments}` as Hash, bytes: 1, entries });

/** How many entries a segment gets, and how many are looked at before they are stored. */
const cuts = fc.array(fc.record({ stored: fc.integer({ min: 1, max: 12 }), ahead: fc.nat(4) }), { minLength: 60 });

test('each request shows what all entries show, however the views before it were asked for (L4 L58)', () => {
  const epoch = beginEpoch('first', { system: [{ name: 'a', text: 'A' }], tools: [] });
  fc.assert(
    fc.property(steps(40, 160), cuts, fc.nat(3), (drawn, sizes, which) => {
      const entries = [epoch, ...transcriptOf(drawn)];
      const memo = createMemo();
      let view = emptyView('s' as SessionId);
      for (const [turn, { stored, ahead }] of sizes.entries()) {
        const added = entries.slice(view.length, view.length + ahead);
        const all = [...view.entries, ...added];
        const extended = { view, added };
        const model = models[turn % 7 === 0 ? (which + 1) % 4 : which];
        const sent = openProjection(inView(extended), { model, memo }).finish(new Map());
        const anew = project(all, new Map(), { model });
        expect(sent.messages).toEqual(anew);
        expect(sent.system).toEqual(openProjection(inView(all), { model }).finish(new Map()).system);
        expect(countRequestCharacters(sent.messages)).toBe(countRequestCharacters(anew));
        const { shown, marks } = inView(extended);
        expect({ shown, marks }).toEqual(inView(all));
        for (const now of [0, 1e12]) expect(planMicrocompact(extended, now)).toEqual(planMicrocompact(all, now));
        expect(readMarks(extended)).toEqual(readMarks(all));
        expect(currentEpoch(extended)).toEqual(currentEpoch(all));
        expect(toolsIn(extended, {})).toEqual(toolsIn(all, {}));
        expect(tellPreamble(extended, epoch)).toEqual(tellPreamble(all, epoch));
        const blocks = sent.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
        const ids = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
        expect(ids.every((id) => sent.ids.has(id))).toBe(true);
        expect(sent.ids.size).toBe(ids.length);
        if (view.length >= entries.length) return;
        // Another attempt may grow from the same view.
        if (turn % 5 === 0) grow(view, [entries[0] as Entry]);
        view = grow(view, entries.slice(view.length, view.length + stored));
      }
    }),
    { numRuns: 150 },
  );
});

test('a boundary that is not stored yet shows a prompt that is not stored yet either (L5 L58)', () => {
  const view = grow(emptyView('s' as SessionId), [user('go'), reply([textBlock('well')])]);
  const added = [user('and on'), reply([textBlock('done')]), boundary('so far', 3, [0, 2])];
  const { shown, marks } = inView({ view, added });
  expect({ shown, marks }).toEqual(inView([...view.entries, ...added]));
  expect(shown.map(({ position }) => position)).toEqual([3, 0, 2, 3]);
});

test('a short form of entries that are not stored yet is not kept for others in their place (L9 L58)', () => {
  const tasks = (content: string): Entry => {
    const one = outcome(0, content);
    return outcomes({ ...one, log: { ...one.log, name: 'todo' } });
  };
  const marks: readonly Entry[] = [
    { kind: 'collapse_staged', from: 1, to: 4, short: 'worked' },
    { kind: 'collapse_committed', count: 1 },
  ];
  const view = grow(emptyView('s' as SessionId), [user('go'), reply([textBlock('well')])]);
  for (const content of ['first list', 'other list']) {
    const added = [reply([textBlock('so')]), tasks(content), ...marks];
    const { shown } = inView({ view, added });
    expect(shown).toEqual(inView([...view.entries, ...added]).shown);
    expect(JSON.stringify(shown)).toContain(content);
  }
});
