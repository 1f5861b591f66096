// Options, keys and events are declared once. These tests hold whatever is written elsewhere to the
// one declaration; `npx vitest run --project fast test/docs -u` writes the page of options.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { addRunOptions, readFlags, RunFlag } from '../../cli/run-options.ts';
import { cliOf } from '../../cli/cli.ts';
import { createClient } from '../../client/client.ts';
import { CHANGEABLE } from '../../client/schedules/change-schedule.ts';
import { setOptions, topUp } from '../../client/operations/steering.ts';
import { optionsShape } from '../../client/operations/operation.ts';
import { knownOptions, refuseUnknown } from '../../client/options.ts';
import { openapiDocument } from '../../page/api/openapi.ts';
import { eventKinds, scheduleChanges } from '../../page/api/schemas.ts';
import { checkRunOptions } from '../../page/api/route.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import { steered } from '../../store/live/event-parts.ts';
import { memoryStore } from '../support/memory-store.ts';
import { checkConfig, CONFIG_KEYS } from '../../worker/config/config.ts';
import { nearName } from '../../workflows/contract/did-you-mean.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import { LIMITS, RUN_OPTIONS, type RunOptions } from '../../workflows/contract/run-options.ts';

const docs = resolve(import.meta.dirname, '../../docs');
const names = Object.keys(RUN_OPTIONS);
const keys = Object.keys(CONFIG_KEYS);

