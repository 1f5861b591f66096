// What a rewind says of the calls that it leaves behind.
import { expect, test } from 'vitest';
import { effectText } from '../../../client/render/files-words.ts';
import { planRewind, type RewindChoice } from '../../../client/sessions/files/plan-rewind.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { StoredSegment } from '../../../store/log/read-chain.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { callBlock, files, outcome, outcomes, reply, runStarted, user } from '../../support/transcript.ts';

const captured = files('/w');

function effectsOf(isCaptured: boolean, choice: RewindChoice = {}): readonly string[] {
  const before: readonly Entry[] = [runStarted(1), user('Go.'), ...(isCaptured ? [captured] : [])];
  const after: readonly Entry[] = [
    user('Change it.'),
    reply([callBlock('c-1', { path: 'a.ts', content: 'a' }, 'write'), callBlock('c-2', { command: 'make' }, 'bash')]),
    outcomes(outcome(0, 'Written.'), outcome(1, 'Made.')),
  ];
  const segment = (first: number, entries: readonly Entry[]) => ({
    hash: String(first) as Hash,
    bytes: 1,
    segment: { first, entries, parent: first === 0 ? null : '0' },
  });
  const chain = [segment(0, before), segment(before.length, after)] as unknown as readonly StoredSegment[];
  return planRewind(chain, undefined, choice).effects.map(effectText);
}

test('edits and writes of files stay done where no files go back, and that is listed (T8)', () => {
  expect(effectsOf(true)).toEqual(['bash make']);
  expect(effectsOf(true, { files: false })).toEqual(['write a.ts', 'bash make']);
  expect(effectsOf(false)).toEqual(['write a.ts', 'bash make']);
});
