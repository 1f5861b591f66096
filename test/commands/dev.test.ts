// What `perdure dev` says about sessions, and Temporal's own UI beside its server.
import { join } from 'node:path';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { argumentsOfDescendants } from '../support/processes.ts';
import { until } from '../support/until.ts';

test('dev says when a session begins, waits for a person with the command that decides, ends its run and is closed', async () => {
  const place = cliPlace(await modelFor([reply([toolUse('bash', { command: 'rm -r build' })]), reply('Done.')]));
  const dev = place.start(['dev']);
  await until(() => dev.err().includes('ready: '));
  const id = (await place.run('start', 'Clean \u001b[2J up.')).out.trim();
  const decide = await until(() => /`perdure (deny \S+ \S+) --reason "why"`/.exec(dev.out())?.[1] ?? null);
  expect(decide).toMatch(new RegExp(`^deny ${id} `));
  expect((await place.run(...decide.split(' '), '--reason', 'not now')).status).toBe(0);
  await until(() => dev.out().includes('run 1 ended'));
  expect((await place.run('cancel', id)).status).toBe(0);
  await until(() => dev.out().includes('is closed'));
  const lines = dev
    .out()
    .split('\n')
    .filter((line) => line.includes(id));
  const name = `\\d\\d:\\d\\d:\\d\\d ${id} "Clean \\\\x1b\\[2J up\\."`;
  expect(lines[0]).toMatch(new RegExp(`^${name} begins in ${place.cwd}$`));
  expect(lines[1]).toMatch(
    new RegExp(`^${name} wants bash, because: .*; it waits for a decision: \`perdure approve ${id} `),
  );
  expect(lines.at(-2)).toMatch(new RegExp(`^${name} run 1 ended: completed · 2 turns · \\S+$`));
  expect(lines.at(-1)).toMatch(new RegExp(`^${name} is closed · 2 turns · \\S+$`));
  dev.signal('SIGTERM');
  expect(await dev.status).toBe(0);
});

test("dev --ui has Temporal's own UI beside its server, says that it asks nobody, and refuses a server that others use without", async () => {
  const place = cliPlace(await modelFor([]));
  const dev = place.start(['dev', '--ui']);
  const ui = await until(() => /^ui +(http:\/\/127\.0\.0\.1:\d+)$/m.exec(dev.out())?.[1] ?? null);
  expect(dev.err()).toContain('asks nobody who they are');
  const page = await until(async () => {
    const answer = await fetch(`${ui}/namespaces/default/workflows`).catch(() => null);
    return answer?.ok === true ? answer.text() : null;
  });
  expect(page).toMatch(/^<!doctype html>/i);
  expect(JSON.parse(readFileSync(join(place.data, 'server.json'), 'utf8'))).toMatchObject({ ui });
  dev.signal('SIGTERM');
  expect(await dev.status).toBe(0);

  const worker = place.start(['worker']);
  await until(() => worker.out().includes('worker ready'));
  const refused = await place.run('dev', '--ui');
  expect(refused.status).toBe(2);
  expect(refused.err).toMatch(
    new RegExp(
      `^perdure: the Temporal server of .* runs without its UI, for process ${worker.pid}: stop that, then start with --ui again\n$`,
    ),
  );
});

test.runIf(process.platform === 'linux')(
  'no secret stands in the arguments of a program that dev or a run starts (O12)',
  async () => {
    const tool = fileURLToPath(new URL('../support/mcp/many-tools.mjs', import.meta.url));
    const place = cliPlace(
      await modelFor([
        reply([toolUse('bash', { command: 'touch under-way; while [ ! -e done ]; do sleep 0.1; done' })]),
        reply('Done.'),
      ]),
    );
    const [apiKey, ofServer] = ['sk-ant-recognised-in-arguments', 'a-secret-of-a-server'];
    writeFileSync(
      join(place.root, 'settings', 'perdure', 'perdure.config.mjs'),
      `export default { mcpServers: { many: { command: process.execPath, args: [${JSON.stringify(tool)}, '1', '100'],
        env: { SHOP_TOKEN: '${ofServer}' } } } };`,
    );
    const dev = place.start(['dev'], { env: { ANTHROPIC_API_KEY: apiKey } });
    await until(() => dev.err().includes('ready: '));
    expect((await place.run('start', 'Work.', '--permission-mode', 'bypass')).status).toBe(0);
    await until(() => existsSync(join(place.cwd, 'under-way')));
    const kept = ['page.json', 'payload-keys.json'].flatMap(
      (name) => readFileSync(join(place.data, name), 'utf8').match(/[\w+/=-]{20,}/g) ?? [],
    );
    expect(kept.length).toBeGreaterThan(3);
    // The server, the command in its sandbox and the MCP program are among them.
    const all = await until(() => {
      const running = argumentsOfDescendants(dev.pid).join('\n');
      return ['temporal', 'under-way', 'many-tools.mjs'].every((part) => running.includes(part)) && running;
    });
    expect([apiKey, ofServer, ...kept].filter((secret) => all.includes(secret))).toEqual([]);
    writeFileSync(join(place.cwd, 'done'), '');
    await until(() => dev.out().includes('run 1 ended'));
    dev.signal('SIGTERM');
    expect(await dev.status).toBe(0);
  },
);
