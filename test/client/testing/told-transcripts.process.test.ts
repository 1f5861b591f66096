// The transcript that a stop hook asks for, through the whole loop.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reply, runInMemory, toolUse } from '../../../client/testing/index.ts';

test('a stop hook that asks for it reads what was said in the run, results and all (L30)', async () => {
  const read: string[] = [];
  const guard = {
    transcript: true,
    run: ({ transcript = '' }: { readonly transcript?: string }) => void read.push(readFileSync(transcript, 'utf8')),
  };
  const script = [reply([toolUse('bash', { command: 'echo it works' })]), reply('All is well.')];
  const { reason } = await runInMemory({ prompt: 'Look.', script, config: { hooks: { stop: [guard] } } });
  expect({ reason, times: read.length }).toEqual({ reason: 'completed', times: 1 });
  expect(read[0]).toMatch(
    /User:\nLook\.[^]*\[calls bash with[^]*Result of bash:\nit works[^]*Assistant:\nAll is well\./,
  );
});
