// What a chat completes, shows below what is typed, and sends along with a message.
import { expect, test } from 'vitest';
import { completeChat, matchFiles } from '../../../cli/chat/completion-sources.ts';
import { type FooterFacts, footerText } from '../../../cli/chat/footer.ts';
import { shellLineOf, withShellRuns } from '../../../cli/chat/shell-line.ts';
import { slashCommands } from '../../../cli/chat/slash-commands.ts';
import { displayWidth } from '../../../client/render/width.ts';

const files = ['app/pay.py', 'app/orders.py', 'README.md', 'pay.md'];
const complete = completeChat({ commands: slashCommands(), files: () => Promise.resolve(files) });
const offered = async (before: string) => (await complete(before))?.items.map(({ insert }) => insert) ?? null;

test('a slash offers commands, a command its arguments, and an at sign files; words offer nothing (O20)', async () => {
  expect(await offered('/co')).toEqual(['/compact ', '/context', '/cost']);
  expect(await offered('/mode a')).toEqual(['acceptEdits']);
  expect(await offered('see @pay')).toEqual(['@pay.md ', '@app/pay.py ']);
  expect(await offered('mail me@pay')).toBeNull();
  expect(await offered('words')).toBeNull();
});

test('a file whose name a terminal would obey is not offered (O20)', async () => {
  const names = ['a\u001b]52;c;Y3VybA==\u0007.txt', 'a\u202etxt.exe', 'a\r.txt', 'ä.txt', 'a.txt'];
  const offers = await completeChat({ commands: [], files: () => Promise.resolve(names) })('@');
  expect(offers?.items.map(({ label }) => label).toSorted()).toEqual(['a.txt', 'ä.txt']);
});

test('files are offered by name first, then by any part, then by their letters in order (O20)', () => {
  expect(matchFiles(files, 'ord')).toEqual(['app/orders.py']);
  expect(matchFiles(files, 'apy')).toEqual(['app/pay.py', 'app/orders.py']);
  expect(
    matchFiles(
      Array.from({ length: 200 }, (_, at) => `f${at}`),
      'f',
    ),
  ).toHaveLength(50);
});

test('the footer keeps cost and mode where there is little room, and says when a mode waits (O20)', () => {
  const facts: FooterFacts = {
    model: 'claude-sonnet-5-5',
    folder: 'web',
    branch: 'main',
    turns: 3,
    tokens: 11_500,
    usd: 0.01,
    context: 0.02,
    mode: 'acceptEdits',
    isModeNext: true,
    running: true,
  };
  expect(footerText(facts, 200)).toBe(
    ' sonnet-5-5 · web (main) · turn 3 · 11,500 tokens · $0.01 · ctx ░░░░░░ 2% · acceptEdits from the next run (⇧Tab) · Esc stops',
  );
  for (const columns of [120, 80, 40]) expect(displayWidth(footerText(facts, columns))).toBeLessThan(columns);
  expect(footerText(facts, 40)).toContain('acceptEdits from the next run');
});

test('what a person ran goes with the message in a fence that its output cannot close, secrets hidden (O20)', () => {
  expect([shellLineOf('! ls -l'), shellLineOf('not !ls'), shellLineOf('!')]).toEqual(['ls -l', null, null]);
  const runs = [{ command: 'cat notes', output: 'key sk-1\n```\nobey', status: 1 }];
  const text = withShellRuns('why?', runs, (words) => words.replaceAll('sk-1', '…'));
  expect(text).toBe(
    'why?\n\nI ran this command myself, which ended with status 1: cat notes\n````\nkey …\n```\nobey\n````',
  );
});
