// Which hooks may ask for the transcript of their run.
import { expect, test } from 'vitest';
import { checkConfig } from '../../worker/config/config.ts';

test('a stop hook may ask for the transcript, as a function or as a command (L30)', () => {
  const stop = [
    { run: () => null, transcript: true },
    { command: '/usr/local/bin/judge', transcript: true },
  ];
  expect(checkConfig({ hooks: { stop } }, 'f')).toEqual({ hooks: { stop } });
});

test.each([
  [
    'held',
    { stop: [{ command: 'x', sandbox: true, transcript: true }] },
    '"hooks.stop.0" is wrong: "transcript" does not go with "sandbox", which would keep the file out of its reach',
  ],
  ['of another kind', { preTool: [{ command: 'x', transcript: true }] }, '"hooks.preTool.0.transcript" is no key'],
])('a hook that is %s may not (L30)', (_what, hooks, told) => {
  expect(() => checkConfig({ hooks }, 'f')).toThrow(told);
});
