import { existsSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEMO_TASK, fault, gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

test('`run --demo` does its task on a scripted model without asking, also where a key is set, and takes no other task', async () => {
  const place = cliPlace(await modelFor([]));
  writeFileSync(join(place.cwd, 'a.ts'), 'export {};\n');
  const { status, out } = await place.run('run', '--demo');
  expect({ status, made: existsSync(join(place.cwd, 'LINES.md')) }).toEqual({ status: 0, made: true });
  expect(out).toContain('completed');
  const other = await place.run('run', '--demo', 'another task');
  expect(other).toMatchObject({ status: 2, err: expect.stringContaining('--demo has a task of its own') });
});

describe('perdure run', () => {
  test('prints JSON events, first the session and last the result, and exits with 0 (L52)', async () => {
    const model = await modelFor([
      reply([text('Looking.'), toolUse('bash', { command: 'echo hi > made.txt' })]),
      reply('Made.'),
    ]);
    const place = cliPlace(model);
    const { status, out } = await place.run('run', '--json', '--permission-mode', 'bypass', 'make it');
    expect(status).toBe(0);
    const lines = jsonLines(out);
    expect(lines[0]).toEqual({ type: 'session', sessionId: lines.at(-1)?.sessionId });
    expect(lines.at(-1)).toMatchObject({
      type: 'result',
      sessionId: expect.any(String),
      reason: 'completed',
      turns: 2,
      iterations: 2,
      transitions: [{ iteration: 2, reason: 'next_turn' }],
      text: 'Made.',
      usage: { input: expect.any(Number), output: expect.any(Number) },
      costUsd: expect.any(Number),
      durationMs: expect.any(Number),
    });
    expect(lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['run_start', 'request_start', 'text_delta', 'tool_end', 'run_end']),
    );
    expect(readFileSync(join(place.cwd, 'made.txt'), 'utf8')).toBe('hi\n');
    // The call ran in the activity that called the model, and has a row of its own.
    const logs = await place.run('logs', String(lines.at(-1)?.sessionId));
    expect(logs.out).toMatch(/ run 1 #1 .*\n {4}└ bash echo hi > made\.txt {2}\d.* m?s {2}ok\n.* run 1 #2 /);
  });

  test('the text of a recovered reply joins its pieces (L27)', async () => {
    const cut = fault({ maxTokensAfter: { block: 0, chars: 6 } }, 'First, and more');
    const place = cliPlace(await modelFor([fault({ status: 500 }), { ...cut, times: 2 }, reply('third.')]));
    const { out } = await place.run('run', '--json', 'tell');
    expect(jsonLines(out).at(-1)).toMatchObject({
      text: 'First,third.',
      transitions: [{ reason: 'max_output_tokens_escalate' }, { reason: 'max_output_tokens_recovery' }],
    });
  });

  test('exits with 1 for any other terminal reason (L45)', async () => {
    const place = cliPlace(await modelFor([reply([toolUse('glob', { pattern: '*' })])]));
    const { status, out } = await place.run('run', '--json', '--max-turns', '1', 'look');
    expect(status).toBe(1);
    expect(jsonLines(out).at(-1)).toMatchObject({ reason: 'max_turns' });
  });

  test('Ctrl-C interrupts the run and exits with 130 (L47)', async () => {
    const held = gate();
    const place = cliPlace(await modelFor([reply('Going on and on', { hold: held.hold, holdAfterEvent: 4 })]));
    const command = place.start(['run', '--json', 'talk']);
    await until(() => command.out().includes('text_delta'));
    command.signal('SIGINT');
    expect(await command.status).toBe(130);
    held.release();
    expect(jsonLines(command.out()).at(-1)).toMatchObject({ reason: 'aborted_streaming' });
  });

  const words = { input: 'word '.repeat(1_048_576) };

  test('a prompt of 5 MB is stored, sent by hash, and reaches a model whose window holds it whole (L61)', async () => {
    const model = await modelFor({ replies: [reply('Long.')], window: 10_000_000 });
    const place = cliPlace(model);
    const config = join(place.root, 'wide.mjs');
    const wide = { memory: false, models: { 'claude-sonnet-': { window: 10_000_000, maxOutput: 8_000, price: null } } };
    writeFileSync(config, `export default ${JSON.stringify(wide)};\n`);
    const command = place.start(['run', '--json', '--config', config, '-'], words);
    expect(await command.status).toBe(0);
    expect(JSON.stringify(model.requests[0]?.body).length).toBeGreaterThan(5 * 1_048_576);
  });

  test('a prompt of 5 MB that no window holds ends with blocking_limit before any request, and is kept (L12)', async () => {
    const model = await modelFor([reply('Never asked.')]);
    const place = cliPlace(model);
    const command = place.start(['run', '--json', '-'], words);
    expect(await command.status).toBe(1);
    expect(jsonLines(command.out()).at(-1)).toMatchObject({ reason: 'blocking_limit' });
    expect(model.requests).toHaveLength(0);
  });

  test('goes on with an agent in the background until it has ended and its end is told (L71)', async () => {
    const held = gate();
    const model = await modelFor(
      byPrompt({
        'Go.': [reply([agentCall('A.', { background: true })]), reply('It is on its way.'), reply('A has made it.')],
        'A.': [reply([toolUse('bash', { command: 'echo hi > made.txt' })], { hold: held.hold }), reply('Made.')],
      }),
    );
    const place = cliPlace(model);
    const command = place.start(['run', '--json', '--permission-mode', 'bypass', 'Go.']);
    await until(() => command.err().includes('1 agent still works in the background'));
    held.release();
    expect(await command.status).toBe(0);
    const results = jsonLines(command.out()).filter(({ type }) => type === 'result');
    expect(results.map(({ run, text: said }) => [run, said])).toEqual([
      [1, 'It is on its way.'],
      [2, 'A has made it.'],
    ]);
    expect(readFileSync(join(place.cwd, 'made.txt'), 'utf8')).toBe('hi\n');
  });

  test('a bad key ends with a reason, one line and no stack', async () => {
    const place = cliPlace(await modelFor([fault({ status: 401 })]));
    const { status, out, err } = await place.run('run', '--json', 'look');
    expect(status).toBe(1);
    expect(jsonLines(out).at(-1)).toMatchObject({ reason: 'model_error' });
    expect(err).not.toMatch(/\n\s+at /);
  });
});

describe('npm start', () => {
  test('does the demo without a key, from the actual files, and says that the model is scripted', async () => {
    const place = cliPlace(null);
    mkdirSync(join(place.cwd, 'src'));
    writeFileSync(join(place.cwd, 'src', 'a.ts'), 'one\ntwo\nthree\n');
    writeFileSync(join(place.cwd, 'src', 'b.ts'), 'four\n');
    const { status, out, err } = await place.run('start-here', DEMO_TASK);
    expect(status).toBe(0);
    expect(out + err).toContain('scripted model');
    expect(readFileSync(join(place.cwd, 'LINES.md'), 'utf8')).toMatch(/`src` \| 2 \| 4 \|/);
  });

  test('refuses another task without a key, with what to set', async () => {
    const place = cliPlace(null);
    const { status, err } = await place.run('start-here', 'write a novel');
    expect(status).toBe(2);
    expect(err).toContain('ANTHROPIC_API_KEY');
    expect(existsSync(join(place.data, 'server.json'))).toBe(false);
  });
});
