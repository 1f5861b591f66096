// Permission rules and modes on a real server: what the run's options say reaches every call, early
// ones too.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reply, toolUse, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';

describe('permissions', () => {
  test('a deny rule holds in bypass, names itself, and keeps a read from starting early (L55)', async () => {
    const calls = [toolUse('read', { path: 'secrets/key' }), toolUse('bash', { command: 'touch a && rm a' })];
    const h = await harness({ script: [reply(calls), reply('I cannot.')] });
    mkdirSync(join(h.cwd, 'secrets'));
    writeFileSync(join(h.cwd, 'secrets/key'), 'hidden treasure');
    const permissions = { deny: ['read(secrets/**)', 'bash(rm:*)'] };
    const session = await h.open('Go.', { permissionMode: 'bypass', permissions });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    const told = JSON.stringify(h.bodies()[1]?.messages.at(-1));
    expect(told).toContain(String.raw`the rule \"read(secrets/**)\" denies it`);
    expect(told).toContain(String.raw`the rule \"bash(rm:*)\" denies it`);
    expect(told).not.toContain('treasure');
    expect(h.liveText(session.id)).not.toContain('treasure');
    expect(existsSync(join(h.cwd, 'a'))).toBe(false);
  });

  test('an allow rule runs what it names and nothing beside it (L55)', async () => {
    const calls = [
      toolUse('bash', { command: 'mkdir made && echo done' }),
      toolUse('bash', { command: 'mkdir other && touch x' }),
    ];
    const h = await harness({ script: [reply(calls), reply('Done.')] });
    const permissions = { allow: ['bash(mkdir:*)', 'bash(echo:*)'] };
    const session = await h.open('Go.', { permissionMode: 'dontAsk', permissions });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect([existsSync(join(h.cwd, 'made')), existsSync(join(h.cwd, 'other'))]).toEqual([true, false]);
    expect(JSON.stringify(h.bodies()[1])).toContain('dontAsk');
  });

  test('the worker’s own rules hold beside the caller’s; in plan mode only reads run (L55)', async () => {
    const calls = [
      toolUse('read', { path: 'a' }),
      toolUse('read', { path: 'b' }),
      toolUse('write', { path: 'c', content: '' }),
    ];
    const h = await harness({
      script: [reply(calls), reply('Planned.')],
      worker: { defaults: { permissions: { deny: ['read(b)'] } } },
    });
    writeFileSync(join(h.cwd, 'a'), 'first file');
    writeFileSync(join(h.cwd, 'b'), 'second file');
    const session = await h.open('Plan.', { permissionMode: 'plan', permissions: { allow: ['write', 'read'] } });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const told = JSON.stringify(h.bodies()[1]?.messages.at(-1));
    expect(told).toContain('first file');
    expect(told).not.toContain('second file');
    expect(told).toContain(String.raw`in permission mode \"plan\" only reads run`);
    expect(existsSync(join(h.cwd, 'c'))).toBe(false);
  });

  test('a rule the worker gets while a run is under way holds from the next run on (L57)', async () => {
    const deny: string[] = [];
    const look = reply([toolUse('read', { path: 'a' })]);
    const script: ScriptedModelOptions['script'] = (_request, n) => {
      if (n === 1) deny.push('read(a)');
      return n % 2 === 1 ? look : reply('Seen.');
    };
    const h = await harness({ script, worker: { defaults: { permissions: { deny } } } });
    writeFileSync(join(h.cwd, 'a'), 'first file');
    const session = await h.open('Look.');
    await session.ended(1);
    await session.send('Look again.');
    await session.ended(2);
    const told = [1, 3].map((n) => JSON.stringify(h.bodies()[n]?.messages.at(-1)));
    expect(told[0]).toContain('first file');
    expect(told[1]).toContain('denies it');
  });
});
