import { describe, expect, test } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor, serverAlone } from '../support/cli.ts';
import { until } from '../support/until.ts';

describe('a session in the background', () => {
  test('goes on with `watch` after worker and server were killed', async () => {
    const held = gate();
    const model = await modelFor([
      reply([toolUse('bash', { command: 'echo effect >> effects.log' })]),
      reply('This attempt dies.', { hold: held.hold, holdAfterEvent: 4 }),
      reply('All done.'),
    ]);
    const place = cliPlace(model);
    const dev = place.start(['dev']);
    const started = await place.run('start', '--permission-mode', 'bypass', 'make it');
    expect(started.status).toBe(0);
    const id = started.out.trim();
    await until(() => model.requests.length === 2);
    const server = findRunningServer(openDataFolder({ PERDURE_DATA: place.data }));
    if (!server) throw new Error('no server runs');
    dev.signal('SIGKILL');
    process.kill(server.pid, 'SIGKILL');
    await dev.status;
    const watched = await place.run('watch', '--json', id);
    held.release();
    expect(watched.status).toBe(0);
    const lines = jsonLines(watched.out);
    expect(lines.at(-1)).toMatchObject({ type: 'result', sessionId: id, reason: 'completed', text: 'All done.' });
    // What the attempt that died had said is taken back before anything else is said.
    const said = lines.findIndex((line) => line.type === 'text_delta' && String(line.text).includes('dies'));
    const next = lines.findIndex((line) => line.type === 'text_delta' && String(line.text).includes('All'));
    const taken = lines.findIndex((line) => line.type === 'tombstone' && line.step === lines[said]?.step);
    if (said >= 0) expect([said, taken, next]).toEqual([said, taken, next].toSorted((a, b) => a - b));
    expect(next).toBeGreaterThan(0);
  });

  test('is listed, shown, sent to, interrupted and cancelled', async () => {
    const held = gate();
    const model = await modelFor([
      reply('Hello.'),
      reply('Thinking about it', { hold: held.hold, holdAfterEvent: 4 }),
      reply('Changed course.'),
    ]);
    const place = cliPlace(model);
    const dev = place.start(['dev']);
    const first = await place.run('run', '--json', 'hi');
    const id = String(jsonLines(first.out).at(-1)?.sessionId);
    expect((await place.run('list')).out).toContain(id);
    const [listed] = jsonLines((await place.run('list', '--json')).out);
    expect(listed).toMatchObject({ session: id, facts: { querySource: 'cli' } });
    expect((await place.run('top')).out).toMatch(/^Perdure {2}\d working .*\n\n[A-Z ]+ AGE .*\n {2}hi /);
    expect((await place.run('send', id, 'think')).status).toBe(0);
    await until(() => model.requests.length === 2);
    expect((await place.run('send', id, 'no, this', '--now')).status).toBe(0);
    await until(() => model.requests.length === 3);
    held.release();
    const shown = await until(async () => {
      const { out } = await place.run('show', id);
      return out.includes('Changed course.') ? out : null;
    });
    expect(shown).toContain('Thinking about it');
    // The beginning of an id is enough.
    expect((await place.run('show', id.slice(0, 5), '--timeline')).out).toMatch(/\nrun 1\n +#1 +m+ .*\nrun 2\n/);
    expect((await place.run('logs', id.slice(0, 5))).out).toMatch(
      / UTC {2}run 1 {7}open the run  .*\n.* run 1 #1 {4}claude-/,
    );
    const start = await place.run('snip', id, '0');
    expect(start).toMatchObject({
      status: 2,
      err: expect.stringMatching(/^perdure: entry 0 is the start of a run,.*\n$/),
    });
    const prompt = await place.run('snip', id, '1');
    expect(prompt).toMatchObject({
      status: 0,
      err: expect.stringContaining('1 entry will be hidden from the model'),
    });
    expect((await place.run('cancel', id)).status).toBe(0);
    const again = await place.run('send', id, 'hello?');
    expect(again.status).toBe(2);
    expect(again.err.trim().split('\n')).toHaveLength(1);
    dev.signal('SIGTERM');
    expect(await dev.status).toBe(0);
    expect(findRunningServer(openDataFolder({ PERDURE_DATA: place.data }))).toBeNull();
  });
});

describe('a server of one’s own', () => {
  test('without a worker that polls: `run` says so and ends, and the prompt is kept', async () => {
    const model = await modelFor([reply('Hello.')]);
    const place = cliPlace(model);
    const { address } = await serverAlone(place.data);
    const env = { TEMPORAL_ADDRESS: address };
    const run = place.start(['run', 'hi'], { env });
    expect(await run.status).toBe(1);
    expect(run.err()).toMatch(/worker/);
    const id = /s-[a-z0-9]+/.exec(run.err() + run.out())?.[0] ?? '';
    const worker = place.start(['worker'], { env });
    await until(() => worker.out().includes('perdure worker ready: pid '));
    const watched = place.start(['watch', '--json', id], { env });
    expect(await watched.status).toBe(0);
    expect(jsonLines(watched.out()).at(-1)).toMatchObject({ reason: 'completed', text: 'Hello.' });
    worker.signal('SIGTERM');
    expect(await worker.status).toBe(0);
  });

  test('without a worker: `interrupt` and `cancel` say at once that the server keeps the request, and `--wait` waits (L48 L49)', async () => {
    const place = cliPlace(await modelFor([reply('Hello.')]));
    const { address } = await serverAlone(place.data);
    const env = { TEMPORAL_ADDRESS: address };
    const run = place.start(['start', 'hi'], { env });
    await run.status;
    const id = /s-[a-z0-9]+/.exec(run.err() + run.out())?.[0] ?? '';
    for (const [stop, done] of [
      ['interrupt', 'interrupted'],
      ['cancel', 'cancelled'],
    ] as const) {
      const asked = place.start([stop, id], { env });
      expect(await asked.status).toBe(1);
      const told = `session ${id} is not ${done} yet: the server keeps the request until a worker runs; --wait waits for one`;
      expect(asked.err().trim().split('\n')).toEqual([told]);
    }
    const waiting = place.start(['cancel', '--wait', id], { env });
    await until(() => waiting.err().includes('the server keeps the request'));
    const worker = place.start(['worker'], { env });
    expect(await waiting.status).toBe(0);
    expect(waiting.err()).toContain(`session ${id} is cancelled`);
    worker.signal('SIGTERM');
    expect(await worker.status).toBe(0);
  });

  test('that is not there: one line, exit 2', async () => {
    const place = cliPlace(await modelFor([]));
    const command = place.start(['run', 'hi'], { env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect(await command.status).toBe(2);
    expect(command.err().trim().split('\n')).toHaveLength(1);
    expect(command.err()).toContain('127.0.0.1:1');
  });
});

test('`watch` of a run that has ended prints its end, and with --replay all of it (F22)', async () => {
  const place = cliPlace(await modelFor([reply([toolUse('bash', { command: 'echo it' })]), reply('Done with it.')]));
  const begun = await place.run('run', '--json', '--allow', 'bash', 'do it');
  const id = String(jsonLines(begun.out)[0]?.sessionId);
  const watched = await place.run('watch', id);
  expect(watched).toMatchObject({
    status: 0,
    err: expect.stringContaining(`\`perdure watch ${id} --replay\``) as string,
  });
  expect(watched.out).toMatch(/Done with it\.\ncompleted/);
  expect(watched.out).toContain(`${id}  do it`);
  const replayed = await place.run('watch', id, '--replay');
  expect(replayed.status).toBe(0);
  expect(replayed.out).toContain('Done with it.');
  expect(replayed.out).not.toContain(`${id}  do it`);
});

test('`show` of a session says how an agent ended while another one of the same reply still waits (F24)', async () => {
  const agent = (prompt: string) => toolUse('agent', { description: prompt, prompt });
  const model = await modelFor(({ messages }) => {
    const first = JSON.stringify(messages[0]);
    if (first.includes('Ends.')) return reply('It ended.');
    if (first.includes('Waits.')) return reply([toolUse('bash', { command: 'touch made' })]);
    return reply([agent('Ends.'), agent('Waits.')]);
  });
  const place = cliPlace(model);
  const run = place.start(['run', '--json', 'do both']);
  await until(() =>
    jsonLines(run.out().slice(0, run.out().lastIndexOf('\n') + 1)).some(({ type }) => type === 'approval'),
  );
  const id = String(jsonLines(run.out().split('\n', 1)[0] ?? '')[0]?.sessionId);
  let shown = '';
  // Its answer can be read before its workflow is closed, which is when its time is known.
  const ended = /▸ agent Ends\.\n {2}│ It ended\.\n {2}\(agent \S+: completed in .*\$/;
  await until(async () => ended.test((shown = (await place.run('show', id)).out)));
  expect(shown).toMatch(/▸ agent Waits\.\n {2}\(agent \S+: waiting for a decision/);
});

test.each([
  ['watch', 'nope'],
  ['watch', '--replay', 'nope'],
  ['show', 'nope'],
  ['logs', 'nope'],
])('that a server was started for `%s %s` is a detail, and the fault alone is told (D)', async (...args) => {
  const { status, err } = await cliPlace(null).run(...args.filter((each) => each !== undefined));
  expect([status, err]).toEqual([2, expect.stringMatching(/^perdure: [^\n]*nope[^\n]*\n$/)]);
});
