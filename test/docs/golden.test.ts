// The golden lists in test/golden/: what users, stored sessions and programs of other versions
// count on, drawn from the real thing. Work on the house leaves them equal to the byte.
import type { Command } from 'commander';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliOf } from '../../cli/cli.ts';
import { createProgram } from '../../cli/program.ts';
import * as agentSdk from '../../client/agent-sdk/index.ts';
import { FATES } from '../../client/agent-sdk/option-fates.ts';
import { dataNames, listText } from './data-names.ts';
import { dataShapes } from './data-shapes.ts';
import { allRules } from './loop-table.ts';
import { root } from './source-program.ts';

const withCommands = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(withCommands)];

/** What `--help` prints at a width of 100. */
function helpOf(command: Command): string {
  let printed = '';
  command.configureOutput({
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
    writeOut: (text) => void (printed += text),
  });
  command.outputHelp();
  return printed;
}

async function helps(): Promise<string> {
  const program = await createProgram(cliOf(process, { verbose: false, exit: () => undefined }));
  return withCommands(program)
    .map((command) => `${'#'.repeat(100)}\n${helpOf(command)}`)
    .join('\n');
}

function agentSdkNames(): Readonly<Record<string, readonly string[]>> {
  const query = agentSdk.query({ prompt: '' });
  const methods = new Set<string>();
  for (let at: object = query; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    for (const name of Object.getOwnPropertyNames(at))
      if (typeof Reflect.get(query, name) === 'function' && name !== 'constructor') methods.add(name);
  return {
    options: Object.entries(FATES).map(([name, fate]) => `${name}: ${fate.kind}`),
    'methods of a query': [...methods].toSorted(),
    exports: Object.keys(agentSdk).toSorted(),
  };
}

const lists: readonly (readonly [name: string, draw: () => string | Promise<string>])[] = [
  ['names.txt', () => listText(dataNames())],
  ['shapes.txt', () => listText(dataShapes())],
  ['help.txt', helps],
  ['agent-sdk.txt', () => listText(agentSdkNames())],
  ['rules.txt', () => allRules.map(({ id, rule }) => `${id} ${rule}\n`).join('')],
];

test.each(lists)('test/golden/%s is as it was, or CHANGELOG.md says why not (`-u` rewrites it)', async (name, draw) => {
  await expect(await draw()).toMatchFileSnapshot(join(root, 'test/golden', name));
});
