// The section of agents on the ops page, as a browser opens it. No port is opened.
import { expect, test } from 'vitest';
import { managedApp } from '../../managed/app.ts';
import { stop, takeLease, WorkQueue } from '../../store/sandbox/queue.ts';
import { stagedPage } from '../support/page-ports.ts';
import { AGENT, stagedManaged, text } from './staged.ts';

/** The page beside a server of the API: what the SDK changes there is read from the same store. */
async function pageBeside({ ports }: ReturnType<typeof stagedManaged>) {
  return stagedPage({}, undefined, (access) => managedApp({ ...ports }, access));
}

test('agents are listed with model, tools, version and open sessions, and lead to their versions (O11 G12)', async () => {
  const staged = stagedManaged();
  const { agents, sessions } = staged.client.beta;
  const agent = await agents.create(AGENT);
  await agents.update(agent.id, { system: 'Be brief.', version: 1 });
  const silent = await sessions.create({ agent: agent.id, environment_id: 'env_default', title: 'Silent' });
  const told = await sessions.create({ agent: agent.id, environment_id: 'env_default', title: 'Told' });
  await sessions.events.send(told.id, { events: [text('Go.')] });
  await sessions.archive((await sessions.create({ agent: agent.id, environment_id: 'env_default' })).id);
  const page = await pageBeside(staged);
  const listed = await page.text('/agents');
  expect(listed).toContain(`<a href="/agents/${agent.id}">Coder</a>`);
  expect(listed).toContain('claude-sonnet-5-5');
  expect(listed).toContain('bash, edit, read, write, glob, grep, web_fetch');
  expect(listed).toContain('3 (1 archived)');
  expect(listed).toContain('env_default');
  const one = await page.text(`/agents/${agent.id}`);
  expect(one).toContain('changed: system');
  expect(one.indexOf('Version 2')).toBeLessThan(one.indexOf('Version 1'));
  expect(one).toContain('Be brief.');
  expect(one).toContain(`<a href="/sessions/${told.id}">Told</a>`);
  expect(one).toContain('Silent');
  expect(one).not.toContain(`/sessions/${silent.id}`);
});

test('the queue of an environment of your own is shown with its items, workers and leases (O11 G76)', async () => {
  const staged = stagedManaged();
  const { agents, environments, sessions } = staged.client.beta;
  const own = await environments.create({ name: 'Lab <1>', config: { type: 'self_hosted' } });
  const agent = await agents.create(AGENT);
  const titles = ['First', 'Second', 'Third'];
  for (const title of titles) {
    const { id } = await sessions.create({ agent: agent.id, environment_id: own.id, title });
    await sessions.events.send(id, { events: [text('Go.')] });
  }
  const queue = new WorkQueue({ store: staged.store, now: Date.now }, own.id);
  const claimed = async (worker: string) => (await queue.claim({ worker, reclaimMs: 60_000 }))!.id;
  const [first, second] = [await claimed('w-1'), await claimed('<w-2>')];
  await queue.change(first, 'w-1', (item, now) => takeLease(item, 1, now, '000001'));
  const page = await pageBeside(staged);
  expect(await page.text('/agents')).toContain(`<a href="/agents/environments/${own.id}">Lab &lt;1&gt;</a>`);
  const shown = await page.text(`/agents/environments/${own.id}`);
  expect(shown).toContain('1 queued · 1 handed out · 0 workers poll this server');
  for (const words of [...titles, first, second, 'active', 'handed out', 'w-1', '&lt;w-2&gt;'])
    expect(shown).toContain(words);
  expect(shown).not.toContain('<w-2>');
  await queue.change(second, 'ana', stop);
  const after = await page.text(`/agents/environments/${own.id}`);
  expect(after.indexOf(second)).toBeGreaterThan(after.indexOf(first));
  for (const id of ['env_default', `env_${'0'.repeat(26)}`])
    expect((await page.ask(`/agents/environments/${id}`)).status).toBe(404);
});

test('whatever an agent is called is text, and an agent that does not exist has no view', async () => {
  const staged = stagedManaged();
  const agent = await staged.client.beta.agents.create({ ...AGENT, name: '<img src=x onerror=alert(1)>\u202e' });
  const page = await pageBeside(staged);
  for (const path of ['/agents', `/agents/${agent.id}`]) {
    const shown = await page.text(path);
    expect(shown).toContain('&lt;img');
    for (const bad of ['<img', '\u202e']) expect(shown).not.toContain(bad);
  }
  for (const id of [`agent_${'0'.repeat(26)}`, 'constructor'])
    expect((await page.ask(`/agents/${id}`)).status).toBe(404);
});

test('the rail names agents only where they are served, and only those whom the page knows see them', async () => {
  const page = await pageBeside(stagedManaged());
  expect(await page.text('/agents')).toContain('No agents yet');
  expect(await page.text('/workers')).toContain('href="/agents"');
  expect((await page.ask('/agents', { headers: { authorization: '' } })).status).toBe(401);
  const plain = await stagedPage();
  expect(await plain.text('/workers')).not.toContain('href="/agents"');
  expect((await plain.ask('/agents')).status).toBe(404);
});
