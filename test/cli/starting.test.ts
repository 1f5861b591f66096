// What is shown while a command is loaded.
import { expect, test } from 'vitest';
import { sayStarting } from '../../cli/main.ts';

function shown(args: readonly string[], isTTY = true, env = {}): string {
  let text = '';
  const done = sayStarting(args, { stderr: { isTTY, write: (words) => (text += words) }, env });
  done();
  done();
  return text;
}

test.each([[[]], [['chat']], [['run', 'do it']], [['--model', 'opus']], [['top']]])(
  'a person who waits in front of it is told at once, and the words go away: %j (O22)',
  (args) => {
    expect(shown(args)).toBe('\u001b[2mStarting…\u001b[22m \r\u001b[K');
  },
);

test('nothing is said where nobody waits, and where a row cannot be taken back (O22)', () => {
  expect(shown(['send', 's-1', 'x'])).toBe('');
  expect(shown(['run', '--help'])).toBe('');
  expect(shown(['run', 'x'], false)).toBe('');
  expect(shown(['run', 'x'], true, { NO_COLOR: '1' })).toBe('');
  expect(shown(['run', 'x'], true, { TERM: 'dumb' })).toBe('');
});

test('with --plain nothing is taken back, whatever the terminal can do (O22)', () => {
  expect(shown(['run', 'x'], true, { PERDURE_PLAIN: '1' })).toBe('');
  expect(shown(['--plain', 'send'], true)).toBe('');
});
