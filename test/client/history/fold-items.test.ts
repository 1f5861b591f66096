// What is told of a session that grows is what is told of the whole transcript at once (O13).
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { findBackgroundCommands } from '../../../client/sessions/history/background.ts';
import { countTouchedFiles, listTouchedFiles } from '../../../client/sessions/history/changed-files.ts';
import { transcriptItems } from '../../../client/sessions/history/items.ts';
import { transcriptFacts } from '../../../page/session/session-facts.ts';
import { describeCommand, describeStarted, sourceName } from '../../../tools/builtin/shell/background-words.ts';
import type { Entry, Outcome } from '../../../store/log/entries.ts';
import {
  boundary,
  callBlock,
  files,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  user,
} from '../../support/transcript.ts';

const path = fc.constantFrom('/w/a.ts', '/w/b.ts', '/v/c.ts', 'd.ts');
const calls = fc.oneof(
  path.map((where) => callBlock('w', { path: where, content: 'x' }, 'write')),
  path.map((where) => callBlock('e', { path: where, old_string: 'x', new_string: 'y' }, 'edit')),
  path.map((where) => callBlock('r', { path: where })),
  fc.constantFrom('dev', 'make').map((command) => callBlock('b', { command, background: true }, 'bash')),
  fc.constant(callBlock('a', { description: ' Look ' }, 'agent')),
);
const ends: fc.Arbitrary<Outcome> = fc
  .record({
    index: fc.nat(3),
    isError: fc.boolean(),
    duration: fc.nat(4),
    decision: fc.constantFrom('allowed', 'denied'),
    by: fc.constantFrom('ana', undefined),
    name: fc.constantFrom('todo', 'bash', 'read'),
    id: fc.nat(2),
  })
  .map(({ index, isError, duration, decision, by, name, id }) =>
    outcome(index, name === 'todo' ? `[ ] ${duration}` : describeStarted(`bg-0000000${id}`), {
      isError,
      log: {
        key: null,
        name,
        decision,
        duration,
        outcome: isError ? 'failed' : 'ok',
        ...(by && { approved: { by } }),
      } as never,
    }),
  );
const spent = { usage: { input: 3, output: 1, cacheRead: 5, cacheWrite: 2 }, usd: 0.1 };
const entry: fc.Arbitrary<Entry> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(calls, { maxLength: 3 })
      .map((asked) => reply([textBlock('t'), ...asked], { iteration: 2, spend: spent })),
  },
  { weight: 6, arbitrary: fc.array(ends, { maxLength: 3 }).map((list) => outcomes(...list)) },
  fc.nat(3).map((run) => runStarted(run + 1)),
  fc.nat(3).map((run) => runEnded(run + 1)),
  fc.constant(user('go')),
  fc.constant({ ...boundary('s', 0), tasks: '[ ] kept' } as Entry),
  fc.constant(files('/w', { parent: 'p', names: ['a.ts', 'z.ts'] })),
  fc.constant(notice({ kind: 'forked', session: 's-0', position: 1, moved: { from: '/w', to: '/v' } } as never)),
  fc.nat(2).map((id) =>
    notice({
      kind: 'attachment',
      source: sourceName(`bg-0000000${id}`),
      text: `${describeCommand({ id: `bg-0000000${id}`, command: 'dev' })} has ended.`,
    } as never),
  ),
);

test('facts of a transcript that grows are those of the whole (O13)', () => {
  fc.assert(
    fc.property(fc.array(fc.array(entry, { maxLength: 3 }), { maxLength: 12 }), (steps) => {
      const grown = transcriptItems();
      for (const step of steps) {
        grown.add(step);
        const whole = transcriptItems();
        whole.add(grown.entries);
        expect(transcriptFacts(grown)).toEqual(transcriptFacts(whole));
        expect(listTouchedFiles(grown.all)).toEqual(listTouchedFiles(whole.all));
        expect(findBackgroundCommands(grown.all)).toEqual(findBackgroundCommands(whole.all));
        expect(countTouchedFiles(grown.all)).toBe(countTouchedFiles([...whole.all]));
      }
    }),
  );
});
