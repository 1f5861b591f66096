import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

/** Each session makes a file of its own, then is done. */
const made = {
  replies: [
    { ...reply([toolUse('bash', { command: 'mktemp made.XXXX' })]), when: { hasToolResult: false }, times: 2 },
    reply('Done.'),
  ],
};

/**
 * Sessions whose calls were approved when no worker was there any more: the next worker may begin
 * them.
 */
async function approvedSessions(place: ReturnType<typeof cliPlace>, tasks: readonly string[]): Promise<string[]> {
  const runs = tasks.map((task) => place.start(['run', '--wait', task]));
  await until(() => runs.every((run) => run.err().includes('it waits for a decision')));
  for (const run of runs) run.signal('SIGTERM');
  await Promise.all(runs.map((run) => run.status));
  const waiting = jsonLines((await place.run('approvals', '--json')).out);
  for (const { session, call } of waiting) await place.run('approve', String(session), String(call));
  return waiting.map(({ session }) => String(session));
}

describe('a stop where no worker runs', () => {
  test.each([
    ['cancel', 'cancelled'],
    ['interrupt', 'interrupted'],
  ])(
    '%s begins nothing: neither what was approved, nor the work of another session; and says who did it (L47 L49 L55 O12)',
    async (stop, done) => {
      const place = cliPlace(await modelFor(made));
      const [first = '', second = ''] = await approvedSessions(place, ['one', 'two']);
      const files = () => readdirSync(place.cwd);
      const stopped = place.start([stop, first], { env: { USER: 'ann' } });
      expect(await stopped.status).toBe(0);
      expect(stopped.err()).toContain(`session ${first} is ${done}`);
      expect(files()).toEqual([]);
      const { out: shown } = await place.run('show', first);
      expect(shown).toContain('Not run');
      expect(shown).toContain(`• ${done} by ann, `);
      const watched = await place.run('watch', '--json', second);
      expect(jsonLines(watched.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Done.' });
      expect(files()).toHaveLength(1);
    },
  );
});

test('a cancel does not hold up the handlers of another session, which then closes as soon (L47 L56)', async () => {
  const place = cliPlace(await modelFor([reply('One.'), reply('Two.')]));
  const config = join(place.root, 'handlers.mjs');
  // Cut off with the `run` that it follows, and quick elsewhere.
  writeFileSync(
    config,
    `import { writeFileSync } from 'node:fs';
export default { memory: false, drainMs: 1, afterStop: [{ name: 'report', timeoutMs: 60_000, run: async ({ session, signal }) => {
  if (process.argv.includes('run'))
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut off'))));
  writeFileSync(${JSON.stringify(place.root)} + '/' + session, 'reported');
} }] };`,
  );
  const env = { PERDURE_CONFIG: config };
  for (const session of ['first', 'second'])
    expect(await place.start(['run', '--session', session, 'Go.'], { env }).status).toBe(0);
  const stops = [];
  for (const session of ['first', 'second']) {
    const stop = place.start(['cancel', session], { env });
    stops.push([session, await stop.status, readFileSync(join(place.root, session), 'utf8')]);
  }
  expect(stops).toEqual([
    ['first', 0, 'reported'],
    ['second', 0, 'reported'],
  ]);
});