/** The names in code at the beginning of the rows under a heading, or of the whole page. */
function rowsOf(page: string, heading = ''): readonly string[] {
  const text = readFileSync(join(docs, page), 'utf8');
  const [rest = ''] = text.slice(text.indexOf(heading)).split(/\n## (?!All keys)/);
  return [...rest.matchAll(/^\| (`[^|]+?) \|/gm)].flatMap(([, first = '']) =>
    [...first.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
}

const OPTIONS_HEAD = `# Options of a run

They go to \`start\`, \`setOptions\`, \`send\`, \`query()\` and the [HTTP API](../http.md). [The client](../client.md#options-of-a-run) says how they behave.

| option | what it says | flag |
|---|---|---|
`;

test('docs/api/run-options.md has each option of a run with its sentence and its flag (L57)', async () => {
  const rows = Object.entries(RUN_OPTIONS).map(
    ([name, { says, flag }]) => `| \`${name}\` | ${says} | ${flag === undefined ? '' : `\`${flag}\``} |`,
  );
  const page = `${OPTIONS_HEAD}${rows.join('\n')}\n\nMade by \`test/docs/one-source.test.ts\` from the sources.\n`;
  await expect(page).toMatchFileSnapshot(join(docs, 'api/run-options.md'));
});

test('docs/client.md has a row for each method of the client and of its schedules (Q2)', () => {
  const page = readFileSync(join(docs, 'client.md'), 'utf8');
  const cells = [...page.matchAll(/^\| (`\w+\(.*?) \|/gm)].map(([, cell = '']) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)\(/g)].map(([, name]) => name));
  const temporal = { options: { loadedDataConverter: createClientConverter(undefined) } } as unknown as Client;
  const client = createClient({ temporal, store: memoryStore() });
  const methods = [client, client.schedules].flatMap((part) =>
    Object.entries(part).flatMap(([name, member]) => (typeof member === 'function' ? [name] : [])),
  );
  expect(methods.length).toBeGreaterThan(30);
  expect(methods.filter((name) => !named.includes(name))).toEqual([]);
});

test('each option of a run has its flag, and a field with its sentence over HTTP (L57)', () => {
  const flags = addRunOptions(new Command()).options;
  for (const [name, { flag, kind, says }] of Object.entries(RUN_OPTIONS)) {
    if (flag !== undefined && kind !== 'rules')
      expect([name, flags.find((each) => each instanceof RunFlag && each.option === name)?.flags]).toEqual([
        name,
        flag,
      ]);
    expect(optionsShape.shape[name]?.description).toContain(says);
  }
  expect(flags.flatMap(({ long }) => (['--allow', '--deny', '--ask'].includes(long ?? '') ? [long] : []))).toEqual([
    '--allow',
    '--deny',
    '--ask',
  ]);
  expect(JSON.stringify(openapiDocument())).toContain(RUN_OPTIONS.maxTurns.says);
  expect(Object.keys(optionsShape.shape)).toEqual(names);
  expect(Object.keys(topUp.body.shape)).toEqual([...Object.keys(LIMITS), 'exact']);
});

test('what can be changed of a schedule is one list for HTTP, the command line and the client (L87)', async () => {
  expect(Object.keys(scheduleChanges.shape)).toEqual([...CHANGEABLE]);
  const { scheduleCommand } = await import('../../cli/commands/schedule.ts');
  const program = new Command();
  scheduleCommand(program, cliOf(process, { verbose: false, exit: () => undefined }));
  const update = program.commands[0]?.commands.find((command) => command.name() === 'update');
  const flags = new Set(update?.options.map((option) => option.attributeName()));
  const { catchUpMs, options: _, ...plain } = Object.fromEntries(CHANGEABLE.map((name) => [name, name]));
  for (const name of [...Object.keys(plain), 'catchUp', 'maxTurns', 'model'])
    expect([name, flags.has(name)]).toEqual([name, true]);
  expect([catchUpMs, flags.has('session'), flags.has('name')]).toEqual(['catchUpMs', false, false]);
});

test('a flag is read to the option that its row names, as the kind of the row says (L57)', () => {
  const unread = ['rules', 'schema', 'folder', 'tools', 'servers', 'roster', 'mounts'];
  const written = { number: '30000', time: '1h', text: 'x', names: 'read', list: 'x', folders: '/data', pairs: 'a=b' };
  for (const [name, { flag, kind, values }] of Object.entries(RUN_OPTIONS)) {
    if (flag === undefined || unread.includes(kind)) continue;
    const [long = ''] = flag.split(' ');
    const value =
      kind === 'switch' ? [] : kind === 'choice' ? (values ?? []).slice(0, 1) : [written[kind as keyof typeof written]];
    const flags = addRunOptions(new Command())
      .parse([long, ...value], { from: 'user' })
      .opts();
    expect([name, Object.keys(readFlags(flags, [name as keyof RunOptions], () => '/'))]).toEqual([name, [name]]);
  }
});

test('an option that is misspelled is refused with the nearest name wherever options are taken (L57)', () => {
  for (const name of names) {
    const wrong = { [`${name}x`]: 'y' };
    const near = nearName(`${name}x`, names) ?? '';
    expect([near, optionsProblem(wrong)]).toEqual([name, `there is no option "${name}x": did you mean ${name}?`]);
    expect(() => checkRunOptions(wrong)).toThrow(`did you mean ${name}?`);
    for (const known of [knownOptions.start, knownOptions.schedule, setOptions.body.shape])
      expect(() => refuseUnknown('it', wrong, known)).toThrow(`did you mean ${name}?`);
  }
});

test('docs/configuration.md has a row for each key of the configuration and for nothing else', () => {
  expect(rowsOf('configuration.md', '## All keys').toSorted()).toEqual(keys.toSorted());
  expect(rowsOf('configuration.md').filter((name) => !keys.includes(name))).toEqual([]);
});

test('a key of the configuration that is misspelled is refused with the nearest name', () => {
  for (const key of keys)
    expect(() => checkConfig({ [`${key}x`]: 1 }, 'it')).toThrow(
      `it: "${key}x" is no key of the configuration: did you mean "${key}"?`,
    );
  expect(() => checkConfig({ colour: 1 }, 'it')).toThrow('remove it or correct its name');
});

test('docs/events.md has a row for each event and for nothing else, and every action that steers (Q12)', () => {
  const types = eventKinds.flatMap(({ kinds }) => kinds);
  expect(rowsOf('events.md').toSorted()).toEqual(types.toSorted());
  const { action } = z.toJSONSchema(steered).properties ?? {};
  const actions = (action as { readonly enum: readonly string[] }).enum;
  const page = readFileSync(join(docs, 'events.md'), 'utf8');
  expect(actions.filter((each) => !page.includes(`\`${each}\``))).toEqual([]);
});
