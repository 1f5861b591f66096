// What a killed worker's hook commands and MCP servers left running, and what is not to be mistaken
// for it.
import { expect, test } from 'vitest';
import { endOrphans } from '../../../system/process/kill-tree.ts';
import { formatIdentity, processIdentity } from '../../../system/process/identity.ts';
import { processNamed } from './support.ts';

const living = processIdentity();
/** The pid is in use again, by a process that started at another time. */
const dead = formatIdentity({ ...living, startTime: '1' });

test.each([
  ['of a worker that is gone is ended', `hook/${dead}/1`, false],
  ['of a server that such a worker started is ended', `mcp/${dead}/1`, false],
  ['of a living worker is left alone', `hook/${formatIdentity(living)}/1`, true],
  ['of another boot or machine is left alone', `hook/${dead.replace(/\/[0-9a-f]{8}\//, '/00000000/')}/1`, true],
  ['of a call of a tool is left alone', '0'.repeat(64), true],
  ['with a name that nobody gave it is left alone', 'hook/who/knows', true],
])('a process %s (L30)', async (_, name, stays) => {
  const { alive } = await processNamed(name);
  await endOrphans();
  expect(alive()).toBe(stays);
});
