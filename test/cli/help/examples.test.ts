// Examples below the help of each command: each is there, and each can be parsed.
import { expect, test } from 'vitest';
import { cliOf } from '../../../cli/cli.ts';
import { completionScript, SHELLS } from '../../../cli/help/completions.ts';
import { exampleHelp, examplesOf } from '../../../cli/help/examples.ts';
import { createProgram } from '../../../cli/program.ts';

const cli = cliOf(process, { verbose: false, exit: () => undefined });
const root = () => createProgram(cli);
const whole = await root();
const commands = whole.commands.map((command) => command.name());
const shown = commands.filter((name) => name !== 'start-here');

test.each(shown)('%s has an example in its help, which it takes (O19)', async (name) => {
  expect(exampleHelp(name)).toMatch(/^\nExamples?:\n {2}\S/);
  for (const line of examplesOf(name)) {
    const [, call = ''] = /(perdure[^)|]*)/.exec(line) ?? [];
    const words = [...call.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
      ([, double, single, bare]) => double ?? single ?? bare ?? '',
    );
    const [first = '--'] = words.slice(1);
    const args = commands.includes(first) ? words.slice(1) : ['chat', ...words.slice(1)];
    const parsing = await root();
    const ran: string[] = [];
    for (const command of parsing.commands)
      for (const each of command.commands.length > 0 ? command.commands : [command])
        each.action(() => void ran.push(command.name()));
    await parsing.parseAsync(args, { from: 'user' });
    expect(ran).toEqual([name]);
  }
});

test.each(SHELLS)('completions for %s name every command and option, quoted, and nothing hidden (O19)', (shell) => {
  const script = completionScript(shell, whole);
  for (const command of shown) expect(script).toContain(command);
  for (const option of ['permission-mode', 'log-format', 'timeline', 'continue']) expect(script).toContain(option);
  expect(script).toContain('acceptEdits');
  expect(script).not.toContain('start-here');
});
