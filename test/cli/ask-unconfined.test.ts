// The question whether commands may run where nothing confines them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { askUnconfined } from '../../cli/worker-config.ts';
import type { Input } from '../../cli/typing/input.ts';
import { refuseUnconfinedForOthers, withUnconfined } from '../../client/runtime/unconfined.ts';
import { mayRunUnconfined } from '../../worker/config/unconfined.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A person at a terminal who types these lines; null: they leave. */
function person(...typed: readonly (string | null)[]) {
  const lines = [...typed];
  const [asked, said]: [string[], string[]] = [[], []];
  const input = {
    ask: (question: string) => (asked.push(question), Promise.resolve(lines.shift() ?? null)),
    close: () => '',
  } as unknown as Input;
  const env = { HOME: tempDir() };
  return { cli: { openInput: () => input, env, say: (line: string) => void said.push(line) }, asked, said };
}

test('a person on macOS is asked once, and what they answer is kept', async () => {
  for (const [typed, allowed] of [
    ['y', true],
    ['Yes ', true],
    ['', false],
    ['no', false],
  ] as const) {
    const { cli, asked, said } = person(typed);
    await askUnconfined(cli, {}, 'darwin');
    await askUnconfined(cli, {}, 'darwin');
    expect(asked).toEqual([expect.stringMatching(/^Nothing confines the agent's commands on macOS: .*Enter: no $/)]);
    expect(said).toEqual([expect.stringContaining(join(cli.env.HOME, '.config/perdure/unconfined.json'))]);
    expect(mayRunUnconfined(undefined, cli.env, 'darwin')).toBe(allowed);
  }
});

test('one who leaves has not answered, and nobody is asked on Linux, without a terminal, or after a permission', async () => {
  const { cli, asked } = person(null);
  await askUnconfined(cli, {}, 'darwin');
  expect([asked.length, existsSync(join(cli.env.HOME, '.config'))]).toEqual([1, false]);
  await askUnconfined(cli, {}, 'linux');
  await askUnconfined({ ...cli, openInput: null }, {}, 'darwin');
  for (const unconfined of [true, false]) await askUnconfined(cli, { sandbox: { unconfined } }, 'darwin');
  await askUnconfined(await withUnconfined(cli, { unconfined: true }), {}, 'darwin');
  expect(asked).toHaveLength(1);
});

test('the flag is refused where another worker runs the commands', () => {
  expect(() => refuseUnconfinedForOthers({ unconfined: true })).toThrow('a worker that stays runs the commands');
  expect(() => refuseUnconfinedForOthers({})).not.toThrow();
});
