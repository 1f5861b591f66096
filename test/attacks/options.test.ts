// Options and rules that nobody reads: a guard that was meant and misspelled is refused, not passed
// over.
import { Client, Connection } from '@temporalio/client';
import { describe, expect, inject, test } from 'vitest';
import { openRun } from '../../activities/run/open-run.ts';
import { createClient } from '../../client/client.ts';
import type { ClientOptions } from '../../client/sessions/start.ts';
import { query } from '../../client/runtime/query.ts';
import { memoryStore } from '../support/memory-store.ts';
import { checkConfig, ConfigProblem } from '../../worker/config/config.ts';
import { openWorker } from '../../worker/open-worker.ts';
import { nearName } from '../../workflows/contract/did-you-mean.ts';
import type { PermissionRules } from '../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { harness } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';
import { simpleTool } from '../tools/support.ts';

/** As a program in JavaScript gives it. */
const misspelled = (given: object): never => given as never;

async function sessions(more: object = {}) {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const options: ClientOptions = {
    temporal: new Client({ connection }),
    store: memoryStore(),
    live: async function* () {},
    visibility: () => Promise.resolve(false),
  };
  return createClient({ ...options, ...more });
}

describe('an option that is not known is refused by name, with the one that was meant (L57)', () => {
  test('of query()', async () => {
    const ask = (given: object) => query(misspelled(given)).next();
    await expect(ask({ prompt: 'Go.', option: {} })).rejects.toThrow(
      'query() has no option "option": did you mean options?',
    );
    await expect(ask({ prompt: 'Go.', options: { cofnig: {} } })).rejects.toThrow(
      'query() has no option "cofnig": did you mean config?',
    );
    await expect(ask({ prompt: 'Go.', options: { zebra: {} } })).rejects.toThrow(/no option "zebra": use cwd, /);
  });

  test.each([
    ['disallowedTools', 'permissions.deny'],
    ['canUseTool', 'onApproval'],
    ['resume', 'session'],
    ['abortController', 'signal'],
    ['hooks', 'config.hooks'],
    ['maxThinkingTokens', 'thinkingTokens'],
  ])('of query(), with ours beside the %s of another library', async (theirs, ours) => {
    const asking = query(misspelled({ prompt: 'Go.', options: { [theirs]: {} } })).next();
    await expect(asking).rejects.toThrow(`query() has no option "${theirs}": it is called ${ours} here`);
  });

  test('of send(), where what another library calls it is no option either', async () => {
    const client = await sessions();
    await expect(client.send('s-1', 'Go.', misspelled({ canUseTool: {} }))).rejects.toThrow(
      'send() has no option "canUseTool": use now, options, messageId, traceparent, querySource, compact, by, signal',
    );
  });

  test('of createClient() and what it returns', async () => {
    await expect(sessions({ lokMs: 1 })).rejects.toThrow('createClient() has no option "lokMs": did you mean lookMs?');
    const client = await sessions();
    await expect(client.start('Go.', misspelled({ permissionsMode: 'plan' }))).rejects.toThrow(
      'start() has no option "permissionsMode": did you mean permissionMode?',
    );
    await expect(client.start('Go.', { ifNew: misspelled({ maxTrns: 1 }) })).rejects.toThrow(
      'there is no option "maxTrns": did you mean maxTurns?',
    );
    await expect(client.send('s-1', 'Go.', { options: misspelled({ permision: {} }) })).rejects.toThrow(
      'there is no option "permision"',
    );
    await expect(client.deny('s-1', '1.1.0', 'no', misspelled({ interupt: true }))).rejects.toThrow(
      'deny() has no option "interupt": did you mean interrupt?',
    );
    expect(() => client.follow('s-1', misspelled({ messageID: 'm' }))).toThrow('did you mean messageId?');
    expect(() => client.list(misspelled({ opened: true }))).toThrow('did you mean open?');
  });

  test('of createWorker(), a configuration and a tool in it', async () => {
    await expect(openWorker(misspelled({ configs: {} }))).rejects.toThrow(
      'createWorker() has no option "configs": did you mean config?',
    );
    expect(() => checkConfig({ hook: {} }, 'the configuration')).toThrow(ConfigProblem);
    const tool = { ...simpleTool({ name: 'deploy' }), canuse: () => undefined };
    expect(() => checkConfig({ tools: [tool] }, 'the configuration')).toThrow(
      'the configuration: "tools.0.canuse" is wrong: did you mean "canUse"?',
    );
    const own = { ...simpleTool({ name: 'deploy' }), region: 'eu' };
    expect(checkConfig({ tools: [own] }, 'the configuration')).toEqual({ tools: [own] });
  });

  test('of a run that any other client asks for: it does not begin', async () => {
    const h = await harness({ script: [] });
    const session = await h.open('Go.', misspelled({ permisionMode: 'plan' }));
    expect(await session.ended(1)).toMatchObject({
      terminal: { detail: 'there is no option "permisionMode": did you mean permissionMode?' },
    });
    expect(h.model.requests).toEqual([]);
    await h.worker.stop();
  });
});

describe('a permission rule that names no tool (L55)', () => {
  async function opened(...each: readonly PermissionRules[]) {
    const bench = await benchDeps({ script: [], tools: ['bash', 'edit', 'read'].map((name) => simpleTool({ name })) });
    const open = openRun(bench.deps);
    let result;
    for (const permissions of each) {
      const options = { cwd: tempDir(), permissionMode: 'default', permissions } as const;
      result = await open(fakeAttempt(), { chain: 'c', run: 2, step: 9, options });
    }
    return { result, warnings: bench.warnings };
  }

  test.each<PermissionRules>([{ deny: ['Bsh(x)'] }, { deny: ['bahs'] }, { ask: ['raed(x)'] }, { allow: ['EDIT2'] }])(
    'is refused where a tool has nearly its name, and says which tools there are: %j',
    async (permissions) => {
      const { result } = await opened(permissions);
      expect(result).toMatchObject({ kind: 'refused', detail: expect.stringMatching(/names no tool: did you mean /) });
      expect(result).toMatchObject({ detail: expect.stringContaining('(there are bash, edit, read)') as string });
    },
  );

  test('is warned of where a tool may still come with that name', async () => {
    const { result, warnings } = await opened({ deny: ['deploy'], allow: ['mcp__files__read', 'web_*'] });
    expect(result?.kind).toBe('opened');
    expect(warnings).toEqual([
      'permission rule "deploy" names no tool of this worker, so that it does nothing: there are bash, edit, read',
    ]);
  });

  test('is told with its like in one line, once for all runs of a worker', async () => {
    const rules = { deny: Array.from({ length: 22 }, (_, at) => `deploy_${at}`) };
    const { warnings } = await opened(rules, rules, { allow: ['TodoWrite', 'NotebookEdit'] }, rules);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^permission rules "deploy_0", .*, "deploy_19" and 2 more name no tools of this worker, so/,
      ),
      'permission rules "TodoWrite", "NotebookEdit" name no tools of this worker, so that they do nothing: there are bash, edit, read',
    ]);
  });
});

test.each([
  ['cofnig', 'config'],
  ['CONFIG', 'config'],
  ['confg', 'config'],
  ['configuration', undefined],
  ['x'.repeat(65), undefined],
])('near names: %.20s is taken for %s', (given, meant) => {
  expect(nearName(given, ['cwd', 'config', 'env'])).toBe(meant);
});
