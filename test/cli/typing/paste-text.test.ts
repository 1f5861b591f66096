// Pasted text without what terminals put among it.
import { expect, test } from 'vitest';
import { cleanPaste } from '../../../cli/typing/keyboard.ts';

const E = '\u001b';

test.each([
  ['keys of fixterms and kitty', `one${E}[13;1u two${E}[9u${E}[228;1u${E}[97;5u!`, 'one\n two\tä!'],
  ['line ends that tmux writes as keys', `a${E}[106;5ub${E}[27;5;106~c${E}[13ud${E}[10;1u`, 'a\nb\nc\nd\n'],
  ['keys that have no character', `a${E}[57399u${E}[27u${E}[127ub`, 'ab'],
  ['colours', `one ${E}[31m red ${E}[0m ${E}[38;2;1;2;3mx${E}[m`, 'one  red  x'],
  ['links and titles', `${E}]8;;https://x.org${E}\\here${E}]8;;${E}\\ ${E}]0;title\u0007end`, 'here end'],
  ['movements and the like', `${E}[2K${E}[1;5Ha${E}(Bb${E}7${E}[?25l`, 'ab'],
  ['nothing', 'plain [31m text, ü\n\tand 13;1u', 'plain [31m text, ü\n\tand 13;1u'],
  ['a title that never ends', `a${E}]0;rest of it`, `a${E}]0;rest of it`],
])('a paste with %s has its text alone (O20)', (_what, pasted, text) => {
  expect(cleanPaste(pasted)).toBe(text);
});

test('a megabyte of colours and of beginnings is cleaned at once (O20)', () => {
  const coloured = `${E}[31mx${E}]`.repeat(100_000);
  expect(cleanPaste(coloured)).toBe(`x${E}]`.repeat(100_000));
});
