import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => reply([toolUse('bash', { command })]);

describe('a question of the model', () => {
  test('is shown by `run` and `show`, listed beside approvals, and answered once from another terminal (L81)', async () => {
    const question = { question: 'Which colour?\u001b[2J', options: ['red', 'green'] };
    const place = cliPlace(await modelFor([reply([toolUse('ask_user', question)]), reply('Done.')]));
    const run = place.start(['run', '--wait', 'paint']);
    await until(() => run.err().includes('it waits for an answer: `'));
    expect(run.out()).toContain('  2  green');
    expect(run.out()).not.toContain('\u001b[2J');
    const [waiting] = jsonLines((await place.run('approvals', '--json')).out);
    const [session, call] = [String(waiting?.session), String(waiting?.call)];
    expect((await place.run('show', session)).out).toContain('? waits for an answer');
    const listed = await place.run('approvals');
    expect(listed.out).toContain('ask_user');
    expect(listed.err).toContain('answer with: ');
    const wrong = await place.run('answer', session, call, 'blue');
    expect(wrong).toMatchObject({ status: 2, err: expect.stringContaining('blue is not offered') });
    expect((await place.run('answer', session, call, '2')).status).toBe(0);
    expect(await run.status).toBe(0);
    expect((await place.run('show', session, '--full')).out).toContain('The user answered: green');
    const late = await place.run('answer', session, call, 'red');
    expect(late).toMatchObject({ status: 2, err: expect.stringContaining(`question ${call} was answered by`) });
  });
});

describe('a call that waits for a decision', () => {
  test('is shown by `run`, listed with its input, and approved from another terminal (L55)', async () => {
    const place = cliPlace(await modelFor([bash('echo effect >> effects.log'), reply('Done.')]));
    const run = place.start(['run', '--wait', 'make it']);
    await until(() => run.err().includes('it waits for a decision'));
    expect(run.out()).toContain('│ $ echo effect >> effects.log');
    const [approval] = jsonLines((await place.run('approvals', '--json')).out);
    expect(approval).toMatchObject({ tool: 'bash', input: { command: 'echo effect >> effects.log' } });
    const [session, call] = [String(approval?.session), String(approval?.call)];
    expect((await place.run('list')).out).toContain('needs you');
    const { out: logged } = await place.run('logs', session);
    expect(logged).toMatch(/ #1 +bash +asked /);
    expect(logged).toMatch(/└ bash echo effect >> effects\.log {2}waits for a decision, for \d.* so far\n/);
    expect((await place.run('approve', session, call)).status).toBe(0);
    expect(await run.status).toBe(0);
    expect(readFileSync(join(place.cwd, 'effects.log'), 'utf8')).toBe('effect\n');
    const again = await place.run('approve', session, call);
    expect(again).toMatchObject({ status: 2, err: expect.stringContaining('none of its calls does') });
  });

  test('waits with no worker at all, takes an edited input with none that stays, and runs it once when one comes (L55)', async () => {
    const place = cliPlace(await modelFor([bash('echo model >> effects.log'), reply('Done.')]));
    const run = place.start(['run', '--json', 'make it']);
    const approval = await until(() => jsonLines(whole(run.out())).find(({ type }) => type === 'approval'));
    const [session, call] = [String(approval.session), String(approval.call)];
    run.signal('SIGTERM');
    await run.status;
    const approved = await place.run('approve', session, call, '--input', '{"command":"echo person >> effects.log"}');
    expect(approved).toMatchObject({ status: 0, err: expect.stringContaining('no worker runs') });
    expect(existsSync(join(place.cwd, 'effects.log'))).toBe(false);
    const watched = await place.run('watch', '--json', session);
    expect(jsonLines(watched.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Done.' });
    expect(readFileSync(join(place.cwd, 'effects.log'), 'utf8')).toBe('person\n');
    const full = await place.run('show', session, '--full');
    expect(full.out).toContain('{"command":"echo model >> effects.log"}');
  });

  test('is asked about again when an edited input will not do, and says so and why wherever it is looked at (L55)', async () => {
    const place = cliPlace(await modelFor([bash('echo effect >> effects.log'), reply('Done.')]));
    const run = place.start(['run', '--wait', 'make it']);
    await until(() => run.err().includes('it waits for a decision'));
    const [approval] = jsonLines((await place.run('approvals', '--json')).out);
    const [session, call] = [String(approval?.session), String(approval?.call)];
    const approved = await place.run('approve', session, call, '--input', '{"comand":"ls"}');
    expect(approved.err).toContain('approved with another input: call 1.1.0, bash; if the tool refuses that input');
    await until(() => run.err().includes('1.1.0+2'));
    const why =
      /nothing has run; the edited input will not do: The input of bash is not valid: command: [^;\n]+; input: /;
    const { out } = await place.run('approvals');
    expect(out).toMatch(/WHAT +REASON\n/);
    expect(out).toMatch(why);
    const shown = await place.run('show', session);
    expect(shown.out).toMatch(new RegExp(`\\? waits for a decision: ${why.source}.*\\(call 1\\.1\\.0\\+2\\)`));
    expect((await place.run('approve', session, '1.1.0+2')).status).toBe(0);
    expect(await run.status).toBe(0);
    expect((await place.run('show', session)).out).toMatch(
      /▸ bash echo effect >> effects\.log\n.*\n.*\n {2}\(\S+ allowed it\)/,
    );
  });

  test('ends the run when it is denied with an interrupt (L34)', async () => {
    const place = cliPlace(await modelFor([bash('rm -rf .')]));
    const run = place.start(['run', '--json', 'clean up']);
    const { session, call } = await until(() => jsonLines(whole(run.out())).find(({ type }) => type === 'approval'));
    const denied = await place.run('deny', String(session), String(call), '--reason', 'no', '--interrupt');
    expect(denied.status).toBe(0);
    expect(await run.status).toBe(1);
    expect(jsonLines(run.out()).at(-1)).toMatchObject({ reason: 'permission_denied' });
  });
});

/** Without a line that is still being written. */
const whole = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);
